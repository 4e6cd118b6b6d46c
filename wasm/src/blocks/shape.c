#include "blocks/shape.h"

#include "tensor/turned.h"

rush_status rush_infer_size(rush_ctx *ctx, int64_t numel, int rank, const int64_t *sizes,
                            int64_t *out) {
  char text[RUSH_SHAPE_TEXT];
  int unknown = -1;
  int64_t known = 1;
  bool fits = true;
  for (int d = 0; d < rank; d++) {
    if (sizes[d] == -1) {
      RUSH_CHECK(ctx, unknown < 0, RUSH_ERR_BAD_ARGUMENT, "only one dimension can be inferred");
      unknown = d;
    } else {
      RUSH_CHECK(ctx, sizes[d] >= 0, RUSH_ERR_BAD_ARGUMENT, "invalid shape dimension %lld",
                 (long long)sizes[d]);
      fits = rush_mul64(known, sizes[d], &known) && fits;
    }
  }
  fits = fits && (numel == known || (unknown >= 0 && known > 0 && numel % known == 0));
  RUSH_CHECK(ctx, fits, RUSH_ERR_BAD_ARGUMENT, "shape '%s' is invalid for input of size %lld",
             rush_shape_text(rank, sizes, text), (long long)numel);
  RUSH_CHECK(
      ctx, unknown < 0 || known != 0, RUSH_ERR_BAD_ARGUMENT,
      "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size "
      "-1 can be any value and is ambiguous",
      rush_shape_text(rank, sizes, text));
  for (int d = 0; d < rank; d++) out[d] = d == unknown ? numel / known : sizes[d];
  return RUSH_OK;
}

/* Computes the strides of an empty tensor: row-major, where a size of 0 counts as 1. */
static void empty_strides(int rank, const int64_t *sizes, int64_t *strides) {
  for (int d = rank - 1; d >= 0; d--)
    strides[d] = d == rank - 1 ? 1 : (sizes[d + 1] > 1 ? sizes[d + 1] : 1) * strides[d + 1];
}

bool rush_view_strides(const rush_tensor *t, int rank, const int64_t *sizes, int64_t *strides) {
  if (t->rank == 0) {
    for (int d = 0; d < rank; d++) strides[d] = 1;
    return true;
  }
  if (t->numel == 0) {
    if (rank == t->rank && memcmp(sizes, t->sizes, (size_t)rank * sizeof *sizes) == 0)
      memcpy(strides, t->strides, (size_t)rank * sizeof *strides);
    else
      empty_strides(rank, sizes, strides);
    return true;
  }
  int d = rank - 1;
  int64_t base = t->strides[t->rank - 1], chunk = 1, seen = 1;
  for (int k = t->rank - 1; k >= 0; k--) { /* chunks of contiguous dimensions */
    chunk *= t->sizes[k];
    if (k > 0 && (t->sizes[k - 1] == 1 || t->strides[k - 1] == chunk * base)) continue;
    for (; d >= 0 && (seen < chunk || sizes[d] == 1); d--) {
      strides[d] = seen * base;
      seen *= sizes[d];
    }
    if (seen != chunk) return false;
    if (k > 0) {
      base = t->strides[k - 1];
      chunk = seen = 1;
    }
  }
  return d < 0;
}

/* If a turned tensor's elements cannot be viewed with these sizes, they are first moved to
 * PyTorch's layout. */
rush_status rush_view(rush_heap *heap, const rush_tensor *t, int rank, const int64_t *sizes,
                      rush_tensor **out) {
  int64_t strides[RUSH_MAX_RANK], nominal[RUSH_MAX_RANK];
  const rush_tensor seen = rush_nominal_header(t);
  *out = NULL;
  if (!rush_view_strides(&seen, rank, sizes, nominal)) return RUSH_OK;
  if (!rush_view_strides(t, rank, sizes, strides)) {
    RUSH_TRY(rush_turn_back(heap, t->storage));
    memcpy(strides, nominal, sizeof strides);
  }
  RUSH_TRY(rush_tensor_new_view(heap, t, rank, sizes, strides, t->offset, out));
  if (rush_is_turned(t)) {
    memcpy((*out)->nominal, nominal, sizeof nominal);
    (*out)->nominal_offset = t->nominal_offset;
  }
  return RUSH_OK;
}

rush_status rush_reshape(rush_heap *heap, const rush_tensor *t, int rank, const int64_t *sizes,
                         rush_tensor **out) {
  int64_t strides[RUSH_MAX_RANK];
  RUSH_TRY(rush_view(heap, t, rank, sizes, out));
  if (*out) return RUSH_OK;
  rush_tensor *copy;
  RUSH_TRY(rush_tensor_new(heap, t->dtype, t->rank, t->sizes, &copy));
  rush_status st = rush_tensor_copy(heap, copy, t);
  if (st == RUSH_OK) {
    rush_strides_contiguous(rank, sizes, strides);
    st = rush_tensor_new_view(heap, copy, rank, sizes, strides, 0, out);
  }
  rush_tensor_drop(heap, copy);
  return st;
}

rush_status rush_expand(rush_heap *heap, const rush_tensor *t, int rank, const int64_t *sizes,
                        rush_tensor **out) {
  char want[RUSH_SHAPE_TEXT], have[RUSH_SHAPE_TEXT];
  int64_t full[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  *out = NULL;
  RUSH_CHECK(
      heap->ctx, rank >= t->rank, RUSH_ERR_BAD_ARGUMENT,
      "expand(size=%s): the number of sizes provided (%d) must be greater or equal to the number "
      "of dimensions in the tensor (%d)",
      rush_shape_text(rank, sizes, want), rank, t->rank);
  for (int d = rank - 1; d >= 0; d--) {
    int e = d - (rank - t->rank);
    int64_t size = e >= 0 ? t->sizes[e] : 1;
    strides[d] = e >= 0 ? t->strides[e] : d == rank - 1 ? 1 : full[d + 1] * strides[d + 1];
    full[d] = sizes[d];
    if (full[d] == -1) {
      RUSH_CHECK(heap->ctx, e >= 0, RUSH_ERR_BAD_ARGUMENT,
                 "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                 "dimension %d",
                 d);
      full[d] = size;
    }
    if (full[d] == size) continue;
    RUSH_CHECK(heap->ctx, size == 1, RUSH_ERR_BAD_ARGUMENT,
               "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
               "non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
               (long long)full[d], (long long)size, d, rush_shape_text(rank, sizes, want),
               rush_shape_text(t->rank, t->sizes, have));
    strides[d] = 0;
  }
  return rush_tensor_new_view(heap, t, rank, full, strides, t->offset, out);
}
