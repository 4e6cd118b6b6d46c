/* cumsum, cumprod, logcumsumexp, cummax and cummin. Floating-point sums and products accumulate in
 * float64, as in ATen. */
#include <complex.h>
#include <math.h>

#include "call/define.h"
#include "kernels/elementary.h"
#include "tensor/layout.h"

typedef struct lines {
  rush_ctx *ctx;
  int64_t outer, n, inner;
} lines;
#define LINE_WORK(l) (2 * (uint64_t)(l).n + 4)

static lines split(rush_ctx *ctx, const rush_tensor *t, int dim) {
  lines l = {ctx, 1, t->rank == 0 ? 1 : t->sizes[dim], 1};
  for (int d = 0; d < dim; d++) l.outer *= t->sizes[d];
  for (int d = dim + 1; d < t->rank; d++) l.inner *= t->sizes[d];
  return l;
}

#define SCAN(T, W, first, op)                                 \
  for (int64_t o = 0; o < l.outer; o++) {                     \
    for (int64_t i = 0; i < l.inner; i++) {                   \
      if (rush_should_stop(l.ctx, LINE_WORK(l))) return;      \
      T *p = (T *)data + o * l.n * l.inner + i;               \
      W acc = first;                                          \
      for (int64_t k = 0; k < l.n; k++, p += l.inner) {       \
        if (rush_stops_at_counted_step(l.ctx, k + 1)) return; \
        acc = acc op(W) * p;                                  \
        *p = (T)acc;                                          \
      }                                                       \
    }                                                         \
  }

#define SCANS(T, A)  \
  if (product)       \
    SCAN(T, A, 1, *) \
  else               \
    SCAN(T, A, 0, +) \
  break

static void scan(rush_ctx *ctx, rush_tensor *t, int dim, bool product) {
  const lines l = split(ctx, t, dim);
  void *data = rush_data(t);
  switch (t->dtype) {
    case RUSH_FLOAT32:
      SCANS(float, double);
    case RUSH_FLOAT64:
      SCANS(double, double);
    case RUSH_COMPLEX64:
      SCANS(float complex, double complex);
    case RUSH_COMPLEX128:
      SCANS(double complex, double complex);
    case RUSH_INT32:
      SCANS(uint32_t, uint32_t);
    case RUSH_INT64:
      SCANS(uint64_t, uint64_t);
    default:
      SCANS(uint8_t, uint32_t);
  }
}

/* self, dim, dtype */
static rush_status cumulate(rush_call *c, bool product) {
  rush_tensor *self = arg_tensor(c, 0);
  rush_dtype natural = self->dtype, dtype;
  rush_tensor *out;
  int dim;
  if (rush_is_integral(natural) && !c->inplace) natural = RUSH_INT64;
  RUSH_TRY(arg_dim(c, 1, self->rank, &dim));
  RUSH_TRY(arg_dtype(c, 2, natural, &dtype));
  RUSH_CHECK_ARG(!c->inplace || dtype == natural,
                 "Bad in-place call: input tensor dtype %s and output tensor dtype %s should match",
                 rush_dtype_name(natural), rush_dtype_name(dtype));
  RUSH_CHECK_ARG(dtype != RUSH_BOOL, "\"%s_out_cpu\" not implemented for 'Bool'",
                 product ? "cumprod" : "cumsum");
  RUSH_TRY(rush_result(c, 0, dtype, self->rank, self->sizes, &out));
  RUSH_TRY(rush_tensor_copy(c->heap, out, self));
  if (out->numel == 0) return RUSH_OK;
  rush_tensor *wide = out; /* halves are added up in float32, short integers in int32 */
  const bool is_short = rush_is_one_of(dtype, RUSH_SHORTS);
  if (rush_is_half(dtype) || is_short)
    RUSH_TRY(tmp_to(c, out, is_short ? RUSH_INT32 : RUSH_FLOAT32, &wide));
  scan(c->ctx, wide, dim, product);
  return wide != out ? rush_tensor_copy(c->heap, out, wide) : RUSH_OK;
}
RUSH_OP(cumsum) {
  return cumulate(c, false);
}
RUSH_OP(cumprod) {
  return cumulate(c, true);
}

/* Returns log(exp(x) + exp(sum)) like ATen's _log_add_exp_helper: NaN propagates, and equal
 * infinities do not become NaN. */
static double log_add_exp(double x, double sum) {
  const double less = sum != sum || sum < x ? sum : x, more = sum != sum || x < sum ? sum : x;
  return less != more || isfinite(less) ? log1p(exp(less - more)) + more : x;
}

#define LOG_SCAN(T, W, add)                             \
  for (int64_t o = 0; o < l.outer; o++) {               \
    for (int64_t i = 0; i < l.inner; i++) {             \
      T *p = (T *)data + o * l.n * l.inner + i;         \
      W sum = -INFINITY;                                \
      for (int64_t k = 0; k < l.n; k++, p += l.inner) { \
        RUSH_TRY(rush_charge(l.ctx, 40));               \
        *p = (T)(sum = add((W) * p, sum));              \
      }                                                 \
    }                                                   \
  }

/* self, dim */
RUSH_OP(logcumsumexp) {
  const rush_tensor *self = arg_tensor(c, 0);
  rush_tensor *out;
  int dim;
  RUSH_TRY(arg_dim(c, 1, self->rank, &dim));
  RUSH_CHECK_ARG(!rush_is_integral(self->dtype),
                 "\"logcumsumexp_out_cpu\" not implemented for '%s'",
                 rush_dtype_torch_name(self->dtype));
  RUSH_TRY(rush_result(c, 0, self->dtype, self->rank, self->sizes, &out));
  RUSH_TRY(rush_tensor_copy(c->heap, out, self));
  if (out->numel == 0) return RUSH_OK;
  const lines l = split(c->ctx, out, dim);
  void *data = rush_data(out);
  if (self->dtype == RUSH_FLOAT64) {
    LOG_SCAN(double, double, log_add_exp)
  } else if (self->dtype == RUSH_FLOAT32) {
    LOG_SCAN(float, double, log_add_exp)
  } else if (self->dtype == RUSH_COMPLEX128) {
    LOG_SCAN(double complex, double complex, rush_log_add_exp_c128)
  } else {
    LOG_SCAN(float complex, double complex, rush_log_add_exp_c128)
  }
  return RUSH_OK;
}

/* The last of several equal elements wins, and NaN propagates. */
#define EXTREME(T, op)                                                      \
  for (int64_t o = 0; o < l.outer; o++) {                                   \
    for (int64_t i = 0; i < l.inner; i++) {                                 \
      const int64_t start = o * l.n * l.inner + i;                          \
      T *p = (T *)rush_data(values) + start, best = *p;                     \
      int64_t *at = (int64_t *)rush_data(indices) + start, where = 0;       \
      for (int64_t k = 0; k < l.n; k++, p += l.inner, at += l.inner) {      \
        RUSH_TRY(rush_charge_steps(l.ctx, k, l.n));                         \
        if (*p != *p || (best == best && *p op best)) best = *p, where = k; \
        *p = best;                                                          \
        *at = where;                                                        \
      }                                                                     \
    }                                                                       \
  }

static rush_status extremes(rush_call *c, bool greatest) {
  const rush_tensor *self = arg_tensor(c, 0);
  rush_tensor *values, *indices;
  int dim;
  RUSH_TRY(arg_dim(c, 1, self->rank, &dim));
  RUSH_TRY(rush_result(c, 0, self->dtype, self->rank, self->sizes, &values));
  RUSH_TRY(rush_result(c, 1, RUSH_INT64, self->rank, self->sizes, &indices));
  RUSH_TRY(rush_tensor_copy(c->heap, values, self));
  if (values->numel == 0) return RUSH_OK;
  const lines l = split(c->ctx, values, dim);
  switch (self->dtype) {
    case RUSH_FLOAT32:
      if (greatest) EXTREME(float, >=) else EXTREME(float, <=) break;
    case RUSH_FLOAT64:
      if (greatest) EXTREME(double, >=) else EXTREME(double, <=) break;
    case RUSH_INT32:
      if (greatest) EXTREME(int32_t, >=) else EXTREME(int32_t, <=) break;
    case RUSH_INT64:
      if (greatest) EXTREME(int64_t, >=) else EXTREME(int64_t, <=) break;
    default:
      if (greatest) EXTREME(uint8_t, >=) else EXTREME(uint8_t, <=)
  }
  return RUSH_OK;
}
RUSH_OP(cummax) {
  return extremes(c, true);
}
RUSH_OP(cummin) {
  return extremes(c, false);
}
