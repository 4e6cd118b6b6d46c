/* Operators that create tensors: constant values, ranges, numbers and lists. Layout, device and
 * pin_memory are ignored. */
#include <math.h>

#include "blocks/elements/fill.h"
#include "call/define.h"
#include "model/model.h"
#include "tensor/layout.h"

/* A complex number fits a real dtype only if its imaginary part is zero. */
static rush_status check_fits(rush_call *c, const rush_value *value, rush_dtype dtype) {
  RUSH_CHECK_ARG(value->kind != RUSH_KIND_COMPLEX || rush_is_complex(dtype) || dtype == RUSH_BOOL ||
                     ((const rush_complex *)value->u.ref)->im == 0,
                 "value cannot be converted to type %s without overflow", rush_dtype_name(dtype));
  return RUSH_OK;
}

/* Returns a row-major tensor filled with `value`. Argument `size` holds its sizes. */
static rush_status filled(rush_call *c, uint32_t size, uint32_t dtype_arg, rush_dtype otherwise,
                          const rush_value *value) {
  rush_tensor *out;
  RUSH_TRY(rush_result_empty(c, size, dtype_arg, otherwise, &out));
  RUSH_TRY(check_fits(c, value, out->dtype));
  rush_fill(c->ctx, out, value);
  return RUSH_OK;
}
static const rush_value ZERO = {RUSH_KIND_INT, 0, {0}}, ONE = {RUSH_KIND_INT, 0, {1}};
static rush_dtype own_dtype(const rush_call *c) {
  return arg_tensor(c, 0)->dtype;
}

/* Tensors that PyTorch leaves uninitialized are zeros here, so that runs are reproducible. */
RUSH_OP(zeros) {
  return filled(c, 0, 1, RUSH_FLOAT32, &ZERO);
}
RUSH_OP(ones) {
  return filled(c, 0, 1, RUSH_FLOAT32, &ONE);
}
RUSH_OP(full) {
  return filled(c, 0, 2, arg_scalar_dtype(c, 1), &c->args[1]);
}
RUSH_OP(new_zeros) {
  return filled(c, 1, 2, own_dtype(c), &ZERO);
}
RUSH_OP(new_ones) {
  return filled(c, 1, 2, own_dtype(c), &ONE);
}
RUSH_OP(new_full) {
  return filled(c, 1, 3, own_dtype(c), &c->args[2]);
}

/* size, dtype, layout, device, pin_memory, memory_format */
RUSH_OP(empty) {
  if (arg_is_none(c, 5) || arg_int(c, 5) == RUSH_FORMAT_CONTIGUOUS)
    return filled(c, 0, 1, RUSH_FLOAT32, &ZERO);
  rush_dtype dtype;
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  rush_tensor *out;
  RUSH_CHECK_ARG(arg_int(c, 5) != RUSH_FORMAT_PRESERVE,
                 "memory format option is not supported by empty: preserve");
  RUSH_TRY(arg_dtype(c, 1, RUSH_FLOAT32, &dtype));
  RUSH_TRY(arg_sizes(c, 0, &rank, sizes));
  RUSH_TRY(rush_new_in_format(c->heap, dtype, rank, sizes, arg_int(c, 5), &out));
  ret_tensor(c, 0, out);
  rush_fill_zero(c->ctx, out);
  return RUSH_OK;
}

/* size, stride, dtype, ... start at argument `first`. */
static rush_status empty_strided(rush_call *c, uint32_t first, rush_dtype otherwise) {
  rush_dtype dtype;
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK], reach = 1, far;
  int rank, n;
  rush_tensor *base;
  RUSH_TRY(arg_dtype(c, first + 2, otherwise, &dtype));
  RUSH_TRY(arg_sizes(c, first, &rank, sizes));
  RUSH_TRY(arg_ints(c, first + 1, RUSH_MAX_RANK, strides, &n));
  RUSH_CHECK_ARG(n == rank, "mismatch in length of strides and shape");
  for (int d = 0; d < rank; d++) {
    RUSH_CHECK_ARG(strides[d] >= 0, "negative strides are not supported");
    if (sizes[d] == 0) reach = 0;
    if (reach == 0) continue;
    RUSH_CHECK(c->ctx, rush_mul64(sizes[d] - 1, strides[d], &far) && rush_add64(reach, far, &reach),
               RUSH_ERR_NO_MEMORY, "out of memory: the result is too large");
  }
  RUSH_TRY(tmp_new(c, dtype, 1, &reach, &base));
  rush_fill_zero(c->ctx, base);
  return rush_result_view(c, 0, base, rank, sizes, strides, 0);
}
RUSH_OP(empty_strided) {
  return empty_strided(c, 0, RUSH_FLOAT32);
}
RUSH_OP(new_empty_strided) {
  return empty_strided(c, 1, own_dtype(c));
}

/* Returns a tensor like argument 0. The dtype is argument `dtype_arg`, and memory_format comes four
 * arguments later. */
static rush_status filled_like(rush_call *c, uint32_t dtype_arg, const rush_value *value) {
  rush_tensor *out;
  RUSH_TRY(rush_result_empty_like(c, dtype_arg, &out));
  RUSH_TRY(check_fits(c, value, out->dtype));
  rush_fill(c->ctx, out, value);
  return RUSH_OK;
}
RUSH_OP(zeros_like) {
  return filled_like(c, 1, &ZERO);
}
RUSH_OP(ones_like) {
  return filled_like(c, 1, &ONE);
}
RUSH_OP(full_like) {
  return filled_like(c, 2, &c->args[1]);
}

/* ---- Filling existing tensors ---------------------------------------------------------------- */

static rush_status fill(rush_call *c, const rush_value *value) {
  rush_tensor *out = c->inplace;
  if (out) {
    RUSH_CHECK(c->ctx, !out->storage->borrowed, RUSH_ERR_UNSUPPORTED,
               "a weight of the model must not be written in place");
    ret_retained(c, 0, &c->args[0]);
  } else {
    RUSH_TRY(rush_result_like(c, 0, arg_tensor(c, 0), own_dtype(c), &out));
  }
  rush_fill(c->ctx, out, value);
  return RUSH_OK;
}
RUSH_OP(fill_scalar) {
  RUSH_TRY(check_fits(c, &c->args[1], own_dtype(c)));
  return fill(c, &c->args[1]);
}
RUSH_OP(fill_tensor) {
  const rush_tensor *v = arg_tensor(c, 1);
  RUSH_CHECK_ARG(v->rank == 0,
                 "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
                 v->rank);
  rush_complex z;
  rush_convert(RUSH_COMPLEX128, &z.re, v->dtype, rush_data(v), 1);
  rush_value value = rush_is_complex(v->dtype) ? (rush_value){RUSH_KIND_COMPLEX, 0, {.ref = &z}}
                     : rush_is_float(v->dtype) ? rush_float(z.re)
                                               : rush_int(rush_load_int(v->dtype, rush_data(v)));
  return fill(c, &value);
}
RUSH_OP(zero) {
  return fill(c, &ZERO);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static void fill_range(rush_ctx *ctx, rush_tensor *out, const int64_t *i, const double *d) {
  const rush_dtype dtype = out->dtype;
  char *to = rush_data(out);
  const size_t item = rush_dtype_size(dtype);
  if (rush_is_float(dtype)) {
    for (int64_t k = 0; k < out->numel && !rush_should_stop(ctx, 4); k++)
      rush_store_double(dtype, to + (size_t)k * item, d[0] + (double)k * d[2]);
  } else {
    for (int64_t k = 0; k < out->numel && !rush_should_stop(ctx, 4); k++)
      rush_store_int(dtype, to + (size_t)k * item,
                     (int64_t)((uint64_t)i[0] + (uint64_t)k * (uint64_t)i[2]));
  }
}

static rush_status arange(rush_call *c, const rush_value *start, const rush_value *end,
                          const rush_value *step, uint32_t dtype_arg) {
  const rush_value *all[] = {start, end, step};
  double d[3];
  int64_t i[3], n;
  bool floats = false;
  for (int k = 0; k < 3; k++) {
    bool is_float = all[k]->kind == RUSH_KIND_FLOAT;
    floats |= is_float;
    d[k] = is_float ? all[k]->u.f : (double)all[k]->u.i;
    if (is_float)
      rush_convert(RUSH_INT64, &i[k], RUSH_FLOAT64, &d[k], 1);
    else
      i[k] = all[k]->u.i;
  }
  rush_dtype dtype;
  rush_tensor *out;
  RUSH_TRY(arg_dtype(c, dtype_arg, floats ? RUSH_FLOAT32 : RUSH_INT64, &dtype));
  if (dtype == RUSH_INT64)
    for (int k = 0; k < 3; k++) d[k] = (double)i[k];
  /* The values are computed in int64, but the count is not. */
  const bool whole = !rush_is_float(dtype);
  RUSH_CHECK_ARG(whole ? i[2] != 0 : d[2] != 0, "step must be nonzero");
  RUSH_CHECK_ARG(isfinite(d[0]) && isfinite(d[1]), "unsupported range: %g -> %g", d[0], d[1]);
  RUSH_CHECK_ARG(whole      ? (i[2] > 0 ? i[1] >= i[0] : i[1] <= i[0])
                 : d[2] > 0 ? d[1] >= d[0]
                            : d[1] <= d[0],
                 "upper bound and lower bound inconsistent with step sign");
  const double size = ceil((d[1] - d[0]) / d[2]);
  RUSH_CHECK_ARG(size >= 0 && size < 9e18, "invalid size, possible overflow?");
  n = (int64_t)size;
  if (dtype == RUSH_INT64) { /* doubles are not exact here */
    uint64_t span = i[2] > 0 ? (uint64_t)i[1] - (uint64_t)i[0] : (uint64_t)i[0] - (uint64_t)i[1];
    uint64_t by = i[2] > 0 ? (uint64_t)i[2] : 0 - (uint64_t)i[2];
    n = (int64_t)(span / by + (span % by != 0));
  }
  RUSH_TRY(rush_result(c, 0, dtype, 1, &n, &out));
  fill_range(c->ctx, out, i, d);
  return RUSH_OK;
}
RUSH_OP(arange) {
  return arange(c, &ZERO, &c->args[0], &ONE, 1);
}
RUSH_OP(arange_start) {
  return arange(c, &c->args[0], &c->args[1], &ONE, 2);
}
RUSH_OP(arange_start_step) {
  return arange(c, &c->args[0], &c->args[1], &c->args[2], 3);
}

/* Fills t with evenly spaced values from start to end. As in ATen, the second half counts down from
 * `end`, so that the last value is exact. */
static rush_status spread_out(rush_call *c, const rush_tensor *t, double start, double end) {
  const int64_t n = t->numel, item = t->strides[0] * (int64_t)rush_itemsize(t);
  const rush_dtype dtype = t->dtype;
  start = rush_rounded(dtype, start);
  end = rush_rounded(dtype, end);
  double step = n > 1 ? (end - start) / (double)(n - 1) : 0;
  if (rush_is_float(dtype)) step = rush_rounded(dtype, step);
  char *to = rush_data(t);
  for (int64_t k = 0; k < n; k++, to += item) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    double v = n == 1      ? start
               : k < n / 2 ? start + step * (double)k
                           : end - step * (double)(n - 1 - k);
    rush_store_double(dtype, to, v);
  }
  return RUSH_OK;
}

static double scalar_part(const rush_call *c, uint32_t i, int part) {
  if (c->args[i].kind != RUSH_KIND_COMPLEX) return part == 0 ? arg_scalar_double(c, i) : 0;
  const rush_complex *z = c->args[i].u.ref;
  return part == 0 ? z->re : z->im;
}

/* start, end, steps, dtype. The step of complex numbers divides by a real number, so the real and
 * the imaginary part are computed independently. */
RUSH_OP(linspace) {
  rush_dtype dtype;
  rush_tensor *out;
  const int64_t n = arg_int(c, 2);
  const bool number = c->args[0].kind == RUSH_KIND_COMPLEX || c->args[1].kind == RUSH_KIND_COMPLEX;
  RUSH_CHECK_ARG(n >= 0, "number of steps must be non-negative");
  RUSH_TRY(arg_dtype(c, 3, number ? RUSH_COMPLEX64 : RUSH_FLOAT32, &dtype));
  RUSH_CHECK_ARG(
      !number || rush_is_complex(dtype),
      "torch.linspace(): inferred dtype ComplexFloat can't be safely cast to passed dtype %s",
      rush_dtype_torch_name(dtype));
  RUSH_TRY(rush_result(c, 0, dtype, 1, &n, &out));
  if (!rush_is_complex(dtype))
    return spread_out(c, out, arg_scalar_double(c, 0), arg_scalar_double(c, 1));
  for (int k = 0; k < 2; k++) {
    const rush_tensor part = rush_complex_part(out, k);
    RUSH_TRY(spread_out(c, &part, scalar_part(c, 0, k), scalar_part(c, 1, k)));
  }
  return RUSH_OK;
}

static rush_status eye(rush_call *c, int64_t n, int64_t m, uint32_t dtype_arg) {
  rush_dtype dtype;
  rush_tensor *out;
  RUSH_CHECK_ARG(n >= 0, "n must be greater or equal to 0, got %lld", (long long)n);
  RUSH_CHECK_ARG(m >= 0, "m must be greater or equal to 0, got %lld", (long long)m);
  RUSH_TRY(arg_dtype(c, dtype_arg, RUSH_FLOAT32, &dtype));
  RUSH_TRY(rush_result(c, 0, dtype, 2, (int64_t[]){n, m}, &out));
  rush_fill_zero(c->ctx, out);
  for (int64_t k = 0; k < n && k < m; k++)
    rush_store_int(dtype, (char *)rush_data(out) + (size_t)(k * m + k) * rush_dtype_size(dtype), 1);
  return RUSH_OK;
}
RUSH_OP(eye) {
  return eye(c, arg_int(c, 0), arg_int(c, 0), 1);
}
RUSH_OP(eye_m) {
  return eye(c, arg_int(c, 0), arg_int(c, 1), 2);
}

/* ---- From numbers ---------------------------------------------------------------------------- */

static rush_status from_number(rush_call *c, const rush_value *number, rush_dtype dtype) {
  rush_tensor *out;
  RUSH_TRY(check_fits(c, number, dtype));
  RUSH_TRY(rush_result(c, 0, dtype, 0, NULL, &out));
  rush_fill(c->ctx, out, number);
  return RUSH_OK;
}
RUSH_OP(scalar_tensor) {
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 1, RUSH_FLOAT32, &dtype));
  return from_number(c, &c->args[0], dtype);
}
RUSH_OP(tensor_of_number) {
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 1, arg_scalar_dtype(c, 0), &dtype));
  rush_value number = c->args[0];
  if (number.kind == RUSH_KIND_COMPLEX && !rush_is_complex(dtype) && dtype != RUSH_BOOL)
    number = rush_float(((const rush_complex *)number.u.ref)->re); /* drops the imaginary part */
  return from_number(c, &number, dtype);
}
/* Returns the kind of the numbers that an empty list is declared to have, or NONE. */
static uint32_t declared_kind(const rush_call *c, uint32_t type) {
  const rush_model *m = c->model;
  while (type < m->n_types && m->types[type].kind == RUSH_TYPE_LIST)
    type = m->lists[m->types[type].list];
  const uint32_t kind = type < m->n_types ? m->types[type].kind : RUSH_TYPE_NONE;
  return kind == RUSH_TYPE_INT       ? RUSH_KIND_INT
         : kind == RUSH_TYPE_BOOL    ? RUSH_KIND_BOOL
         : kind == RUSH_TYPE_COMPLEX ? RUSH_KIND_COMPLEX
                                     : RUSH_KIND_NONE;
}

/* Derives the sizes of a nested list from the first item of each level. *kind is the kind of the
 * numbers; an empty list has the kind of its type. */
static rush_status list_sizes(rush_call *c, const rush_value *v, int *rank, int64_t *sizes,
                              uint32_t *kind) {
  *rank = 0;
  *kind = RUSH_KIND_NONE;
  while (v->kind == RUSH_KIND_LIST || v->kind == RUSH_KIND_TUPLE) {
    const rush_list *list = rush_as_list(v);
    RUSH_CHECK(c->ctx, *rank < RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
               "lists must be nested at most %d deep", RUSH_MAX_RANK);
    sizes[(*rank)++] = (int64_t)list->n;
    if (list->n == 0) {
      *kind = declared_kind(c, list->type);
      return RUSH_OK;
    }
    v = &list->items[0];
  }
  *kind = v->kind;
  if (v->kind == RUSH_KIND_TENSOR) {
    rush_dtype d = rush_as_tensor(v)->dtype;
    *kind = rush_is_complex(d) ? RUSH_KIND_COMPLEX
            : rush_is_float(d) ? RUSH_KIND_FLOAT
            : rush_is_bool(d)  ? RUSH_KIND_BOOL
                               : RUSH_KIND_INT;
  }
  return RUSH_OK;
}

static rush_status store_list(rush_call *c, const rush_value *v, int depth, int rank,
                              const int64_t *sizes, rush_dtype dtype, char **to) {
  RUSH_TRY(rush_charge(c->ctx, 4));
  if (depth < rank) {
    RUSH_CHECK_ARG(v->kind == RUSH_KIND_LIST || v->kind == RUSH_KIND_TUPLE,
                   "Expected sequence of length %lld at dim %d", (long long)sizes[depth], depth);
    const rush_list *list = rush_as_list(v);
    RUSH_CHECK_ARG((int64_t)list->n == sizes[depth],
                   "Expected sequence of length %lld at dim %d (got length %zu)",
                   (long long)sizes[depth], depth, list->n);
    for (size_t k = 0; k < list->n; k++)
      RUSH_TRY(store_list(c, &list->items[k], depth + 1, rank, sizes, dtype, to));
    return RUSH_OK;
  }
  if (v->kind == RUSH_KIND_TENSOR) {
    const rush_tensor *t = rush_as_tensor(v);
    RUSH_CHECK_ARG(t->numel == 1, "only one element tensors can be converted to Python scalars");
    rush_convert(dtype, *to, t->dtype, rush_data(t), 1);
  } else if (v->kind == RUSH_KIND_COMPLEX) {
    RUSH_TRY(check_fits(c, v, dtype));
    rush_convert(dtype, *to, RUSH_COMPLEX128, &((const rush_complex *)v->u.ref)->re, 1);
  } else if (v->kind == RUSH_KIND_FLOAT) {
    rush_store_double(dtype, *to, v->u.f);
  } else {
    RUSH_CHECK_ARG(v->kind == RUSH_KIND_INT || v->kind == RUSH_KIND_BOOL,
                   "a %s cannot be an element of a tensor", rush_kind_name(v->kind));
    rush_store_int(dtype, *to, v->u.i);
  }
  *to += rush_dtype_size(dtype);
  return RUSH_OK;
}

/* data (nested lists of numbers), dtype */
RUSH_OP(tensor_of_list) {
  int rank;
  int64_t sizes[RUSH_MAX_RANK];
  uint32_t kind;
  rush_dtype dtype;
  rush_tensor *out;
  RUSH_TRY(list_sizes(c, &c->args[0], &rank, sizes, &kind));
  rush_dtype natural = kind == RUSH_KIND_INT       ? RUSH_INT64
                       : kind == RUSH_KIND_BOOL    ? RUSH_BOOL
                       : kind == RUSH_KIND_COMPLEX ? RUSH_COMPLEX64
                                                   : RUSH_FLOAT32;
  RUSH_TRY(arg_dtype(c, 1, natural, &dtype));
  RUSH_TRY(rush_result(c, 0, dtype, rank, sizes, &out));
  char *to = rush_data(out);
  return store_list(c, &c->args[0], 0, rank, sizes, dtype, &to);
}
RUSH_OP(as_tensor) {
  rush_tensor *out;
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 1, own_dtype(c), &dtype));
  RUSH_TRY(rush_tensor_to(c->heap, arg_tensor(c, 0), dtype, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

/* ---- Triangles, one_hot ---------------------------------------------------------------------- */

/* Copies self, with zeros right of the diagonal, or left of it if `upper` is set. */
static rush_status triangle(rush_call *c, bool upper) {
  const rush_tensor *self = arg_tensor(c, 0);
  const int rank = self->rank;
  RUSH_CHECK_ARG(rank >= 2, "%s: input tensor must have at least 2 dimensions",
                 upper ? "triu" : "tril");
  rush_tensor *out;
  RUSH_TRY(rush_result(c, 0, own_dtype(c), rank, self->sizes, &out));
  RUSH_TRY(rush_tensor_copy(c->heap, out, self));
  const int64_t rows = self->sizes[rank - 2], cols = self->sizes[rank - 1];
  const int64_t diagonal = arg_int(c, 1);
  const size_t item = rush_itemsize(out);
  char *at = rush_data(out);
  const int64_t all = cols == 0 ? 0 : out->numel / cols;
  for (int64_t r = 0; r < all; r++, at += (size_t)cols * item) {
    RUSH_TRY(rush_charge(c->ctx, 8));
    /* columns [0, edge) lie below the diagonal (upper), or on and below it (lower) */
    int64_t edge = upper ? r % rows : r % rows + 1;
    if (!rush_add64(edge, diagonal, &edge)) edge = diagonal > 0 ? cols : 0;
    edge = edge < 0 ? 0 : edge > cols ? cols : edge;
    const int64_t first = upper ? 0 : edge, last = upper ? edge : cols;
    RUSH_TRY(rush_set_bytes(c->ctx, at + (size_t)first * item, 0, (size_t)(last - first) * item));
  }
  return RUSH_OK;
}
RUSH_OP(tril) {
  return triangle(c, false);
}
RUSH_OP(triu) {
  return triangle(c, true);
}

RUSH_OP(one_hot) {
  const rush_tensor *self = arg_tensor(c, 0);
  int64_t classes = arg_int(c, 1), most = -1, sizes[RUSH_MAX_RANK];
  RUSH_CHECK_ARG(self->dtype == RUSH_INT64,
                 "one_hot is only applicable to index tensor of type LongTensor.");
  RUSH_CHECK_ARG(self->rank < RUSH_MAX_RANK, "the result must have at most %d dimensions, got %d",
                 RUSH_MAX_RANK, self->rank + 1);
  RUSH_CHECK_ARG(self->numel > 0 || classes > 0,
                 "Can not infer total number of classes from empty tensor.");
  RUSH_CHECK_ARG(classes >= -1, "num_classes should be positive");
  rush_tensor *dense, *out;
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 0), &dense));
  const int64_t *index = rush_data(dense);
  for (int64_t i = 0; i < dense->numel; i++) {
    RUSH_TRY(rush_charge(c->ctx, 1));
    RUSH_CHECK_ARG(index[i] >= 0, "Class values must be non-negative.");
    if (index[i] > most) most = index[i];
  }
  RUSH_CHECK(c->ctx, most < RUSH_MAX_NUMEL, RUSH_ERR_NO_MEMORY,
             "out of memory: class %lld is too large", (long long)most);
  RUSH_CHECK_ARG(classes < 0 || most < classes, "Class values must be smaller than num_classes.");
  if (classes < 0) classes = most + 1;
  memcpy(sizes, self->sizes, self->rank * sizeof *sizes);
  sizes[self->rank] = classes;
  RUSH_TRY(rush_result(c, 0, RUSH_INT64, self->rank + 1, sizes, &out));
  rush_fill_zero(c->ctx, out);
  int64_t *to = rush_data(out);
  RUSH_TRY(rush_take_stop(c->ctx));
  for (int64_t i = 0; i < dense->numel; i++) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    to[i * classes + index[i]] = 1;
  }
  return RUSH_OK;
}
