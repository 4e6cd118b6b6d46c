/* add, sub, mul, div, pow and related operators. Integers wrap on overflow; dividing an integer by
 * zero is an error. */
#include <float.h>
#include <math.h>

#include "base/half.h"
#include "blocks/elements/pointwise.h"
#include "kernels/elementary.h"

#define U(x) ((uint64_t)(x))
#define ZERO_DIVISION "ZeroDivisionError"

/* Defines the float bodies from one expression and the integer body from another. */
#define ARITHMETIC(id, fexpr, iexpr)           \
  RUSH_BODY_2(id##_f32, float, float, fexpr)   \
  RUSH_BODY_2(id##_f64, double, double, fexpr) \
  RUSH_BODY_2(id##_i64, int64_t, int64_t, iexpr)
#define BODIES(id) .operands = 2, .f32 = id##_f32, .f64 = id##_f64, .i64 = id##_i64
/* Computes x + alpha * y for complex numbers with the full complex product, as PyTorch does. An
 * infinity times the zero imaginary part of alpha therefore gives NaN. */
#if defined(__clang__)
#define ONE_BY_ONE _Pragma("clang loop vectorize(disable) unroll(disable)") /* small code */
#else
#define ONE_BY_ONE
#endif
#define COMPLEX_SUM(name, T)                                                          \
  static void name(size_t n, void *out_, const void *const *in_, rush_pw_params *p) { \
    const T *a = in_[0], *b = in_[1], re = (T)p->f[0], im = (T)p->f[1];               \
    T *o = out_;                                                                      \
    ONE_BY_ONE for (size_t i = 0; i < 2 * n; i += 2) {                                \
      const T x = b[i], y = b[i + 1];                                                 \
      o[i] = a[i] + (re * x - im * y);                                                \
      o[i + 1] = a[i + 1] + (re * y + im * x);                                        \
    }                                                                                 \
  }
COMPLEX_SUM(sum_c64, float)
COMPLEX_SUM(sum_c128, double)

/* ---- add, sub, mul --------------------------------------------------------------------------- */

ARITHMETIC(add, x + y, U(x) + U(y))
/* The sum is rounded once, like PyTorch's fused multiply-add. */
#define SCALED(id, op)                                                  \
  RUSH_BODY_2(id##_f32, float, float, (double)x op p->f[0] * (double)y) \
  RUSH_BODY_2(id##_f64, double, double, x op s *y)                      \
  RUSH_BODY_2(id##_i64, int64_t, int64_t, U(x) op U(s) * U(y))
SCALED(add_scaled, +)
SCALED(sub_scaled, -)
/* For half-precision dtypes, the product is rounded as well. */
RUSH_BODY_2(add_scaled_half, float, float, x + rush_pw_rounded(p, s *y))
static const rush_pointwise add_scaled_halves = {.operands = 2, .f32 = add_scaled_half};
ARITHMETIC(sub, x - y, U(x) - U(y))
ARITHMETIC(mul, x *y, U(x) * U(y))
RUSH_BODY_2(mul_c128, rush_c128, rush_c128, x *y)
static void mul_c64(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  (void)p;
  rush_mul_c64(n, out, in[0], in[1]);
}
RUSH_BODY_2(add_i32, int32_t, int32_t, (uint32_t)x + (uint32_t)y)
RUSH_BODY_2(sub_i32, int32_t, int32_t, (uint32_t)x - (uint32_t)y)
RUSH_BODY_2(mul_i32, int32_t, int32_t, (uint32_t)x *(uint32_t)y)

/* Reads alpha from argument 2. `*is_one` is set if the row's own bodies, which ignore alpha, are
 * right. The bodies for complex numbers always apply alpha. */
static rush_status read_alpha(rush_call *c, rush_pw_job *job, bool *is_one) {
  RUSH_CHECK(c->ctx, c->args[2].kind != RUSH_KIND_BOOL || job->common == RUSH_BOOL,
             RUSH_ERR_BAD_ARGUMENT, "Boolean alpha only supported for Boolean results.");
  RUSH_CHECK(c->ctx, !rush_is_integral(job->common) || !arg_scalar_is_float(c, 2),
             RUSH_ERR_BAD_ARGUMENT,
             "For integral input tensors, argument alpha must not be a floating point number.");
  rush_pw_scalar(c, job, 2, 0);
  if (job->common == RUSH_BOOL) job->p.f[0] = (double)(job->p.i[0] = job->p.i[0] != 0);
  *is_one = job->p.f[0] == 1 || rush_is_complex(job->common);
  if (!*is_one && rush_is_half(job->common)) job->p.f[0] = rush_rounded(job->common, job->p.f[0]);
  return RUSH_OK;
}

static bool is_bool_argument(const rush_call *c, uint32_t i) {
  const rush_value *v = &c->args[i];
  return v->kind == RUSH_KIND_TENSOR ? rush_as_tensor(v)->dtype == RUSH_BOOL
                                     : v->kind == RUSH_KIND_BOOL;
}

static const rush_pointwise add_scaled = {BODIES(add_scaled)};
static rush_status setup_add(rush_call *c, rush_pw_job *job) {
  bool is_one;
  RUSH_TRY(read_alpha(c, job, &is_one));
  if (!is_one) job->row = rush_is_half(job->common) ? &add_scaled_halves : &add_scaled;
  return RUSH_OK;
}
#define SUM_BODIES(id) \
  BODIES(id), .flags = RUSH_PW_COMPLEX_NUMBERS, .c128 = sum_c128, .c64 = sum_c64, .i32 = id##_i32
RUSH_POINTWISE(add) = {SUM_BODIES(add), .setup = setup_add};

static const rush_pointwise sub_scaled = {BODIES(sub_scaled)};
static rush_status setup_sub(rush_call *c, rush_pw_job *job) {
  bool is_one, a = is_bool_argument(c, 0), b = is_bool_argument(c, 1);
  RUSH_CHECK(c->ctx, !(a && b), RUSH_ERR_BAD_ARGUMENT,
             "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
             "or `logical_xor()` "
             "operator instead.");
  RUSH_CHECK(c->ctx, !a && !b, RUSH_ERR_BAD_ARGUMENT,
             "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
             "trying to invert a mask, "
             "use the `~` or `logical_not()` operator instead.");
  RUSH_TRY(read_alpha(c, job, &is_one));
  if (rush_is_half(job->common) || rush_is_complex(job->common)) {
    job->p.f[0] = -job->p.f[0];
    job->p.f[1] = -job->p.f[1];
  }
  if (!is_one) job->row = rush_is_half(job->common) ? &add_scaled_halves : &sub_scaled;
  return RUSH_OK;
}
RUSH_POINTWISE(sub) = {SUM_BODIES(sub), .setup = setup_sub};

static rush_status setup_rsub(rush_call *c, rush_pw_job *job) {
  job->arg[0] = 1;
  job->arg[1] = 0;
  return setup_sub(c, job);
}
RUSH_POINTWISE(rsub) = {SUM_BODIES(sub), .setup = setup_rsub};

RUSH_POINTWISE(mul) = {BODIES(mul), .c128 = mul_c128, .c64 = mul_c64, .flags = RUSH_PW_EXACT,
                       .i32 = mul_i32};

/* ---- Division -------------------------------------------------------------------------------- */

RUSH_BODY_2(div_f32, float, float, x / y)
RUSH_BODY_2(div_f64, double, double, x / y)
RUSH_BODY_2(div_c128, rush_c128, rush_c128, rush_quotient_c128(x, y))
RUSH_POINTWISE(div) = {.operands = 2,
                       .flags = RUSH_PW_TO_FLOAT | RUSH_PW_EXACT,
                       .f32 = div_f32,
                       .f64 = div_f64,
                       .c128 = div_c128};

/* Defines an integer body that stops at a zero divisor. INT64_MIN / -1 wraps. */
#define INTEGER_DIVISION(name, minus_one, expr)                                     \
  static void name(size_t n, void *out, const void *const *in, rush_pw_params *p) { \
    const int64_t *a = in[0], *b = in[1];                                           \
    int64_t *o = out;                                                               \
    for (size_t i = 0; i < n; i++) {                                                \
      const int64_t x = a[i], y = b[i];                                             \
      if (RUSH_UNLIKELY(y == 0)) {                                                  \
        p->fault = ZERO_DIVISION;                                                   \
        return;                                                                     \
      }                                                                             \
      o[i] = y == -1 ? (int64_t)(minus_one) : (int64_t)(expr);                      \
    }                                                                               \
  }
INTEGER_DIVISION(trunc_i64, 0 - U(x), x / y)
INTEGER_DIVISION(floor_i64, 0 - U(x), x / y - (x % y != 0 && (x ^ y) < 0))
INTEGER_DIVISION(fmod_i64, 0, x % y)
INTEGER_DIVISION(remainder_i64, 0, x % y + (x % y != 0 && (x ^ y) < 0 ? y : 0))

static void trunc_f32(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  enum { CACHED = 1024 };
  const float *a = in[0], *b = in[1];
  (void)p;
  for (size_t at = 0; at < n; at += CACHED) {
    const size_t m = n - at < CACHED ? n - at : CACHED;
    float *o = (float *)out + at;
    RUSH_EACH for (size_t i = 0; i < m; i++) o[i] = a[at + i] / b[at + i];
    rush_trunc_f32(m, o, o);
  }
}
RUSH_BODY_2(trunc_f64, double, double, trunc(x / y))

/* c10::div_floor_floating */
static double floor_div(double a, double b) {
  if (b == 0) return a / b;
  double mod = fmod(a, b), div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
  if (div == 0) return copysign(0, a / b);
  double floordiv = floor(div);
  return div - floordiv > 0.5 ? floordiv + 1 : floordiv;
}
static float floor_divf(float a, float b) {
  if (b == 0) return a / b;
  float mod = fmodf(a, b), div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
  if (div == 0) return copysignf(0, a / b);
  float floordiv = floorf(div);
  return div - floordiv > 0.5f ? floordiv + 1 : floordiv;
}
static double remainder_py(double a, double b) {
  double mod = fmod(a, b);
  return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
}
static float remainder_pyf(float a, float b) {
  float mod = fmodf(a, b);
  return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
}

/* float32 mod uses the quotient in double precision. A quotient below 2^28 is on the same side of
 * each integer as the exact quotient. Its integer part times y, and the remainder, have at most 53
 * bits, so the result is exact, as fmodf's is. A block with a larger quotient is computed by
 * `otherwise`, element by element. */
enum { MOD_BLOCK = 128 };
static bool quotients(size_t n, const float *a, const float *b, int32_t *q) {
  int odd = 0;
  RUSH_EACH for (size_t i = 0; i < n; i++) {
    const double y = b[i], d = a[i] / y;
    const int is_odd = !((fabs(d) < 0x1p28) & (fabs(y) <= (double)FLT_MAX));
    q[i] = (int32_t)(is_odd ? 0 : d);
    odd |= is_odd;
  }
  return odd == 0;
}
#define MOD_BODY(name, otherwise, expr)                                                \
  static void name(size_t n, void *out_, const void *const *in_, rush_pw_params *p) {  \
    (void)p;                                                                           \
    for (size_t at = 0; at < n; at += MOD_BLOCK) {                                     \
      const size_t m = n - at < MOD_BLOCK ? n - at : MOD_BLOCK;                        \
      const float *a = (const float *)in_[0] + at, *b = (const float *)in_[1] + at;    \
      float *o = (float *)out_ + at;                                                   \
      int32_t q[MOD_BLOCK];                                                            \
      if (RUSH_UNLIKELY(!quotients(m, a, b, q))) {                                     \
        for (size_t i = 0; i < m; i++) o[i] = otherwise(a[i], b[i]);                   \
        continue;                                                                      \
      }                                                                                \
      RUSH_EACH for (size_t i = 0; i < m; i++) {                                       \
        const float x = a[i], y = b[i];                                                \
        const float mod = copysignf((float)((double)x - (double)q[i] * (double)y), x); \
        o[i] = expr;                                                                   \
      }                                                                                \
    }                                                                                  \
  }
static inline float floor_of_mod(float x, float y, float mod) {
  float div = (x - mod) / y;
  div -= ((mod != 0) & ((y < 0) != (mod < 0))) ? 1.0f : 0.0f;
  const float whole = (float)(int32_t)div, floor = whole - (whole > div ? 1.0f : 0.0f);
  const float nearest = div - floor > 0.5f ? floor + 1 : floor;
  return div == 0 ? copysignf(0, x / y) : nearest;
}
MOD_BODY(floor_divide_f32, floor_divf, floor_of_mod(x, y, mod))
MOD_BODY(remainder_f32, remainder_pyf, ((mod != 0) & ((y < 0) != (mod < 0))) ? mod + y : mod)
MOD_BODY(fmod_f32, fmodf, mod)

#define MAPPED(id, more, fn_, fn_32)                                         \
  .operands = 2, .flags = RUSH_PW_NO_BOOL | (more), .f32 = rush_pw_map2_f32, \
  .f64 = rush_pw_map2_f64, .i64 = id##_i64, .fn2 = fn_, .fn2_32 = fn_32
#define BY_QUOTIENTS(id, more, fn_, f32_)                                                 \
  .operands = 2, .flags = RUSH_PW_NO_BOOL | (more), .f32 = f32_, .f64 = rush_pw_map2_f64, \
  .i64 = id##_i64, .fn2 = fn_

RUSH_POINTWISE(floor_divide) = {BY_QUOTIENTS(floor, RUSH_PW_EXACT, floor_div, floor_divide_f32)};
RUSH_POINTWISE(remainder) = {BY_QUOTIENTS(remainder, 0, remainder_py, remainder_f32)};
RUSH_POINTWISE(fmod) = {BY_QUOTIENTS(fmod, 0, fmod, fmod_f32)};

static const rush_pointwise div_trunc = {.operands = 2,
                                         .flags = RUSH_PW_NO_BOOL | RUSH_PW_EXACT,
                                         .f32 = trunc_f32,
                                         .f64 = trunc_f64,
                                         .i64 = trunc_i64};
/* Argument 2 is rounding_mode. */
static rush_status setup_div_mode(rush_call *c, rush_pw_job *job) {
  if (arg_is_none(c, 2)) {
    job->row = &rush_pointwise_div;
    if (rush_is_integral(job->common)) job->common = RUSH_FLOAT32;
    return RUSH_OK;
  }
  const rush_str *mode = arg_str(c, 2);
  if (strcmp(mode->bytes, "trunc") == 0) {
    job->row = &div_trunc;
  } else if (strcmp(mode->bytes, "floor") == 0) {
    job->row = &rush_pointwise_floor_divide;
  } else {
    return rush_fail(
        c->ctx, RUSH_ERR_BAD_ARGUMENT,
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
        mode->bytes);
  }
  return RUSH_OK;
}
RUSH_POINTWISE(div_mode) = {.operands = 2, .c128 = div_c128, .setup = setup_div_mode};

/* ---- Powers ---------------------------------------------------------------------------------- */

static int64_t int_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1, b = U(base);
  for (uint64_t e = U(exponent); e > 0; e >>= 1, b *= b)
    if (e & 1) result *= b;
  return (int64_t)result;
}
/* Returns exp(y log 0) as c10 does. C libraries disagree here. Other bases use cpow. */
static rush_c128 power_of_zero(rush_c128 y) {
  const double size = creal(y) < 0 ? (double)INFINITY : (double)NAN;
  return creal(y) > 0 ? 0 : CMPLX(size, (double)NAN);
}
static rush_c128 complex_pow(rush_c128 x, rush_c128 y) {
  return y == 0 ? 1 : x == 0 ? power_of_zero(y) : cpow(x, y);
}
RUSH_BODY_2(pow_c128, rush_c128, rush_c128, complex_pow(x, y))
RUSH_BODY_2(pow_i64, int64_t, int64_t, int_pow(x, y))
RUSH_POINTWISE(pow) = {.operands = 2,
                       .flags = RUSH_PW_NO_BOOL | RUSH_PW_NUMBER_FIRST,
                       .f32 = rush_pw_map2_f32,
                       .f64 = rush_pw_map2_f64,
                       .i64 = pow_i64,
                       .c128 = pow_c128,
                       .fn2 = pow,
                       .fn2_32 = powf};

#define POWER(id, fexpr, iexpr)                  \
  RUSH_BODY_1(id##_f32, float, float, fexpr)     \
  RUSH_BODY_1(id##_f64, double, double, fexpr)   \
  RUSH_BODY_1(id##_i64, int64_t, int64_t, iexpr) \
  static const rush_pointwise id = {             \
      .operands = 1, .flags = RUSH_PW_NO_BOOL, .f32 = id##_f32, .f64 = id##_f64, .i64 = id##_i64};
POWER(square, x *x, U(x) * U(x))
POWER(cube, x *x *x, U(x) * U(x) * U(x))
RUSH_BODY_1(reciprocal_f32, float, float, 1 / x)
RUSH_BODY_1(reciprocal_f64, double, double, 1 / x)
static const rush_pointwise inverse = {.operands = 1, .f32 = reciprocal_f32, .f64 = reciprocal_f64};
RUSH_BODY_1(inverse_square_f32, float, float, 1 / (x * x))
RUSH_BODY_1(inverse_square_f64, double, double, 1 / (x * x))
static const rush_pointwise inverse_square = {
    .operands = 1, .f32 = inverse_square_f32, .f64 = inverse_square_f64};
RUSH_BODY_KERNEL(root_f32, rush_sqrt_f32)
RUSH_BODY_1(root_f64, double, double, sqrt(x))
static const rush_pointwise root = {.operands = 1, .f32 = root_f32, .f64 = root_f64};
RUSH_BODY_KERNEL(inverse_root_f32, rush_rsqrt_f32)
RUSH_BODY_1(inverse_root_f64, double, double, 1 / sqrt(x))
static const rush_pointwise inverse_root = {
    .operands = 1, .f32 = inverse_root_f32, .f64 = inverse_root_f64};

/* ATen's bfloat16 vectors round after each step. */
RUSH_BODY_1(cube_rounded, float, float, rush_pw_rounded(p, x *x) * x)
RUSH_BODY_1(inverse_square_rounded, float, float, 1 / rush_pw_rounded(p, x *x))
RUSH_BODY_1(inverse_root_rounded, float, float, 1 / rush_pw_rounded(p, sqrtf(x)))
static const rush_pointwise cube_bfloat16 = {.operands = 1, .f32 = cube_rounded};
static const rush_pointwise inverse_square_bfloat16 = {.operands = 1,
                                                       .f32 = inverse_square_rounded};
static const rush_pointwise inverse_root_bfloat16 = {.operands = 1, .f32 = inverse_root_rounded};

static void power_of_bool(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  (void)p;
  memmove(out, in[0], n);
}
static void truths(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  (void)in, (void)p;
  memset(out, 1, n);
}
/* bool has no pow kernel in PyTorch, but pow_tensor_scalar returns early for these two
 * exponents. */
static const rush_pointwise bool_to_true = {.operands = 1, .b8 = power_of_bool};
static const rush_pointwise bool_to_false = {.operands = 1, .b8 = truths};

/* Selects the body for exponents that ATen's pow_tensor_scalar treats specially. */
static rush_status setup_pow_scalar(rush_call *c, rush_pw_job *job) {
  if (rush_is_complex(job->common)) return RUSH_OK;
  const double e = arg_scalar_double(c, 1);
  const bool rounds = job->common == RUSH_BFLOAT16;
  if (job->common == RUSH_BOOL) {
    job->row = e == 0 ? &bool_to_false : &bool_to_true;
  } else if (rush_is_int(job->common)) {
    RUSH_CHECK(c->ctx, e >= 0, RUSH_ERR_BAD_ARGUMENT,
               "Integers to negative integer powers are not allowed.");
    if (e == 2) job->row = &square;
    if (e == 3) job->row = &cube;
  } else if (e == 2) {
    job->row = &square;
  } else if (e == 3) {
    job->row = rounds ? &cube_bfloat16 : &cube;
  } else if (e == -1) {
    job->row = &inverse;
  } else if (e == -2) {
    job->row = rounds ? &inverse_square_bfloat16 : &inverse_square;
  } else if (e == 0.5) {
    job->row = &root;
  } else if (e == -0.5) {
    job->row = rounds ? &inverse_root_bfloat16 : &inverse_root;
  }
  job->n = job->row->operands;
  return RUSH_OK;
}
RUSH_POINTWISE(pow_scalar) = {MAPPED(pow, RUSH_PW_NUMBER_ASIDE, pow, powf), .c128 = pow_c128,
                              .setup = setup_pow_scalar};

static rush_status setup_float_power(rush_call *c, rush_pw_job *job) {
  (void)c;
  job->common = rush_is_complex(job->common) ? RUSH_COMPLEX128 : RUSH_FLOAT64;
  return RUSH_OK;
}
static const rush_pointwise float_power = {.operands = 2,
                                           .flags = RUSH_PW_NUMBER_FIRST,
                                           .f64 = rush_pw_map2_f64,
                                           .c128 = pow_c128,
                                           .fn2 = pow,
                                           .setup = setup_float_power};
/* Both tensors are converted to float64 or complex128 first. The conversion may change their
 * strides, and with them the strides of the result. */
RUSH_OP(float_power) {
  rush_value args[] = {c->args[0], c->args[1]};
  rush_tensor *t, *out;
  for (uint32_t k = 0; k < 2; k++) {
    if (args[k].kind != RUSH_KIND_TENSOR) continue;
    t = arg_tensor(c, k);
    RUSH_TRY(tmp_to(c, t, rush_is_complex(t->dtype) ? RUSH_COMPLEX128 : RUSH_FLOAT64, &t));
    args[k] = rush_of_tensor(t);
  }
  RUSH_TRY(rush_pointwise_on(c, &float_power, 2, args, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}
RUSH_POINTWISE(pow_into) = {MAPPED(pow, RUSH_PW_INTO, pow, powf), .c128 = pow_c128};
RUSH_POINTWISE(pow_scalar_into) = {MAPPED(pow, RUSH_PW_INTO, pow, powf), .c128 = pow_c128,
                                   .setup = setup_pow_scalar};
RUSH_POINTWISE(floor_divide_into) = {
    BY_QUOTIENTS(floor, RUSH_PW_INTO, floor_div, floor_divide_f32)};

static rush_status setup_square(rush_call *c, rush_pw_job *job) {
  (void)c;
  if (job->common == RUSH_BOOL) job->common = RUSH_INT64; /* like pow(self, 2) */
  return RUSH_OK;
}
RUSH_BODY_1(square_c128, rush_c128, rush_c128, x *x)
RUSH_POINTWISE(square) = {.operands = 1,
                          .f32 = square_f32,
                          .f64 = square_f64,
                          .i64 = square_i64,
                          .c128 = square_c128,
                          .setup = setup_square};
RUSH_BODY_1(reciprocal_c128, rush_c128, rush_c128, rush_quotient_c128(1, x))
RUSH_POINTWISE(reciprocal) = {.operands = 1,
                              .flags = RUSH_PW_TO_FLOAT,
                              .f32 = reciprocal_f32,
                              .f64 = reciprocal_f64,
                              .c128 = reciprocal_c128};

/* ---- Minimum and maximum --------------------------------------------------------------------- */

/* `|` instead of `||` keeps the loop free of branches. */
ARITHMETIC(maximum, ((x > y) | (x != x)) ? x : y, x > y ? x : y)
ARITHMETIC(minimum, ((x < y) | (x != x)) ? x : y, x < y ? x : y)
ARITHMETIC(fmax, ((x > y) | (y != y)) ? x : y, x > y ? x : y)
ARITHMETIC(fmin, ((x < y) | (y != y)) ? x : y, x < y ? x : y)
RUSH_POINTWISE(maximum) = {BODIES(maximum)};
RUSH_POINTWISE(minimum) = {BODIES(minimum)};
RUSH_POINTWISE(fmax) = {BODIES(fmax)};
RUSH_POINTWISE(fmin) = {BODIES(fmin)};

/* ---- Other binary functions ------------------------------------------------------------------ */

static double log_add_exp(double a, double b) {
  if (isinf(a) && a == b) return a;
  double m = a > b || a != a ? a : b;
  return m + log1p(exp(-fabs(a - b)));
}
static float log_add_expf(float a, float b) {
  return (float)log_add_exp((double)a, (double)b);
}
static double log_add_exp2(double a, double b) {
  if (isinf(a) && a == b) return a;
  double m = a > b || a != a ? a : b;
  return m + log1p(exp2(-fabs(a - b))) * 1.4426950408889634;
}
static float log_add_exp2f(float a, float b) {
  return (float)log_add_exp2((double)a, (double)b);
}
static double x_log_y(double a, double b) {
  return b != b ? b : a == 0 ? 0 : a * log(b);
}
static float x_log_yf(float a, float b) {
  return b != b ? b : a == 0 ? 0 : a * logf(b);
}
static double x_log1p_y(double a, double b) {
  return b != b ? b : a == 0 ? 0 : a * log1p(b);
}
static float x_log1p_yf(float a, float b) {
  return b != b ? b : a == 0 ? 0 : a * log1pf(b);
}

#define FUNCTION_2(id, fn_, fn_32, flags_)       \
  RUSH_POINTWISE(id) = {.operands = 2,           \
                        .flags = flags_,         \
                        .f32 = rush_pw_map2_f32, \
                        .f64 = rush_pw_map2_f64, \
                        .fn2 = fn_,              \
                        .fn2_32 = fn_32};
static void atan2_f32(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  (void)p;
  rush_atan2_f32(n, out, in[0], in[1]);
}
RUSH_POINTWISE(atan2) = {.operands = 2,
                         .flags = RUSH_PW_TO_FLOAT,
                         .f32 = atan2_f32,
                         .f64 = rush_pw_map2_f64,
                         .fn2 = atan2};
FUNCTION_2(hypot, hypot, hypotf, 0)
FUNCTION_2(copysign, copysign, copysignf, RUSH_PW_TO_FLOAT)
RUSH_BODY_2(logaddexp_c128, rush_c128, rush_c128, rush_log_add_exp_c128(x, y))
RUSH_POINTWISE(logaddexp) = {.operands = 2,
                             .f32 = rush_pw_map2_f32,
                             .f64 = rush_pw_map2_f64,
                             .c128 = logaddexp_c128,
                             .fn2 = log_add_exp,
                             .fn2_32 = log_add_expf};
FUNCTION_2(logaddexp2, log_add_exp2, log_add_exp2f, 0)
/* For half-precision dtypes, the logarithm is rounded. */
#define TIMES_LOGARITHM(id, fn_, fn_32, log_)                                                     \
  RUSH_BODY_2(id##_half, float, float, y != y ? y : x == 0 ? 0 : x * rush_pw_rounded(p, log_(y))) \
  static const rush_pointwise id##_of_halves = {.operands = 2, .f32 = id##_half};                 \
  static rush_status setup_##id(rush_call *c, rush_pw_job *job) {                                 \
    (void)c;                                                                                      \
    if (rush_is_half(job->common)) job->row = &id##_of_halves;                                    \
    return RUSH_OK;                                                                               \
  }                                                                                               \
  RUSH_POINTWISE(id) = {.operands = 2,                                                            \
                        .flags = RUSH_PW_TO_FLOAT,                                                \
                        .f32 = rush_pw_map2_f32,                                                  \
                        .f64 = rush_pw_map2_f64,                                                  \
                        .fn2 = fn_,                                                               \
                        .fn2_32 = fn_32,                                                          \
                        .setup = setup_##id};
TIMES_LOGARITHM(xlogy, x_log_y, x_log_yf, logf)
TIMES_LOGARITHM(xlog1py, x_log1p_y, x_log1p_yf, log1pf)

/* Returns the bits of the half-precision number next to h, which is finite, or infinite if the step
 * goes down. */
static uint16_t step_half(uint16_t h, bool up) {
  if ((h & 0x7fff) == 0) return up ? 0x0001 : 0x8001;
  return (uint16_t)(up == (h < 0x8000) ? h + 1 : h - 1);
}
static float next_float16(float a, float b) {
  if (a != a || b != b) return a + b;
  return a == b ? a : rush_from_float16(step_half(rush_to_float16(a), a < b));
}
static float next_bfloat16(float a, float b) {
  if (a != a || b != b) return a + b;
  return a == b ? a : rush_from_bfloat16(step_half(rush_to_bfloat16(a), a < b));
}
static const rush_pointwise nextafter_float16 = {
    .operands = 2, .f32 = rush_pw_map2_f32, .fn2_32 = next_float16};
static const rush_pointwise nextafter_bfloat16 = {
    .operands = 2, .f32 = rush_pw_map2_f32, .fn2_32 = next_bfloat16};
static rush_status setup_nextafter(rush_call *c, rush_pw_job *job) {
  (void)c;
  if (job->common == RUSH_FLOAT16) job->row = &nextafter_float16;
  if (job->common == RUSH_BFLOAT16) job->row = &nextafter_bfloat16;
  return RUSH_OK;
}
RUSH_POINTWISE(nextafter) = {.operands = 2,
                             .f32 = rush_pw_map2_f32,
                             .f64 = rush_pw_map2_f64,
                             .fn2 = nextafter,
                             .fn2_32 = nextafterf,
                             .setup = setup_nextafter};
