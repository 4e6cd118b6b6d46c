/* Operators that gather elements: index_select, gather, take and take_along_dim. */
#include "blocks/gather_scatter.h"
#include "blocks/shape.h"
#include "call/define.h"
#include "tensor/layout.h"

/* Gathers rows of a row-major tensor with one copy per index. */
enum { LONG = 1 << 8 /* bytes of a row */ };
static rush_status select_rows(rush_call *c, const rush_tensor *t, int dim,
                               const rush_tensor *index, rush_tensor *out) {
  int64_t outer = 1, size = t->rank > 0 ? t->sizes[dim] : 1, n = index->numel;
  for (int d = 0; d < dim; d++) outer *= t->sizes[d];
  size_t row = (size_t)(t->numel / (outer * size)) * rush_itemsize(t), slab = row * (size_t)size;
  int64_t step = index->rank > 0 ? index->strides[0] * (int64_t)rush_itemsize(index) : 0;
  const char *from = rush_data(t), *at = rush_data(index);
  char *to = rush_data(out);
  for (int64_t k = 0; k < n; k++, at += step, to += row) {
    int64_t i = rush_load_int(index->dtype, at);
    if (i < 0 || i >= size) return rush_fail_index(c->ctx, i, dim, size);
    for (int64_t o = 0; o < outer; o++) {
      char *into = to + (size_t)o * row * (size_t)n;
      const char *at_row = from + (size_t)o * slab + (size_t)i * row;
      RUSH_TRY(rush_charge(c->ctx, 4));
      if (row < LONG)
        memcpy(into, at_row, row);
      else
        RUSH_TRY(rush_copy_bytes(c->ctx, into, at_row, row));
    }
  }
  return RUSH_OK;
}

RUSH_OP(index_select) {
  const rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 2);
  int64_t sizes[RUSH_MAX_RANK];
  int dim;
  rush_tensor *out;
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  RUSH_CHECK_ARG(index->rank <= 1, "index_select(): Index is supposed to be a vector");
  RUSH_CHECK_ARG(index->dtype == RUSH_INT32 || index->dtype == RUSH_INT64,
                 "index_select(): Expected dtype int32 or int64 for index");
  RUSH_CHECK_ARG(t->rank > 0 || index->numel == 1,
                 "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                 (long long)index->numel);
  memcpy(sizes, t->sizes, sizeof sizes);
  if (t->rank > 0) sizes[dim] = index->numel;
  RUSH_TRY(rush_result(c, 0, t->dtype, t->rank, sizes, &out));
  if (t->numel > 0 && rush_is_contiguous(t)) return select_rows(c, t, dim, index, out);
  rush_tensor along = rush_index_along(index, out, dim);
  if (out->numel > 0) return rush_gather(c->ctx, out, t, dim, &along);
  return RUSH_OK;
}

/* Checks that index fits self in all dimensions except `dim`. A 0-d tensor counts as 1-d with one
 * element. */
static rush_status check_gather(rush_call *c, const rush_tensor *t, int dim,
                                const rush_tensor *index) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  int rank = t->rank > 0 ? t->rank : 1, index_rank = index->rank > 0 ? index->rank : 1;
  RUSH_CHECK_ARG(rank == index_rank,
                 "Index tensor must have the same number of dimensions as input tensor");
  for (int d = 0; d < t->rank && d < index->rank; d++) {
    RUSH_CHECK_ARG(
        d == dim || index->sizes[d] <= t->sizes[d],
        "Size does not match at dimension %d expected index %s to be no larger than self %s "
        "apart from dimension "
        "%d",
        d, rush_shape_text(index->rank, index->sizes, a), rush_shape_text(t->rank, t->sizes, b),
        dim);
  }
  return RUSH_OK;
}

RUSH_OP(gather) {
  const rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 2);
  int dim;
  rush_tensor *out;
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  if (index->numel > 0) {
    RUSH_CHECK_ARG(index->dtype == RUSH_INT64, "gather(): Expected dtype int64 for index");
    RUSH_TRY(check_gather(c, t, dim, index));
  }
  RUSH_TRY(rush_result(c, 0, t->dtype, index->rank, index->sizes, &out));
  return rush_gather(c->ctx, out, t, dim, index);
}

/* Returns t.view(-1) without a reference to the storage. */
static rush_status flat(rush_call *c, const rush_tensor *t, rush_tensor *row) {
  int64_t stride;
  RUSH_CHECK_ARG(rush_view_strides(t, 1, &t->numel, &stride),
                 "view size is not compatible with input tensor's size and stride (at least one "
                 "dimension spans across two "
                 "contiguous subspaces). Use .reshape(...) instead.");
  *row = *t;
  row->rank = 1;
  row->sizes[0] = t->numel;
  row->strides[0] = stride;
  return RUSH_OK;
}

/* Both tensors are flattened if dim is None. */
static rush_status take_along_flat(rush_call *c) {
  rush_tensor *out, self_row, index_row;
  RUSH_TRY(flat(c, arg_tensor(c, 0), &self_row));
  RUSH_TRY(flat(c, arg_tensor(c, 1), &index_row));
  RUSH_TRY(rush_result(c, 0, self_row.dtype, 1, index_row.sizes, &out));
  return rush_gather(c->ctx, out, &self_row, 0, &index_row);
}

/* Expands `t` to `sizes` in all dimensions except `dim`. */
static rush_status expanded_but(rush_call *c, const rush_tensor *t, const int64_t *sizes, int dim,
                                rush_tensor *view) {
  *view = *t;
  for (int d = 0; d < t->rank; d++) {
    if (d != dim && t->sizes[d] != sizes[d]) {
      view->strides[d] = 0;
      view->sizes[d] = sizes[d];
    }
  }
  RUSH_CHECK(c->ctx, rush_numel(view->rank, view->sizes, &view->numel), RUSH_ERR_NO_MEMORY,
             "out of memory: the dimensions to take along are too large");
  return RUSH_OK;
}

RUSH_OP(take_along_dim) {
  const rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 1);
  int64_t sizes[RUSH_MAX_RANK];
  int dim;
  RUSH_CHECK_ARG(index->dtype == RUSH_INT64,
                 "torch.take_along_dim(): dtype of indices should be Long but got %s",
                 rush_dtype_torch_name(index->dtype));
  if (arg_is_none(c, 2)) return take_along_flat(c);
  RUSH_CHECK_ARG(
      t->rank == index->rank,
      "torch.take_along_dim(): input and indices should have the same number of dimensions, "
      "but got %d dimensions "
      "for input, and %d dimensions for indices",
      t->rank, index->rank);
  RUSH_TRY(arg_dim(c, 2, t->rank, &dim));
  for (int d = 0; d < t->rank; d++) {
    int64_t m = t->sizes[d], n = index->sizes[d];
    RUSH_CHECK_ARG(
        d == dim || m == n || m == 1 || n == 1,
        "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
        "dimension %d",
        (long long)m, (long long)n, d);
    sizes[d] = d != dim && n == 1 ? m : n;
  }
  rush_tensor self_view, index_view, *out;
  RUSH_TRY(expanded_but(c, t, sizes, dim, &self_view));
  RUSH_TRY(expanded_but(c, index, sizes, dim, &index_view));
  RUSH_TRY(rush_result(c, 0, t->dtype, t->rank, sizes, &out));
  return rush_gather(c->ctx, out, &self_view, dim, &index_view);
}

/* ---- take and put: the tensor as a flat sequence, whatever its strides ----------------------- */

/* Returns the offset, in elements, of element i in row-major order. */
static int64_t place(const rush_tensor *t, int64_t i) {
  int64_t at = 0;
  for (int d = t->rank - 1; d >= 0; d--) {
    at += i % t->sizes[d] * t->strides[d];
    i /= t->sizes[d];
  }
  return at;
}

static rush_status linear(rush_call *c, const rush_tensor *t, int64_t *i) {
  RUSH_CHECK_ARG(*i >= -t->numel && *i < t->numel,
                 "out of range: tried to access index %lld on a tensor of %lld elements.",
                 (long long)*i, (long long)t->numel);
  if (*i < 0) *i += t->numel;
  return rush_charge(c->ctx, 8);
}

RUSH_OP(take) {
  const rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 1);
  rush_tensor *out;
  RUSH_CHECK_ARG(index->dtype == RUSH_INT64, "take(): Expected a long tensor for index, but got %s",
                 rush_dtype_torch_name(index->dtype));
  RUSH_CHECK_ARG(t->numel > 0 || index->numel == 0, "take(): tried to take from an empty tensor");
  RUSH_TRY(rush_result(c, 0, t->dtype, index->rank, index->sizes, &out));
  const rush_tensor *operands[] = {out, index};
  size_t item = rush_itemsize(t);
  rush_iter it;
  rush_iter_init(&it, out->rank, out->sizes, 2, operands);
  do {
    for (int64_t k = 0; k < it.size[0]; k++) {
      int64_t i = rush_load_int(RUSH_INT64, it.at[1] + k * it.stride[1][0]);
      RUSH_TRY(linear(c, t, &i));
      memcpy(it.at[0] + k * it.stride[0][0],
             (const char *)rush_data(t) + place(t, i) * (int64_t)item, item);
    }
  } while (rush_iter_next(&it));
  return RUSH_OK;
}

RUSH_OP(put) {
  const rush_tensor *index = arg_tensor(c, 1);
  rush_tensor *out, *kept, *source = arg_tensor(c, 2), *order;
  rush_combine how = arg_bool(c, 3) ? RUSH_COMBINE_ADD : RUSH_COMBINE_SET;
  RUSH_CHECK_ARG(index->dtype == RUSH_INT64, "put_(): Expected a long tensor for index, but got %s",
                 rush_dtype_torch_name(index->dtype));
  RUSH_CHECK_ARG(index->numel == source->numel,
                 "put_(): Expected source and index to have the same number of elements, but got "
                 "source.numel() = %lld, "
                 "index.numel() = %lld",
                 (long long)source->numel, (long long)index->numel);
  RUSH_CHECK_ARG(
      source->dtype == arg_tensor(c, 0)->dtype,
      "put_(): Expected self and source to have the same dtype, but got self.dtype = %s and "
      "source.dtype = %s",
      rush_dtype_torch_name(arg_tensor(c, 0)->dtype), rush_dtype_torch_name(source->dtype));
  RUSH_CHECK_ARG(index->numel == 0 || arg_tensor(c, 0)->numel > 0,
                 "put_(): Tried to put elements into an empty tensor");
  RUSH_TRY(tmp_contiguous(c, source, &kept));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 1), &order));
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_DENSE, &out));
  size_t item = rush_itemsize(kept);
  for (int64_t k = 0; k < order->numel; k++) {
    int64_t i = ((const int64_t *)rush_data(order))[k];
    RUSH_TRY(linear(c, out, &i));
    int64_t at = place(out, i) * (int64_t)item;
    rush_combine_row(how, out->dtype, rush_data(out), &at,
                     (const char *)rush_data(kept) + (size_t)k * item, 0, 1);
  }
  return RUSH_OK;
}
