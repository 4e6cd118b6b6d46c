/* Dot products for the int8 inner loops: four bytes at a time if the machine does that exactly, and
 * two 16-bit integers at a time everywhere. */
#ifndef RUSH_INT8_DOT_H
#define RUSH_INT8_DOT_H

#include "kernels/simd.h"

typedef int16_t s8 __attribute__((vector_size(16)));

RUSH_INLINE b16 b16_load(const uint8_t *p) {
  b16 v;
  memcpy(&v, p, sizeof v);
  return v;
}
/* Loads eight bytes and zeros the others. */
RUSH_INLINE b16 b16_load_half(const uint8_t *p) {
#if defined(__wasm_simd128__)
  return (b16)wasm_v128_load64_zero(p);
#elif defined(__SSE2__)
  return (b16)_mm_loadl_epi64((const __m128i *)p);
#else
  b16 v = {0};
  memcpy(&v, p, 8);
  return v;
#endif
}
RUSH_INLINE b16 b16_max(b16 a, b16 b) {
#if defined(__wasm_simd128__)
  return (b16)wasm_u8x16_max((v128_t)a, (v128_t)b);
#elif defined(__SSE2__)
  return (b16)_mm_max_epu8((__m128i)a, (__m128i)b);
#else
  const b16 more = (b16)(a > b);
  return (a & more) | (b & ~more);
#endif
}
RUSH_INLINE s8 s8_load(const int16_t *p) {
  s8 v;
  memcpy(&v, p, sizeof v);
  return v;
}
/* Loads eight bytes and widens them; loads four integers twice. */
RUSH_INLINE s8 s8_widened(const int8_t *p) {
#if defined(__wasm_simd128__)
  return (s8)wasm_i16x8_load8x8(p);
#elif defined(__SSE2__)
  const __m128i v = _mm_loadl_epi64((const __m128i *)p);
  return (s8)_mm_srai_epi16(_mm_unpacklo_epi8(v, v), 8);
#else
  return (s8){p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
#endif
}
RUSH_INLINE s8 s8_twice(const int16_t *p) {
#if defined(__wasm_simd128__)
  return (s8)wasm_v128_load64_splat(p);
#elif defined(__SSE2__)
  const __m128i v = _mm_loadl_epi64((const __m128i *)p);
  return (s8)_mm_unpacklo_epi64(v, v);
#else
  return (s8){p[0], p[1], p[2], p[3], p[0], p[1], p[2], p[3]};
#endif
}
/* Loads two integers four times. */
RUSH_INLINE s8 s8_four_times(const int16_t *p) {
#if defined(__wasm_simd128__)
  return (s8)wasm_v128_load32_splat(p);
#else
  int32_t both;
  memcpy(&both, p, sizeof both);
  return (s8)(i4){both, both, both, both};
#endif
}
/* Widens the lower or upper eight bytes to integers from 0 to 255. */
RUSH_INLINE s8 s8_low(b16 v) {
#if defined(__wasm_simd128__)
  return (s8)wasm_u16x8_extend_low_u8x16((v128_t)v);
#else
  return (s8)__builtin_shufflevector(v, (b16){0}, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                     7, 23);
#endif
}
RUSH_INLINE s8 s8_high(b16 v) {
#if defined(__wasm_simd128__)
  return (s8)wasm_u16x8_extend_high_u8x16((v128_t)v);
#else
  return (s8)__builtin_shufflevector(v, (b16){0}, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                                     30, 15, 31);
#endif
}
/* Interleaves a0 b0 a1 b1 ... of the lower or upper halves. */
RUSH_INLINE b16 b16_zip_low(b16 a, b16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
RUSH_INLINE b16 b16_zip_high(b16 a, b16 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
RUSH_INLINE s8 s8_zip_low(s8 a, s8 b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
RUSH_INLINE s8 s8_zip_high(s8 a, s8 b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
/* Computes sums[i] + a[2 i] * b[2 i] + a[2 i + 1] * b[2 i + 1]. */
RUSH_INLINE i4 s8_dot(s8 a, s8 b, i4 sums) {
#if defined(__wasm_simd128__)
  return i4_add((i4)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b), sums);
#elif defined(__SSE2__)
  return i4_add((i4)_mm_madd_epi16((__m128i)a, (__m128i)b), sums);
#else
  for (int i = 0; i < 4; i++)
    sums = i4_add(sums, (i4){i == 0, i == 1, i == 2, i == 3} *
                            (a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]));
  return sums;
#endif
}

/* Returns a0 + a1, a2 + a3, b0 + b1, b2 + b3. */
RUSH_INLINE i4 i4_add_pairs(i4 a, i4 b) {
  return i4_add(__builtin_shufflevector(a, b, 0, 2, 4, 6),
                __builtin_shufflevector(a, b, 1, 3, 5, 7));
}

/* Computes sums[i] + x[4 i] * w[4 i] + ... + x[4 i + 3] * w[4 i + 3]. x is in the form for this
 * machine (rush_int8_form). */
#if defined(__wasm_relaxed_simd__)
/* In relaxed_dot, bytes of the second operand with the highest bit set may be signed or unsigned,
 * and sums of two products may saturate at 16 bits. The behaviour is tested at run time. */
RUSH_INLINE i4 rush_int8_dot(v128_t x, v128_t w, i4 sums) {
  return (i4)wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, x, (v128_t)sums);
}
#define RUSH_INT8_DOT(x, w, sums) rush_int8_dot((v128_t)(x), (v128_t)(w), sums)
/* The same for signed x and w from 0 to 15, which gives the same result on every machine. */
#define RUSH_NIBBLE_DOT
RUSH_INLINE i4 rush_nibble_dot(v128_t x, v128_t w, i4 sums) {
  return (i4)wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, w, (v128_t)sums);
}
/* The same with sums of two products, in 16 bits. Machines without a dot product of four bytes have
 * this one as a single instruction. The sums of RUSH_NIBBLE_QUADS steps fit. */
enum { RUSH_NIBBLE_QUADS = 8 }; /* 8 * 2 * 127 * 15 < 2^15 */
RUSH_INLINE v128_t rush_nibble_dot_of_two(v128_t x, v128_t w, v128_t sums) {
  return wasm_i16x8_add(sums, wasm_i16x8_relaxed_dot_i8x16_i7x16(x, w));
}
/* Adds pairs of the 16-bit sums to 32-bit sums. */
RUSH_INLINE i4 rush_nibble_widen(i4 to, v128_t sums) {
  return i4_add(to, (i4)wasm_i32x4_extadd_pairwise_i16x8(sums));
}
#elif defined(__AVXVNNI__)
#define RUSH_INT8_DOT(x, w, sums) \
  (i4) _mm_dpbusd_avx_epi32((__m128i)(sums), (__m128i)(x), (__m128i)(w))
#endif

#endif
