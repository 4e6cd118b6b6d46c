/* The functions of elementary.h on vectors of RUSH_LANES floats, named RUSH_WITH_LANES(function).
 * elementary_dispatch.c, elementary_avx2.c and elementary_avx512.c include this file. */
#include "kernels/elementary.h"
#include "kernels/elementary_inline.h"

/* sin and cos for |x| <= 8192: x = j * pi/4 + r, with pi/4 in three parts (Cody and Waite). The
 * parts and the polynomials are those of Cephes' sinf. `quarter` is 0 for sin and 1 for cos. */
RUSH_INLINE f4 sincos4(f4 x, int32_t quarter) {
  i4 j;
  f4 k = f4_round_small(x * f4_set(0.63661977f), &j); /* multiples of pi/2 */
  f4 r = f4_madd(k, f4_set(-1.5703125f), x);
  r = f4_madd(k, f4_set(-4.83751297e-4f), r);
  r = f4_madd(k, f4_set(-7.54978942e-8f), r);
  r = f4_madd(k, f4_set(-5.39030253e-15f), r);
  f4 z = r * r;
  f4 s = f4_set(-1.9515295891e-4f);
  s = f4_madd(s, z, f4_set(8.3321608736e-3f));
  s = f4_madd(s, z, f4_set(-1.6666654611e-1f));
  s = f4_madd(s * z, r, r);
  f4 c = f4_set(2.443315711809948e-5f);
  c = f4_madd(c, z, f4_set(-1.388731625493765e-3f));
  c = f4_madd(c, z, f4_set(4.166664568298827e-2f));
  c = f4_madd(c * z, z, f4_madd(f4_set(-0.5f), z, f4_set(1.0f)));
  j = i4_add(j, i4_set(quarter));
  f4 y = f4_select((j & i4_set(1)) == i4_set(1), c, s);
  return (f4)((u4)y ^ (((u4)j & 2u) << 30));
}

RUSH_INLINE f4 f4_sin(f4 x) {
  return f4_select(x == f4_zero(), x, sincos4(x, 0));
}
RUSH_INLINE f4 f4_cos(f4 x) {
  return sincos4(x, 1);
}
RUSH_INLINE f4 f4_rsqrt(f4 x) {
  return f4_set(1.0f) / f4_sqrt(x);
}

/* Chunks without special lanes take a fast path. The remaining elements form a chunk that is padded
 * with ones. The result of an element never depends on its neighbours. */
enum { CHUNK = 256 };
#define RUSH_BY_CHUNKS(self, n, out, in, odd, f, otherwise)                              \
  const size_t left = (n) % RUSH_LANES, whole = (n) - left;                              \
  for (size_t at = 0; at < whole; at += CHUNK) {                                         \
    const size_t m = whole - at < CHUNK ? whole - at : CHUNK;                            \
    const float *from = (in) + at;                                                       \
    float *to = (out) + at;                                                              \
    i4 strange = {0};                                                                    \
    for (size_t i = 0; i < m; i += RUSH_LANES) {                                         \
      const f4 x = f4_load(from + i);                                                    \
      strange |= odd;                                                                    \
    }                                                                                    \
    if (__builtin_expect(i4_any(strange), 0)) {                                          \
      otherwise                                                                          \
    } else {                                                                             \
      for (size_t i = 0; i < m; i += RUSH_LANES) f4_store(to + i, f(f4_load(from + i))); \
    }                                                                                    \
  }                                                                                      \
  if (left > 0) {                                                                        \
    float rest[RUSH_LANES];                                                              \
    for (int i = 0; i < RUSH_LANES; i++) rest[i] = 1;                                    \
    memcpy(rest, (in) + whole, left * sizeof *rest);                                     \
    self(RUSH_LANES, rest, rest);                                                        \
    memcpy((out) + whole, rest, left * sizeof *rest);                                    \
  }

#define MAP(name)                                                     \
  void RUSH_WITH_LANES(name)(size_t n, float *out, const float *in) { \
    RUSH_MAP_F4(out, in, n, x, f4_##name(x))                          \
  }
MAP(exp2)
MAP(expm1)
MAP(log1p)
MAP(tanh)
MAP(sigmoid)
MAP(erf)
MAP(gelu)
MAP(gelu_tanh)
MAP(silu)
MAP(hardsigmoid)
MAP(hardswish)
MAP(mish)
MAP(log_sigmoid)
MAP(atan)
MAP(sqrt)
MAP(rsqrt)

#if defined(__SSE2__) && !defined(__SSE4_1__)
/* SSE2 has no rounding instruction, so this avoids a call per element. Floats from 2^23 on are
 * integers. */
#define UP_TO(x, expr) (__builtin_fabsf(x) < 8388608.0f ? (expr) : (x))
RUSH_INLINE float nearest(float x) {
  return UP_TO(x, __builtin_copysignf(__builtin_fabsf(x) + 8388608.0f - 8388608.0f, x));
}
RUSH_INLINE float round_down(float x) {
  const float r = nearest(x);
  return UP_TO(x, r - (float)(r > x));
}
RUSH_INLINE float round_up(float x) {
  const float r = nearest(x);
  return UP_TO(x, __builtin_copysignf(r + (float)(r < x), x));
}
RUSH_INLINE float to_zero(float x) {
  const float a = __builtin_fabsf(x), r = nearest(a);
  return UP_TO(x, __builtin_copysignf(r - (float)(r > a), x));
}
#else
#define nearest __builtin_rintf
#define round_down __builtin_floorf
#define round_up __builtin_ceilf
#define to_zero __builtin_truncf
#endif
#define EACH(name, expr)                                              \
  void RUSH_WITH_LANES(name)(size_t n, float *out, const float *in) { \
    RUSH_EACH for (size_t i = 0; i < n; i++) {                        \
      const float x = in[i];                                          \
      out[i] = expr;                                                  \
    }                                                                 \
  }
EACH(floor, round_down(x))
EACH(ceil, round_up(x))
EACH(trunc, to_zero(x))
EACH(round, nearest(x))
EACH(frac, x - to_zero(x))

#define CHUNKS(name, odd, f)                                            \
  void RUSH_WITH_LANES(name)(size_t n, float *out, const float *in) {   \
    RUSH_BY_CHUNKS(RUSH_WITH_LANES(name), n, out, in, odd, f,           \
                   for (size_t i = 0; i < m; i += RUSH_LANES)           \
                       f4_store(to + i, f4_##name(f4_load(from + i)));) \
  }
CHUNKS(exp, f4_abs(x) > f4_set(87.0f), f4_exp_near)
CHUNKS(log, f4_log_odd(x), f4_log_normal)
CHUNKS(log2, f4_log_odd(x), f4_log2_normal)
CHUNKS(log10, f4_log_odd(x), f4_log10_normal)

/* libm handles numbers that are too large for the range reduction. */
#define LARGE(x) (~(f4_abs(x) <= f4_set(8192.0f)))
#define ANGLES(name, libm)                                                                   \
  static void name##_with_large(size_t n, float *out, const float *in) {                     \
    float x[CHUNK];                                                                          \
    memcpy(x, in, n * sizeof *x);                                                            \
    for (size_t i = 0; i < n; i += RUSH_LANES) f4_store(out + i, f4_##name(f4_load(x + i))); \
    for (size_t i = 0; i < n; i++)                                                           \
      if (!(fabsf(x[i]) <= 8192)) out[i] = libm(x[i]);                                       \
  }                                                                                          \
  void RUSH_WITH_LANES(name)(size_t n, float *out, const float *in) {                        \
    RUSH_BY_CHUNKS(RUSH_WITH_LANES(name), n, out, in, LARGE(x), f4_##name,                   \
                   name##_with_large(m, to, from);)                                          \
  }
ANGLES(sin, sinf)
ANGLES(cos, cosf)

RUSH_INLINE f4 f4_softplus(f4 x, f4 beta, f4 inverse, f4 threshold) {
  f4 z = x * beta;
  f4 soft = (f4_more(z, f4_zero()) + f4_log1p(f4_exp(-f4_abs(z)))) * inverse;
  return f4_select(z > threshold, x, f4_select(z != z, z, soft));
}
void RUSH_WITH_LANES(softplus)(size_t n, float *out, const float *in, float beta, float threshold) {
  const f4 b = f4_set(beta), t = f4_set(threshold), inverse = f4_set(1.0f / beta);
  RUSH_MAP_F4(out, in, n, x, f4_softplus(x, b, inverse, t))
}

void RUSH_WITH_LANES(elu)(size_t n, float *out, const float *in, float in_scale, float negative,
                          float positive) {
  const f4 s = f4_set(in_scale), m = f4_set(negative), p = f4_set(positive), zero = f4_zero();
  RUSH_MAP_F4(out, in, n, x, f4_select(x <= zero, f4_expm1(x * s) * m, x * p))
}

void RUSH_WITH_LANES(atan2)(size_t n, float *out, const float *y, const float *x) {
  size_t i = 0;
  for (; i + RUSH_LANES <= n; i += RUSH_LANES)
    f4_store(out + i, f4_atan2(f4_load(y + i), f4_load(x + i)));
  if (i < n)
    f4_store_part(out + i, f4_atan2(f4_load_part(y + i, n - i), f4_load_part(x + i, n - i)), n - i);
}

static double lanes(f4 v) {
  double sum[RUSH_LANES];
  for (int i = 0; i < RUSH_LANES; i++) sum[i] = (double)v[i];
  for (int m = RUSH_LANES / 2; m > 0; m /= 2)
    for (int i = 0; i < m; i++) sum[i] = sum[2 * i] + sum[2 * i + 1];
  return sum[0];
}

double RUSH_WITH_LANES(exp_sum)(size_t n, float *out, const float *in, float shift) {
  const f4 s = f4_set(shift);
  double total = 0;
  size_t i = 0;
  while (i + RUSH_LANES <= n) { /* at most 256 additions in float32 */
    const size_t end = n - i < 256 * RUSH_LANES ? n : i + 256 * RUSH_LANES;
    f4 sum = f4_zero();
    for (; i + RUSH_LANES <= end; i += RUSH_LANES) {
      f4 e = f4_exp_negative(f4_load(in + i) - s);
      f4_store(out + i, e);
      sum += e;
    }
    total += lanes(sum);
  }
  if (i < n) {
    f4 e = f4_exp_negative(f4_load_part(in + i, n - i) - s);
    f4_store_part(out + i, e, n - i);
    f4 kept = f4_zero();
    memcpy(&kept, &e, (n - i) * sizeof(float));
    total += lanes(kept);
  }
  return total;
}
