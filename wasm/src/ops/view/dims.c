/* Views that add, remove or reorder dimensions, and the in-place forms that change a tensor's own
 * shape (transpose_, squeeze_, ...). */
#include "blocks/subtensor.h"
#include "call/define.h"

typedef struct shape {
  int rank;
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK], offset;
} shape;

static shape shape_of(const rush_tensor *t) {
  shape s = {.rank = t->rank, .offset = t->offset};
  memcpy(s.sizes, t->sizes, (size_t)t->rank * sizeof *s.sizes);
  memcpy(s.strides, t->strides, (size_t)t->rank * sizeof *s.strides);
  return s;
}

static rush_status ret_shape(rush_call *c, const shape *s) {
  return rush_result_view(c, 0, arg_tensor(c, 0), s->rank, s->sizes, s->strides, s->offset);
}

/* Changes the shape of the tensor itself. All aliases of this tensor see the change, but other
 * views of its storage do not. */
static rush_status ret_reshaped_self(rush_call *c, const shape *s) {
  rush_tensor *t = arg_tensor(c, 0);
  t->rank = (uint8_t)s->rank;
  memcpy(t->sizes, s->sizes, (size_t)s->rank * sizeof *s->sizes);
  memcpy(t->strides, s->strides, (size_t)s->rank * sizeof *s->strides);
  t->offset = s->offset;
  t->numel = 1;
  for (int d = 0; d < s->rank; d++) t->numel *= s->sizes[d];
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

static void insert_dim(shape *s, int at, int64_t size, int64_t stride) {
  for (int d = s->rank++; d > at; d--)
    s->sizes[d] = s->sizes[d - 1], s->strides[d] = s->strides[d - 1];
  s->sizes[at] = size;
  s->strides[at] = stride;
}

static void swap_dims(shape *s, int a, int b) {
  if (s->rank == 0) return;
  int64_t size = s->sizes[a], stride = s->strides[a];
  s->sizes[a] = s->sizes[b], s->strides[a] = s->strides[b];
  s->sizes[b] = size, s->strides[b] = stride;
}

/* Returns a view whose dimension k is dimension order[k] of the tensor. */
static rush_status ret_order(rush_call *c, const int *order) {
  const rush_tensor *t = arg_tensor(c, 0);
  shape s = shape_of(t);
  for (int d = 0; d < t->rank; d++)
    s.sizes[d] = t->sizes[order[d]], s.strides[d] = t->strides[order[d]];
  return ret_shape(c, &s);
}

RUSH_OP(permute) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t dims[2 * RUSH_MAX_RANK];
  int n, order[RUSH_MAX_RANK];
  uint32_t seen = 0;
  RUSH_TRY(arg_ints(c, 1, 2 * RUSH_MAX_RANK, dims, &n));
  RUSH_CHECK_ARG(
      n == t->rank,
      "permute(sparse_coo): number of dimensions in the tensor input does not match the "
      "length of the "
      "desired ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
      t->rank, n);
  for (int k = 0; k < n; k++) {
    RUSH_CHECK_ARG(dims[k] >= -n && dims[k] < n,
                   "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -n,
                   n - 1, (long long)dims[k]);
    order[k] = (int)(dims[k] < 0 ? dims[k] + n : dims[k]);
    RUSH_CHECK_ARG((seen >> order[k] & 1) == 0, "permute(): duplicate dims are not allowed.");
    seen |= 1u << order[k];
  }
  return ret_order(c, order);
}

static rush_status transposed(rush_call *c, shape *s) {
  int a, b;
  *s = shape_of(arg_tensor(c, 0));
  RUSH_TRY(arg_dim(c, 1, s->rank, &a));
  RUSH_TRY(arg_dim(c, 2, s->rank, &b));
  swap_dims(s, a, b);
  return RUSH_OK;
}

RUSH_OP(transpose) {
  shape s;
  RUSH_TRY(transposed(c, &s));
  return ret_shape(c, &s);
}

RUSH_OP(transpose_self) {
  shape s;
  RUSH_TRY(transposed(c, &s));
  return ret_reshaped_self(c, &s);
}

static rush_status t_shape(rush_call *c, shape *s) {
  *s = shape_of(arg_tensor(c, 0));
  RUSH_CHECK_ARG(s->rank <= 2, "t() expects a tensor with <= 2 dimensions, but self is %dD",
                 s->rank);
  if (s->rank == 2) swap_dims(s, 0, 1);
  return RUSH_OK;
}

RUSH_OP(t) {
  shape s;
  RUSH_TRY(t_shape(c, &s));
  return ret_shape(c, &s);
}

RUSH_OP(t_self) {
  shape s;
  RUSH_TRY(t_shape(c, &s));
  return ret_reshaped_self(c, &s);
}

RUSH_OP(numpy_T) {
  int rank = arg_tensor(c, 0)->rank, order[RUSH_MAX_RANK];
  for (int d = 0; d < rank; d++) order[d] = rank - 1 - d;
  return ret_order(c, order);
}

/* Returns the result of mH and H. For complex tensors it is a conjugated copy. */
static rush_status ret_adjoint(rush_call *c, const shape *s) {
  if (!rush_is_complex(arg_tensor(c, 0)->dtype)) return ret_shape(c, s);
  RUSH_TRY(ret_shape(c, s));
  rush_tensor *turned = rush_as_tensor(&c->results[0]), *out;
  c->results[0] = rush_none();
  RUSH_TRY(rush_conjugate(c->heap, tmp_take(c, turned), &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

/* Swaps the last two dimensions. */
static rush_status transpose_matrices(rush_call *c, const char *name, shape *s) {
  *s = shape_of(arg_tensor(c, 0));
  RUSH_CHECK_ARG(s->rank != 1,
                 "tensor.%s is only supported on matrices or batches of matrices. Got %d-D tensor.",
                 name, s->rank);
  if (s->rank > 0) swap_dims(s, s->rank - 2, s->rank - 1);
  return RUSH_OK;
}

RUSH_OP(mH) {
  shape s;
  RUSH_TRY(transpose_matrices(c, "mH", &s));
  return ret_adjoint(c, &s);
}

RUSH_OP(mT) {
  shape s;
  RUSH_TRY(transpose_matrices(c, "mT", &s));
  return ret_shape(c, &s);
}

RUSH_OP(matrix_H) {
  shape s = shape_of(arg_tensor(c, 0));
  RUSH_CHECK_ARG(s.rank == 0 || s.rank == 2,
                 "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.%s", s.rank,
                 s.rank > 2 ? " For batches of matrices, consider using tensor.mH" : "");
  if (s.rank == 2) swap_dims(&s, 0, 1);
  return ret_adjoint(c, &s);
}

static rush_status moved(rush_call *c, int n, const int64_t *source, const int64_t *destination) {
  const rush_tensor *t = arg_tensor(c, 0);
  int rank = t->rank, order[RUSH_MAX_RANK];
  int span = rank > 0 ? rank : 1; /* a 0-d tensor accepts dims -1 and 0 */
  uint32_t from = 0, to = 0;
  for (int d = 0; d < rank; d++) order[d] = -1;
  for (int k = 0; k < n; k++) {
    RUSH_CHECK_ARG(
        source[k] >= -span && source[k] < span && destination[k] >= -span && destination[k] < span,
        "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -span,
        span - 1, (long long)(source[k] < -span || source[k] >= span ? source[k] : destination[k]));
    int s = (int)(source[k] < 0 ? source[k] + span : source[k]);
    int d = (int)(destination[k] < 0 ? destination[k] + span : destination[k]);
    RUSH_CHECK_ARG((from >> s & 1) == 0, "movedim: repeated dim in `source`");
    RUSH_CHECK_ARG((to >> d & 1) == 0, "movedim: repeated dim in `destination`");
    from |= 1u << s, to |= 1u << d;
    if (rank > 0) order[d] = s;
  }
  for (int d = 0, s = 0; d < rank; d++) {
    if (order[d] >= 0) continue;
    while (from >> s & 1) s++;
    order[d] = s++;
  }
  return ret_order(c, order);
}

RUSH_OP(movedim) {
  int64_t source[RUSH_MAX_RANK], destination[RUSH_MAX_RANK];
  int n, m;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, source, &n));
  RUSH_TRY(arg_ints(c, 2, RUSH_MAX_RANK, destination, &m));
  RUSH_CHECK_ARG(
      n == m,
      "movedim: Invalid source or destination dims: source (%d dims) should contain the same "
      "number of "
      "dims as destination (%d dims)",
      n, m);
  return moved(c, n, source, destination);
}

/* squeeze.dim, squeeze.dims and their in-place forms. squeeze_all handles squeeze without dims. */
static rush_status squeezed(rush_call *c, shape *s) {
  const rush_tensor *t = arg_tensor(c, 0);
  uint32_t mask = UINT32_MAX;
  *s = (shape){.offset = t->offset};
  if (c->n_args > 1) {
    RUSH_TRY(arg_dims_mask(c, 1, t->rank, &mask));
    if (c->args[1].kind == RUSH_KIND_LIST && arg_list(c, 1)->n == 0) mask = 0;
  }
  for (int d = 0; d < t->rank; d++)
    if (t->sizes[d] != 1 || (mask >> d & 1) == 0)
      insert_dim(s, s->rank, t->sizes[d], t->strides[d]);
  return RUSH_OK;
}

RUSH_OP(squeeze) {
  shape s;
  RUSH_TRY(squeezed(c, &s));
  return ret_shape(c, &s);
}

RUSH_OP(squeeze_self) {
  shape s;
  RUSH_TRY(squeezed(c, &s));
  return ret_reshaped_self(c, &s);
}

static rush_status unsqueezed(rush_call *c, shape *s) {
  int dim;
  *s = shape_of(arg_tensor(c, 0));
  RUSH_TRY(arg_dim(c, 1, s->rank + 1, &dim));
  RUSH_CHECK_ARG(s->rank < RUSH_MAX_RANK, "unsqueeze: the result must have at most %d dimensions",
                 RUSH_MAX_RANK);
  insert_dim(s, dim, 1, dim >= s->rank ? 1 : s->sizes[dim] * s->strides[dim]);
  return RUSH_OK;
}

RUSH_OP(unsqueeze) {
  shape s;
  RUSH_TRY(unsqueezed(c, &s));
  return ret_shape(c, &s);
}

RUSH_OP(unsqueeze_self) {
  shape s;
  RUSH_TRY(unsqueezed(c, &s));
  return ret_reshaped_self(c, &s);
}

/* atleast_1d, atleast_2d and atleast_3d insert dimensions where PyTorch does. */
static rush_status at_least(rush_call *c, int rank) {
  shape s = shape_of(arg_tensor(c, 0));
  if (s.rank >= rank) {
    ret_retained(c, 0, &c->args[0]);
    return RUSH_OK;
  }
  if (s.rank == 0) insert_dim(&s, 0, 1, 1);
  if (rank >= 2 && s.rank == 1) insert_dim(&s, 0, 1, s.sizes[0] * s.strides[0]);
  if (rank == 3 && s.rank == 2) insert_dim(&s, 2, 1, 1);
  return ret_shape(c, &s);
}

RUSH_OP(atleast_1d) {
  return at_least(c, 1);
}
RUSH_OP(atleast_2d) {
  return at_least(c, 2);
}
RUSH_OP(atleast_3d) {
  return at_least(c, 3);
}

/* detach, alias and lift_fresh return an alias of the tensor. */
RUSH_OP(alias) {
  shape s = shape_of(arg_tensor(c, 0));
  return ret_shape(c, &s);
}

/* Returns its argument: detach_, positive, resolve_conj and similar operators on real tensors. */
RUSH_OP(same) {
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

/* ---- Arbitrary strides ----------------------------------------------------------------------- */

static rush_status strided(rush_call *c, shape *s) {
  const rush_tensor *t = arg_tensor(c, 0);
  int n;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, s->sizes, &s->rank));
  RUSH_TRY(arg_ints(c, 2, RUSH_MAX_RANK, s->strides, &n));
  RUSH_CHECK_ARG(n == s->rank, "mismatch in length of strides and shape");
  for (int d = 0; d < n; d++)
    RUSH_CHECK_ARG(
        s->strides[d] >= 0,
        "as_strided: Negative strides are not supported at the moment, got strides: %lld",
        (long long)s->strides[d]);
  s->offset = c->n_args < 4 || arg_is_none(c, 3) ? t->offset : arg_int(c, 3);
  RUSH_CHECK_ARG(s->offset >= 0, "Tensor: invalid storage offset %lld", (long long)s->offset);
  return RUSH_OK;
}

RUSH_OP(as_strided) {
  shape s;
  RUSH_TRY(strided(c, &s));
  return ret_shape(c, &s);
}

RUSH_OP(as_strided_self) {
  shape s;
  rush_tensor *checked;
  RUSH_TRY(strided(c, &s));
  RUSH_TRY(tmp_view(c, arg_tensor(c, 0), s.rank, s.sizes, s.strides, s.offset, &checked));
  s = shape_of(checked);
  return ret_reshaped_self(c, &s);
}

RUSH_OP(diagonal) {
  rush_tensor part;
  RUSH_TRY(rush_subtensor_diagonal(c, 1, arg_tensor(c, 0), &part));
  return rush_result_view(c, 0, &part, part.rank, part.sizes, part.strides, part.offset);
}

RUSH_OP(unfold) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t size = arg_int(c, 2), step = arg_int(c, 3);
  int dim;
  RUSH_TRY(arg_dim(c, 1, t->rank, &dim));
  int64_t most = t->rank == 0 ? 1 : t->sizes[dim];
  RUSH_CHECK_ARG(size >= 0, "size is %lld but must be >= 0", (long long)size);
  RUSH_CHECK_ARG(size <= most, "maximum size for tensor at dimension %d is %lld but size is %lld",
                 dim, (long long)most, (long long)size);
  RUSH_CHECK_ARG(step > 0, "step is %lld but must be > 0", (long long)step);
  RUSH_CHECK_ARG(t->rank < RUSH_MAX_RANK, "unfold: the result must have at most %d dimensions",
                 RUSH_MAX_RANK);
  shape s = shape_of(t);
  insert_dim(&s, s.rank, size, t->rank == 0 ? 1 : t->strides[dim]);
  if (t->rank > 0) {
    s.sizes[dim] = (most - size) / step + 1;
    int64_t stride;
    if (rush_mul64(step, t->strides[dim], &stride))
      s.strides[dim] = stride; /* on overflow there is at most one element */
  }
  return ret_shape(c, &s);
}
