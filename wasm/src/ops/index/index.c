/* Advanced indexing: x[i, :, mask] and x[...] = v. Follows
 * aten/src/ATen/native/TensorAdvancedIndexing.cpp: masks are replaced by the coordinates of their
 * true elements, and the index tensors are broadcast. If the indexed dimensions are adjacent, the
 * broadcast dimensions take their place. Otherwise they come first. */
#include "blocks/gather_scatter.h"
#include "blocks/nonzero.h"
#include "blocks/shape.h"
#include "call/define.h"
#include "call/overlap.h"
#include "tensor/layout.h"

enum { BLOCK = 256, MAX_MASKS = RUSH_MAX_RANK };

typedef struct indexed {
  int n;                              /* dimensions of self that have an index or None */
  bool defined[RUSH_MAX_RANK];        /* per dimension of self */
  rush_tensor index[RUSH_MAX_RANK];   /* set where defined; the headers hold no reference */
  int index_rank, index_at;           /* index_at: first index dimension of the result */
  int64_t index_sizes[RUSH_MAX_RANK]; /* broadcast sizes of the index tensors */
  int64_t count;
  rush_storage storage;     /* storage of `offsets` */
  rush_tensor offsets;      /* int64, row-major over index_sizes: element offsets */
  rush_tensor self, places; /* self and offsets with the shape of the result */
} indexed;

static rush_status add_mask(rush_call *c, indexed *x, const rush_tensor *self,
                            const rush_tensor *mask, size_t at) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  bool fits = x->n + mask->rank <= self->rank;
  for (int d = 0; fits && d < mask->rank; d++) fits = mask->sizes[d] == self->sizes[x->n + d];
  RUSH_CHECK_ARG(
      fits,
      "The shape of the mask %s at index %zu does not match the shape of the indexed tensor "
      "%s at index %d",
      rush_shape_text(mask->rank, mask->sizes, a), at, rush_shape_text(self->rank, self->sizes, b),
      x->n);
  if (mask->rank == 0) return RUSH_OK;
  rush_tensor *rows;
  RUSH_TRY(rush_nonzero(c->heap, mask, &rows));
  tmp_take(c, rows);
  for (int d = 0; d < mask->rank; d++) {
    rush_tensor row = *rows;
    row.rank = 1;
    row.numel = row.sizes[0] = rows->sizes[1];
    row.strides[0] = 1;
    row.offset = d * rows->sizes[1];
    x->defined[x->n] = true;
    x->index[x->n++] = row;
  }
  return RUSH_OK;
}

static rush_status read_indices(rush_call *c, indexed *x, const rush_tensor *self,
                                const rush_list *list) {
  RUSH_CHECK_ARG(list->n <= self->rank, "too many indices for tensor of dimension %d (got %zu)",
                 self->rank, list->n);
  for (size_t k = 0; k < list->n; k++) {
    RUSH_CHECK_ARG(x->n < self->rank, "too many indices for tensor of dimension %d", self->rank);
    if (list->items[k].kind == RUSH_KIND_NONE) {
      x->n++;
      continue;
    }
    const rush_tensor *t = rush_as_tensor(&list->items[k]);
    if (t->dtype == RUSH_BOOL || t->dtype == RUSH_UINT8) {
      RUSH_TRY(add_mask(c, x, self, t, k));
      continue;
    }
    RUSH_CHECK_ARG(t->dtype == RUSH_INT64 || t->dtype == RUSH_INT32,
                   "tensors used as indices must be long, int, byte or bool tensors");
    x->defined[x->n] = true;
    x->index[x->n++] = *t;
  }
  return RUSH_OK;
}

static rush_status broadcast_indices(rush_call *c, indexed *x) {
  rush_text text = {.ctx = c->ctx};
  bool fits = true;
  char shape[RUSH_SHAPE_TEXT];
  for (int d = 0; d < x->n && fits; d++) {
    if (!x->defined[d]) continue;
    int64_t both[RUSH_MAX_RANK];
    int rank;
    fits = rush_broadcast(x->index_rank, x->index_sizes, x->index[d].rank, x->index[d].sizes, &rank,
                          both);
    x->index_rank = rank;
    memcpy(x->index_sizes, both, sizeof both);
  }
  RUSH_CHECK_ARG(!fits || rush_numel(x->index_rank, x->index_sizes, &x->count),
                 "the index tensors are too large");
  if (fits) return RUSH_OK;
  for (int d = 0; d < x->n; d++)
    if (x->defined[d])
      rush_text_add(&text, "%s%s", text.size > 0 ? ", " : "",
                    rush_shape_text(x->index[d].rank, x->index[d].sizes, shape));
  rush_status st =
      rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT,
                "shape mismatch: indexing tensors could not be broadcast together with shapes %s",
                text.data != NULL ? text.data : "");
  rush_release(c->ctx, text.data, text.capacity);
  return st;
}

/* Computes offsets += index * stride, and checks the bounds. */
static rush_status add_offsets(rush_call *c, indexed *x, const rush_tensor *self, int d) {
  const rush_tensor *index = &x->index[d], *operands[] = {&x->offsets, index};
  int64_t size = self->sizes[d], stride = self->strides[d];
  rush_iter it;
  rush_iter_init(&it, x->index_rank, x->index_sizes, 2, operands);
  do {
    char *to = it.at[0];
    const char *at = it.at[1];
    for (int64_t k = 0; k < it.size[0]; k++, to += it.stride[0][0], at += it.stride[1][0]) {
      int64_t i, sum;
      RUSH_TRY(rush_charge_steps(c->ctx, k, it.size[0]));
      if (index->dtype == RUSH_INT64)
        memcpy(&i, at, sizeof i);
      else
        i = rush_load_int(index->dtype, at);
      if (RUSH_UNLIKELY(i < -size || i >= size)) return rush_fail_index(c->ctx, i, d, size);
      memcpy(&sum, to, sizeof sum);
      sum += (i < 0 ? i + size : i) * stride;
      memcpy(to, &sum, sizeof sum);
    }
  } while (rush_iter_next(&it));
  return RUSH_OK;
}

static rush_status make_offsets(rush_call *c, indexed *x, const rush_tensor *self, bool empty) {
  void *data;
  RUSH_TRY(tmp_items(c, x->count, sizeof(int64_t), &data));
  const size_t bytes = (size_t)x->count * sizeof(int64_t);
  RUSH_TRY(rush_set_bytes(c->ctx, data, 0, bytes));
  x->storage = (rush_storage){.refs = 1, .borrowed = true, .bytes = bytes, .data = data};
  x->offsets = (rush_tensor){.dtype = RUSH_INT64,
                             .rank = (uint8_t)x->index_rank,
                             .numel = x->count,
                             .storage = &x->storage};
  memcpy(x->offsets.sizes, x->index_sizes, sizeof x->index_sizes);
  rush_strides_contiguous(x->index_rank, x->index_sizes, x->offsets.strides);
  for (int d = 0; d < x->n; d++) {
    if (!x->defined[d]) continue;
    RUSH_CHECK_ARG(x->count == 0 || self->sizes[d] > 0,
                   "index is out of bounds for dimension with size 0");
    if (!empty) RUSH_TRY(add_offsets(c, x, self, d));
  }
  return RUSH_OK;
}

/* Adds a dimension to both views, self and places. */
static void add_dim(indexed *x, int64_t size, int64_t stride, int64_t place_stride) {
  int r = x->self.rank++;
  x->self.sizes[r] = x->places.sizes[r] = size;
  x->self.strides[r] = stride;
  x->places.strides[r] = place_stride;
}

/* Computes the shape of the result and the strides of self and offsets for it. */
static rush_status shape_result(rush_call *c, indexed *x, const rush_tensor *self) {
  int first = -1, last = -1, n_defined = 0;
  for (int d = 0; d < x->n; d++) {
    if (!x->defined[d]) continue;
    if (first < 0) first = d;
    last = d;
    n_defined++;
  }
  bool together = n_defined > 0 && last - first + 1 == n_defined;
  int rank = self->rank - n_defined + x->index_rank;
  RUSH_CHECK(c->ctx, rank <= RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "the result must have at most %d dimensions, got %d", RUSH_MAX_RANK, rank);
  x->self = *self;
  x->places = x->offsets;
  x->self.rank = 0;
  for (int d = -1; d < self->rank; d++) {
    if (n_defined > 0 && d == (together ? first : -1)) {
      x->index_at = x->self.rank;
      for (int k = 0; k < x->index_rank; k++)
        add_dim(x, x->index_sizes[k], 0, x->offsets.strides[k]);
    }
    if (d >= 0 && (d >= x->n || !x->defined[d])) add_dim(x, self->sizes[d], self->strides[d], 0);
  }
  x->places.rank = x->self.rank;
  if (!rush_numel(x->self.rank, x->self.sizes, &x->self.numel))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  return RUSH_OK;
}

static rush_status open_index(rush_call *c, indexed *x, const rush_tensor *self,
                              const rush_list *list) {
  memset(x, 0, sizeof *x);
  x->count = 1;
  RUSH_TRY(read_indices(c, x, self, list));
  RUSH_TRY(broadcast_indices(c, x));
  bool empty = x->count == 0;
  for (int d = 0; d < self->rank; d++)
    if (d >= x->n || !x->defined[d]) empty = empty || self->sizes[d] == 0;
  RUSH_TRY(make_offsets(c, x, self, empty));
  return shape_result(c, x, self);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Returns an index tensor as TensorIterator sees it: padded with sizes of 1 to the result's rank,
 * then broadcast. */
static rush_tensor index_operand(const indexed *x, const rush_tensor *index) {
  rush_tensor full = *index, seen = x->self;
  int64_t sizes[RUSH_MAX_RANK];
  full.rank = (uint8_t)x->index_rank;
  full.numel = x->count;
  for (int k = 0; k < x->index_rank; k++) {
    int e = k - (x->index_rank - index->rank);
    full.sizes[k] = x->index_sizes[k];
    full.strides[k] = e < 0 || (index->sizes[e] == 1 && full.sizes[k] != 1) ? 0 : index->strides[e];
  }
  for (int k = 0; k < seen.rank; k++) {
    bool inside = k >= x->index_at && k < x->index_at + x->index_rank;
    sizes[k] = inside ? x->index_sizes[k - x->index_at] : 1;
  }
  if (!rush_view_strides(&full, seen.rank, sizes, seen.strides))
    rush_strides_contiguous(seen.rank, sizes, seen.strides);
  for (int k = 0; k < seen.rank; k++)
    if (sizes[k] == 1 && seen.sizes[k] != 1) seen.strides[k] = 0;
  return seen;
}

/* Computes the strides that TensorIterator gives to a result that it allocates. They depend on the
 * memory order of self and of the indices. */
static void order_result(const indexed *x, int64_t *strides) {
  rush_tensor seen[RUSH_MAX_RANK];
  const rush_tensor *operands[RUSH_MAX_RANK + 1] = {&x->self};
  int n = 1;
  for (int d = 0; d < x->n; d++) {
    if (!x->defined[d]) continue;
    seen[d] = index_operand(x, &x->index[d]);
    operands[n++] = &seen[d];
  }
  rush_strides_like(x->self.rank, x->self.sizes, n, operands, strides);
}

static void read_row(size_t item, char *out, int64_t out_step, const char *from, int64_t step,
                     const char *place, int64_t place_step, int64_t n) {
  if (place_step == 0) {
    int64_t at;
    memcpy(&at, place, sizeof at);
    from += at * (int64_t)item;
    if (out_step == (int64_t)item && step == (int64_t)item) {
      memcpy(out, from, (size_t)n * item);
      return;
    }
    for (int64_t k = 0; k < n; k++, out += out_step, from += step) memcpy(out, from, item);
    return;
  }
#define READ(BYTES)                                                                     \
  for (int64_t k = 0; k < n; k++, out += out_step, from += step, place += place_step) { \
    int64_t at;                                                                         \
    memcpy(&at, place, sizeof at);                                                      \
    memcpy(out, from + at * (BYTES), (BYTES));                                          \
  }
  switch (item) {
    case 1:
      READ(1) return;
    case 2:
      READ(2) return;
    case 4:
      READ(4) return;
    case 8:
      READ(8) return;
    default:
      READ(16)
  }
}

static rush_status read_indexed(rush_call *c, const indexed *x) {
  int64_t strides[RUSH_MAX_RANK];
  rush_tensor *out;
  RUSH_TRY(rush_result(c, 0, x->self.dtype, x->self.rank, x->self.sizes, &out));
  order_result(x, strides);
  memcpy(out->strides, strides, (size_t)out->rank * sizeof *strides);
  if (out->numel == 0) return RUSH_OK;
  const rush_tensor *operands[] = {out, &x->self, &x->places};
  size_t item = rush_itemsize(out);
  rush_iter it;
  rush_iter_init(&it, out->rank, out->sizes, 3, operands);
  do {
    const int64_t *step[] = {it.stride[0], it.stride[1], it.stride[2]};
    size_t some;
    for (int64_t k = 0; rush_next_piece(c->ctx, (size_t)it.size[0], 1, (size_t)k, &some);
         k += (int64_t)some)
      read_row(item, it.at[0] + k * *step[0], *step[0], it.at[1] + k * *step[1], *step[1],
               it.at[2] + k * *step[2], *step[2], (int64_t)some);
  } while (!c->ctx->stopped && rush_iter_next(&it));
  return RUSH_OK;
}

RUSH_OP(index) {
  indexed x;
  RUSH_TRY(open_index(c, &x, arg_tensor(c, 0), arg_list(c, 1)));
  return read_indexed(c, &x);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_indexed(rush_ctx *ctx, const indexed *x, const rush_tensor *values,
                          bool accumulate) {
  const rush_tensor *operands[] = {&x->self, values, &x->places};
  rush_combine how = accumulate ? RUSH_COMBINE_ADD : RUSH_COMBINE_SET;
  rush_dtype dtype = x->self.dtype;
  int64_t item = (int64_t)rush_itemsize(&x->self), at[BLOCK];
  rush_iter it;
  rush_iter_init(&it, x->self.rank, x->self.sizes, 3, operands);
  do {
    if (it.stride[2][0] == 0) { /* the whole line shares one offset */
      int64_t offset;
      memcpy(&offset, it.at[2], sizeof offset);
      if (rush_should_stop(ctx, 4)) return;
      if (rush_combine_line(ctx, how, dtype, it.at[0] + offset * item, it.stride[0][0], it.at[1],
                            it.stride[1][0], it.size[0]))
        continue;
    }
    for (int64_t done = 0; done < it.size[0]; done += BLOCK) {
      int64_t n = it.size[0] - done < BLOCK ? it.size[0] - done : BLOCK;
      if (rush_should_stop(ctx, 4 * (uint64_t)n)) return;
      const char *place = it.at[2] + done * it.stride[2][0];
      for (int64_t k = 0; k < n; k++) {
        int64_t offset;
        memcpy(&offset, place + k * it.stride[2][0], sizeof offset);
        at[k] = offset * item + k * it.stride[0][0];
      }
      rush_combine_row(how, dtype, it.at[0] + done * it.stride[0][0], at,
                       it.at[1] + done * it.stride[1][0], it.stride[1][0], n);
    }
  } while (rush_iter_next(&it));
}

static rush_status check_values(rush_call *c, const indexed *x, const rush_tensor *values) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  bool fits = values->rank <= x->self.rank;
  for (int k = 1; fits && k <= values->rank; k++) {
    int64_t have = values->sizes[values->rank - k];
    fits = have == 1 || have == x->self.sizes[x->self.rank - k];
  }
  RUSH_CHECK_ARG(
      fits,
      "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
      rush_shape_text(values->rank, values->sizes, a),
      rush_shape_text(x->self.rank, x->self.sizes, b));
  return RUSH_OK;
}

/* Returns the mask if PyTorch runs masked_fill_ instead: the only index is a mask, and there is a
 * single value. */
static const rush_tensor *fills_mask(const rush_list *list, const rush_tensor *values,
                                     bool accumulate) {
  const rush_tensor *mask = NULL;
  if (accumulate || values->numel != 1) return NULL;
  for (size_t k = 0; k < list->n; k++) {
    if (list->items[k].kind != RUSH_KIND_TENSOR) continue;
    const rush_tensor *index = rush_as_tensor(list->items + k);
    if (mask || (index->dtype != RUSH_BOOL && index->dtype != RUSH_UINT8)) return NULL;
    mask = index;
  }
  return mask;
}

/* Decides like PyTorch which operands may share memory with `out`. The indices have been read by
 * now, and overlapping values are copied here. */
static rush_status part_operands(rush_call *c, const rush_tensor *out, rush_value *list,
                                 rush_value *values, bool accumulate) {
  const rush_tensor *mask = fills_mask(rush_as_list(list), rush_as_tensor(values), accumulate);
  if (!mask) {
    RUSH_TRY(rush_check_no_overlap(c->ctx, out, rush_as_tensor(values)));
    RUSH_TRY(rush_overlap_copy(c, out, list));
  } else {
    RUSH_TRY(rush_check_no_partial_overlap(c->ctx, out, mask));
  }
  return rush_overlap_copy(c, out, values);
}

static rush_status put_values(rush_call *c, rush_tensor *out, bool accumulate) {
  indexed x;
  rush_value list = c->args[1], values = c->args[2];
  rush_tensor *alike;
  RUSH_TRY(open_index(c, &x, out, rush_as_list(&list)));
  RUSH_TRY(check_values(c, &x, rush_as_tensor(&values)));
  RUSH_TRY(part_operands(c, out, &list, &values, accumulate));
  RUSH_TRY(tmp_to(c, rush_as_tensor(&values), out->dtype, &alike));
  if (x.self.numel > 0) write_indexed(c->ctx, &x, alike, accumulate);
  return RUSH_OK;
}

/* Values of any dtype are accepted where PyTorch runs masked_fill_. */
static rush_status check_put(rush_call *c) {
  const rush_tensor *t = arg_tensor(c, 0), *values = arg_tensor(c, 2);
  RUSH_CHECK_ARG(
      t->dtype == values->dtype || fills_mask(arg_list(c, 1), values, arg_bool(c, 3)) != NULL,
      "Index put requires the source and destination dtypes match, got %s for the "
      "destination and %s for the "
      "source.",
      rush_dtype_torch_name(t->dtype), rush_dtype_torch_name(values->dtype));
  return RUSH_OK;
}

/* self, indices, values, accumulate */
RUSH_OP(index_put) {
  rush_tensor *out;
  RUSH_TRY(check_put(c));
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_LOOSE, &out));
  return put_values(c, out, arg_bool(c, 3));
}

/* _index_put_impl_ writes argument 0. */
RUSH_OP(index_put_self) {
  RUSH_TRY(check_put(c));
  RUSH_TRY(rush_check_weight(c->ctx, arg_tensor(c, 0)));
  RUSH_TRY(put_values(c, arg_tensor(c, 0), arg_bool(c, 3)));
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}
