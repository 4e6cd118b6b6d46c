/* Arithmetic on Python numbers. One function serves all overloads of a name; the kinds of the
 * arguments select int64 or double. Follows torch/csrc/jit/runtime/register_prim_ops.cpp: ints wrap
 * around, true division by zero gives infinity, and floor division by zero fails. */
#include <math.h>

#include "base/lgamma.h"
#include "call/define.h"

static bool is_float(const rush_call *c, uint32_t i) {
  return c->args[i].kind == RUSH_KIND_FLOAT;
}
static bool any_float(const rush_call *c) {
  return is_float(c, 0) || is_float(c, 1);
}
static double f(const rush_call *c, uint32_t i) {
  return arg_scalar_double(c, i);
}
static int64_t n(const rush_call *c, uint32_t i) {
  return c->args[i].u.i;
}

static rush_status return_float(rush_call *c, double v) {
  ret_float(c, 0, v);
  return RUSH_OK;
}

#define WRAPPING(OP) ((int64_t)((uint64_t)n(c, 0) OP(uint64_t) n(c, 1)))

RUSH_OP(num_add) {
  return any_float(c) ? return_float(c, f(c, 0) + f(c, 1)) : return_int(c, WRAPPING(+));
}
RUSH_OP(num_sub) {
  return any_float(c) ? return_float(c, f(c, 0) - f(c, 1)) : return_int(c, WRAPPING(-));
}
RUSH_OP(num_mul) {
  return any_float(c) ? return_float(c, f(c, 0) * f(c, 1)) : return_int(c, WRAPPING(*));
}
RUSH_OP(num_div) {
  return return_float(c, f(c, 0) / f(c, 1));
}

/* Returns a / b rounded down. Dividing the smallest int by -1 wraps around. */
static int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static double float_mod(double a, double b) {
  return fmod(b + fmod(a, b), b);
}

RUSH_OP(num_floordiv) {
  if (any_float(c)) return return_float(c, floor(f(c, 0) / f(c, 1)));
  RUSH_CHECK_ARG(n(c, 1) != 0, "division by 0");
  return return_int(c, floor_div(n(c, 0), n(c, 1)));
}

RUSH_OP(num_truncdiv) {
  RUSH_CHECK_ARG(n(c, 1) != 0, "division by 0");
  return return_int(c, n(c, 1) == -1 ? (int64_t)(0 - (uint64_t)n(c, 0)) : n(c, 0) / n(c, 1));
}

/* In PyTorch 2.6, an int modulo zero crashes with a signal. This raises Python's error instead. */
RUSH_OP(num_remainder) {
  if (any_float(c)) return return_float(c, float_mod(f(c, 0), f(c, 1)));
  RUSH_CHECK_ARG(n(c, 1) != 0, "integer modulo by zero");
  return return_int(c, floor_mod(n(c, 0), n(c, 1)));
}

/* divmod of an int and a float. libtorch computes both in single precision. */
static rush_status divmod_mixed(rush_call *c) {
  const bool first = c->args[0].kind == RUSH_KIND_FLOAT;
  const double a = first ? (double)(float)f(c, 0) : f(c, 0);
  const double b = first ? f(c, 1) : (double)(float)f(c, 1);
  RUSH_CHECK_ARG(b != 0, "ZeroDivisionError: float divmod()");
  const double quotient = floorf((float)a / (float)b);
  ret_float(c, 0, quotient);
  ret_float(c, 1, a - quotient * b);
  return RUSH_OK;
}

RUSH_OP(num_divmod) {
  if (any_float(c) && c->args[0].kind != c->args[1].kind) return divmod_mixed(c);
  if (any_float(c)) {
    double a = f(c, 0), b = f(c, 1);
    RUSH_CHECK_ARG(b != 0, "ZeroDivisionError: float divmod()");
    double mod = fmod(a, b);
    if (mod != 0 && (b < 0) != (mod < 0)) mod += b;
    ret_float(c, 0, (a - mod) / b);
    ret_float(c, 1, mod);
    return RUSH_OK;
  }
  RUSH_CHECK_ARG(n(c, 1) != 0, "ZeroDivisionError: integer division or modulo by zero");
  ret_int(c, 0, floor_div(n(c, 0), n(c, 1)));
  ret_int(c, 1, floor_mod(n(c, 0), n(c, 1)));
  return RUSH_OK;
}

static rush_status check_pow(rush_call *c) {
  RUSH_CHECK_ARG(f(c, 0) != 0 || !(f(c, 1) < 0), "0.0 cannot be raised to a negative power");
  return RUSH_OK;
}
RUSH_OP(num_pow) {
  RUSH_TRY(check_pow(c));
  return return_float(c, pow(f(c, 0), f(c, 1)));
}
/* PyTorch has no checks here. */
RUSH_OP(num_pow_of_scalars) {
  return return_float(c, pow(f(c, 0), f(c, 1)));
}

/* pow.int_to_int computes in double precision, as libtorch does. */
RUSH_OP(num_pow_int) {
  RUSH_TRY(check_pow(c));
  return return_int(c, rush_double_to_int(pow(f(c, 0), f(c, 1))));
}

RUSH_OP(num_fmod) {
  return return_float(c, fmod(f(c, 0), f(c, 1)));
}
RUSH_OP(num_mathremainder) {
  return return_float(c, remainder(f(c, 0), f(c, 1)));
}
RUSH_OP(num_copysign) {
  return return_float(c, copysign(f(c, 0), f(c, 1)));
}
RUSH_OP(num_atan2) {
  return return_float(c, atan2(f(c, 0), f(c, 1)));
}

RUSH_OP(num_lshift) {
  return return_int(c, (int64_t)((uint64_t)n(c, 0) << (n(c, 1) & 63)));
}
RUSH_OP(num_rshift) {
  return return_int(c, n(c, 0) >> (n(c, 1) & 63));
}

static rush_status return_bits(rush_call *c, int64_t v) {
  return c->args[0].kind == RUSH_KIND_BOOL ? return_bool(c, v != 0) : return_int(c, v);
}
RUSH_OP(num_and) {
  return return_bits(c, n(c, 0) & n(c, 1));
}
RUSH_OP(num_or) {
  return return_bits(c, n(c, 0) | n(c, 1));
}
RUSH_OP(num_xor) {
  return return_bits(c, n(c, 0) ^ n(c, 1));
}
RUSH_OP(num_not) {
  return return_bool(c, n(c, 0) == 0);
}

RUSH_OP(num_gcd) {
  uint64_t a = n(c, 0) < 0 ? 0 - (uint64_t)n(c, 0) : (uint64_t)n(c, 0);
  uint64_t b = n(c, 1) < 0 ? 0 - (uint64_t)n(c, 1) : (uint64_t)n(c, 1);
  while (b != 0) {
    uint64_t r = a % b;
    a = b;
    b = r;
  }
  return return_int(c, (int64_t)a);
}

RUSH_OP(num_factorial) {
  uint64_t v = 1;
  RUSH_CHECK_ARG(n(c, 0) >= 0, "factorial() not defined for negative values");
  for (int64_t k = 2; k <= n(c, 0) && v != 0; k++)
    v *= (uint64_t)k; /* 66! and all larger factorials wrap around to 0 */
  return return_int(c, (int64_t)v);
}

/* min and max of two numbers. If one is a float, PyTorch compares them as doubles. */
static rush_status extreme(rush_call *c, bool least) {
  if (any_float(c)) {
    double a = f(c, 0), b = f(c, 1);
    return return_float(c, (least ? a < b : a > b) ? a : b); /* returns b if one is NaN */
  }
  int64_t a = n(c, 0), b = n(c, 1);
  return return_int(c, (least ? b < a : a < b) ? b : a);
}
RUSH_OP(num_min) {
  return extreme(c, true);
}
RUSH_OP(num_max) {
  return extreme(c, false);
}

/* ---- Unary operators ------------------------------------------------------------------------- */

RUSH_OP(num_neg) {
  return is_float(c, 0) ? return_float(c, -f(c, 0))
                        : return_int(c, (int64_t)(0 - (uint64_t)n(c, 0)));
}
RUSH_OP(num_abs) {
  if (is_float(c, 0)) return return_float(c, fabs(f(c, 0)));
  return return_int(c, n(c, 0) < 0 ? (int64_t)(0 - (uint64_t)n(c, 0)) : n(c, 0));
}

/* floor and ceil of a float return an int, and fail if the result does not fit. */
static rush_status whole(rush_call *c, double v) {
  RUSH_CHECK_ARG(v >= -9223372036854775808.0 && v < 9223372036854775808.0,
                 "Cannot convert float %f to integer", f(c, 0));
  return return_int(c, (int64_t)v);
}
RUSH_OP(num_floor) {
  return is_float(c, 0) ? whole(c, floor(f(c, 0))) : return_int(c, n(c, 0));
}
RUSH_OP(num_ceil) {
  return is_float(c, 0) ? whole(c, ceil(f(c, 0))) : return_int(c, n(c, 0));
}
/* round() rounds half to even and returns a float, even for an int. */
RUSH_OP(num_round) {
  return return_float(c, nearbyint(f(c, 0)));
}

#define UNARY(NAME, EXPR)         \
  RUSH_OP(num_##NAME) {           \
    double x = f(c, 0);           \
    return return_float(c, EXPR); \
  }
UNARY(sqrt, sqrt(x))
UNARY(exp, exp(x))
UNARY(expm1, expm1(x))
UNARY(log1p, log1p(x))
UNARY(log10, log10(x))
UNARY(sin, sin(x))
UNARY(cos, cos(x))
UNARY(tan, tan(x))
UNARY(asin, asin(x))
UNARY(acos, acos(x))
UNARY(atan, atan(x))
UNARY(sinh, sinh(x))
UNARY(cosh, cosh(x))
UNARY(tanh, tanh(x))
UNARY(asinh, asinh(x))
UNARY(acosh, acosh(x))
UNARY(atanh, atanh(x))
UNARY(erf, erf(x))
UNARY(erfc, erfc(x))
UNARY(gamma, tgamma(x))
UNARY(lgamma, rush_lgamma(x))
UNARY(fabs, fabs(x))
UNARY(degrees, x * 180.0 / 3.14159265358979323846)
UNARY(radians, x * 3.14159265358979323846 / 180.0)

RUSH_OP(num_log) {
  double v = log(f(c, 0));
  return return_float(c, c->n_args > 1 ? v / log(f(c, 1)) : v);
}

RUSH_OP(num_isnan) {
  return return_bool(c, isnan(f(c, 0)) != 0);
}
RUSH_OP(num_isinf) {
  return return_bool(c, isinf(f(c, 0)) != 0);
}
RUSH_OP(num_isfinite) {
  return return_bool(c, isfinite(f(c, 0)) != 0);
}

RUSH_OP(num_frexp) {
  int exponent = 0; /* musl does not set that of infinities and NaN */
  ret_float(c, 0, frexp(f(c, 0), &exponent));
  ret_int(c, 1, exponent);
  return RUSH_OK;
}
RUSH_OP(num_modf) {
  double whole_part, rest = modf(f(c, 0), &whole_part);
  ret_float(c, 0, rest);
  ret_float(c, 1, whole_part);
  return RUSH_OK;
}
RUSH_OP(num_ldexp) {
  int64_t e = n(c, 1);
  return return_float(c, ldexp(f(c, 0), (int)(e > 5000 ? 5000 : e < -5000 ? -5000 : e)));
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

RUSH_OP(range_length) {
  int64_t lo = n(c, 0), hi = n(c, 1), step = n(c, 2);
  RUSH_CHECK_ARG(step != 0, "range() arg 3 must not be zero");
  uint64_t length = 0;
  if (step > 0 && lo < hi) length = 1 + ((uint64_t)hi - 1 - (uint64_t)lo) / (uint64_t)step;
  if (step < 0 && lo > hi) length = 1 + ((uint64_t)lo - 1 - (uint64_t)hi) / (0 - (uint64_t)step);
  return return_int(c, (int64_t)length);
}

RUSH_OP(derive_index) {
  return return_int(c, (int64_t)((uint64_t)n(c, 1) + (uint64_t)n(c, 0) * (uint64_t)n(c, 2)));
}
