#include "kernels/int8_tile.h"

#include "kernels/int8_depth.h"
#include "kernels/int8_dot.h"

/* Half a block at a time, so that all sums stay in registers: a vector has those of two columns. */
RUSH_INLINE void wide_tile(size_t mr, size_t taps, size_t groups, const void *const *rows,
                           const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  enum { HALF = RUSH_INT8_NR / 2 };
  for (size_t h = 0; h < RUSH_INT8_NR; h += HALF) {
    const int8_t *from = w + h * RUSH_INT8_KR;
    i4 sum[RUSH_INT8_MR][2];
    for (size_t r = 0; r < mr; r++) sum[r][0] = sum[r][1] = i4_set(0);
    for (size_t t = 0; t < taps; t++) {
      const int16_t *x[RUSH_INT8_MR];
      for (size_t r = 0; r < mr; r++) x[r] = rows[t * RUSH_INT8_MR + r];
      for (size_t g = 0; g < groups; g++, from += RUSH_INT8_NR * RUSH_INT8_KR) {
        const s8 a = s8_widened(from), b = s8_widened(from + 8);
        for (size_t r = 0; r < mr; r++) {
          const s8 v = s8_twice(x[r] + g * RUSH_INT8_KR);
          sum[r][0] = s8_dot(a, v, sum[r][0]);
          sum[r][1] = s8_dot(b, v, sum[r][1]);
        }
      }
    }
    for (size_t r = 0; r < mr; r++) {
      const i4 both = i4_add_pairs(sum[r][0], sum[r][1]);
      memcpy(&sums[r][h], &both, sizeof both);
    }
  }
}

RUSH_INT8_TILE(rush_int8_one_wide, wide_tile, 1)
RUSH_INT8_TILE(rush_int8_many_wide, wide_tile, 4)

RUSH_INT8_DEPTH(rush_int8_depth_wide, rush_int8_depth_pairs)
RUSH_INT8_STRIP(rush_int8_strips_wide, rush_int8_column_pairs, rush_int8_add_pairs)

#if defined(__wasm_relaxed_simd__)
RUSH_INLINE void byte_tile(size_t mr, size_t taps, size_t groups, const void *const *rows,
                           const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  i4 sum[RUSH_INT8_MR][2];
  for (size_t r = 0; r < mr; r++) sum[r][0] = sum[r][1] = i4_set(0);
  for (size_t t = 0; t < taps; t++) {
    const uint8_t *x[RUSH_INT8_MR];
    for (size_t r = 0; r < mr; r++) x[r] = rows[t * RUSH_INT8_MR + r];
    for (size_t g = 0; g < groups; g++, w += RUSH_INT8_NR * RUSH_INT8_KR) {
      const v128_t a = wasm_v128_load(w), b = wasm_v128_load(w + 16);
      for (size_t r = 0; r < mr; r++) {
        const v128_t v = wasm_v128_load32_splat(x[r] + g * RUSH_INT8_KR);
        sum[r][0] = rush_int8_dot(v, a, sum[r][0]);
        sum[r][1] = rush_int8_dot(v, b, sum[r][1]);
      }
    }
  }
  for (size_t r = 0; r < mr; r++) memcpy(sums[r], sum[r], sizeof sum[r]);
}

static RUSH_INT8_TILE(one_byte, byte_tile, 1) static RUSH_INT8_TILE(
    many_byte, byte_tile,
    6) static RUSH_INT8_DEPTH(depth_byte,
                              rush_int8_depth_quads) static RUSH_INT8_STRIP(strips_byte,
                                                                            rush_int8_column_quads,
                                                                            rush_int8_add_quads)

    rush_int8_kernel rush_int8_kernel_here(void) {
  enum { W = 127, X = 255 };
  /* Nobody may compute this beforehand: wasm-opt cannot. */
  const volatile int8_t w = W;
  const volatile uint8_t x = X;
  const i4 sum = rush_int8_dot(wasm_u8x16_splat(x), wasm_i8x16_splat(w), i4_set(0));
  if (sum[0] == 4 * W * X)
    return (rush_int8_kernel){RUSH_INT8_UNSIGNED, 6, one_byte, many_byte, depth_byte, strips_byte};
  if (sum[0] == 4 * W * (X - 256))
    return (rush_int8_kernel){RUSH_INT8_SIGNED, 6, one_byte, many_byte, depth_byte, strips_byte};
  return (rush_int8_kernel){RUSH_INT8_WIDE,       4,
                            rush_int8_one_wide,   rush_int8_many_wide,
                            rush_int8_depth_wide, rush_int8_strips_wide};
}
#else
rush_int8_kernel rush_int8_kernel_here(void) {
#ifdef RUSH_AVXVNNI
  if (__builtin_cpu_supports("avxvnni"))
    return (rush_int8_kernel){RUSH_INT8_UNSIGNED,   6,
                              rush_int8_one_vnni,   rush_int8_many_vnni,
                              rush_int8_depth_vnni, rush_int8_strips_vnni};
#endif
#ifdef RUSH_WIDE_MATH
  if (__builtin_cpu_supports("avx2"))
    return (rush_int8_kernel){RUSH_INT8_WIDE,       6,
                              rush_int8_one_avx2,   rush_int8_many_avx2,
                              rush_int8_depth_wide, rush_int8_strips_wide};
#endif
  return (rush_int8_kernel){RUSH_INT8_WIDE,       4,
                            rush_int8_one_wide,   rush_int8_many_wide,
                            rush_int8_depth_wide, rush_int8_strips_wide};
}
#endif

size_t rush_int8_wide(rush_int8_tile **one, rush_int8_tile **many) {
#ifdef RUSH_WIDE_MATH
  if (__builtin_cpu_supports("avx2")) {
    *one = rush_int8_one_avx2, *many = rush_int8_many_avx2;
    return 6;
  }
#endif
  *one = rush_int8_one_wide, *many = rush_int8_many_wide;
  return 4;
}
