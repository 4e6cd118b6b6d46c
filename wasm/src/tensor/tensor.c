#include "tensor/tensor.h"

#include <stdio.h>

/* ---- Shapes ---------------------------------------------------------------------------------- */

rush_tensor rush_complex_part(const rush_tensor *t, int which) {
  rush_tensor part = *t;
  part.dtype = rush_real_dtype(t->dtype);
  part.offset = 2 * t->offset + which;
  for (int d = 0; d < t->rank; d++) part.strides[d] = rush_clamped_stride(2 * t->strides[d]);
  return part;
}

bool rush_numel(int rank, const int64_t *sizes, int64_t *out) {
  int64_t n = 1;
  bool empty = false;
  for (int d = 0; d < rank; d++) {
    if (sizes[d] < 0 || !rush_mul64(n, sizes[d] > 0 ? sizes[d] : 1, &n)) return false;
    empty |= sizes[d] == 0;
  }
  *out = empty ? 0 : n;
  /* Operators walk the outer dimensions of an empty tensor, too, and make room for what they find
   * there. */
  return n <= (empty ? 1 << 28 : RUSH_MAX_NUMEL);
}

/* Strides are products that may wrap: sizes that are too many for a tensor are refused only after
 * their strides are known. */
static int64_t wrapping_product(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

void rush_strides_contiguous(int rank, const int64_t *sizes, int64_t *strides) {
  int64_t step = 1;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = step;
    step = wrapping_product(step, sizes[d] > 1 ? sizes[d] : 1);
  }
}

/* Dense, with dimension order[0] the innermost. */
static void strides_in_order(int rank, const int64_t *sizes, const int *order, int64_t *strides) {
  int64_t step = 1;
  for (int k = 0; k < rank; k++) {
    strides[order[k]] = step;
    step = wrapping_product(step, sizes[order[k]] > 1 ? sizes[order[k]] : 1);
  }
}

/* Returns whether dimension a is outside of b (1) or inside of b (-1); 0 if no operand decides
 * it. */
static int compare_dims(int rank, const int64_t *sizes, int n, const rush_tensor *const *like,
                        int a, int b) {
  for (int k = 0; k < n; k++) {
    const rush_tensor *t = like[k];
    if (!t) continue;
    int lack = rank - t->rank;
    if (a < lack || b < lack) continue;
    int64_t sa = t->sizes[a - lack] == sizes[a] ? t->strides[a - lack] : 0;
    int64_t sb = t->sizes[b - lack] == sizes[b] ? t->strides[b - lack] : 0;
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

/* TensorIterator::reorder_dimensions: from the innermost. */
static void order_like(int rank, const int64_t *sizes, int n, const rush_tensor *const *like,
                       int *order) {
  for (int d = 0; d < rank; d++) order[d] = rank - 1 - d;
  for (int i = 1; i < rank; i++) {
    for (int j = i - 1, at = i; j >= 0; j--) {
      int cmp = compare_dims(rank, sizes, n, like, order[j], order[at]);
      if (cmp < 0) break;
      if (cmp == 0) continue;
      int swap = order[j];
      order[j] = order[at];
      order[at] = swap;
      at = j;
    }
  }
}

void rush_strides_like(int rank, const int64_t *sizes, int n, const rush_tensor *const *like,
                       int64_t *strides) {
  int order[RUSH_MAX_RANK];
  order_like(rank, sizes, n, like, order);
  strides_in_order(rank, sizes, order, strides);
}

const char *rush_shape_text(int rank, const int64_t *sizes, char *buffer) {
  size_t at = 0;
  buffer[at++] = '[';
  for (int d = 0; d < rank && at < RUSH_SHAPE_TEXT - 24; d++) {
    at += (size_t)snprintf(buffer + at, RUSH_SHAPE_TEXT - at, "%s%lld", d ? ", " : "",
                           (long long)sizes[d]);
  }
  buffer[at++] = ']';
  buffer[at] = '\0';
  return buffer;
}

/* Returns whether the strides are those of a dense tensor whose dimensions, from the innermost, are
 * order[0], order[1], ... */
static bool dense_in_order(const rush_tensor *t, const int *order) {
  int64_t step = 1;
  for (int k = 0; k < t->rank; k++) {
    int d = order[k];
    if (t->sizes[d] == 1) continue;
    if (t->strides[d] != step) return false;
    step *= t->sizes[d];
  }
  return true;
}

bool rush_is_contiguous(const rush_tensor *t) {
  if (t->numel == 0) return true;
  int64_t step = 1;
  for (int d = t->rank - 1; d >= 0; d--) {
    if (t->sizes[d] == 1) continue;
    if (t->strides[d] != step) return false;
    step *= t->sizes[d];
  }
  return true;
}

bool rush_is_plainly_contiguous(const rush_tensor *t) {
  int64_t step = 1;
  for (int d = t->rank - 1; d >= 0; d--) {
    if (t->strides[d] != step) return false;
    step *= t->sizes[d] > 1 ? t->sizes[d] : 1;
  }
  return true;
}

/* From the innermost: channels, then the spatial dimensions from the last, then the batch. */
static void channels_last_order(int rank, int *order) {
  order[0] = 1;
  for (int k = 1; k < rank - 1; k++) order[k] = rank - k;
  order[rank - 1] = 0;
}

void rush_strides_channels_last(int rank, const int64_t *sizes, int64_t *strides) {
  int order[RUSH_MAX_RANK];
  channels_last_order(rank, order);
  strides_in_order(rank, sizes, order, strides);
}

bool rush_is_channels_last(const rush_tensor *t) {
  if (t->rank < 3 || t->rank > 5) return false;
  int order[RUSH_MAX_RANK];
  channels_last_order(t->rank, order);
  return dense_in_order(t, order);
}

bool rush_is_dense(const rush_tensor *t) {
  if (t->numel <= 1) return true;
  /* Sort the dimensions that matter by stride; they must then follow each other without gaps. */
  int order[RUSH_MAX_RANK], n = 0;
  for (int d = 0; d < t->rank; d++) {
    if (t->sizes[d] == 1) continue;
    int k = n++;
    for (; k > 0 && t->strides[order[k - 1]] > t->strides[d]; k--) order[k] = order[k - 1];
    order[k] = d;
  }
  int64_t step = 1;
  for (int k = 0; k < n; k++) {
    if (t->strides[order[k]] != step) return false;
    step *= t->sizes[order[k]];
  }
  return true;
}

bool rush_same_sizes(const rush_tensor *a, const rush_tensor *b) {
  return a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0);
}

bool rush_same_strides(const rush_tensor *a, const rush_tensor *b) {
  if (!rush_same_sizes(a, b)) return false;
  for (int d = 0; d < a->rank; d++) {
    if (a->sizes[d] != 1 && a->strides[d] != b->strides[d]) return false;
  }
  return true;
}

/* TensorIterator::compute_fast_setup_type, for operands of one size: what the result is like. */
static bool one_layout(int n, const rush_tensor *const *operands, int rank, const int64_t *sizes,
                       int64_t *strides) {
  bool contiguous = true, channels_last = rank == 4, dense = true, alike = true;
  const rush_tensor *last = operands[n - 1];
  for (int k = 0; k < n; k++) {
    const rush_tensor *t = operands[k];
    if (!t || t->rank != rank || !rush_same_sizes(t, last)) return false;
    contiguous = contiguous && rush_is_contiguous(t);
    channels_last = channels_last && rush_is_channels_last(t);
    dense = dense && rush_is_dense(t);
    alike = alike && memcmp(t->strides, last->strides, (size_t)rank * sizeof *strides) == 0;
  }
  if (contiguous)
    rush_strides_contiguous(rank, sizes, strides);
  else if (channels_last)
    rush_strides_channels_last(rank, sizes, strides);
  else if (dense && alike)
    memcpy(strides, last->strides, (size_t)rank * sizeof *strides);
  return contiguous || channels_last || (dense && alike);
}

void rush_strides_of_result(int rank, const int64_t *sizes, int n,
                            const rush_tensor *const *operands, int64_t *strides) {
  if (n > 0 && operands[n - 1] && one_layout(n, operands, rank, sizes, strides)) return;
  int order[RUSH_MAX_RANK];
  bool inverted = true;
  order_like(rank, sizes, n, operands, order);
  for (int d = 0; d < rank; d++) inverted = inverted && order[d] == rank - 1 - d;
  if (inverted) {
    rush_strides_contiguous(rank, sizes, strides);
    return;
  }
  int64_t step = 1; /* 0 behind a dimension of size 0, as PyTorch has it */
  for (int k = 0; k < rank; k++) {
    strides[order[k]] = step;
    step = wrapping_product(step, sizes[order[k]]);
  }
}

/* Elements from the first to the last that the tensor reaches, at least 1 where it has any. */
static bool reach(int rank, const int64_t *sizes, const int64_t *strides, int64_t *out) {
  int64_t last = 0, far;
  for (int d = 0; d < rank; d++) {
    if (sizes[d] == 0) {
      *out = 0;
      return true;
    }
    if (strides[d] < 0 || !rush_mul64(sizes[d] - 1, strides[d], &far) ||
        !rush_add64(last, far, &last))
      return false;
  }
  return rush_add64(last, 1, out);
}

bool rush_may_overlap(const rush_tensor *a, const rush_tensor *b) {
  if (a->storage != b->storage || a->numel == 0 || b->numel == 0) return false;
  int64_t na, nb;
  if (!reach(a->rank, a->sizes, a->strides, &na) || !reach(b->rank, b->sizes, b->strides, &nb))
    return true;
  int64_t ia = (int64_t)rush_itemsize(a), ib = (int64_t)rush_itemsize(b);
  return a->offset * ia < (b->offset + nb) * ib && b->offset * ib < (a->offset + na) * ia;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static rush_status new_storage(rush_heap *heap, size_t bytes, rush_storage **out) {
  rush_storage *s;
  void *data;
  RUSH_TRY(rush_heap_alloc(heap, sizeof *s, (void **)&s));
  rush_status st = rush_heap_alloc(heap, bytes, &data);
  if (st != RUSH_OK) {
    rush_heap_free(heap, s);
    return st;
  }
  *s = (rush_storage){.refs = 1, .bytes = bytes, .data = data};
  *out = s;
  return RUSH_OK;
}

static rush_status new_header(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                              rush_tensor **out) {
  char text[RUSH_SHAPE_TEXT];
  int64_t numel;
  size_t bytes;
  *out = NULL;
  RUSH_CHECK(heap->ctx, rank <= RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "a tensor must have at most %d dimensions, got %d", RUSH_MAX_RANK, rank);
  for (int d = 0; d < rank; d++) {
    RUSH_CHECK(heap->ctx, sizes[d] >= 0, RUSH_ERR_BAD_ARGUMENT,
               "Trying to create tensor with negative dimension %lld: %s", (long long)sizes[d],
               rush_shape_text(rank, sizes, text));
  }
  RUSH_CHECK(heap->ctx,
             rush_numel(rank, sizes, &numel) &&
                 rush_mul((size_t)numel, rush_dtype_size(dtype), &bytes) && bytes <= PTRDIFF_MAX,
             RUSH_ERR_NO_MEMORY,
             "out of memory: a tensor of shape %s is too large for this machine",
             rush_shape_text(rank, sizes, text));
  rush_tensor *t;
  RUSH_TRY(rush_heap_alloc(heap, sizeof *t, (void **)&t));
  t->object = (rush_object){RUSH_KIND_TENSOR, 1};
  t->dtype = dtype;
  if (RUSH_UNLIKELY(rush_is_one_of(dtype, RUSH_RARE))) heap->rare = true;
  t->rank = (uint8_t)rank;
  t->number = 0;
  t->offset = 0;
  t->numel = numel;
  t->storage = NULL;
  for (int d = 0; d < rank; d++) t->sizes[d] = sizes[d];
  *out = t;
  return RUSH_OK;
}

static rush_status attach_storage(rush_heap *heap, rush_tensor *t, rush_tensor **out) {
  rush_status st = new_storage(heap, (size_t)t->numel * rush_itemsize(t), &t->storage);
  if (st != RUSH_OK) {
    rush_heap_free(heap, t);
    return st;
  }
  *out = t;
  return RUSH_OK;
}

rush_status rush_tensor_new(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                            rush_tensor **out) {
  rush_tensor *t;
  *out = NULL;
  RUSH_TRY(new_header(heap, dtype, rank, sizes, &t));
  rush_strides_contiguous(rank, sizes, t->strides);
  return attach_storage(heap, t, out);
}

rush_status rush_tensor_new_checked(rush_heap *heap, rush_dtype dtype, int rank,
                                    const int64_t *sizes, rush_tensor **out) {
  *out = NULL;
  RUSH_CHECK(heap->ctx, rush_dtype_known((int)dtype), RUSH_ERR_UNSUPPORTED,
             "this runtime does not have dtype %s", rush_dtype_name(dtype));
  return rush_tensor_new(heap, dtype, rank, sizes, out);
}

rush_status rush_tensor_new_channels_last(rush_heap *heap, rush_dtype dtype, int rank,
                                          const int64_t *sizes, rush_tensor **out) {
  rush_tensor *t;
  *out = NULL;
  RUSH_TRY(new_header(heap, dtype, rank, sizes, &t));
  rush_strides_channels_last(rank, sizes, t->strides);
  return attach_storage(heap, t, out);
}

void rush_strides_of_copy(const rush_tensor *like, int64_t *strides) {
  if (rush_is_dense(like))
    memcpy(strides, like->strides, like->rank * sizeof *strides);
  else
    rush_strides_like(like->rank, like->sizes, 1, &like, strides);
}

rush_status rush_tensor_new_view(rush_heap *heap, const rush_tensor *base, int rank,
                                 const int64_t *sizes, const int64_t *strides, int64_t offset,
                                 rush_tensor **out) {
  rush_tensor *t;
  int64_t span, end, bytes;
  *out = NULL;
  RUSH_TRY(new_header(heap, base->dtype, rank, sizes, &t));
  bool inside = offset >= 0 && reach(rank, sizes, strides, &span) &&
                rush_add64(offset, span, &end) &&
                rush_mul64(end, (int64_t)rush_itemsize(base), &bytes) &&
                (uint64_t)bytes <= (span > 0 ? base->storage->bytes : (uint64_t)1 << 48);
  if (!inside) {
    rush_heap_free(heap, t);
    char text[RUSH_SHAPE_TEXT];
    return rush_fail(heap->ctx, RUSH_ERR_BAD_ARGUMENT,
                     "a view of shape %s at offset %lld reaches outside its storage of %zu bytes",
                     rush_shape_text(rank, sizes, text), (long long)offset, base->storage->bytes);
  }
  for (int d = 0; d < rank; d++) t->strides[d] = rush_clamped_stride(strides[d]);
  t->offset = offset;
  t->storage = base->storage;
  t->storage->refs++;
  if (rush_is_turned(t)) {
    memcpy(t->nominal, t->strides, sizeof t->nominal);
    t->nominal_offset = offset;
    rush_turned_join(t);
  }
  *out = t;
  return RUSH_OK;
}
