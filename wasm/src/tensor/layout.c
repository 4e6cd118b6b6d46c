#include "tensor/layout.h"

#include "tensor/iter.h"

/* Follows c10's is_channels_last_strides_2d and _3d. `order` starts with the innermost
 * dimension. */
static bool looks_channels_last(const rush_tensor *t, const int *order) {
  int64_t least = 0;
  if (t->strides[1] == 0) return false;
  for (int k = 0; k < t->rank; k++) {
    int d = order[k];
    if (t->sizes[d] == 0 || t->strides[d] < least) return false;
    /* N111 may be contiguous or a slice of N11W. The strides are ambiguous, so it counts as
     * contiguous. */
    if (d == 0 && least == t->strides[1]) return false;
    least = t->strides[d];
    if (t->sizes[d] > 1 && !rush_mul64(least, t->sizes[d], &least)) return false;
  }
  return true;
}

int rush_suggest_format(const rush_tensor *tensor) {
  static const int order4[] = {1, 3, 2, 0}, order5[] = {1, 4, 3, 2, 0};
  const rush_tensor seen = rush_nominal_header(tensor), *t = &seen;
  if (t->rank == 4 && looks_channels_last(t, order4)) return RUSH_FORMAT_CHANNELS_LAST;
  if (t->rank == 5 && looks_channels_last(t, order5)) return RUSH_FORMAT_CHANNELS_LAST_3D;
  return RUSH_FORMAT_CONTIGUOUS;
}

bool rush_is_in_format(const rush_tensor *tensor, int64_t format) {
  const rush_tensor seen = rush_nominal_header(tensor), *t = &seen;
  if (format == RUSH_FORMAT_CHANNELS_LAST) return t->rank == 4 && rush_is_channels_last(t);
  if (format == RUSH_FORMAT_CHANNELS_LAST_3D) return t->rank == 5 && rush_is_channels_last(t);
  return rush_is_contiguous(t);
}

rush_status rush_new_in_layout(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                               bool last, int64_t format, rush_tensor **out) {
  int64_t strides[RUSH_MAX_RANK], nominal[RUSH_MAX_RANK];
  (last ? rush_strides_channels_last : rush_strides_contiguous)(rank, sizes, strides);
  (format == RUSH_FORMAT_CONTIGUOUS ? rush_strides_contiguous : rush_strides_channels_last)(
      rank, sizes, nominal);
  return rush_tensor_new_turned(heap, dtype, rank, sizes, strides, nominal, out);
}

rush_status rush_new_in_format(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                               int64_t format, rush_tensor **out) {
  *out = NULL;
  if (format == RUSH_FORMAT_CONTIGUOUS) return rush_tensor_new(heap, dtype, rank, sizes, out);
  int wanted = format == RUSH_FORMAT_CHANNELS_LAST ? 4 : 5;
  RUSH_CHECK(heap->ctx,
             format == RUSH_FORMAT_CHANNELS_LAST || format == RUSH_FORMAT_CHANNELS_LAST_3D,
             RUSH_ERR_BAD_ARGUMENT, "memory format %lld is not supported here", (long long)format);
  RUSH_CHECK(heap->ctx, rank == wanted, RUSH_ERR_BAD_ARGUMENT,
             "required rank %d tensor to use %s format", wanted,
             wanted == 4 ? "channels_last" : "channels_last_3d");
  return rush_tensor_new_channels_last(heap, dtype, rank, sizes, out);
}

rush_status rush_clone(rush_heap *heap, const rush_tensor *t, int64_t format, rush_tensor **out) {
  rush_dtype dtype = t->dtype;
  rush_tensor *copy;
  *out = NULL;
  if (format == RUSH_FORMAT_PRESERVE)
    RUSH_TRY(rush_tensor_new_like(heap, t, dtype, &copy));
  else
    RUSH_TRY(rush_new_in_format(heap, dtype, t->rank, t->sizes, format, &copy));
  rush_status st = rush_tensor_copy(heap, copy, t);
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, copy);
    return st;
  }
  *out = copy;
  return RUSH_OK;
}

rush_status rush_check_weight(rush_ctx *ctx, const rush_tensor *t) {
  RUSH_CHECK(ctx, !t->storage->borrowed || t->numel == 0, RUSH_ERR_UNSUPPORTED,
             "a weight of the model must not be written in place");
  return RUSH_OK;
}

rush_status rush_check_write(rush_ctx *ctx, const rush_tensor *t) {
  for (int d = 0; d < t->rank && t->numel > 0; d++) {
    RUSH_CHECK(
        ctx, t->strides[d] != 0 || t->sizes[d] <= 1, RUSH_ERR_BAD_ARGUMENT,
        "unsupported operation: more than one element of the written-to tensor refers to a single "
        "memory location. Please clone() the tensor before performing the operation.");
  }
  return rush_check_weight(ctx, t);
}

/* Detects ATen's MemOverlapStatus::Partial, for dense tensors only. */
static bool overlaps_partly(const rush_tensor *a, const rush_tensor *b) {
  if (a == b || !rush_may_overlap(a, b) || !rush_is_dense(a) || !rush_is_dense(b)) return false;
  return a->offset != b->offset || a->numel != b->numel || !rush_same_strides(a, b);
}

static rush_status overlap(rush_ctx *ctx) {
  return rush_fail(
      ctx, RUSH_ERR_BAD_ARGUMENT,
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to "
      "a "
      "single memory location. Please clone() the tensor before performing the operation.");
}

rush_status rush_check_no_overlap(rush_ctx *ctx, const rush_tensor *written,
                                  const rush_tensor *read) {
  bool shared = rush_may_overlap(written, read) && rush_is_dense(written) && rush_is_dense(read);
  return shared ? overlap(ctx) : RUSH_OK;
}

rush_status rush_check_no_partial_overlap(rush_ctx *ctx, const rush_tensor *written,
                                          const rush_tensor *read) {
  return overlaps_partly(written, read) ? overlap(ctx) : RUSH_OK;
}

rush_status rush_copy_into(rush_heap *heap, rush_tensor *dst, const rush_tensor *src) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  if (dst == src) return RUSH_OK;
  for (int k = 1; k <= dst->rank && k <= src->rank; k++) {
    int64_t m = dst->sizes[dst->rank - k], n = src->sizes[src->rank - k];
    RUSH_CHECK(heap->ctx, m == n || m == 1 || n == 1, RUSH_ERR_BAD_ARGUMENT,
               "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
               "non-singleton dimension %d",
               (long long)m, (long long)n, (dst->rank > src->rank ? dst->rank : src->rank) - k);
  }
  (void)rush_broadcast(dst->rank, dst->sizes, src->rank, src->sizes, &rank, sizes);
  bool fits = rank == dst->rank &&
              (rank == 0 || memcmp(sizes, dst->sizes, (size_t)rank * sizeof *sizes) == 0);
  RUSH_CHECK(heap->ctx, fits, RUSH_ERR_BAD_ARGUMENT,
             "output with shape %s doesn't match the broadcast shape %s",
             rush_shape_text(dst->rank, dst->sizes, a), rush_shape_text(rank, sizes, b));
  RUSH_TRY(rush_check_write(heap->ctx, dst));
  RUSH_TRY(rush_check_no_partial_overlap(heap->ctx, dst, src));
  return rush_tensor_copy(heap, dst, src);
}

static rush_status enlarge(rush_heap *heap, rush_storage *s, size_t bytes) {
  void *data;
  RUSH_TRY(rush_heap_alloc(heap, bytes, &data));
  rush_status st = rush_copy_bytes(heap->ctx, data, s->data, s->bytes);
  if (st == RUSH_OK) /* hides old contents of the block */
    st = rush_set_bytes(heap->ctx, (char *)data + s->bytes, 0, bytes - s->bytes);
  if (st != RUSH_OK) {
    rush_heap_free(heap, data);
    return st;
  }
  rush_heap_free(heap, s->data);
  s->data = data;
  s->bytes = bytes;
  return RUSH_OK;
}

rush_status rush_resize(rush_heap *heap, rush_tensor *t, int rank, const int64_t *sizes,
                        const int64_t *strides) {
  char text[RUSH_SHAPE_TEXT];
  int64_t numel, end, bytes;
  if (!strides && rank == t->rank && memcmp(sizes, t->sizes, (size_t)rank * sizeof *sizes) == 0)
    return RUSH_OK;
  RUSH_CHECK(heap->ctx, rank <= RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "a tensor must have at most %d dimensions, got %d", RUSH_MAX_RANK, rank);
  for (int d = 0; d < rank; d++)
    RUSH_CHECK(heap->ctx, sizes[d] >= 0, RUSH_ERR_BAD_ARGUMENT,
               "Trying to resize to negative dimension %lld: %s", (long long)sizes[d],
               rush_shape_text(rank, sizes, text));
  bool counted = rush_numel(rank, sizes, &numel) && rush_add64(t->offset, numel, &end) &&
                 rush_mul64(end, (int64_t)rush_itemsize(t), &bytes) && bytes <= PTRDIFF_MAX;
  RUSH_CHECK(heap->ctx, counted, RUSH_ERR_NO_MEMORY,
             "out of memory: a tensor of shape %s is too large for this machine",
             rush_shape_text(rank, sizes, text));
  rush_storage *s = t->storage;
  if (numel > 0 && (size_t)bytes > s->bytes) {
    RUSH_CHECK(heap->ctx, !s->borrowed, RUSH_ERR_UNSUPPORTED,
               "a weight of the model cannot be resized");
    RUSH_TRY(enlarge(heap, s, (size_t)bytes));
  }
  t->rank = (uint8_t)rank;
  t->numel = numel;
  for (int d = 0; d < rank; d++) t->sizes[d] = sizes[d];
  rush_strides_contiguous(rank, sizes, t->strides);
  if (strides) memcpy(t->strides, strides, (size_t)rank * sizeof *strides);
  return RUSH_OK;
}

const char *rush_dtype_torch_name(rush_dtype dtype) {
  static const char *const words[] = {"Byte",        "Char",         "Short",         "Int",
                                      "Long",        "Half",         "Float",         "Double",
                                      "ComplexHalf", "ComplexFloat", "ComplexDouble", "Bool",
                                      "QInt8",       "QUInt8",       "QInt32",        "BFloat16"};
  return (size_t)dtype < sizeof words / sizeof *words ? words[dtype] : "Undefined";
}
