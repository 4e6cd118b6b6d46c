/* Results, temporaries and copies on the device, and the rows that are only about memory. */
#include "blocks/shape.h"
#include "gpu/walk.h"
#include "tensor/layout.h"

bool rush_gpu_can_read(const rush_tensor *t) {
  return t->dtype == RUSH_FLOAT32 && t->numel < INT32_MAX &&
         t->storage->bytes / sizeof(float) < INT32_MAX &&
         (t->storage->on_device || t->storage->data);
}

bool rush_gpu_can_read_bytes(const rush_tensor *t) {
  return t->storage->bytes < INT32_MAX && (t->storage->on_device || t->storage->data);
}

bool rush_gpu_can_read_real(const rush_tensor *t) {
  return rush_gpu_can_read(t) || (t->dtype == RUSH_FLOAT16 && rush_gpu_can_read_bytes(t));
}

/* Returns whether no two elements are at one place. */
static bool is_apart(const rush_tensor *t) {
  int64_t reach = 1;
  int order[RUSH_MAX_RANK], n = 0;
  for (int d = 0; d < t->rank; d++) {
    if (t->sizes[d] == 1) continue;
    int k = n++;
    for (; k > 0 && t->strides[order[k - 1]] > t->strides[d]; k--) order[k] = order[k - 1];
    order[k] = d;
  }
  for (int k = 0; k < n; k++) {
    const int d = order[k];
    if (t->strides[d] < reach) return t->numel == 0;
    reach = t->strides[d] * (t->sizes[d] - 1) + reach;
  }
  return true;
}

bool rush_gpu_can_rearrange(const rush_tensor *t) {
  return rush_gpu_can_read(t) && t->rank <= RUSH_GPU_DIMS;
}

bool rush_gpu_is_writable(const rush_tensor *t) {
  return rush_gpu_can_read(t) && !t->storage->borrowed && !t->storage->growable &&
         !rush_is_turned(t) && is_apart(t) && t->rank <= RUSH_GPU_DIMS;
}

rush_status rush_gpu_result(rush_gpu *g, rush_call *c, int rank, const int64_t *sizes,
                            const int64_t *strides) {
  rush_tensor *t;
  RUSH_TRY(rush_gpu_tensor(g, c->heap, RUSH_FLOAT32, rank, sizes, strides, &t));
  ret_tensor(c, 0, t);
  return RUSH_OK;
}

rush_status rush_gpu_temporary(rush_gpu *g, rush_call *c, int rank, const int64_t *sizes,
                               rush_tensor **out) {
  RUSH_TRY(rush_gpu_tensor(g, c->heap, RUSH_FLOAT32, rank, sizes, NULL, out));
  tmp_take(c, *out);
  return RUSH_OK;
}

rush_status rush_gpu_row_major(rush_gpu *g, rush_call *c, rush_tensor *t, rush_tensor **out) {
  *out = t;
  if (rush_is_contiguous(t)) return RUSH_OK;
  RUSH_TRY(rush_gpu_temporary(g, c, t->rank, t->sizes, out));
  return rush_gpu_copy(g, c, *out, t);
}

/* Copies elements into a tensor of another storage. */
static rush_status copy_apart(rush_gpu *g, rush_call *c, rush_tensor *to, rush_tensor *from) {
  RUSH_TRY(rush_gpu_copy(g, c, to, from));
  rush_gpu_written(g, to->storage);
  return RUSH_OK;
}

rush_status rush_gpu_assign(rush_gpu *g, rush_call *c, rush_tensor *to, rush_tensor *from) {
  const bool whole = to->offset == 0 && (size_t)to->numel * sizeof(float) == to->storage->bytes &&
                     rush_same_strides(to, from) && from->offset == 0 && from->object.refs == 1 &&
                     from->storage->refs == 1 && from->storage->bytes == to->storage->bytes;
  if (!whole || !to->storage->on_device) return copy_apart(g, c, to, from);
  rush_gpu_move(g, to, from);
  return RUSH_OK;
}

/* ---- Rows that return a view, or a copy if that is impossible -------------------------------- */

/* Runs the row in memory, where it reads no elements of argument 0. */
static bool as_view(rush_call *c, rush_status *st) {
  *st = c->op->run(c);
  return true;
}

/* Does the same with a row-major copy of argument 0. */
static bool on_copy(rush_gpu *g, rush_call *c, rush_status *st) {
  rush_value args[4];
  rush_call sub = *c;
  rush_tensor *t;
  if (c->n_args > 4 || !rush_gpu_can_rearrange(arg_tensor(c, 0))) return false;
  *st = rush_gpu_row_major(g, c, arg_tensor(c, 0), &t);
  if (*st != RUSH_OK) return true;
  for (uint32_t k = 0; k < c->n_args; k++) args[k] = c->args[k];
  args[0] = rush_of_tensor(t);
  sub.args = args;
  sub.last_use = 0;
  *st = c->op->run(&sub);
  return true;
}

/* Computes the sizes of aten::flatten, which joins dimensions. */
static bool flat_sizes(rush_call *c, int *rank, int64_t *sizes) {
  const rush_tensor *t = arg_tensor(c, 0);
  int first, last;
  *rank = 0;
  if (t->rank == 0 || arg_dim(c, 1, t->rank, &first) != RUSH_OK ||
      arg_dim(c, 2, t->rank, &last) != RUSH_OK || first > last)
    return false;
  for (int d = 0; d < t->rank; d++) {
    if (d > first && d <= last)
      sizes[*rank - 1] *= t->sizes[d];
    else
      sizes[(*rank)++] = t->sizes[d];
  }
  return true;
}

/* Reads the sizes that a reshape asks for. */
static bool read_sizes(rush_call *c, const rush_gpu_row *row, int *rank, int64_t *sizes) {
  if (row->number == RUSH_GPU_FLATTENS) return flat_sizes(c, rank, sizes);
  if (c->args[1].kind == RUSH_KIND_TENSOR) {
    *rank = arg_tensor(c, 1)->rank;
    memcpy(sizes, arg_tensor(c, 1)->sizes, (size_t)*rank * sizeof *sizes);
    return true;
  }
  return arg_ints(c, 1, RUSH_MAX_RANK, sizes, rank) == RUSH_OK &&
         rush_infer_size(c->ctx, arg_tensor(c, 0)->numel, *rank, sizes, sizes) == RUSH_OK;
}

bool rush_gpu_reshape(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  int rank;
  if (!t->storage->on_device || rush_is_turned(t)) return false;
  if (rush_is_contiguous(t) || row->number == RUSH_GPU_VIEWS) return as_view(c, st);
  if (t->dtype != RUSH_FLOAT32 || !read_sizes(c, row, &rank, sizes)) return false;
  return rush_view_strides(t, rank, sizes, strides) ? as_view(c, st) : on_copy(g, c, st);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static bool copy_in_format(rush_gpu *g, rush_call *c, int64_t format, rush_status *st) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t strides[RUSH_MAX_RANK];
  if (rush_is_turned(t) || !rush_gpu_can_rearrange(t)) return false;
  if (format == RUSH_FORMAT_PRESERVE)
    rush_strides_of_copy(t, strides);
  else if (format == RUSH_FORMAT_CONTIGUOUS)
    rush_strides_contiguous(t->rank, t->sizes, strides);
  else
    return false;
  *st = rush_gpu_result(g, c, t->rank, t->sizes, strides);
  if (*st == RUSH_OK) *st = rush_gpu_copy(g, c, rush_as_tensor(c->results), t);
  return true;
}

bool rush_gpu_clone(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  (void)row;
  const bool given = c->n_args > 1 && !arg_is_none(c, 1);
  return copy_in_format(g, c, given ? arg_int(c, 1) : RUSH_FORMAT_PRESERVE, st);
}

bool rush_gpu_contiguous(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const int64_t format = arg_int(c, 1);
  (void)row;
  if (rush_is_turned(arg_tensor(c, 0)) || format == RUSH_FORMAT_PRESERVE) return false;
  if (rush_is_in_format(arg_tensor(c, 0), format)) return as_view(c, st);
  return copy_in_format(g, c, format, st);
}

/* Rows that return argument 0 itself. number: the argument that must be false. */
bool rush_gpu_same(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  (void)g;
  return !arg_bool(c, (uint32_t)row->number) && as_view(c, st);
}

/* Returns whether only the device has a tensor that it can make bool or float32. */
static bool can_cast(const rush_tensor *t, int64_t to) {
  if (!rush_gpu_only_there(t) || rush_is_turned(t)) return false;
  return t->dtype == RUSH_BOOL ? to == RUSH_FLOAT32 && rush_gpu_can_read_bytes(t)
                               : to == RUSH_BOOL && rush_gpu_can_read(t);
}

/* Rows that return float32 as it is, and bool as float32 or the reverse. number: the argument that
 * is a dtype, or 0 for type_as. The last argument is memory_format, and copy is before it; a row
 * with RUSH_GPU_NO_FORMAT has only copy. */
bool rush_gpu_to(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const bool has_format = !(row->number & RUSH_GPU_NO_FORMAT);
  const uint32_t dtype = (uint32_t)(row->number & ~RUSH_GPU_NO_FORMAT);
  const uint32_t copies = c->n_args - (has_format ? 2 : 1);
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t to = t->dtype;
  if (dtype == 0)
    to = arg_tensor(c, 1)->dtype;
  else if (!arg_is_none(c, dtype))
    to = arg_int(c, dtype);
  if (dtype > 0 && (arg_bool(c, copies) || (has_format && !arg_is_none(c, copies + 1))))
    return false;
  if (t->dtype == RUSH_FLOAT32 && to == RUSH_FLOAT32) return as_view(c, st);
  return can_cast(t, to) && rush_gpu_cast(g, c, t, st);
}

static bool broadcasts(const rush_tensor *to, const rush_tensor *from) {
  if (from->rank > to->rank) return false;
  for (int d = 0; d < from->rank; d++)
    if (from->sizes[d] != 1 && from->sizes[d] != to->sizes[to->rank - from->rank + d]) return false;
  return true;
}

bool rush_gpu_copy_into(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_tensor *to = arg_tensor(c, 0), *from = arg_tensor(c, 1);
  (void)row;
  if (from->storage == to->storage || !rush_gpu_is_writable(to) || !rush_gpu_can_read(from) ||
      rush_is_turned(from) || !broadcasts(to, from) || !rush_gpu_can_copy(to, from))
    return false;
  *st = to->numel > 0 ? copy_apart(g, c, to, from) : RUSH_OK;
  if (*st == RUSH_OK) ret_tensor(c, 0, rush_tensor_retain(to));
  return true;
}

/* ---- cat and stack --------------------------------------------------------------------------- */

/* Returns whether a kernel can copy the tensor into a result, and the result is row-major. */
static bool can_cat(const rush_tensor *t) {
  if (rush_is_turned(t)) return false;
  return rush_is_contiguous(t) ? rush_gpu_can_read(t)
                               : rush_gpu_can_rearrange(t) && t->numel > 0 &&
                                     rush_suggest_format(t) == RUSH_FORMAT_CONTIGUOUS;
}

/* Computes the sizes of cat's result. Returns false for whatever is not plain. */
static bool cat_sizes(rush_call *c, const rush_list *list, int *dim, int64_t *sizes) {
  if (list->n == 0 || list->items[0].kind != RUSH_KIND_TENSOR) return false;
  const rush_tensor *first = rush_as_tensor(list->items);
  if (first->rank == 0 || arg_dim(c, 1, first->rank, dim) != RUSH_OK) return false;
  memcpy(sizes, first->sizes, first->rank * sizeof *sizes);
  sizes[*dim] = 0;
  for (size_t k = 0; k < list->n; k++) {
    if (list->items[k].kind != RUSH_KIND_TENSOR) return false;
    const rush_tensor *t = rush_as_tensor(list->items + k);
    if (t->rank != first->rank || !can_cat(t)) return false;
    for (int d = 0; d < t->rank; d++)
      if (d != *dim && t->sizes[d] != first->sizes[d]) return false;
    sizes[*dim] += t->sizes[*dim];
  }
  return true;
}

static rush_status cat_parts(rush_gpu *g, rush_call *c, const rush_list *list, int dim) {
  rush_tensor *out = rush_as_tensor(c->results);
  int64_t at = 0;
  for (size_t k = 0; k < list->n; k++) {
    const rush_tensor *t = rush_as_tensor(list->items + k);
    rush_tensor part = *out;
    part.offset = at * out->strides[dim];
    part.sizes[dim] = t->sizes[dim];
    part.numel = t->numel;
    if (t->numel > 0) RUSH_TRY(rush_gpu_copy(g, c, &part, t));
    at += t->sizes[dim];
  }
  return RUSH_OK;
}

bool rush_gpu_cat(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_list *list = arg_list(c, 0);
  int64_t sizes[RUSH_MAX_RANK];
  int dim;
  (void)row;
  if (!cat_sizes(c, list, &dim, sizes)) return false;
  *st = rush_gpu_result(g, c, rush_as_tensor(list->items)->rank, sizes, NULL);
  if (*st == RUSH_OK) *st = cat_parts(g, c, list, dim);
  return true;
}

/* Computes the sizes of stack's result. Returns false for whatever is not plain. */
static bool stack_sizes(rush_call *c, const rush_list *list, int *dim, int64_t *sizes) {
  if (list->n == 0 || list->items[0].kind != RUSH_KIND_TENSOR) return false;
  const rush_tensor *first = rush_as_tensor(list->items);
  if (first->rank == RUSH_MAX_RANK || arg_dim(c, 1, first->rank + 1, dim) != RUSH_OK) return false;
  for (size_t k = 0; k < list->n; k++) {
    if (list->items[k].kind != RUSH_KIND_TENSOR) return false;
    const rush_tensor *t = rush_as_tensor(list->items + k);
    if (!can_cat(t) || !rush_same_sizes(t, first) || !rush_gpu_can_rearrange(t)) return false;
  }
  for (int d = 0; d <= first->rank; d++)
    sizes[d] = d == *dim ? (int64_t)list->n : first->sizes[d - (d > *dim)];
  return true;
}

static rush_status stack_parts(rush_gpu *g, rush_call *c, const rush_list *list, int dim) {
  const rush_tensor *out = rush_as_tensor(c->results);
  for (size_t k = 0; k < list->n; k++) {
    const rush_tensor *t = rush_as_tensor(list->items + k);
    rush_tensor part = *out;
    part.rank = t->rank;
    part.numel = t->numel;
    part.offset = (int64_t)k * out->strides[dim];
    for (int d = 0; d < t->rank; d++) {
      part.sizes[d] = t->sizes[d];
      part.strides[d] = out->strides[d + (d >= dim)];
    }
    if (t->numel > 0) RUSH_TRY(rush_gpu_copy(g, c, &part, t));
  }
  return RUSH_OK;
}

bool rush_gpu_stack(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_list *list = arg_list(c, 0);
  int64_t sizes[RUSH_MAX_RANK];
  int dim;
  (void)row;
  if (!stack_sizes(c, list, &dim, sizes)) return false;
  *st = rush_gpu_result(g, c, rush_as_tensor(list->items)->rank + 1, sizes, NULL);
  if (*st == RUSH_OK) *st = stack_parts(g, c, list, dim);
  return true;
}

/* ---- repeat ---------------------------------------------------------------------------------- */

/* Views of the input and the result, with two dimensions for one that is repeated: which copy, and
 * the place in it. */
typedef struct copies {
  rush_tensor from, to;
} copies;

static void add_dim(copies *v, int64_t from, int64_t stride, int64_t to, int64_t to_stride) {
  if (to == 1) return;
  const int d = v->to.rank++;
  v->from.rank = v->to.rank;
  v->from.sizes[d] = from, v->from.strides[d] = stride;
  v->to.sizes[d] = to, v->to.strides[d] = to_stride;
}

/* Computes the sizes of repeat's result. Returns false for whatever is not plain. */
static bool repeat_sizes(const rush_tensor *t, int n, const int64_t *repeats, int64_t *sizes) {
  int64_t numel;
  for (int d = 0; d < n; d++) {
    const int own = d - (n - t->rank);
    const int64_t size = own < 0 ? 1 : t->sizes[own];
    if (repeats[d] < 1 || repeats[d] > INT32_MAX / size) return false;
    sizes[d] = repeats[d] * size;
  }
  return rush_numel(n, sizes, &numel) && numel < INT32_MAX;
}

bool rush_gpu_repeat(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t repeats[RUSH_MAX_RANK], sizes[RUSH_MAX_RANK];
  int n;
  (void)row;
  if (!rush_gpu_only_there(t) || !rush_gpu_can_read(t) || rush_is_turned(t) || t->numel == 0 ||
      arg_ints(c, 1, RUSH_MAX_RANK, repeats, &n) != RUSH_OK || n < t->rank ||
      n + t->rank > RUSH_GPU_DIMS || !repeat_sizes(t, n, repeats, sizes))
    return false;
  *st = rush_gpu_result(g, c, n, sizes, NULL);
  if (*st != RUSH_OK) return true;
  const rush_tensor *out = rush_as_tensor(c->results);
  copies v = {*t, *out};
  v.from.rank = v.to.rank = 0;
  for (int d = 0; d < n; d++) {
    const int own = d - (n - t->rank);
    const int64_t size = own < 0 ? 1 : t->sizes[own];
    add_dim(&v, 1, 0, repeats[d], size * out->strides[d]);
    add_dim(&v, size, own < 0 ? 0 : t->strides[own], size, out->strides[d]);
  }
  *st = rush_gpu_copy(g, c, &v.to, &v.from);
  return true;
}
