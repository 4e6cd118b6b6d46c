/* Elementary functions on arrays of float32: rush_NAME_f32(n, out, in), where out may be in.
 *
 * Errors against exact arithmetic are stated in units in the last place
 * (tests/c/test_kernels_elementary.c measures them); NaN, infinities, signed zero and subnormal numbers
 * are as in C, but that hardswish overflows where x * 6 does, as in PyTorch; round is to even. Beside each
 * stands its plain reference rush_NAME_ref. */
#ifndef RUSH_ELEMENTARY_H
#define RUSH_ELEMENTARY_H

#include <complex.h>
#include <stddef.h>

/* name, reference of one element in double */
#define RUSH_ELEMENTARY_F32(X)                                                  \
  X(exp, exp(x))                                                                \
  X(exp2, exp2(x))                                                              \
  X(expm1, expm1(x))                                                            \
  X(log, log(x))                                                                \
  X(log2, log2(x))                                                              \
  X(log10, log10(x))                                                            \
  X(log1p, log1p(x))                                                            \
  X(tanh, tanh(x))                                                              \
  X(sigmoid, x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)))                 \
  X(erf, erf(x))                                                                \
  X(gelu, 0.5 * x * erfc(-x * 0.70710678118654752440))                          \
  X(gelu_tanh, x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))) \
  X(silu, x / (1 + exp(-x)))                                                    \
  X(mish, x *tanh(x > 0 ? x + log1p(exp(-x)) : log1p(exp(x))))                  \
  X(hardsigmoid, (x < -3 ? 0 : x > 3 ? 6 : x + 3) / 6)                          \
  X(hardswish, (double)(float)(x * (x < -3 ? 0 : x > 3 ? 6 : x + 3)) / 6)       \
  X(log_sigmoid, x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x)))                   \
  X(sin, sin(x))                                                                \
  X(cos, cos(x))                                                                \
  X(atan, atan(x))                                                              \
  X(sqrt, sqrt(x))                                                              \
  X(rsqrt, 1 / sqrt(x))                                                         \
  X(floor, floor(x))                                                            \
  X(ceil, ceil(x))                                                              \
  X(trunc, trunc(x))                                                            \
  X(round, rint(x))                                                             \
  X(frac, x - trunc(x))

#define RUSH_DECLARE(name, f)                                    \
  void rush_##name##_f32(size_t n, float *out, const float *in); \
  double rush_##name##_ref(double x);
RUSH_ELEMENTARY_F32(RUSH_DECLARE)
#undef RUSH_DECLARE

/* log1p(exp(x * beta)) / beta, and x where x * beta > threshold. */
void rush_softplus_f32(size_t n, float *out, const float *in, float beta, float threshold);
/* x < 0 ? expm1(x * in_scale) * negative : x * positive; NaN stays. */
void rush_elu_f32(size_t n, float *out, const float *in, float in_scale, float negative,
                  float positive);

/* atan2(y, x), out may be either; 3 ulp. */
void rush_atan2_f32(size_t n, float *out, const float *y, const float *x);

/* Writes exp(in - shift), in <= shift, and returns the sum of what it wrote. Below 1.6e-38 it may
 * write 0. */
double rush_exp_sum_f32(size_t n, float *out, const float *in, float shift);

/* Products of n complex numbers, pairs of floats; out may be x or y. */
void rush_mul_c64(size_t n, float *out, const float *x, const float *y);

/* log(exp(x) + exp(y)), without what overflows; NaN where one is. */
double complex rush_log_add_exp_c128(double complex x, double complex y);

#endif
