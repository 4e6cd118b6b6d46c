/* The elementary functions on one vector, for fused kernels. elementary.h describes their
 * accuracy. */
#ifndef RUSH_ELEMENTARY_INLINE_H
#define RUSH_ELEMENTARY_INLINE_H

#include "kernels/simd.h"

/* Few significant bits, so that products with small integers are exact. */
#define LN2_HIGH 0.693359375f
#define LN2_LOW -2.12194440e-4f

/* (e^r - 1 - r) / r^2 for |r| <= ln(2)/2, a minimax polynomial. The relative error of e^r - 1 is
 * 1.3e-8. */
RUSH_INLINE f4 f4_exp_poly(f4 r) {
  f4 p = f4_set(1.39464578e-3f);
  p = f4_madd(p, r, f4_set(8.36658943e-3f));
  p = f4_madd(p, r, f4_set(4.16662805e-2f));
  p = f4_madd(p, r, f4_set(1.66665435e-1f));
  return f4_madd(p, r, f4_set(0.5f));
}
/* Range reduction: x = n ln(2) + r. */
RUSH_INLINE f4 f4_exp_reduce(f4 x, i4 *n) {
  f4 k = f4_round_small(x * f4_set(1.44269504f), n);
  f4 r = f4_madd(k, f4_set(-LN2_HIGH), x);
  return f4_madd(k, f4_set(-LN2_LOW), r);
}
/* exp(r) * 2^n if the result is a normal number. */
RUSH_INLINE f4 f4_exp_normal(f4 r, i4 n) {
  return (f4_madd(f4_exp_poly(r), r * r, r) + f4_set(1.0f)) * f4_pow2(n);
}
/* exp(r) * 2^n for any n from -253 to 254. */
RUSH_INLINE f4 f4_exp_scaled(f4 r, i4 n) {
  f4 p = f4_madd(f4_exp_poly(r), r * r, r) + f4_set(1.0f);
  i4 half = n >> 1;
  return p * f4_pow2(half) * f4_pow2(i4_sub(n, half));
}

/* exp for all x, 1 ulp. It has no branch and no call, because engines keep nothing in registers
 * across a call. */
RUSH_INLINE f4 f4_exp(f4 x) {
  i4 n;
  f4 r = f4_exp_reduce(f4_more(f4_set(-104.5f), f4_less(f4_set(89.0f), x)), &n);
  return f4_exp_scaled(r, n);
}
/* exp for |x| <= 87. */
RUSH_INLINE f4 f4_exp_near(f4 x) {
  i4 n;
  f4 r = f4_exp_reduce(x, &n);
  return f4_exp_normal(r, n);
}

/* exp for x <= 0, for softmax. Results below 1.6e-38 may be 0. */
RUSH_INLINE f4 f4_exp_negative(f4 x) {
  i4 n;
  f4 r = f4_exp_reduce(f4_more(f4_set(-87.0f), x), &n);
  return (f4)((i4)f4_exp_normal(r, n) & ~(x < f4_set(-87.0f)));
}

RUSH_INLINE f4 f4_exp2(f4 x) {
  x = f4_more(f4_set(-151.0f), f4_less(f4_set(129.0f), x));
  i4 n;
  f4 f = x - f4_round_small(x, &n); /* exact */
  return f4_exp_scaled(f * f4_set(0.69314718f), n);
}

RUSH_INLINE f4 f4_expm1(f4 x) {
  f4 y = f4_more(f4_set(-18.0f), f4_less(f4_set(89.0f), x));
  i4 n;
  f4 k = f4_round_small(y * f4_set(1.44269504f), &n);
  f4 r = f4_madd(k, f4_set(-LN2_HIGH), y);
  f4 low = k * f4_set(-LN2_LOW);
  f4 s = r + low;
  low = (r - s) + low;                        /* the rounding error of the sum */
  f4 p = f4_madd(f4_exp_poly(s), s * s, low); /* e^s - 1 = s + p */
  /* 2^n (s + p) + 2^n - 1, halved so that n = 128 does not overflow */
  f4 half = f4_pow2(i4_sub(n, i4_set(1)));
  f4 e = (half * p + half * s) + (half - f4_set(0.5f));
  f4 big = e + e;
  f4 small = f4_select(n == 0, s + p, big);
  return f4_select(x == f4_zero(), x, small); /* preserves -0 */
}

/* x = 2^k * (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for normal x > 0. */
RUSH_INLINE f4 f4_log_split(f4 x, f4 *k) {
  i4 ix = i4_add((i4)x, i4_set(0x3f800000 - 0x3f3504f3));
  *k = f4_from_int((ix >> 23) - 127);
  return (f4)((ix & i4_set(0x7fffff)) + i4_set(0x3f3504f3)) - f4_set(1.0f);
}
/* log(1 + f) - f + f^2/2 */
RUSH_INLINE f4 f4_log_poly(f4 f, f4 z) {
  f4 p = f4_set(6.74659163e-2f);
  p = f4_madd(p, f, f4_set(-1.16756387e-1f));
  p = f4_madd(p, f, f4_set(1.18881777e-1f));
  p = f4_madd(p, f, f4_set(-1.24055922e-1f));
  p = f4_madd(p, f, f4_set(1.42195508e-1f));
  p = f4_madd(p, f, f4_set(-1.66679963e-1f));
  p = f4_madd(p, f, f4_set(2.00021192e-1f));
  p = f4_madd(p, f, f4_set(-2.50000089e-1f));
  p = f4_madd(p, f, f4_set(3.33333135e-1f));
  return p * f * z;
}
/* log(x), log2(x), log10(x) for normal x > 0, 1 ulp. They are exact for powers of 2 and 10. */
RUSH_INLINE f4 f4_log_normal(f4 x) {
  f4 k, f = f4_log_split(x, &k), z = f * f;
  f4 y = f4_madd(k, f4_set(LN2_LOW), f4_log_poly(f, z));
  y = f4_madd(f4_set(-0.5f), z, y) + f;
  return f4_madd(k, f4_set(LN2_HIGH), y);
}
RUSH_INLINE f4 f4_log2_normal(f4 x) {
  f4 k, f = f4_log_split(x, &k), z = f * f, c = f4_set(0.44269504f); /* log2(e) - 1 */
  f4 y = f4_madd(f4_set(-0.5f), z, f4_log_poly(f, z));
  return f4_madd(f, c, y * c) + y + f + k;
}
/* log10(e), and log10(2) in two parts; the first has few significant bits */
RUSH_INLINE f4 f4_log10_normal(f4 x) {
  f4 k, f = f4_log_split(x, &k), z = f * f, high = f4_set(4.3359375e-1f),
        low = f4_set(7.00731903e-4f);
  f4 y = f4_madd(f4_set(-0.5f), z, f4_log_poly(f, z));
  f4 t = f4_madd(k, f4_set(2.48745664e-4f), f4_madd(f, low, y * low));
  return f4_madd(k, f4_set(3.0078125e-1f), f4_madd(f, high, f4_madd(y, high, t)));
}
/* Selects lanes that are not positive normal numbers. */
RUSH_INLINE i4 f4_log_odd(f4 x) {
  return ((i4)x < i4_set(0x00800000)) | ((i4)x >= i4_set(0x7f800000));
}
/* Fixes y = f(x) of a logarithm f for x that is 0, infinite, negative or NaN. */
RUSH_INLINE f4 f4_log_special(f4 x, f4 y) {
  y = f4_select(x == f4_set(INFINITY), x, y);
  y = f4_select(x == f4_zero(), f4_set(-INFINITY), y);
  y = f4_select(x < f4_zero(), f4_set(NAN), y);
  return f4_select(x != x, x, y);
}
/* A logarithm f for all x. Subnormal numbers are scaled, and log_of_scale corrects the result. */
#define RUSH_LOG_ANY(f, x, log_of_scale)                                                       \
  f4_log_special(x, f(f4_select((x) < f4_set(1.17549435e-38f), (x) * f4_set(8388608.0f), x)) - \
                        (f4)((i4)f4_set(log_of_scale) & ((x) < f4_set(1.17549435e-38f))))
RUSH_INLINE f4 f4_log(f4 x) {
  return RUSH_LOG_ANY(f4_log_normal, x, 15.942385f);
}
RUSH_INLINE f4 f4_log2(f4 x) {
  return RUSH_LOG_ANY(f4_log2_normal, x, 23.0f);
}
RUSH_INLINE f4 f4_log10(f4 x) {
  return RUSH_LOG_ANY(f4_log10_normal, x, 6.9236899f);
}
/* log1p, 1.5 ulp: log(u) for u = fl(1 + x), plus the rounding error of u, divided by u */
RUSH_INLINE f4 f4_log1p(f4 x) {
  f4 u = x + f4_set(1.0f);
  f4 lost = f4_select(u > f4_set(2.0f), f4_set(1.0f) - (u - x), x - (u - f4_set(1.0f)));
  f4 k, f = f4_log_split(u, &k);
  i4 near = k == f4_zero();
  f = f4_select(near, x, f); /* the input is exact here */
  f4 c = (f4)((i4)(lost / u) & ~near);
  f4 z = f * f;
  f4 y = f4_log_poly(f, z) + c;
  y = f4_madd(k, f4_set(LN2_LOW), y);
  y = f4_madd(f4_set(-0.5f), z, y) + f;
  y = f4_sign_of(f4_madd(k, f4_set(LN2_HIGH), y), x);
  if (__builtin_expect(i4_any(f4_log_odd(u)), 0)) y = f4_log_special(u, y);
  return y;
}

/* 1 / (1 + e^-x), 2 ulp. It is computed as 2^-24 / (2^-24 + e^-x 2^-24), which does not overflow
 * for relevant x, and whose powers of two are all normal. */
RUSH_INLINE f4 f4_sigmoid(f4 x) {
  const f4 magic = f4_set(12582912.0f + 103.0f), unit = f4_set(5.9604645e-8f);
  f4 y = f4_more(f4_set(-104.9f), f4_less(f4_set(70.0f), x));
  f4 t = f4_madd(y, f4_set(-1.44269504f), magic), k = t - magic; /* the method of f4_round_small */
  f4 r = f4_madd(k, f4_set(LN2_HIGH), y);
  r = f4_madd(k, f4_set(LN2_LOW), r); /* -y = k ln(2) - r */
  f4 p = f4_set(1.39464578e-3f);      /* the polynomial of f4_exp_poly at -r */
  p = f4_madd(p, r, f4_set(-8.36658943e-3f));
  p = f4_madd(p, r, f4_set(4.16662805e-2f));
  p = f4_madd(p, r, f4_set(-1.66665435e-1f));
  p = f4_madd(p, r, f4_set(0.5f));
  p = f4_madd(p, r, f4_set(-1.0f));
  p = f4_madd(p, r, f4_set(1.0f));
  /* 2^(k - 24): the lowest bits of t are k + 103 = k + 127 - 24. */
  const f4 scale = (f4)((u4)t << 23);
  return unit / f4_madd(p, scale, unit);
}

/* tanh, 2 ulp: -t / (t + 2) for t = expm1(-2 |x|), which is accurate near 0 */
RUSH_INLINE f4 f4_tanh(f4 x) {
  i4 n;
  f4 r = f4_exp_reduce(f4_set(-2.0f) * f4_less(f4_set(10.0f), f4_abs(x)), &n);
  f4 scale = f4_pow2(n);
  f4 t = f4_madd(scale, f4_madd(f4_exp_poly(r), r * r, r), scale - f4_set(1.0f));
  return f4_sign_of(t / (t + f4_set(2.0f)), x);
}

/* Returns the tail of the normal distribution, P(X > a) for a >= 0. It is e^(-a^2/2) times a
 * polynomial in 3 / (3 + a) (minimax on 0..14.5, relative error 1e-8). a^2 is split so that its
 * rounding error does not grow with a. From a = 13.1 on, the result is 0 instead of less than
 * 2e-39. */
RUSH_INLINE f4 f4_normal_tail(f4 a) {
  i4 far = a > f4_set(13.1f);
  a = f4_less(f4_set(13.1f), a);
  f4 t = f4_set(3.0f) / (a + f4_set(3.0f));
  f4 p = f4_set(-2.72188801e-2f);
  p = f4_madd(p, t, f4_set(1.51928455e-1f));
  p = f4_madd(p, t, f4_set(-3.19350272e-1f));
  p = f4_madd(p, t, f4_set(2.77094573e-1f));
  p = f4_madd(p, t, f4_set(-9.67856422e-2f));
  p = f4_madd(p, t, f4_set(1.40615374e-1f));
  p = f4_madd(p, t, f4_set(1.06131762e-1f));
  p = f4_madd(p, t, f4_set(1.34745583e-1f));
  p = f4_madd(p, t, f4_set(1.32833749e-1f));
  p = f4_madd(p, t, f4_set(5.30887883e-6f));
  f4 high = (f4)((i4)a & i4_set(~0xfff));
  f4 low = (high - a) * (high + a) * f4_set(0.5f);
  i4 n;
  f4 r = f4_exp_reduce(f4_set(-0.5f) * high * high, &n) + low;
  return (f4)((i4)(p * f4_exp_normal(r, n)) & ~far);
}

RUSH_INLINE f4 f4_erf(f4 x) {
  f4 a = f4_abs(x), z = x * x;
  f4 p = f4_set(7.85385419e-5f);
  p = f4_madd(p, z, f4_set(-8.01019138e-4f));
  p = f4_madd(p, z, f4_set(5.18832729e-3f));
  p = f4_madd(p, z, f4_set(-2.68538110e-2f));
  p = f4_madd(p, z, f4_set(1.12835854e-1f));
  p = f4_madd(p, z, f4_set(-3.76126260e-1f));
  p = f4_madd(p, z, f4_set(1.28379107e-1f));
  f4 small = f4_madd(p, x, x);
  f4 q = f4_normal_tail(a * f4_set(1.41421356f));
  return f4_select(a < f4_set(1.0f), small, f4_sign_of(f4_set(1.0f) - (q + q), x));
}
RUSH_INLINE f4 f4_gelu(f4 x) {
  f4 q = f4_normal_tail(f4_abs(x));
  return x * f4_select(x < f4_zero(), q, f4_set(1.0f) - q);
}
RUSH_INLINE f4 f4_gelu_tanh(f4 x) {
  f4 u = f4_madd(x * x * x, f4_set(0.044715f), x);
  return x * f4_sigmoid(u * f4_set(1.59576912f));
}
RUSH_INLINE f4 f4_silu(f4 x) {
  return x * f4_sigmoid(x);
}
RUSH_INLINE f4 f4_hardsigmoid(f4 x) {
  return f4_less(f4_set(6.0f), f4_more(f4_zero(), x + f4_set(3.0f))) * f4_set(1 / 6.0f);
}
RUSH_INLINE f4 f4_hardswish(f4 x) {
  return x * f4_less(f4_set(6.0f), f4_more(f4_zero(), x + f4_set(3.0f))) * f4_set(1 / 6.0f);
}
/* tanh(log1p(e)) = e (e + 2) / (e (e + 2) + 2) for e = exp(x) */
RUSH_INLINE f4 f4_mish(f4 x) {
  f4 e = f4_exp(f4_less(f4_set(20.0f), x));
  f4 w = e * (e + f4_set(2.0f));
  return x * (w / (w + f4_set(2.0f)));
}
RUSH_INLINE f4 f4_log_sigmoid(f4 x) {
  f4 low = f4_less(x, f4_zero());
  return f4_select(x != x, x, low - f4_log1p(f4_exp(-f4_abs(x))));
}

/* atan(t) for 0 <= t <= 1, a minimax polynomial. Above tan(pi/8) it is pi/4 + atan((t - 1) / (t +
 * 1)). */
RUSH_INLINE f4 f4_atan_unit(f4 t) {
  const f4 one = f4_set(1.0f);
  i4 far = t > f4_set(0.41421356f);
  f4 q = f4_select(far, (t - one) / (t + one), t), z = q * q;
  f4 p = f4_set(8.05372171e-2f);
  p = f4_madd(p, z, f4_set(-1.38776784e-1f));
  p = f4_madd(p, z, f4_set(1.99777100e-1f));
  p = f4_madd(p, z, f4_set(-3.33329491e-1f));
  return f4_madd(p * z, q, q) + (f4)((i4)f4_set(0.78539816f) & far);
}
/* atan, 2.5 ulp. Zeros, infinities and NaN behave as in C. */
RUSH_INLINE f4 f4_atan(f4 x) {
  f4 a = f4_abs(x), one = f4_set(1.0f);
  i4 large = a > one;
  f4 y = f4_atan_unit(f4_select(large, one / a, a));
  return f4_sign_of(f4_select(large, f4_set(1.57079633f) - y, y), x);
}
RUSH_INLINE f4 f4_atan2(f4 y, f4 x) {
  f4 a = f4_abs(x), b = f4_abs(y), most = f4_more(a, b), least = f4_less(a, b);
  i4 alike = least == most;
  f4 same = f4_select(most == f4_zero(), f4_zero(), f4_set(1.0f)); /* two zeros or two infinities */
  f4 r = f4_atan_unit(f4_select(alike, same, least / most));
  r = f4_select(b > a, f4_set(1.57079633f) - r, r);
  r = f4_select((i4)x < i4_set(0), f4_set(3.14159265f) - r, r);
  return f4_select((x != x) | (y != y), x + y, f4_sign_of(r, y));
}

#endif
