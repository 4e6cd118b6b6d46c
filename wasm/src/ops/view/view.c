/* view, reshape, flatten, unflatten and expand: views with another shape. */
#include "blocks/shape.h"
#include "call/define.h"
#include "tensor/layout.h"

static rush_status ret_view_as(rush_call *c, const rush_tensor *t, int rank, const int64_t *sizes) {
  int64_t full[RUSH_MAX_RANK];
  rush_tensor *out;
  RUSH_TRY(rush_infer_size(c->ctx, t->numel, rank, sizes, full));
  RUSH_TRY(rush_view(c->heap, t, rank, full, &out));
  RUSH_CHECK_ARG(
      out != NULL,
      "view size is not compatible with input tensor's size and stride (at least one dimension "
      "spans across two contiguous subspaces). Use .reshape(...) instead.");
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

static rush_status ret_reshaped(rush_call *c, const rush_tensor *t, int rank,
                                const int64_t *sizes) {
  int64_t full[RUSH_MAX_RANK];
  rush_tensor *out;
  RUSH_TRY(rush_infer_size(c->ctx, t->numel, rank, sizes, full));
  RUSH_TRY(rush_reshape(c->heap, t, rank, full, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

RUSH_OP(view) {
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, sizes, &rank));
  return ret_view_as(c, arg_tensor(c, 0), rank, sizes);
}

RUSH_OP(view_as) {
  const rush_tensor *other = arg_tensor(c, 1);
  return ret_view_as(c, arg_tensor(c, 0), other->rank, other->sizes);
}

RUSH_OP(reshape) {
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, sizes, &rank));
  return ret_reshaped(c, arg_tensor(c, 0), rank, sizes);
}

RUSH_OP(reshape_as) {
  const rush_tensor *other = arg_tensor(c, 1);
  return ret_reshaped(c, arg_tensor(c, 0), other->rank, other->sizes);
}

RUSH_OP(ravel) {
  const rush_tensor *t = arg_tensor(c, 0);
  if (rush_is_in_format(t, RUSH_FORMAT_CONTIGUOUS)) return ret_view_as(c, t, 1, &t->numel);
  rush_tensor *copy;
  RUSH_TRY(rush_clone(c->heap, t, RUSH_FORMAT_CONTIGUOUS, &copy));
  tmp_take(c, copy);
  return ret_view_as(c, copy, 1, &copy->numel);
}

RUSH_OP(flatten) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t sizes[RUSH_MAX_RANK];
  int start, end, rank = 0;
  RUSH_TRY(arg_dim(c, 1, t->rank, &start));
  RUSH_TRY(arg_dim(c, 2, t->rank, &end));
  RUSH_CHECK_ARG(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (t->rank > 0 && start == end) {
    ret_retained(c, 0, &c->args[0]);
    return RUSH_OK;
  }
  int64_t merged = 1;
  for (int d = start; d <= end && d < t->rank; d++) merged *= t->sizes[d];
  for (int d = 0; d < start; d++) sizes[rank++] = t->sizes[d];
  sizes[rank++] = merged;
  for (int d = end + 1; d < t->rank; d++) sizes[rank++] = t->sizes[d];
  return ret_reshaped(c, t, rank, sizes);
}

RUSH_OP(unflatten) {
  const rush_tensor *t = arg_tensor(c, 0);
  char text[RUSH_SHAPE_TEXT];
  int64_t parts[RUSH_MAX_RANK], sizes[RUSH_MAX_RANK], product = 1;
  int dim, n, rank = 0, unknown = -1;
  RUSH_TRY(arg_ints(c, 2, RUSH_MAX_RANK, parts, &n));
  RUSH_CHECK_ARG(n > 0, "unflatten: sizes must be non-empty");
  RUSH_CHECK_ARG(t->rank > 0, "Dimension specified as 0 but tensor has no dimensions");
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  RUSH_CHECK_ARG(t->rank - 1 + n <= RUSH_MAX_RANK,
                 "unflatten: the result must have at most %d dimensions", RUSH_MAX_RANK);
  for (int k = 0; k < n; k++) {
    RUSH_CHECK_ARG(parts[k] != -1 || unknown < 0, "only one dimension can be inferred");
    if (parts[k] == -1)
      unknown = k;
    else if (parts[k] < 0 || !rush_mul64(product, parts[k], &product))
      product = -1;
    if (product < 0) break;
  }
  int64_t size = t->sizes[dim];
  bool fits = product == size || (unknown >= 0 && product > 0 && size % product == 0);
  RUSH_CHECK_ARG(
      fits,
      "unflatten: Provided sizes %s don't multiply up to the size of dim %d (%lld) in the "
      "input tensor",
      rush_shape_text(n, parts, text), dim, (long long)size);
  RUSH_CHECK_ARG(
      unknown < 0 || product > 0,
      "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size "
      "-1 can be any value and is ambiguous",
      rush_shape_text(n, parts, text));
  if (unknown >= 0) parts[unknown] = size / product;
  for (int d = 0; d < dim; d++) sizes[rank++] = t->sizes[d];
  for (int k = 0; k < n; k++) sizes[rank++] = parts[k];
  for (int d = dim + 1; d < t->rank; d++) sizes[rank++] = t->sizes[d];
  return ret_view_as(c, t, rank, sizes);
}

static rush_status ret_expanded(rush_call *c, int rank, const int64_t *sizes) {
  rush_tensor *out;
  RUSH_TRY(rush_expand(c->heap, arg_tensor(c, 0), rank, sizes, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

RUSH_OP(expand) {
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, sizes, &rank));
  return ret_expanded(c, rank, sizes);
}

RUSH_OP(expand_as) {
  const rush_tensor *other = arg_tensor(c, 1);
  return ret_expanded(c, other->rank, other->sizes);
}

RUSH_OP(broadcast_tensors) {
  const rush_list *list = arg_list(c, 0);
  int64_t sizes[RUSH_MAX_RANK];
  int rank = 0;
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  for (size_t k = 0; k < list->n; k++) {
    const rush_tensor *t = rush_as_tensor(&list->items[k]);
    int64_t both[RUSH_MAX_RANK];
    int n;
    RUSH_CHECK_ARG(rush_broadcast(rank, sizes, t->rank, t->sizes, &n, both),
                   "The sizes %s and %s do not broadcast together", rush_shape_text(rank, sizes, a),
                   rush_shape_text(t->rank, t->sizes, b));
    rank = n;
    memcpy(sizes, both, sizeof sizes);
  }
  RUSH_TRY(rush_new_list(c->heap, RUSH_KIND_LIST, list->type, NULL, 0, &c->results[0]));
  for (size_t k = 0; k < list->n; k++) {
    rush_tensor *out;
    RUSH_TRY(rush_expand(c->heap, rush_as_tensor(&list->items[k]), rank, sizes, &out));
    tmp_take(c, out);
    RUSH_TRY(rush_list_push(c->heap, rush_as_list(&c->results[0]), rush_of_tensor(out)));
  }
  return RUSH_OK;
}

/* Makes each k elements one of a larger dtype. */
static rush_status divide_items(rush_call *c, const rush_tensor *t, rush_dtype dtype, int64_t k,
                                int64_t *sizes, int64_t *strides, int64_t *offset) {
  const int last = t->rank - 1;
  RUSH_CHECK_ARG(sizes[last] % k == 0,
                 "self.size(-1) must be divisible by %lld to view %s as %s, but got %lld",
                 (long long)k, rush_dtype_name(t->dtype), rush_dtype_name(dtype),
                 (long long)sizes[last]);
  RUSH_CHECK_ARG(*offset % k == 0, "self.storage_offset() must be divisible by %lld, but got %lld",
                 (long long)k, (long long)*offset);
  for (int d = 0; d < last; d++) {
    RUSH_CHECK_ARG(strides[d] % k == 0, "self.stride(%d) must be divisible by %lld, but got %lld",
                   d, (long long)k, (long long)strides[d]);
    strides[d] /= k;
  }
  sizes[last] /= k, strides[last] = 1, *offset /= k;
  return RUSH_OK;
}

/* view(dtype) reinterprets the bytes as another dtype. */
RUSH_OP(view_dtype) {
  const rush_tensor *t = arg_tensor(c, 0);
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 1, t->dtype, &dtype));
  int64_t old = (int64_t)rush_itemsize(t), new = (int64_t)rush_dtype_size(dtype),
          offset = t->offset;
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  for (int d = 0; d < t->rank; d++) sizes[d] = t->sizes[d], strides[d] = t->strides[d];
  int last = t->rank - 1;
  if (old != new) {
    RUSH_CHECK_ARG(t->rank > 0, "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                   rush_dtype_name(t->dtype), rush_dtype_name(dtype));
    RUSH_CHECK_ARG(
        strides[last] == 1 || sizes[last] == 1,
        "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %lld",
        rush_dtype_name(t->dtype), rush_dtype_name(dtype), (long long)strides[last]);
  }
  if (old > new) {
    int64_t k = old / new;
    for (int d = 0; d < last; d++) strides[d] *= k;
    sizes[last] *= k, strides[last] = 1, offset *= k;
  } else if (old < new) {
    RUSH_TRY(divide_items(c, t, dtype, new / old, sizes, strides, &offset));
  }
  rush_tensor *base, *view; /* a base with the new item size, for the bounds check */
  RUSH_TRY(tmp_view(c, t, 1, (int64_t[]){0}, (int64_t[]){1}, 0, &base));
  base->dtype = dtype;
  RUSH_TRY(rush_tensor_new_view(c->heap, base, t->rank, sizes, strides, offset, &view));
  ret_tensor(c, 0, view);
  return RUSH_OK;
}
