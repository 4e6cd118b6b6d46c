/* Unary functions. */
#include <math.h>

#include "base/lgamma.h"
#include "blocks/elements/pointwise.h"
#include "kernels/elementary.h"

#define U(x) ((uint64_t)(x))
/* ---- Elementary functions -------------------------------------------------------------------- */

/* Adds a body for complex numbers. */
#define COMPLEX(fn_) .c128 = rush_pw_map_c128, .cfn = fn_
/* float32 uses a SIMD kernel, float64 uses libm, and integers are converted to float32. The last
 * argument is COMPLEX() or empty. */
#define FAST(id, fn_, ...)                         \
  RUSH_BODY_KERNEL(id##_f32, rush_##id##_f32)      \
  RUSH_POINTWISE(id) = {.operands = 1,             \
                        .flags = RUSH_PW_TO_FLOAT, \
                        .f32 = id##_f32,           \
                        .f64 = rush_pw_map_f64,    \
                        .fn = fn_,                 \
                        __VA_ARGS__};
/* float32 uses libm too */
#define PLAIN(id, fn_, fn_32, ...)                 \
  RUSH_POINTWISE(id) = {.operands = 1,             \
                        .flags = RUSH_PW_TO_FLOAT, \
                        .f32 = rush_pw_map_f32,    \
                        .f64 = rush_pw_map_f64,    \
                        .fn = fn_,                 \
                        .fn32 = fn_32,             \
                        __VA_ARGS__};

static double inverse_sqrt(double x) {
  return 1 / sqrt(x);
}
static const double LN2 = 0.69314718055994530942, LN10 = 2.30258509299404568402;
static rush_c128 c_rsqrt(rush_c128 x) {
  return rush_quotient_c128(1, csqrt(x));
}
static rush_c128 c_exp2(rush_c128 x) {
  return cexp(x * LN2);
}
/* sin(y/2) avoids cancellation of the real part near 0 */
static rush_c128 c_expm1(rush_c128 x) {
  const double a = creal(x), b = cimag(x), s = sin(b / 2);
  return CMPLX(expm1(a) * cos(b) - 2 * s * s, exp(a) * sin(b));
}
static rush_c128 c_log2(rush_c128 x) {
  return clog(x) / LN2;
}
static rush_c128 c_log10(rush_c128 x) {
  return clog(x) / LN10;
}
static rush_c128 c_log1p(rush_c128 x) {
  const double a = creal(x), b = cimag(x);
  return CMPLX(log1p(a * (2 + a) + b * b) / 2, atan2(b, 1 + a));
}
static rush_c128 c_sigmoid(rush_c128 x) {
  return 1 / (1 + cexp(-x));
}
FAST(sqrt, sqrt, COMPLEX(csqrt))
FAST(rsqrt, inverse_sqrt, COMPLEX(c_rsqrt))
FAST(exp, exp, COMPLEX(cexp))
FAST(exp2, exp2, COMPLEX(c_exp2))
FAST(expm1, expm1, COMPLEX(c_expm1))
FAST(log, log, COMPLEX(clog))
FAST(log2, log2, COMPLEX(c_log2))
FAST(log10, log10, COMPLEX(c_log10))
FAST(log1p, log1p, COMPLEX(c_log1p))
FAST(sin, sin, COMPLEX(csin))
FAST(cos, cos, COMPLEX(ccos))
FAST(tanh, tanh, COMPLEX(ctanh))
FAST(atan, atan, COMPLEX(catan))
FAST(sigmoid, rush_sigmoid_ref, COMPLEX(c_sigmoid))
FAST(erf, erf, )
PLAIN(erfc, erfc, erfcf, )
PLAIN(tan, tan, tanf, COMPLEX(ctan))
PLAIN(asin, asin, asinf, COMPLEX(casin))
PLAIN(acos, acos, acosf, COMPLEX(cacos))
PLAIN(sinh, sinh, sinhf, COMPLEX(csinh))
PLAIN(cosh, cosh, coshf, COMPLEX(ccosh))
PLAIN(asinh, asinh, asinhf, COMPLEX(casinh))
PLAIN(acosh, acosh, acoshf, COMPLEX(cacosh))
PLAIN(atanh, atanh, atanhf, COMPLEX(catanh))
PLAIN(lgamma, rush_lgamma, rush_lgamma_f32, )

static const double PI = 3.14159265358979323846;

/* Uses the recurrence up to x >= 10, where the asymptotic series is accurate, and the reflection
 * formula below 0. */
static double digamma(double x) {
  if (x == 0) return copysign(INFINITY, -x);
  if (x < 0) {
    const double part = x - trunc(x);
    return part == 0 || isinf(x) ? NAN : digamma(1 - x) - PI / tan(PI * part);
  }
  double sum = 0;
  for (; x < 10; x++) sum -= 1 / x;
  const double z = 1 / (x * x);
  return sum + log(x) - 0.5 / x -
         z * (1 / 12. -
              z * (1 / 120. - z * (1 / 252. - z * (1 / 240. - z * (1 / 132. - z * 691 / 32760)))));
}
static float digamma_32(float x) {
  return (float)digamma(x);
}
PLAIN(digamma, digamma, digamma_32, )

/* Starts with Winitzki's approximation. Each of the three steps of Halley's method triples the
 * number of correct digits. */
static double erfinv(double y) {
  const double a = fabs(y), square = log1p(-a * a), t = 2 / (PI * 0.147) + square / 2;
  if (!(a < 1)) return a == 1 ? copysign(INFINITY, y) : NAN;
  double x = sqrt(sqrt(t * t - square / 0.147) - t);
  for (int k = 0; k < 3; k++) {
    const double e = (erf(x) - a) * exp(x * x) / 1.12837916709551257390; /* 2 / sqrt(pi) */
    x -= e / (1 + x * e);
  }
  return copysign(x, y);
}
static float erfinv_32(float y) {
  return (float)erfinv(y);
}
PLAIN(erfinv, erfinv, erfinv_32, )

/* Sums the power series, whose terms are all positive. PyTorch's formula overflows where exp
 * does. */
static double i0(double x) {
  const double q = x * x / 4;
  double term = 1, sum = 1;
  if (isinf(exp(fabs(x)))) return isinf(x) ? NAN : INFINITY;
  for (double k = 1; term > sum * 1e-17; k++) {
    term *= q / (k * k);
    sum += term;
  }
  return sum;
}
static float i0_32(float x) {
  if (isinf(expf(fabsf(x)))) return isinf(x) ? NAN : INFINITY;
  return (float)i0(x);
}
PLAIN(i0, i0, i0_32, )

static double sinc(double x) {
  return x == 0 ? 1 : sin(PI * x) / (PI * x);
}
static float sinc_32(float x) {
  const float at = (float)PI * x;
  return x == 0 ? 1 : sinf(at) / at;
}
static rush_c128 c_sinc(rush_c128 x) {
  return x == 0 ? 1 : csin(PI * x) / (PI * x);
}
PLAIN(sinc, sinc, sinc_32, COMPLEX(c_sinc))

/* log(z / (1 - z)), where z is x clamped to [eps, 1 - eps]. Both limits are rounded to the dtype.
 * For half-precision dtypes, each step is rounded. */
#define LOGIT(log_) log_((x < s ? s : x > t ? t : x) / (1 - (x < s ? s : x > t ? t : x)))
RUSH_BODY_1(logit_f32, float, float, LOGIT(logf))
RUSH_BODY_1(logit_f64, double, double, LOGIT(log))
static float logit_of_half(float z, const rush_pw_params *p) {
  return logf(rush_pw_rounded(p, z / rush_pw_rounded(p, 1 - z)));
}
RUSH_BODY_1(logit_half, float, float, logit_of_half(x<s ? s : x> t ? t : x, p))
static const rush_pointwise logit_of_halves = {.operands = 1, .f32 = logit_half};
static rush_status setup_logit(rush_call *c, rush_pw_job *job) {
  double eps = arg_is_none(c, 1) ? -1 : rush_rounded(job->common, arg_float(c, 1));
  job->p.f[0] = eps < 0 ? -INFINITY : eps;
  job->p.f[1] = eps < 0 ? INFINITY : rush_rounded(job->common, 1 - eps);
  if (rush_is_half(job->common)) job->row = &logit_of_halves;
  return RUSH_OK;
}
RUSH_POINTWISE(logit) = {.operands = 1,
                         .flags = RUSH_PW_TO_FLOAT,
                         .f32 = logit_f32,
                         .f64 = logit_f64,
                         .setup = setup_logit};

RUSH_BODY_1(rad2deg_f32, float, float, x * 57.295779513f)
RUSH_BODY_1(rad2deg_f64, double, double, x * 57.295779513082320876798154814105)
RUSH_BODY_1(deg2rad_f32, float, float, x * 0.017453292519f)
RUSH_BODY_1(deg2rad_f64, double, double, x * 0.017453292519943295769236907684886)
RUSH_POINTWISE(rad2deg) = {.operands = 1,
                           .flags = RUSH_PW_TO_FLOAT | RUSH_PW_LIKE_SELF,
                           .f32 = rad2deg_f32,
                           .f64 = rad2deg_f64};
RUSH_POINTWISE(deg2rad) = {.operands = 1,
                           .flags = RUSH_PW_TO_FLOAT | RUSH_PW_LIKE_SELF,
                           .f32 = deg2rad_f32,
                           .f64 = deg2rad_f64};

/* ---- Rounding: integers do not change -------------------------------------------------------- */

#define ROUNDING(id, fn_)                         \
  RUSH_BODY_KERNEL(id##_f32, rush_##id##_f32)     \
  RUSH_BODY_1(id##_f64, double, double, fn_(x))   \
  RUSH_POINTWISE(id) = {.operands = 1,            \
                        .flags = RUSH_PW_NO_BOOL, \
                        .f32 = id##_f32,          \
                        .f64 = id##_f64,          \
                        .i64 = rush_pw_copy_i64};
ROUNDING(ceil, __builtin_ceil)
ROUNDING(floor, __builtin_floor)
ROUNDING(round, __builtin_rint)
ROUNDING(trunc, __builtin_trunc)
RUSH_BODY_KERNEL(frac_f32, rush_frac_f32)
RUSH_BODY_1(frac_f64, double, double, x - trunc(x))
RUSH_POINTWISE(frac) = {.operands = 1, .f32 = frac_f32, .f64 = frac_f64};

/* s is 10^|decimals|. */
RUSH_BODY_1(round_up_f32, float, float, rintf(x *s) / s)
RUSH_BODY_1(round_up_f64, double, double, rint(x *s) / s)
RUSH_BODY_1(round_down_f32, float, float, rintf(x / s) * s)
RUSH_BODY_1(round_down_f64, double, double, rint(x / s) * s)
static const rush_pointwise round_up = {.operands = 1, .f32 = round_up_f32, .f64 = round_up_f64};
static const rush_pointwise round_down = {
    .operands = 1, .f32 = round_down_f32, .f64 = round_down_f64};
static rush_status setup_round_decimals(rush_call *c, rush_pw_job *job) {
  int64_t decimals = arg_int(c, 1);
  RUSH_CHECK(c->ctx, rush_is_float(job->common), RUSH_ERR_BAD_ARGUMENT,
             "\"round_vml_cpu\" not implemented for '%s'", rush_dtype_torch_name(job->common));
  job->row = decimals == 0 ? &rush_pointwise_round : decimals > 0 ? &round_up : &round_down;
  job->p.f[0] = pow(10, fabs((double)decimals));
  return RUSH_OK;
}
RUSH_POINTWISE(round_decimals) = {.operands = 1, .setup = setup_round_decimals};

/* ---- Sign and absolute value ----------------------------------------------------------------- */

RUSH_BODY_1(abs_f32, float, float, __builtin_fabsf(x))
RUSH_BODY_1(abs_f64, double, double, __builtin_fabs(x))
RUSH_BODY_1(abs_i64, int64_t, int64_t, x < 0 ? 0 - U(x) : U(x))
/* hypot is only needed if a square overflows or underflows in double precision. */
static inline double abs_of(rush_c128 x) {
  const double a = creal(x), b = cimag(x), square = a * a + b * b;
  return square > 0x1p-900 && square < 0x1p1000 ? sqrt(square) : cabs(x);
}
RUSH_BODY_1(abs_c128, rush_c128, double, abs_of(x))
RUSH_POINTWISE(abs) = {.operands = 1,
                       .flags = RUSH_PW_NO_BOOL | RUSH_PW_TO_REAL,
                       .f32 = abs_f32,
                       .f64 = abs_f64,
                       .i64 = abs_i64,
                       .c128 = abs_c128};

/* The angle of a real number is 0 or pi. */
RUSH_BODY_1(angle_f32, float, float, x != x ? x : x < 0 ? (float)PI : 0)
RUSH_BODY_1(angle_f64, double, double, x != x ? x : x < 0 ? PI : 0)
RUSH_BODY_1(angle_c128, rush_c128, double, carg(x))
static void angle_c64(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  enum { SOME = 256 };
  float re[SOME], im[SOME];
  (void)p;
  for (size_t at = 0; at < n; at += SOME) {
    const size_t m = n - at < SOME ? n - at : SOME;
    const float *x = (const float *)in[0] + 2 * at;
    RUSH_EACH for (size_t i = 0; i < m; i++) re[i] = x[2 * i], im[i] = x[2 * i + 1];
    rush_atan2_f32(m, (float *)out + at, im, re);
  }
}
RUSH_POINTWISE(angle) = {.operands = 1,
                         .flags = RUSH_PW_TO_FLOAT | RUSH_PW_TO_REAL,
                         .f32 = angle_f32,
                         .f64 = angle_f64,
                         .c128 = angle_c128,
                         .c64 = angle_c64};
RUSH_BODY_1(conj_c128, rush_c128, rush_c128, conj(x))
RUSH_BODY_1(same_f32, float, float, x)
RUSH_BODY_1(same_f64, double, double, x)
RUSH_POINTWISE(conj_physical) = {
    .operands = 1, .f32 = same_f32, .f64 = same_f64, .i64 = rush_pw_copy_i64, .c128 = conj_c128};

RUSH_BODY_1(neg_f32, float, float, -x)
RUSH_BODY_1(neg_f64, double, double, -x)
RUSH_BODY_1(neg_i64, int64_t, int64_t, 0 - U(x))
static rush_status setup_neg(rush_call *c, rush_pw_job *job) {
  RUSH_CHECK(c->ctx, job->common != RUSH_BOOL, RUSH_ERR_BAD_ARGUMENT,
             "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
             "invert a mask, use "
             "the `~` or `logical_not()` operator instead.");
  return RUSH_OK;
}
RUSH_BODY_1(neg_c128, rush_c128, rush_c128, -x)
RUSH_POINTWISE(neg) = {.operands = 1,
                       .f32 = neg_f32,
                       .f64 = neg_f64,
                       .i64 = neg_i64,
                       .c128 = neg_c128,
                       .setup = setup_neg};

RUSH_BODY_1(sign_f32, float, float, (float)(x > 0) - (float)(x < 0))
RUSH_BODY_1(sign_f64, double, double, (double)(x > 0) - (double)(x < 0))
RUSH_BODY_1(sign_i64, int64_t, int64_t, (x > 0) - (x < 0))
RUSH_POINTWISE(sign) = {.operands = 1, .f32 = sign_f32, .f64 = sign_f64, .i64 = sign_i64};
RUSH_BODY_1(sgn_c128, rush_c128, rush_c128, x == 0 ? 0 : x / cabs(x))
RUSH_POINTWISE(sgn) = {
    .operands = 1, .f32 = sign_f32, .f64 = sign_f64, .i64 = sign_i64, .c128 = sgn_c128};

/* ---- nan_to_num: p.f[0] replaces NaN, 1 infinity, 2 minus infinity --------------------------- */

RUSH_BODY_1(nan_to_num_f32, float, float,
            x != x                  ? s
            : x == (float)INFINITY  ? t
            : x == -(float)INFINITY ? (float)p->f[2]
                                    : x)
RUSH_BODY_1(nan_to_num_f64, double, double,
            x != x                   ? s
            : x == (double)INFINITY  ? t
            : x == -(double)INFINITY ? p->f[2]
                                     : x)
static inline double as_number(double x, const rush_pw_params *p) {
  return x != x ? p->f[0] : x == (double)INFINITY ? p->f[1] : x == -(double)INFINITY ? p->f[2] : x;
}
RUSH_BODY_1(nan_to_num_c128, rush_c128, rush_c128,
            CMPLX(as_number(creal(x), p), as_number(cimag(x), p)))
static rush_status setup_nan_to_num(rush_call *c, rush_pw_job *job) {
  const bool single = job->common == RUSH_FLOAT32 || job->common == RUSH_COMPLEX64;
  const double most = job->common == RUSH_FLOAT16    ? 65504
                      : job->common == RUSH_BFLOAT16 ? 0x1.fep127
                      : single                       ? (double)3.40282346638528859812e+38f
                                                     : 1.79769313486231570815e+308;
  job->p.f[0] = 0;
  job->p.f[1] = most;
  job->p.f[2] = -most;
  for (int k = 0; k < 3; k++) rush_pw_scalar(c, job, (uint32_t)k + 1, k);
  return RUSH_OK;
}
RUSH_POINTWISE(nan_to_num) = {.operands = 1,
                              .flags = RUSH_PW_LIKE_SELF,
                              .f32 = nan_to_num_f32,
                              .f64 = nan_to_num_f64,
                              .c128 = nan_to_num_c128,
                              .i64 = rush_pw_copy_i64,
                              .setup = setup_nan_to_num};
