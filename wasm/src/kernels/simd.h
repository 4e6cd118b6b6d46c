/* Vectors of four floats, or of RUSH_LANES floats in files for a specific processor, based on the
 * compiler's vector extensions. One source serves wasm simd128, SSE2 and NEON. Arithmetic and
 * comparisons use C operators; a comparison gives an i4 of 0 and -1. This header adds the rest.
 * madd rounds once with relaxed SIMD or FMA and twice otherwise, so an algorithm must not depend on
 * it. */
#ifndef RUSH_SIMD_H
#define RUSH_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/poison.h"

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#elif defined(RUSH_LANES)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#ifndef RUSH_LANES
#define RUSH_LANES 4
#endif
typedef float f4 __attribute__((vector_size(4 * RUSH_LANES)));
typedef int32_t i4 __attribute__((vector_size(4 * RUSH_LANES)));
typedef uint32_t u4 __attribute__((vector_size(4 * RUSH_LANES)));
/* For unaligned loads. gcc splits a memcpy into two halves and then keeps v in memory. */
typedef float f4_anywhere __attribute__((vector_size(4 * RUSH_LANES), aligned(4), may_alias));
#if RUSH_LANES == 16
#define RUSH_ALL(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
#elif RUSH_LANES == 8
#define RUSH_ALL(x) x, x, x, x, x, x, x, x
#else
#define RUSH_ALL(x) x, x, x, x
#endif

/* Marks functions that few models use or that run once, and optimizes them for size. */
#ifdef __clang__
#define RUSH_RARE __attribute__((minsize))
#else
#define RUSH_RARE
#endif
/* Keeps a hot function separate. An engine recompiles hot functions as a whole, so unrelated code
 * should not be part of them. */
#define RUSH_ALONE __attribute__((noinline))
#define RUSH_INLINE static inline __attribute__((always_inline))

/* Marks a loop whose iterations do not access each other's elements. In-place operation is fine. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a scalar loop is correct as well */
#define RUSH_EACH _Pragma("clang loop vectorize(assume_safety) interleave_count(2)")
#else
#define RUSH_EACH _Pragma("GCC ivdep")
#endif

/* Wasm engines rematerialize a vector constant at each use, with up to five instructions, and
 * binaryen turns every splat of a known number into a constant. The splat of a value that depends
 * on these two variables, which never change, stays outside the loop and costs one instruction. */
#if defined(__wasm__)
extern const float rush_unknown_1;
extern const int32_t rush_unknown_0;
#define RUSH_IS_CONSTANT(x) (__builtin_constant_p(x) && (x) != 0)
RUSH_INLINE f4 f4_set(float x) {
  if (RUSH_IS_CONSTANT(x)) x *= rush_unknown_1;
  return (f4){x, x, x, x};
}
RUSH_INLINE i4 i4_set(int32_t x) {
  if (RUSH_IS_CONSTANT(x)) x |= rush_unknown_0;
  return (i4){x, x, x, x};
}
#else
RUSH_INLINE f4 f4_set(float x) {
  return (f4){RUSH_ALL(x)};
}
RUSH_INLINE i4 i4_set(int32_t x) {
  return (i4){RUSH_ALL(x)};
}
#endif
/* Sixteen bytes for every value of RUSH_LANES. */
typedef uint8_t b16 __attribute__((vector_size(16)));
RUSH_INLINE b16 b16_set(uint8_t x) {
  return (b16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
/* Unsigned arithmetic, because signed overflow would be undefined. */
RUSH_INLINE i4 i4_add(i4 a, i4 b) {
  return (i4)((u4)a + (u4)b);
}
RUSH_INLINE i4 i4_sub(i4 a, i4 b) {
  return (i4)((u4)a - (u4)b);
}
RUSH_INLINE f4 f4_zero(void) {
  return (f4){0};
}
/* Reads past the first element may reach into the slack after a block (RUSH_HEAP_SLACK). */
#ifdef RUSH_HAS_ASAN
RUSH_READS_POISONED static inline f4 f4_load_slack(const float *p) {
  f4 v;
  memcpy(&v, p, sizeof v);
  return v;
}
RUSH_INLINE f4 f4_load(const float *p) {
  float first;
  memcpy(&first, p, sizeof first);
  f4 v = f4_load_slack(p);
  v[0] = first;
  return v;
}
#else
RUSH_INLINE f4 f4_load(const float *p) {
  return *(const f4_anywhere *)p;
}
#endif
RUSH_INLINE void f4_store(float *p, f4 v) {
  *(f4_anywhere *)p = v;
}
/* Loads the first n < RUSH_LANES elements; the others are 0. */
RUSH_INLINE f4 f4_load_part(const float *p, size_t n) {
  f4 v = {0};
  memcpy(&v, p, n * sizeof *p);
  return v;
}
/* Loads n elements, or all lanes if n is at least RUSH_LANES. */
RUSH_INLINE f4 f4_load_up_to(const float *p, size_t n) {
  return n >= RUSH_LANES ? f4_load(p) : f4_load_part(p, n);
}
RUSH_INLINE void f4_store_part(float *p, f4 v, size_t n) {
  memcpy(p, &v, n * sizeof *p);
}
/* Stores n elements, or all lanes if n is at least RUSH_LANES. */
RUSH_INLINE void f4_store_up_to(float *p, f4 v, size_t n) {
  if (n >= RUSH_LANES) {
    f4_store(p, v);
  } else {
    f4_store_part(p, v, n);
  }
}

/* Returns m ? a : b. Each lane of m is 0 or -1. */
RUSH_INLINE f4 f4_select(i4 m, f4 a, f4 b) {
  return (f4)(((i4)a & m) | ((i4)b & ~m));
}
RUSH_INLINE f4 f4_abs(f4 x) {
  return (f4)((i4)x & i4_set(0x7fffffff));
}
RUSH_INLINE f4 f4_sign_of(f4 magnitude, f4 sign) {
  const i4 bit = i4_set(INT32_MIN);
  return (f4)(((i4)magnitude & ~bit) | ((i4)sign & bit));
}
/* Returns a where a < b (a > b), else b. A NaN gives b. */
RUSH_INLINE f4 f4_less(f4 a, f4 b) {
#if defined(__wasm_simd128__)
  return (f4)wasm_f32x4_pmin((v128_t)b, (v128_t)a);
#elif RUSH_LANES == 16
  return (f4)_mm512_min_ps((__m512)a, (__m512)b);
#elif RUSH_LANES == 8
  return (f4)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (f4)_mm_min_ps((__m128)a, (__m128)b);
#else
  return f4_select(a < b, a, b);
#endif
}
RUSH_INLINE f4 f4_more(f4 a, f4 b) {
#if defined(__wasm_simd128__)
  return (f4)wasm_f32x4_pmax((v128_t)b, (v128_t)a);
#elif RUSH_LANES == 16
  return (f4)_mm512_max_ps((__m512)a, (__m512)b);
#elif RUSH_LANES == 8
  return (f4)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (f4)_mm_max_ps((__m128)a, (__m128)b);
#else
  return f4_select(a > b, a, b);
#endif
}

/* Computes a * b + c. */
RUSH_INLINE f4 f4_madd(f4 a, f4 b, f4 c) {
#if defined(__wasm_relaxed_simd__)
  return (f4)wasm_f32x4_relaxed_madd((v128_t)a, (v128_t)b, (v128_t)c);
#elif RUSH_LANES == 16
  return (f4)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif RUSH_LANES == 8
  return (f4)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}

RUSH_INLINE f4 f4_sqrt(f4 x) {
#if defined(__wasm_simd128__)
  return (f4)wasm_f32x4_sqrt((v128_t)x);
#elif RUSH_LANES == 16
  return (f4)_mm512_sqrt_ps((__m512)x);
#elif RUSH_LANES == 8
  return (f4)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  return (f4)_mm_sqrt_ps((__m128)x);
#else
  return (f4){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])};
#endif
}

/* Rounds to the nearest integer, half to even, for |x| <= 2^22. *n is the result as an int. NaN
 * propagates. */
RUSH_INLINE f4 f4_round_small(f4 x, i4 *n) {
  const f4 magic = f4_set(12582912.0f); /* 1.5 * 2^23 */
  f4 t = x + magic;
  *n = (i4)((u4)t - (u4)magic);
  return t - magic;
}
/* 2^n, -126 <= n <= 127 */
RUSH_INLINE f4 f4_pow2(i4 n) {
  return (f4)(((u4)n + 127u) << 23);
}
RUSH_INLINE f4 f4_from_int(i4 n) {
#if defined(__wasm_simd128__)
  return (f4)wasm_f32x4_convert_i32x4((v128_t)n);
#else
  return __builtin_convertvector(n, f4);
#endif
}
/* Returns whether any lane of a mask is set. */
RUSH_INLINE int i4_any(i4 m) {
#if defined(__wasm_simd128__)
  return wasm_v128_any_true((v128_t)m);
#elif RUSH_LANES == 16
  return _mm512_test_epi32_mask((__m512i)m, (__m512i)m) != 0;
#elif RUSH_LANES == 8
  return _mm256_movemask_ps((__m256)m);
#elif defined(__SSE2__)
  return _mm_movemask_ps((__m128)m);
#else
  return (m[0] | m[1] | m[2] | m[3]) != 0;
#endif
}
RUSH_INLINE float f4_sum(f4 x) {
  return (x[0] + x[1]) + (x[2] + x[3]);
}

/* Computes out[i] = f(in[i]) for i < n. out may equal in. The remaining elements, padded with
 * zeros, run through the same loop, so that f is only instantiated once and its constants are
 * computed before the loop. */
#define RUSH_MAP_F4(out, in, n, x, f)                    \
  float rest_[RUSH_LANES] = {0};                         \
  const size_t left_ = (n) % RUSH_LANES;                 \
  const float *from_ = (in);                             \
  float *to_ = (out);                                    \
  for (size_t whole_ = (n) - left_;;) {                  \
    for (size_t i_ = 0; i_ < whole_; i_ += RUSH_LANES) { \
      const f4 x = f4_load(from_ + i_);                  \
      f4_store(to_ + i_, f);                             \
    }                                                    \
    if (to_ == rest_ || left_ == 0) break;               \
    memcpy(rest_, (in) + whole_, left_ * sizeof *rest_); \
    from_ = to_ = rest_;                                 \
    whole_ = RUSH_LANES;                                 \
  }                                                      \
  if (left_ > 0) memcpy((out) + ((n) - left_), rest_, left_ * sizeof *rest_);

#endif
