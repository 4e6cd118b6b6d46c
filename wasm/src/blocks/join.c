#include "blocks/join.h"

#include "tensor/layout.h"

enum { PIECE = 1 << 16 }; /* bytes between two looks at the host's wish to stop */

/* Once an "empty tensor" was always of shape [0]; cat still ignores those. */
static bool is_skipped(const rush_tensor *t) {
  return t->rank == 1 && t->sizes[0] == 0;
}

static rush_status check_shapes(rush_ctx *ctx, size_t n, const rush_tensor *const *tensors,
                                const rush_tensor *first, int dim) {
  for (size_t k = 0; k < n; k++) {
    const rush_tensor *t = tensors[k];
    if (is_skipped(t)) continue;
    RUSH_CHECK(ctx, t->rank == first->rank, RUSH_ERR_BAD_ARGUMENT,
               "Tensors must have same number of dimensions: got %d and %d", first->rank, t->rank);
    for (int d = 0; d < t->rank; d++) {
      RUSH_CHECK(ctx, d == dim || t->sizes[d] == first->sizes[d], RUSH_ERR_BAD_ARGUMENT,
                 "Sizes of tensors must match except in dimension %d. Expected size %lld but got "
                 "size %lld for tensor "
                 "number %zu in the list.",
                 dim, (long long)first->sizes[d], (long long)t->sizes[d], k);
    }
  }
  return RUSH_OK;
}

static int common_format(size_t n, const rush_tensor *const *tensors) {
  int format = rush_suggest_format(tensors[0]);
  for (size_t k = 1; k < n; k++)
    if (rush_suggest_format(tensors[k]) != format) return RUSH_FORMAT_CONTIGUOUS;
  return format;
}

/* Rows that follow each other in every tensor: one memcpy for each piece. */
static rush_status copy_rows(rush_ctx *ctx, size_t n, const rush_tensor *const *tensors, int dim,
                             rush_tensor *out) {
  size_t item = rush_itemsize(out);
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < dim; d++) outer *= out->sizes[d];
  for (int d = dim + 1; d < out->rank; d++) inner *= out->sizes[d];
  char *to = rush_data(out);
  for (int64_t row = 0; row < outer; row++) {
    for (size_t k = 0; k < n; k++) {
      if (tensors[k]->numel == 0) continue;
      size_t bytes = (size_t)(tensors[k]->sizes[dim] * inner) * item;
      const char *from = (const char *)rush_data(tensors[k]) + (size_t)row * bytes;
      for (size_t done = 0; done < bytes; done += PIECE) {
        const size_t m = bytes - done < PIECE ? bytes - done : PIECE;
        RUSH_TRY(rush_work(ctx, m / 8 + 4));
        memcpy(to + done, from + done, m);
      }
      to += bytes;
    }
  }
  return RUSH_OK;
}

static rush_status copy_parts(rush_heap *heap, size_t n, const rush_tensor *const *tensors, int dim,
                              rush_tensor *out) {
  bool plain = rush_is_contiguous(out);
  for (size_t k = 0; k < n && plain; k++)
    plain = tensors[k]->dtype == out->dtype &&
            (tensors[k]->numel == 0 || rush_is_contiguous(tensors[k]));
  if (plain) return copy_rows(heap->ctx, n, tensors, dim, out);
  rush_tensor part = *out;
  for (size_t k = 0; k < n; k++) {
    if (is_skipped(tensors[k])) continue;
    part.sizes[dim] = tensors[k]->sizes[dim];
    part.numel = tensors[k]->numel;
    RUSH_TRY(rush_tensor_copy(heap, &part, tensors[k]));
    part.offset += part.sizes[dim] * part.strides[dim];
  }
  return RUSH_OK;
}

rush_status rush_cat(rush_heap *heap, size_t n, const rush_tensor *const *tensors, int64_t dim,
                     rush_dtype dtype, rush_tensor **out) {
  rush_ctx *ctx = heap->ctx;
  const rush_tensor *first = NULL;
  int64_t total = 0;
  *out = NULL;
  for (size_t k = 0; k < n; k++) {
    RUSH_CHECK(ctx, tensors[k]->rank > 0, RUSH_ERR_BAD_ARGUMENT,
               "zero-dimensional tensor (at position %zu) cannot be concatenated", k);
    if (first == NULL && !is_skipped(tensors[k])) first = tensors[k];
  }
  int64_t rank = first != NULL ? first->rank : 1;
  RUSH_CHECK(ctx, dim >= -rank && dim < rank, RUSH_ERR_BAD_ARGUMENT,
             "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
             (long long)-rank, (long long)(rank - 1), (long long)dim);
  if (dim < 0) dim += rank;
  if (first == NULL) return rush_tensor_new(heap, dtype, 1, &total, out);
  RUSH_TRY(check_shapes(ctx, n, tensors, first, (int)dim));
  int64_t sizes[RUSH_MAX_RANK];
  memcpy(sizes, first->sizes, (size_t)rank * sizeof *sizes);
  for (size_t k = 0; k < n; k++)
    if (!is_skipped(tensors[k]))
      RUSH_CHECK(ctx, rush_add64(total, tensors[k]->sizes[dim], &total), RUSH_ERR_NO_MEMORY,
                 "cat: too large");
  sizes[dim] = total;
  rush_tensor *joined;
  const int format = common_format(n, tensors);
  bool last = format != RUSH_FORMAT_CONTIGUOUS;
  for (size_t k = 0; k < n && !last; k++)
    last = rush_is_turned(tensors[k]) && rush_is_channels_last(tensors[k]);
  RUSH_TRY(rush_new_lying(heap, dtype, (int)rank, sizes, last, format, &joined));
  rush_status st = joined->numel > 0 ? copy_parts(heap, n, tensors, (int)dim, joined) : RUSH_OK;
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, joined);
    return st;
  }
  *out = joined;
  return RUSH_OK;
}
