#include <math.h>

#include "kernels/elementary.h"

#define REFERENCE(name, reference)     \
  double rush_##name##_ref(double x) { \
    return reference;                  \
  }
RUSH_ELEMENTARY_F32(REFERENCE)

#ifdef RUSH_WIDE_VECTORS
#include "kernels/elementary_wide.h"
#define RUSH_WITH_LANES(name) rush_##name##_4
#include "kernels/elementary_lanes.h"

/* Dispatches to the widest vectors of this processor. */
#define WIDEST(name, ...)                                                     \
  (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && \
           __builtin_cpu_supports("avx512vl")                                 \
       ? rush_##name##_16(__VA_ARGS__)                                        \
   : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")          \
       ? rush_##name##_8(__VA_ARGS__)                                         \
       : rush_##name##_4(__VA_ARGS__))
#define CHOOSE(name, reference)                                   \
  void rush_##name##_f32(size_t n, float *out, const float *in) { \
    WIDEST(name, n, out, in);                                     \
  }
RUSH_ELEMENTARY_F32(CHOOSE)
void rush_softplus_f32(size_t n, float *out, const float *in, float beta, float threshold) {
  WIDEST(softplus, n, out, in, beta, threshold);
}
void rush_elu_f32(size_t n, float *out, const float *in, float in_scale, float negative,
                  float positive) {
  WIDEST(elu, n, out, in, in_scale, negative, positive);
}
void rush_atan2_f32(size_t n, float *out, const float *y, const float *x) {
  WIDEST(atan2, n, out, y, x);
}
double rush_exp_sum_f32(size_t n, float *out, const float *in, float shift) {
  return WIDEST(exp_sum, n, out, in, shift);
}
#else
#define RUSH_WITH_LANES(name) rush_##name##_f32
#include "kernels/elementary_lanes.h"
#endif

/* Multiplies two complex numbers per vector. */
RUSH_INLINE f4 product_of_pairs(f4 x, f4 y) {
  const f4 re = __builtin_shufflevector(x, x, 0, 0, 2, 2);
  const f4 im = __builtin_shufflevector(x, x, 1, 1, 3, 3);
  const f4 turned = __builtin_shufflevector(y, y, 1, 0, 3, 2);
  const f4 cross = im * turned;
  return re * y + (f4)((i4)cross ^ (i4){INT32_MIN, 0, INT32_MIN, 0});
}
void rush_mul_c64(size_t n, float *out, const float *x, const float *y) {
  size_t i = 0;
  for (; i + 4 <= 2 * n; i += 4)
    f4_store(out + i, product_of_pairs(f4_load(x + i), f4_load(y + i)));
  if (i < 2 * n)
    f4_store_part(out + i, product_of_pairs(f4_load_part(x + i, 2), f4_load_part(y + i, 2)), 2);
}

double complex rush_log_add_exp_c128(double complex x, double complex y) {
  if (x != x || y != y) return CMPLX((double)NAN, (double)NAN);
  const double complex least = creal(x) < creal(y) ? x : y, most = creal(x) < creal(y) ? y : x;
  if (isinf(creal(least)) && creal(least) == creal(most))
    return creal(least) < 0 ? least : clog(cexp(least) + cexp(most));
  const double complex part = cexp(least - most);
  const double a = creal(part), b = cimag(part);
  return most + CMPLX(log1p(a * (2 + a) + b * b) / 2, atan2(b, 1 + a));
}
