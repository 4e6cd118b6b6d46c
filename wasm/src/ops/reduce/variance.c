/* Variance, standard deviation, norms and logsumexp. */
#include <math.h>

#include "blocks/elements/reduce.h"
#include "kernels/elementary.h"
#include "kernels/reduction.h"

/* ---- var, std: f is the mean, g the sum of squared deviations, of `count` elements ----------- */

enum { CHUNK = 4096 };

/* Combines the statistics of two sets (Chan et al., 1979). */
static void join(rush_reduce_state *s, double before, double n, double mean, double squares) {
  double delta = mean - s->f, total = before + n;
  s->f += delta * (n / total);
  s->g += squares + delta * delta * (before * (n / total));
}
static void var_f32(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const float *v = x;
  (void)p;
  for (size_t at = 0; at < n; at += CHUNK) {
    size_t m = n - at < CHUNK ? n - at : CHUNK;
    double k = (double)m, mean = rush_sum_f32(m, v + at) / k, off = mean - (double)(float)mean;
    double squares = rush_sum_squares_f32(m, v + at, (float)mean) - k * off * off;
    join(s, (double)(s->count + (int64_t)at), k, mean, squares);
  }
}
static void var_f64(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t at = 0; at < n; at += CHUNK) {
    size_t m = n - at < CHUNK ? n - at : CHUNK;
    double k = (double)m, mean = rush_sum_f64(m, v + at) / k;
    join(s, (double)(s->count + (int64_t)at), k, mean, rush_sum_squares_f64(m, v + at, mean));
  }
}
/* For complex numbers, h is the imaginary part of the mean. */
static void var_c128(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++, v += 2) {
    const double k = (double)(s->count + (int64_t)i + 1), a = v[0] - s->f, b = v[1] - s->h;
    s->f += a / k;
    s->h += b / k;
    s->g += a * (v[0] - s->f) + b * (v[1] - s->h);
  }
}
/* p->f[0] is the correction. p->f[1] is 1 for the standard deviation. */
static void finish_var(const rush_reduce_state *s, const rush_reduce_params *p,
                       rush_reduce_value *v) {
  double divisor = (double)p->n - p->f[0], squares = p->n == 0 ? (double)NAN : s->g;
  double var = squares / (divisor > 0 ? divisor : 0);
  v[0].f = p->f[1] != 0 ? sqrt(var) : var;
  /* NaN and infinities propagate as in Welford's algorithm. */
  v[1].f = p->n == 0 || squares != squares ? (double)NAN : s->f;
  v[1].g = v[1].f != v[1].f ? (double)NAN : s->h;
}

static rush_status read_unbiased(rush_call *c, uint32_t arg, bool root, rush_reduce_params *p) {
  p->f[0] = arg_bool(c, arg) ? 1 : 0;
  p->f[1] = root;
  return RUSH_OK;
}
static rush_status read_correction(rush_call *c, bool root, rush_reduce_params *p) {
  p->f[0] = arg_is_none(c, 2) ? 1 : arg_scalar_double(c, 2);
  p->f[1] = root;
  return RUSH_OK;
}
#define SETUP(name, call)                                                                 \
  static rush_status name(rush_call *c, const rush_reduce **row, rush_reduce_params *p) { \
    const rush_dtype dtype = arg_tensor(c, 0)->dtype;                                     \
    (void)row;                                                                            \
    RUSH_CHECK(c->ctx, !rush_is_integral(dtype), RUSH_ERR_BAD_ARGUMENT,                   \
               "std and var only support floating point and complex dtypes");             \
    return call;                                                                          \
  }
SETUP(setup_var, read_unbiased(c, 1, false, p))
SETUP(setup_var_dim, read_unbiased(c, 2, false, p))
SETUP(setup_var_correction, read_correction(c, false, p))
SETUP(setup_std, read_unbiased(c, 1, true, p))
SETUP(setup_std_dim, read_unbiased(c, 2, true, p))
SETUP(setup_std_correction, read_correction(c, true, p))
#define VAR(d, k, setup_, more)      \
  {.dim = d,                         \
   .keepdim = k,                     \
   .flags = RUSH_RED_TO_REAL | more, \
   .f32 = var_f32,                   \
   .f64 = var_f64,                   \
   .c128 = var_c128,                 \
   .finish = finish_var,             \
   .name = "var",                    \
   .setup = setup_}
RUSH_REDUCE(var) = VAR(0, 0, setup_var, 0);
RUSH_REDUCE(var_dim) = VAR(1, 3, setup_var_dim, 0);
RUSH_REDUCE(var_correction) = VAR(1, 3, setup_var_correction, 0);
RUSH_REDUCE(std) = VAR(0, 0, setup_std, 0);
RUSH_REDUCE(std_dim) = VAR(1, 3, setup_std_dim, 0);
RUSH_REDUCE(std_correction) = VAR(1, 3, setup_std_correction, 0);
RUSH_REDUCE(var_mean) = VAR(0, 0, setup_var, RUSH_RED_SECOND_SAME);
RUSH_REDUCE(var_mean_dim) = VAR(1, 3, setup_var_dim, RUSH_RED_SECOND_SAME);
RUSH_REDUCE(var_mean_correction) = VAR(1, 3, setup_var_correction, RUSH_RED_SECOND_SAME);
RUSH_REDUCE(std_mean) = VAR(0, 0, setup_std, RUSH_RED_SECOND_SAME);
RUSH_REDUCE(std_mean_dim) = VAR(1, 3, setup_std_dim, RUSH_RED_SECOND_SAME);
RUSH_REDUCE(std_mean_correction) = VAR(1, 3, setup_std_correction, RUSH_RED_SECOND_SAME);

/* ---- Norms ----------------------------------------------------------------------------------- */

static void squares_f32(rush_reduce_state *s, size_t n, const void *x,
                        const rush_reduce_params *p) {
  (void)p;
  s->f += rush_sum_squares_f32(n, x, 0);
}
static void squares_f64(rush_reduce_state *s, size_t n, const void *x,
                        const rush_reduce_params *p) {
  (void)p;
  s->f += rush_sum_squares_f64(n, x, 0);
}
static void finish_root(const rush_reduce_state *s, const rush_reduce_params *p,
                        rush_reduce_value *v) {
  (void)p;
  v[0].f = sqrt(s->f);
}
static void finish_f(const rush_reduce_state *s, const rush_reduce_params *p,
                     rush_reduce_value *v) {
  (void)p;
  v[0].f = s->f;
}
static void finish_power(const rush_reduce_state *s, const rush_reduce_params *p,
                         rush_reduce_value *v) {
  v[0].f = p->n == 0 && isnan(p->f[0]) ? 0 : pow(s->f, 1 / p->f[0]);
}
static void abs_f64(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++) s->f += fabs(v[i]);
}
static void abs_f32(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  (void)p;
  s->f += rush_sum_abs_f32(n, x);
}
#define NORM(name, expr)                                                \
  static void name##_f32(rush_reduce_state *s, size_t n, const void *x, \
                         const rush_reduce_params *p) {                 \
    const float *v = x;                                                 \
    double f = s->f;                                                    \
    (void)p;                                                            \
    for (size_t i = 0; i < n; i++) {                                    \
      const double a = (double)fabsf(v[i]);                             \
      expr;                                                             \
    }                                                                   \
    s->f = f;                                                           \
  }                                                                     \
  static void name##_f64(rush_reduce_state *s, size_t n, const void *x, \
                         const rush_reduce_params *p) {                 \
    const double *v = x;                                                \
    double f = s->f;                                                    \
    (void)p;                                                            \
    for (size_t i = 0; i < n; i++) {                                    \
      const double a = fabs(v[i]);                                      \
      expr;                                                             \
    }                                                                   \
    s->f = f;                                                           \
  }
NORM(most, if (a > f || a != a) f = a)
NORM(least, if (a < f || a != a) f = a)
NORM(nonzero, f += a != 0)
NORM(power, f += pow(a, p->f[0]))
static void norm_c128(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p);
#define NORM_ROW(a, b, finish_, first, more)          \
  {.flags = RUSH_RED_FLOAT | RUSH_RED_TO_REAL | more, \
   .init_f = first,                                   \
   .f32 = a,                                          \
   .f64 = b,                                          \
   .c128 = norm_c128,                                 \
   .finish = finish_,                                 \
   .name = "linalg.vector_norm"}
static const rush_reduce norm_1 = NORM_ROW(abs_f32, abs_f64, finish_f, 0, 0);
static const rush_reduce norm_inf = NORM_ROW(most_f32, most_f64, finish_f, 0, RUSH_RED_NONEMPTY);
static const rush_reduce norm_low =
    NORM_ROW(least_f32, least_f64, finish_f, (double)INFINITY, RUSH_RED_NONEMPTY);
static const rush_reduce norm_0 = NORM_ROW(nonzero_f32, nonzero_f64, finish_f, 0, 0);
static const rush_reduce norm_p = NORM_ROW(power_f32, power_f64, finish_power, 0, 0);
static const rush_reduce norm_negative =
    NORM_ROW(power_f32, power_f64, finish_power, 0, RUSH_RED_NONEMPTY);
static const rush_reduce norm_2 = NORM_ROW(squares_f32, squares_f64, finish_root, 0, 0);

static const rush_reduce *norm_of(double ord) {
  return ord == 2                   ? &norm_2
         : ord == 1                 ? &norm_1
         : ord == 0                 ? &norm_0
         : ord == (double)INFINITY  ? &norm_inf
         : ord == -(double)INFINITY ? &norm_low
         : ord < 0                  ? &norm_negative
                                    : &norm_p;
}
/* The norm of complex numbers uses their absolute values. */
static void norm_c128(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const double *v = x;
  for (size_t i = 0; i < n; i++, v += 2) {
    const double size = hypot(v[0], v[1]);
    norm_of(p->f[0])->f64(s, 1, &size, p);
  }
}

static rush_status setup_norm(rush_call *c, const rush_reduce **row, rush_reduce_params *p) {
  p->f[0] = arg_is_none(c, 1) ? 2 : arg_scalar_double(c, 1);
  /* PyTorch returns the absolute value of a single element for every order except 0. */
  *row = p->n == 1 && p->f[0] != 0 ? &norm_1 : norm_of(p->f[0]);
  if (*row == &norm_1) p->f[0] = 1;
  return RUSH_OK;
}
static rush_status setup_frobenius(rush_call *c, const rush_reduce **row, rush_reduce_params *p) {
  (void)c;
  p->f[0] = 2;
  *row = &norm_2;
  return RUSH_OK;
}
RUSH_REDUCE(norm) = {.setup = setup_norm};
RUSH_REDUCE(norm_dtype) = {.dtype = 2, .setup = setup_norm};
RUSH_REDUCE(norm_dim) = {.dim = 2, .keepdim = 3, .setup = setup_norm};
RUSH_REDUCE(norm_dim_dtype) = {.dim = 2, .keepdim = 3, .dtype = 4, .setup = setup_norm};
RUSH_REDUCE(frobenius_norm) = {.dim = 1, .keepdim = 2, .setup = setup_frobenius};

/* ---- logsumexp: f is the running maximum, g the sum of exp(x - f) ---------------------------- */

static void rescale(rush_reduce_state *s, double most) {
  if (!(most > s->f) && most == most) return;
  s->g = s->f == -(double)INFINITY ? 0 : s->g * exp(s->f - most);
  s->f = most;
}
static void log_sum_f32(rush_reduce_state *s, size_t n, const void *x,
                        const rush_reduce_params *p) {
  const float *v = x;
  float scratch[256];
  (void)p;
  for (size_t at = 0; at < n; at += 256) {
    size_t m = n - at < 256 ? n - at : 256;
    rescale(s, (double)rush_max_f32(m, v + at));
    if (isinf(s->f)) continue;
    s->g += rush_exp_sum_f32(m, scratch, v + at, (float)s->f);
  }
}
static void log_sum_f64(rush_reduce_state *s, size_t n, const void *x,
                        const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++) {
    rescale(s, v[i]);
    if (!isinf(s->f)) s->g += exp(v[i] - s->f);
  }
}
/* f is the greatest real part; g and h are the real and imaginary parts of the sum. */
static void log_sum_c128(rush_reduce_state *s, size_t n, const void *x,
                         const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++, v += 2) {
    const double before = s->f;
    rescale(s, v[0]);
    if (s->f != before) s->h *= isinf(before) ? 0 : exp(before - s->f);
    if (isinf(s->f)) continue;
    const double size = exp(v[0] - s->f);
    s->g += size * cos(v[1]);
    s->h += size * sin(v[1]);
  }
}
static void finish_log(const rush_reduce_state *s, const rush_reduce_params *p,
                       rush_reduce_value *v) {
  (void)p;
  v[0].f = isinf(s->f) ? s->f : s->f + log(hypot(s->g, s->h));
  v[0].g = atan2(s->h, s->g);
}
/* For dim=[], PyTorch reduces all dimensions, but then fails unless keepdim is set or the tensor is
 * empty or 0-d. */
static rush_status setup_log(rush_call *c, const rush_reduce **row, rush_reduce_params *p) {
  (void)row;
  RUSH_CHECK_ARG(
      arg_list(c, 1)->n > 0 || arg_tensor(c, 0)->rank == 0 || arg_bool(c, 2) || p->n == 0,
      "output with shape [] doesn't match the broadcast shape [1, ...]: dim=[] needs keepdim");
  return RUSH_OK;
}
RUSH_REDUCE(logsumexp) = {.dim = 1,
                          .keepdim = 2,
                          .flags = RUSH_RED_TO_FLOAT,
                          .init_f = (double)-INFINITY,
                          .f32 = log_sum_f32,
                          .f64 = log_sum_f64,
                          .c128 = log_sum_c128,
                          .finish = finish_log,
                          .setup = setup_log,
                          .name = "logsumexp"};
