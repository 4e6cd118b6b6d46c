/* layer_norm and rms_norm, which normalize rows that span the last dimensions. */
#include <complex.h>
#include <math.h>

#include "base/threads.h"
#include "blocks/elements/fill.h"
#include "call/define.h"
#include "kernels/normalize.h"
#include "tensor/layout.h"

typedef struct rows {
  rush_tensor *x, *w, *b, *out; /* x, w, b are contiguous; w and b may be NULL */
  int axis;                     /* first normalized dimension */
  int64_t n, count;             /* elements per row, number of rows */
} rows;
#define ROW_WORK(n) ((uint64_t)(n) + 16)

static rush_status check_shape(rush_call *c, rows *r) {
  const rush_tensor *x = arg_tensor(c, 0);
  int64_t shape[RUSH_MAX_RANK];
  int n;
  char want[RUSH_SHAPE_TEXT], have[RUSH_SHAPE_TEXT];
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, shape, &n));
  RUSH_CHECK_ARG(
      n >= 1,
      "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
      "element, but "
      "got normalized_shape = []");
  r->axis = x->rank - n;
  bool fits = n <= x->rank;
  r->n = r->count = 1;
  for (int d = 0; d < x->rank && fits; d++) {
    if (d < r->axis)
      r->count *= x->sizes[d];
    else
      r->n *= x->sizes[d];
    fits = d < r->axis || x->sizes[d] == shape[d - r->axis];
  }
  RUSH_CHECK_ARG(
      fits,
      "Given normalized_shape=%s, expected input with that final shape, but got input of size%s",
      rush_shape_text(n, shape, want), rush_shape_text(x->rank, x->sizes, have));
  RUSH_CHECK_ARG(!rush_is_integral(x->dtype), "\"LayerNormKernelImpl\" not implemented for '%s'",
                 rush_dtype_torch_name(x->dtype));
  return RUSH_OK;
}

static rush_status get_scale(rush_call *c, const rows *r, uint32_t arg, const char *name,
                             rush_tensor **out) {
  rush_tensor *t = arg_tensor(c, arg);
  const rush_tensor *x = arg_tensor(c, 0);
  if (!t) return RUSH_OK;
  bool fits = t->rank == x->rank - r->axis &&
              memcmp(t->sizes, x->sizes + r->axis, (size_t)t->rank * sizeof *t->sizes) == 0;
  RUSH_CHECK_ARG(fits, "Expected %s to be of same shape as normalized_shape", name);
  RUSH_CHECK_ARG(t->dtype == x->dtype, "expected scalar type %s but found %s",
                 rush_dtype_torch_name(x->dtype), rush_dtype_torch_name(t->dtype));
  return tmp_contiguous(c, t, out);
}

/* Makes the input contiguous and allocates result 0. */
static rush_status begin_rows(rush_call *c, rows *r) {
  rush_tensor *x = arg_tensor(c, 0);
  RUSH_TRY(tmp_contiguous(c, x, &r->x));
  if (r->x == x && !(rush_can_reuse(c, 0) && rush_is_plainly_contiguous(x)))
    return rush_result(c, 0, x->dtype, x->rank, x->sizes, &r->out);
  r->out = r->x;
  ret_tensor(c, 0, rush_tensor_retain(r->x));
  return RUSH_OK;
}

/* Reads the arguments and allocates result 0. b_arg is 0 if there is no bias. */
static rush_status begin(rush_call *c, uint32_t w_arg, uint32_t b_arg, rows *r) {
  *r = (rows){0};
  RUSH_TRY(check_shape(c, r));
  RUSH_TRY(get_scale(c, r, w_arg, "weight", &r->w));
  if (b_arg) RUSH_TRY(get_scale(c, r, b_arg, "bias", &r->b));
  return begin_rows(c, r);
}

static void *data_of(const rush_tensor *t) {
  return t ? rush_data(t) : NULL;
}

typedef struct norm {
  rush_ctx *ctx;
  const rows *r;
  double eps;
  rush_tensor *mean, *rstd; /* one per row, or NULL */
} norm;

static void layer_norm_rows(const void *arg, size_t begin, size_t end, unsigned who) {
  const norm *l = arg;
  const rows *r = l->r;
  const size_t n = (size_t)r->n;
  double *mean = data_of(l->mean), *rstd = data_of(l->rstd), m, s;
  float *mean_f = data_of(l->mean), *rstd_f = data_of(l->rstd), m_f, s_f;
  rush_ctx *ctx = who == 0 ? l->ctx : NULL;
  for (size_t k = begin; k < end; k++) {
    if (r->x->dtype == RUSH_FLOAT64) {
      rush_layer_norm_f64(ctx, n, (double *)rush_data(r->out) + k * n,
                          (const double *)rush_data(r->x) + k * n, data_of(r->w), data_of(r->b),
                          l->eps, &m, &s);
      if (mean) mean[k] = m, rstd[k] = s;
    } else {
      rush_layer_norm_f32(ctx, n, (float *)rush_data(r->out) + k * n,
                          (const float *)rush_data(r->x) + k * n, data_of(r->w), data_of(r->b),
                          l->eps, &m_f, &s_f);
      if (mean_f) mean_f[k] = m_f, rstd_f[k] = s_f;
    }
  }
}

static void normalize(rush_call *c, const rows *r, double eps, rush_tensor *mean,
                      rush_tensor *rstd) {
  if (r->n == 0) { /* the values that PyTorch gives for empty rows */
    const rush_value zero = rush_float(0), nan = rush_float(NAN);
    if (mean) rush_fill(c->ctx, mean, &zero), rush_fill(c->ctx, rstd, &nan);
    return;
  }
  const norm l = {c->ctx, r, eps, mean, rstd};
  rush_parallel(c->ctx, (size_t)r->count, ROW_WORK(r->n), layer_norm_rows, &l);
}

/* input, normalized_shape, weight, bias, eps */
RUSH_OP(layer_norm) {
  rows r;
  RUSH_TRY(begin(c, 2, 3, &r));
  normalize(c, &r, arg_float(c, 4), NULL, NULL);
  return RUSH_OK;
}

RUSH_OP(native_layer_norm) {
  rows r;
  rush_tensor *mean, *rstd;
  int64_t sizes[RUSH_MAX_RANK];
  RUSH_TRY(begin(c, 2, 3, &r));
  for (int d = 0; d < r.x->rank; d++) sizes[d] = d < r.axis ? r.x->sizes[d] : 1;
  RUSH_TRY(rush_result(c, 1, r.x->dtype, r.x->rank, sizes, &mean));
  RUSH_TRY(rush_result(c, 2, r.x->dtype, r.x->rank, sizes, &rstd));
  normalize(c, &r, arg_float(c, 4), mean, rstd);
  return RUSH_OK;
}

/* PyTorch computes rms_norm as x * rsqrt(...), which keeps the memory order of x. */
static rush_status lay_as_product(rush_call *c, const rows *r) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_tensor scale = rush_nominal_header(x), *out = rush_as_tensor(&c->results[0]), *laid;
  const rush_tensor *operands[] = {x, &scale};
  int64_t strides[RUSH_MAX_RANK];
  for (int d = r->axis; d < x->rank; d++) scale.sizes[d] = 1;
  rush_strides_contiguous(scale.rank, scale.sizes, scale.strides);
  rush_strides_of_result(x->rank, x->sizes, 2, operands, strides);
  if (memcmp(strides, out->strides, (size_t)x->rank * sizeof *strides) == 0) return RUSH_OK;
  RUSH_TRY(rush_tensor_new_turned(c->heap, x->dtype, x->rank, x->sizes, strides, strides, &laid));
  rush_status st = rush_tensor_copy(c->heap, laid, out);
  rush_drop(c->heap, &c->results[0]);
  ret_tensor(c, 0, laid);
  return st;
}

/* Uses the mean of the complex squares, not of absolute values, as PyTorch does. */
static void rms_norm_complex(rush_ctx *ctx, size_t n, char *out, const char *x, const char *weight,
                             rush_dtype dtype, double eps) {
  const size_t item = rush_dtype_size(dtype);
  double complex sum = 0, z, w = 1;
  for (size_t i = 0; i < n && !rush_stops_at_step(ctx, (int64_t)i); i++) {
    rush_convert(RUSH_COMPLEX128, &z, dtype, x + i * item, 1);
    sum += z * z;
  }
  sum = csqrt(sum / (double)n + eps);
  for (size_t i = 0; i < n && !rush_stops_at_step(ctx, (int64_t)i); i++) {
    rush_convert(RUSH_COMPLEX128, &z, dtype, x + i * item, 1);
    if (weight) rush_convert(RUSH_COMPLEX128, &w, dtype, weight + i * item, 1);
    z = z / sum * w;
    rush_convert(dtype, out + i * item, RUSH_COMPLEX128, &z, 1);
  }
}

static void rms_norm_rows(const void *arg, size_t begin, size_t end, unsigned who) {
  const norm *l = arg;
  const rows *r = l->r;
  const size_t n = (size_t)r->n;
  rush_ctx *ctx = who == 0 ? l->ctx : NULL;
  for (size_t k = begin; k < end; k++) {
    if (rush_is_complex(r->x->dtype))
      rms_norm_complex(ctx, n, (char *)rush_data(r->out) + k * n * rush_itemsize(r->x),
                       (const char *)rush_data(r->x) + k * n * rush_itemsize(r->x), data_of(r->w),
                       r->x->dtype, l->eps);
    else if (r->x->dtype == RUSH_FLOAT64)
      rush_rms_norm_f64(ctx, n, (double *)rush_data(r->out) + k * n,
                        (const double *)rush_data(r->x) + k * n, data_of(r->w), l->eps);
    else
      rush_rms_norm_f32(ctx, n, (float *)rush_data(r->out) + k * n,
                        (const float *)rush_data(r->x) + k * n, data_of(r->w), l->eps);
  }
}

/* input, normalized_shape, weight, eps */
RUSH_OP(rms_norm) {
  rows r;
  RUSH_TRY(begin(c, 2, 0, &r));
  const bool wide = rush_real_dtype(r.x->dtype) == RUSH_FLOAT64;
  const double eps = !arg_is_none(c, 3)           ? arg_float(c, 3)
                     : wide                       ? 0x1p-52
                     : c->narrow == RUSH_FLOAT16  ? 0x1p-10
                     : c->narrow == RUSH_BFLOAT16 ? 0x1p-7
                                                  : 0x1p-23;
  const norm l = {c->ctx, &r, eps, NULL, NULL};
  if (r.n > 0) rush_parallel(c->ctx, (size_t)r.count, ROW_WORK(r.n), rms_norm_rows, &l);
  return lay_as_product(c, &r);
}

/* x * rsqrt(mean(x^2) + eps) over the last dimension of float32 or float64, written out. */
RUSH_OP(rms_norm_of_rows) {
  const rush_tensor *x = arg_tensor(c, 0);
  rows r = {.axis = x->rank > 0 ? x->rank - 1 : 0, .n = 1, .count = 1};
  RUSH_CHECK_ARG(rush_is_float(x->dtype), "rms_norm expects float32 or float64, but got %s",
                 rush_dtype_name(x->dtype));
  for (int d = 0; d < x->rank; d++) *(d < r.axis ? &r.count : &r.n) *= x->sizes[d];
  RUSH_TRY(begin_rows(c, &r));
  const norm l = {c->ctx, &r, arg_float(c, 1), NULL, NULL};
  if (r.n > 0) rush_parallel(c->ctx, (size_t)r.count, ROW_WORK(r.n), rms_norm_rows, &l);
  return lay_as_product(c, &r);
}
