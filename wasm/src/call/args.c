/* Implements call.h: reading arguments and creating results. */
#include "call/schema.h"
#include "tensor/layout.h"

rush_status arg_ints(const rush_call *c, uint32_t i, int max, int64_t *out, int *n) {
  *n = 0;
  const rush_value *v = &c->args[i];
  if (v->kind == RUSH_KIND_NONE) return RUSH_OK;
  if (v->kind == RUSH_KIND_INT) { /* an int stands for a list with one item */
    RUSH_CHECK(c->ctx, max >= 1, RUSH_ERR_BAD_ARGUMENT, "expected an empty list of ints");
    out[0] = v->u.i;
    *n = 1;
    return RUSH_OK;
  }
  const rush_list *list = rush_as_list(v);
  RUSH_CHECK(c->ctx, list->n <= (size_t)max, RUSH_ERR_BAD_ARGUMENT,
             "a list of ints must have at most %d items, got %zu", max, list->n);
  for (size_t k = 0; k < list->n; k++) {
    RUSH_CHECK(c->ctx, list->items[k].kind == RUSH_KIND_INT, RUSH_ERR_BAD_ARGUMENT,
               "item %zu of a list of ints must be an int, got %s", k,
               rush_kind_name(list->items[k].kind));
    out[k] = list->items[k].u.i;
  }
  *n = (int)list->n;
  return RUSH_OK;
}

static rush_status wrap_dim(rush_ctx *ctx, int64_t dim, int rank, int *out) {
  int64_t n = rank > 0 ? rank : 1;
  RUSH_CHECK(ctx, dim >= -n && dim < n, RUSH_ERR_BAD_ARGUMENT,
             "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
             (long long)-n, (long long)(n - 1), (long long)dim);
  *out = (int)(dim < 0 ? dim + n : dim);
  return RUSH_OK;
}

rush_status arg_dim(const rush_call *c, uint32_t i, int rank, int *out) {
  return wrap_dim(c->ctx, arg_int(c, i), rank, out);
}

int64_t rush_clamp_index(int64_t index, int64_t size) {
  if (index < 0) index += size;
  return index < 0 ? 0 : index > size ? size : index;
}

rush_status arg_dims_mask(const rush_call *c, uint32_t i, int rank, uint32_t *out) {
  int64_t dims[2 * RUSH_MAX_RANK];
  int n;
  RUSH_TRY(arg_ints(c, i, 2 * RUSH_MAX_RANK, dims, &n));
  *out = 0;
  for (int k = 0; k < n; k++) {
    int d;
    RUSH_TRY(wrap_dim(c->ctx, dims[k], rank, &d));
    RUSH_CHECK(c->ctx, (*out >> d & 1) == 0, RUSH_ERR_BAD_ARGUMENT,
               "dim %d appears multiple times in the list of dims", d);
    *out |= 1u << d;
  }
  if (n == 0) *out = (1u << rank) - 1;
  return RUSH_OK;
}

static bool takes(uint32_t flags, rush_dtype dtype) {
  if (flags & RUSH_OP_ANY_DTYPE || !rush_is_one_of(dtype, RUSH_RARE)) return true;
  return (flags & RUSH_OP_COMPLEX) != 0 && rush_is_complex(dtype);
}

rush_status arg_dtype(const rush_call *c, uint32_t i, rush_dtype otherwise, rush_dtype *out) {
  *out = otherwise;
  if (arg_is_none(c, i)) return RUSH_OK;
  int64_t dtype = arg_int(c, i);
  RUSH_CHECK(c->ctx,
             dtype >= 0 && dtype < 256 && rush_dtype_known((int)dtype) &&
                 takes(c->op->flags, (rush_dtype)dtype),
             RUSH_ERR_UNSUPPORTED, "dtype %lld (%s) is not supported by this runtime",
             (long long)dtype,
             dtype >= 0 && dtype < 256 ? rush_dtype_name((rush_dtype)dtype) : "?");
  *out = (rush_dtype)dtype;
  return RUSH_OK;
}

rush_status arg_check_number(const rush_call *c, uint32_t i, rush_dtype dtype) {
  RUSH_CHECK(c->ctx, c->args[i].kind != RUSH_KIND_COMPLEX || rush_is_complex(dtype),
             RUSH_ERR_BAD_ARGUMENT, "value cannot be converted to type %s without overflow",
             rush_dtype_name(dtype));
  return RUSH_OK;
}

static rush_dtype scalar_dtype(const rush_value *v) {
  if (v->kind == RUSH_KIND_FLOAT) return RUSH_FLOAT32;
  if (v->kind == RUSH_KIND_COMPLEX) return RUSH_COMPLEX64;
  return v->kind == RUSH_KIND_BOOL ? RUSH_BOOL : RUSH_INT64;
}

rush_dtype arg_scalar_dtype(const rush_call *c, uint32_t i) {
  return scalar_dtype(&c->args[i]);
}

/* Follows ResultTypeState of aten/src/ATen/native/TypeProperties.cpp. -1 means Undefined. */
typedef struct promotion {
  int dim, zero, wrapped;
} promotion;

static int promote(int a, int b) {
  if (a < 0) return b;
  if (b < 0) return a;
  return (int)rush_promote((rush_dtype)a, (rush_dtype)b);
}

static int combine(int higher, int lower) {
  if (lower < 0) return higher;
  if (higher < 0) return lower;
  const rush_dtype a = (rush_dtype)higher, b = (rush_dtype)lower;
  if (rush_is_float(a) && rush_is_complex(b))
    return a == RUSH_FLOAT64 ? RUSH_COMPLEX128 : RUSH_COMPLEX64;
  if (!rush_is_integral(a) || (rush_is_int(a) && rush_is_integral(b))) return higher;
  return (int)rush_promote(a, b);
}

static void promote_value(promotion *p, const rush_value *v) {
  if (v->kind == RUSH_KIND_TENSOR) {
    const rush_tensor *t = rush_as_tensor(v);
    int *category = t->rank > 0 ? &p->dim : &p->zero;
    *category = promote(*category, (int)t->dtype);
  } else if (v->kind == RUSH_KIND_LIST) {
    const rush_list *list = rush_as_list(v);
    for (size_t k = 0; k < list->n; k++) promote_value(p, &list->items[k]);
  } else if (v->kind != RUSH_KIND_NONE) {
    p->wrapped = promote(p->wrapped, (int)scalar_dtype(v));
  }
}

rush_dtype arg_result_type(const rush_call *c, uint32_t mask) {
  promotion p = {-1, -1, -1};
  for (uint32_t i = 0; i < c->n_args && i < 32; i++)
    if (mask >> i & 1) promote_value(&p, &c->args[i]);
  int dtype = combine(p.dim, combine(p.zero, p.wrapped));
  return dtype < 0 ? RUSH_FLOAT32 : (rush_dtype)dtype;
}

rush_status rush_result(rush_call *c, uint32_t i, rush_dtype dtype, int rank, const int64_t *sizes,
                        rush_tensor **out) {
  RUSH_TRY(rush_tensor_new(c->heap, dtype, rank, sizes, out));
  ret_tensor(c, i, *out);
  return RUSH_OK;
}

rush_status rush_result_like(rush_call *c, uint32_t i, const rush_tensor *like, rush_dtype dtype,
                             rush_tensor **out) {
  RUSH_TRY(rush_tensor_new_like(c->heap, like, dtype, out));
  ret_tensor(c, i, *out);
  return RUSH_OK;
}

rush_status rush_result_turned(rush_call *c, uint32_t i, rush_dtype dtype, int rank,
                               const int64_t *sizes, const int64_t *strides, const int64_t *nominal,
                               rush_tensor **out) {
  RUSH_TRY(rush_tensor_new_turned(c->heap, dtype, rank, sizes, strides, nominal, out));
  ret_tensor(c, i, *out);
  return RUSH_OK;
}

rush_status rush_result_view(rush_call *c, uint32_t i, const rush_tensor *base, int rank,
                             const int64_t *sizes, const int64_t *strides, int64_t offset) {
  rush_tensor *view;
  RUSH_TRY(rush_tensor_new_view(c->heap, base, rank, sizes, strides, offset, &view));
  ret_tensor(c, i, view);
  return RUSH_OK;
}

bool rush_can_reuse(const rush_call *c, uint32_t i) {
  return rush_can_reuse_turned(c, i) && !rush_is_turned(rush_as_tensor(&c->args[i]));
}

bool rush_can_reuse_turned(const rush_call *c, uint32_t i) {
  if (i >= 32 || (c->last_use >> i & 1) == 0 || c->args[i].kind != RUSH_KIND_TENSOR) return false;
  return rush_is_unshared(rush_as_tensor(&c->args[i]));
}

rush_status arg_sizes(const rush_call *c, uint32_t i, int *rank, int64_t *sizes) {
  RUSH_TRY(arg_ints(c, i, RUSH_MAX_RANK, sizes, rank));
  for (int d = 0; d < *rank; d++)
    RUSH_CHECK(c->ctx, sizes[d] >= 0, RUSH_ERR_BAD_ARGUMENT,
               "Trying to create tensor with negative dimension %lld", (long long)sizes[d]);
  return RUSH_OK;
}

rush_status rush_result_empty(rush_call *c, uint32_t size, uint32_t dtype_arg, rush_dtype otherwise,
                              rush_tensor **out) {
  rush_dtype dtype;
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  RUSH_TRY(arg_dtype(c, dtype_arg, otherwise, &dtype));
  RUSH_TRY(arg_sizes(c, size, &rank, sizes));
  return rush_result(c, 0, dtype, rank, sizes, out);
}

rush_status rush_result_empty_like(rush_call *c, uint32_t dtype_arg, rush_tensor **out) {
  rush_dtype dtype;
  const rush_tensor *self = arg_tensor(c, 0);
  RUSH_TRY(arg_dtype(c, dtype_arg, self->dtype, &dtype));
  const uint32_t format = dtype_arg + 4;
  if (arg_is_none(c, format) || arg_int(c, format) == RUSH_FORMAT_PRESERVE)
    return rush_result_like(c, 0, self, dtype, out);
  RUSH_TRY(rush_new_in_format(c->heap, dtype, self->rank, self->sizes, arg_int(c, format), out));
  ret_tensor(c, 0, *out);
  return RUSH_OK;
}

rush_status rush_lay_args(rush_heap *heap, const rush_op *op, const rush_schema *schema,
                          const rush_value *args) {
  for (uint32_t k = 0; k < schema->n_args; k++)
    if (rush_needs_order(op, schema->args + k, args + k))
      RUSH_TRY(rush_turn_back_value(heap, args + k));
  return RUSH_OK;
}
