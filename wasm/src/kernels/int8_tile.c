#include "kernels/int8_tile.h"

#include "kernels/simd.h"

/* Eight weights, widened; four elements of a row, twice; sums of two products each. */
#if defined(__wasm_simd128__)
typedef v128_t wide;
RUSH_INLINE wide load_weights(const int8_t *w) {
  return wasm_i16x8_load8x8(w);
}
RUSH_INLINE wide load_elements(const int16_t *x) {
  return wasm_v128_load64_splat(x);
}
RUSH_INLINE i4 add_products(wide a, wide b, i4 sums) {
  return i4_add((i4)wasm_i32x4_dot_i16x8(a, b), sums);
}
#elif defined(__SSE2__)
typedef __m128i wide;
RUSH_INLINE wide load_weights(const int8_t *w) {
  const __m128i v = _mm_loadl_epi64((const __m128i *)w);
  return _mm_srai_epi16(_mm_unpacklo_epi8(v, v), 8);
}
RUSH_INLINE wide load_elements(const int16_t *x) {
  const __m128i v = _mm_loadl_epi64((const __m128i *)x);
  return _mm_unpacklo_epi64(v, v);
}
RUSH_INLINE i4 add_products(wide a, wide b, i4 sums) {
  return i4_add((i4)_mm_madd_epi16(a, b), sums);
}
#else
typedef struct wide {
  i4 even, odd;
} wide;
RUSH_INLINE wide load_weights(const int8_t *w) {
  return (wide){{w[0], w[2], w[4], w[6]}, {w[1], w[3], w[5], w[7]}};
}
RUSH_INLINE wide load_elements(const int16_t *x) {
  return (wide){{x[0], x[2], x[0], x[2]}, {x[1], x[3], x[1], x[3]}};
}
RUSH_INLINE i4 add_products(wide a, wide b, i4 sums) {
  return i4_add(i4_add(a.even * b.even, a.odd * b.odd), sums);
}
#endif

/* Half a block at a time, so that all sums stay in registers: a vector has those of two columns. */
RUSH_INLINE void wide_tile(size_t mr, size_t groups, const void *const *rows, const int8_t *w,
                           int32_t sums[][RUSH_INT8_NR]) {
  enum { HALF = RUSH_INT8_NR / 2 };
  for (size_t h = 0; h < RUSH_INT8_NR; h += HALF) {
    const int8_t *from = w + h * RUSH_INT8_KR;
    const int16_t *x[RUSH_INT8_MR];
    i4 sum[RUSH_INT8_MR][2];
    for (size_t r = 0; r < mr; r++) {
      x[r] = rows[r];
      sum[r][0] = sum[r][1] = i4_set(0);
    }
    for (size_t g = 0; g < groups; g++, from += RUSH_INT8_NR * RUSH_INT8_KR) {
      const wide a = load_weights(from), b = load_weights(from + 8);
      for (size_t r = 0; r < mr; r++) {
        const wide v = load_elements(x[r] + g * RUSH_INT8_KR);
        sum[r][0] = add_products(a, v, sum[r][0]);
        sum[r][1] = add_products(b, v, sum[r][1]);
      }
    }
    for (size_t r = 0; r < mr; r++) {
      const i4 even = __builtin_shufflevector(sum[r][0], sum[r][1], 0, 2, 4, 6);
      const i4 odd = __builtin_shufflevector(sum[r][0], sum[r][1], 1, 3, 5, 7);
      const i4 both = i4_add(even, odd);
      memcpy(&sums[r][h], &both, sizeof both);
    }
  }
}

RUSH_INT8_TILE(rush_int8_one_wide, wide_tile, 1)
RUSH_INT8_TILE(rush_int8_many_wide, wide_tile, 4)

#if defined(__wasm_relaxed_simd__)
/* relaxed_dot: the second operand's bytes may be signed or not where they have the highest bit, and
 * sums of two products may be bounded by 16 bits. Which it is, is asked of the machine at work. */
RUSH_INLINE i4 dot(v128_t w, v128_t x, i4 sums) {
  return (i4)wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, x, (v128_t)sums);
}

RUSH_INLINE void byte_tile(size_t mr, size_t groups, const void *const *rows, const int8_t *w,
                           int32_t sums[][RUSH_INT8_NR]) {
  const uint8_t *x[RUSH_INT8_MR];
  i4 sum[RUSH_INT8_MR][2];
  for (size_t r = 0; r < mr; r++) {
    x[r] = rows[r];
    sum[r][0] = sum[r][1] = i4_set(0);
  }
  for (size_t g = 0; g < groups; g++, w += RUSH_INT8_NR * RUSH_INT8_KR) {
    const v128_t a = wasm_v128_load(w), b = wasm_v128_load(w + 16);
    for (size_t r = 0; r < mr; r++) {
      const v128_t v = wasm_v128_load32_splat(x[r] + g * RUSH_INT8_KR);
      sum[r][0] = dot(a, v, sum[r][0]);
      sum[r][1] = dot(b, v, sum[r][1]);
    }
  }
  for (size_t r = 0; r < mr; r++) memcpy(sums[r], sum[r], sizeof sum[r]);
}

static RUSH_INT8_TILE(one_byte, byte_tile, 1) static RUSH_INT8_TILE(many_byte, byte_tile, 6)

    rush_int8_kernel rush_int8_kernel_here(void) {
  enum { W = 127, X = 255 };
  /* Nobody may compute this beforehand: wasm-opt cannot. */
  const volatile int8_t w = W;
  const volatile uint8_t x = X;
  const i4 sum = dot(wasm_i8x16_splat(w), wasm_u8x16_splat(x), i4_set(0));
  if (sum[0] == 4 * W * X) return (rush_int8_kernel){RUSH_INT8_UNSIGNED, 6, one_byte, many_byte};
  if (sum[0] == 4 * W * (X - 256))
    return (rush_int8_kernel){RUSH_INT8_SIGNED, 6, one_byte, many_byte};
  return (rush_int8_kernel){RUSH_INT8_WIDE, 4, rush_int8_one_wide, rush_int8_many_wide};
}
#else
rush_int8_kernel rush_int8_kernel_here(void) {
#ifdef RUSH_AVXVNNI
  if (__builtin_cpu_supports("avxvnni"))
    return (rush_int8_kernel){RUSH_INT8_UNSIGNED, 6, rush_int8_one_vnni, rush_int8_many_vnni};
#endif
#ifdef RUSH_WIDE_MATH
  if (__builtin_cpu_supports("avx2"))
    return (rush_int8_kernel){RUSH_INT8_WIDE, 6, rush_int8_one_avx2, rush_int8_many_avx2};
#endif
  return (rush_int8_kernel){RUSH_INT8_WIDE, 4, rush_int8_one_wide, rush_int8_many_wide};
}
#endif
