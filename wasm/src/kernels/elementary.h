/* Elementary functions on arrays of float32: rush_NAME_f32(n, out, in), where out may equal in.
 *
 * Errors are given in units in the last place (tests/c/test_kernels_elementary.c measures them).
 * NaN, infinities, signed zeros and subnormal numbers behave as in C. The exception is hardswish,
 * which overflows where x * 6 does, as in PyTorch. round rounds half to even. The plain reference
 * of each function is rush_NAME_ref. */
#ifndef RUSH_ELEMENTARY_H
#define RUSH_ELEMENTARY_H

#include <complex.h>
#include <stddef.h>

/* name, and reference for one element in double precision */
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

/* Computes log1p(exp(x * beta)) / beta, or x where x * beta > threshold. */
void rush_softplus_f32(size_t n, float *out, const float *in, float beta, float threshold);
/* Computes x < 0 ? expm1(x * in_scale) * negative : x * positive. NaN propagates. */
void rush_elu_f32(size_t n, float *out, const float *in, float in_scale, float negative,
                  float positive);

/* Computes atan2(y, x) with an error of 3 ulp. out may equal y or x. */
void rush_atan2_f32(size_t n, float *out, const float *y, const float *x);

/* Writes exp(in - shift) for in <= shift, and returns the sum of the written values. Values below
 * 1.6e-38 may be 0. */
double rush_exp_sum_f32(size_t n, float *out, const float *in, float shift);

/* Multiplies n complex numbers, which are pairs of floats. out may equal x or y. */
void rush_mul_c64(size_t n, float *out, const float *x, const float *y);

/* Computes log(exp(x) + exp(y)) without overflow. NaN propagates. */
double complex rush_log_add_exp_c128(double complex x, double complex y);

#endif
