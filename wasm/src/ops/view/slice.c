/* Views of a part along one dimension: select, slice, narrow, and the operators that split a tensor
 * into a list of views. */
#include "blocks/subtensor.h"
#include "call/define.h"

/* Returns `length` elements of dimension `dim`, starting at `start` with stride `step`. */
static rush_status part_of(rush_call *c, const rush_tensor *t, int dim, int64_t start,
                           int64_t length, int64_t step, rush_tensor **out) {
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK], stride;
  memcpy(sizes, t->sizes, (size_t)t->rank * sizeof *sizes);
  memcpy(strides, t->strides, (size_t)t->rank * sizeof *strides);
  sizes[dim] = length;
  if (rush_mul64(strides[dim], step, &stride)) strides[dim] = stride; /* on overflow, length <= 1 */
  return rush_tensor_new_view(c->heap, t, t->rank, sizes, strides,
                              t->offset + start * t->strides[dim], out);
}

static rush_status ret_part(rush_call *c, int dim, int64_t start, int64_t length, int64_t step) {
  rush_tensor *out;
  RUSH_TRY(part_of(c, arg_tensor(c, 0), dim, start, length, step, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

static rush_status ret_view_of(rush_call *c, const rush_tensor *part) {
  return rush_result_view(c, 0, part, part->rank, part->sizes, part->strides, part->offset);
}

RUSH_OP(select) {
  rush_tensor part;
  RUSH_TRY(rush_subtensor_select(c, 1, arg_tensor(c, 0), &part));
  return ret_view_of(c, &part);
}

RUSH_OP(slice) {
  rush_tensor part;
  RUSH_TRY(rush_subtensor_slice(c, 1, arg_tensor(c, 0), &part));
  return ret_view_of(c, &part);
}

static rush_status narrowed(rush_call *c, int64_t start) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t length = arg_int(c, 3);
  int dim;
  RUSH_CHECK_ARG(t->rank > 0, "narrow() cannot be applied to a 0-dim tensor.");
  RUSH_CHECK_ARG(length >= 0, "narrow(): length must be non-negative.");
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  int64_t size = t->sizes[dim];
  RUSH_CHECK_ARG(start >= -size && start <= size,
                 "start out of range (expected to be in range of [%lld, %lld], but got %lld)",
                 (long long)-size, (long long)size, (long long)start);
  if (start < 0) start += size;
  RUSH_CHECK_ARG(length <= size - start,
                 "start (%lld) + length (%lld) exceeds dimension size (%lld).", (long long)start,
                 (long long)length, (long long)size);
  return ret_part(c, dim, start, length, 1);
}

RUSH_OP(narrow) {
  return narrowed(c, arg_int(c, 2));
}

RUSH_OP(narrow_tensor) {
  const rush_tensor *start = arg_tensor(c, 2);
  RUSH_CHECK_ARG(start->rank == 0 && rush_is_int(start->dtype),
                 "start must be an 0-dim integral Tensor.");
  return narrowed(c, rush_load_int(start->dtype, rush_data(start)));
}

/* ---- Lists of views -------------------------------------------------------------------------- */

static rush_status begin_parts(rush_call *c) {
  return rush_new_list(c->heap, RUSH_KIND_LIST, c->result_types ? c->result_types[0] : RUSH_NONE,
                       NULL, 0, &c->results[0]);
}

/* Appends a tensor to the result and releases our reference. */
static rush_status push_part(rush_call *c, rush_tensor *t) {
  rush_status st = rush_list_push(c->heap, rush_as_list(&c->results[0]), rush_of_tensor(t));
  rush_tensor_drop(c->heap, t);
  return st;
}

static rush_status add_part(rush_call *c, int dim, int64_t start, int64_t length) {
  rush_tensor *t;
  RUSH_TRY(part_of(c, arg_tensor(c, 0), dim, start, length, 1, &t));
  return push_part(c, t);
}

static rush_status split_evenly(rush_call *c, int dim, int64_t step) {
  int64_t size = arg_tensor(c, 0)->sizes[dim];
  RUSH_TRY(begin_parts(c));
  int64_t at = 0;
  do {
    int64_t length = step < size - at ? step : size - at;
    RUSH_TRY(add_part(c, dim, at, length));
    at += length;
  } while (at < size);
  return RUSH_OK;
}

RUSH_OP(split) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t step = arg_int(c, 1);
  int dim;
  RUSH_CHECK_ARG(t->rank > 0, "split expects at least a 1-dimensional tensor");
  RUSH_CHECK_ARG(step >= 0, "split expects split_size be non-negative, but got split_size=%lld",
                 (long long)step);
  RUSH_TRY(arg_dim(c, 2, t->rank, &dim));
  RUSH_CHECK_ARG(step > 0 || t->sizes[dim] == 0,
                 "split_size can only be 0 if dimension size is 0, but got dimension size of %lld",
                 (long long)t->sizes[dim]);
  return split_evenly(c, dim, step);
}

RUSH_OP(split_with_sizes) {
  const rush_tensor *t = arg_tensor(c, 0);
  const rush_list *sizes = arg_list(c, 1);
  int dim;
  int64_t sum = 0;
  RUSH_CHECK_ARG(t->rank > 0, "split_with_sizes expects at least a 1-dimensional tensor");
  RUSH_TRY(arg_dim(c, 2, t->rank, &dim));
  for (size_t k = 0; k < sizes->n; k++) {
    int64_t size = sizes->items[k].u.i;
    RUSH_CHECK_ARG(
        size >= 0,
        "split_with_sizes expects split_sizes have only non-negative entries, but got %lld",
        (long long)size);
    RUSH_CHECK_ARG(rush_add64(sum, size, &sum), "split_with_sizes: the sizes are too large");
  }
  RUSH_CHECK_ARG(
      sum == t->sizes[dim],
      "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at "
      "dimension %d), but "
      "they sum to %lld",
      (long long)t->sizes[dim], dim, (long long)sum);
  RUSH_TRY(begin_parts(c));
  int64_t at = 0;
  for (size_t k = 0; k < sizes->n; k++) {
    RUSH_TRY(add_part(c, dim, at, sizes->items[k].u.i));
    at += sizes->items[k].u.i;
  }
  return RUSH_OK;
}

RUSH_OP(chunk) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t chunks = arg_int(c, 1);
  int dim;
  RUSH_CHECK_ARG(t->rank > 0, "chunk expects at least a 1-dimensional tensor");
  RUSH_CHECK_ARG(chunks > 0, "chunk expects `chunks` to be greater than 0, got: %lld",
                 (long long)chunks);
  RUSH_TRY(arg_dim(c, 2, t->rank, &dim));
  int64_t size = t->sizes[dim];
  if (size > 0) return split_evenly(c, dim, (size - 1) / chunks + 1);
  RUSH_TRY(begin_parts(c));
  for (int64_t k = 0; k < chunks; k++) RUSH_TRY(add_part(c, dim, 0, 0));
  return RUSH_OK;
}

static rush_status split_sections(rush_call *c, int dim, int64_t sections) {
  RUSH_CHECK_ARG(sections > 0, "number of sections must be larger than 0, got %lld",
                 (long long)sections);
  int64_t size = arg_tensor(c, 0)->sizes[dim], small = size / sections, larger = size % sections,
          at = 0;
  RUSH_TRY(begin_parts(c));
  for (int64_t k = 0; k < sections; k++) {
    int64_t length = small + (k < larger ? 1 : 0);
    RUSH_TRY(add_part(c, dim, at, length));
    at += length;
  }
  return RUSH_OK;
}

/* Adds one part of tensor_split with indices: self.slice(dim, from, to). */
static rush_status add_slice(rush_call *c, int dim, int64_t from, int64_t to) {
  int64_t size = arg_tensor(c, 0)->sizes[dim];
  from = rush_clamp_index(from, size);
  to = rush_clamp_index(to, size);
  return add_part(c, dim, from, to > from ? to - from : 0);
}

static rush_status split_at_list(rush_call *c, int dim, const rush_list *at) {
  RUSH_TRY(begin_parts(c));
  int64_t from = 0;
  for (size_t k = 0; k < at->n; k++) {
    RUSH_TRY(add_slice(c, dim, from, at->items[k].u.i));
    from = at->items[k].u.i;
  }
  return add_slice(c, dim, from, INT64_MAX);
}

static rush_status tensor_split_dim(rush_call *c, int *dim) {
  const rush_tensor *t = arg_tensor(c, 0);
  RUSH_CHECK_ARG(
      t->rank > 0,
      "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  return arg_dim(c, 2, t->rank, dim);
}

RUSH_OP(tensor_split_sections) {
  int dim;
  RUSH_TRY(tensor_split_dim(c, &dim));
  return split_sections(c, dim, arg_int(c, 1));
}

RUSH_OP(tensor_split_indices) {
  int dim;
  RUSH_TRY(tensor_split_dim(c, &dim));
  return split_at_list(c, dim, arg_list(c, 1));
}

RUSH_OP(tensor_split_tensor) {
  const rush_tensor *at = arg_tensor(c, 1);
  int dim;
  RUSH_CHECK_ARG(at->dtype == RUSH_INT64,
                 "tensor_split expected tensor_indices_or_sections to have dtype of long");
  RUSH_CHECK_ARG(at->rank <= 1,
                 "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                 "one-dimensional tensor, but "
                 "got a tensor with %d dims",
                 at->rank);
  RUSH_TRY(tensor_split_dim(c, &dim));
  const char *p = rush_data(at);
  if (at->rank == 0) return split_sections(c, dim, rush_load_int(RUSH_INT64, p));
  RUSH_TRY(begin_parts(c));
  int64_t from = 0;
  for (int64_t k = 0; k < at->numel; k++, p += at->strides[0] * 8) {
    int64_t to = rush_load_int(RUSH_INT64, p);
    RUSH_TRY(add_slice(c, dim, from, to));
    from = to;
  }
  return add_slice(c, dim, from, INT64_MAX);
}

/* hsplit, vsplit and dsplit: tensor_split along a fixed dimension into equal parts. */
static rush_status split_along(rush_call *c, const char *name, int rank, int dim) {
  const rush_tensor *t = arg_tensor(c, 0);
  RUSH_CHECK_ARG(
      t->rank >= rank,
      "torch.%s requires a tensor with at least %d dimension, but got a tensor with %d dimensions!",
      name, rank, t->rank);
  if (c->args[1].kind == RUSH_KIND_LIST) return split_at_list(c, dim, arg_list(c, 1));
  int64_t sections = arg_int(c, 1);
  RUSH_CHECK_ARG(
      sections > 0 && t->sizes[dim] % sections == 0,
      "torch.%s attempted to split along dimension %d, but the size of the dimension %lld is "
      "not divisible by "
      "the split_size %lld!",
      name, dim, (long long)t->sizes[dim], (long long)sections);
  return split_sections(c, dim, sections);
}

RUSH_OP(hsplit) {
  return split_along(c, "hsplit", 1, arg_tensor(c, 0)->rank == 1 ? 0 : 1);
}
RUSH_OP(vsplit) {
  return split_along(c, "vsplit", 2, 0);
}
RUSH_OP(dsplit) {
  return split_along(c, "dsplit", 3, 2);
}

RUSH_OP(unbind) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  int dim;
  RUSH_CHECK_ARG(t->rank > 0, "Dimension specified as %lld but tensor has no dimensions",
                 (long long)arg_int(c, 1));
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  for (int d = 0, k = 0; d < t->rank; d++)
    if (d != dim) sizes[k] = t->sizes[d], strides[k++] = t->strides[d];
  RUSH_TRY(begin_parts(c));
  for (int64_t k = 0; k < t->sizes[dim]; k++) {
    rush_tensor *view;
    RUSH_TRY(rush_tensor_new_view(c->heap, t, t->rank - 1, sizes, strides,
                                  t->offset + k * t->strides[dim], &view));
    RUSH_TRY(push_part(c, view));
  }
  return RUSH_OK;
}
