/* Helpers for tiled kernels (convolution, matrix product, pooling, transpose), in addition to
 * simd.h. */
#ifndef RUSH_TILE_H
#define RUSH_TILE_H

#include "kernels/simd.h"

/* Loads *p into all lanes. */
RUSH_INLINE f4 f4_splat(const float *p) {
#if defined(__wasm_simd128__)
  return (f4)wasm_v128_load32_splat(p);
#else
  return f4_set(*p);
#endif
}
/* Computes min(max(v, lo), hi). NaN propagates. */
RUSH_INLINE f4 f4_clamp(f4 v, f4 lo, f4 hi) {
#if defined(__wasm_simd128__)
  return (f4)wasm_f32x4_pmin(wasm_f32x4_pmax((v128_t)v, (v128_t)lo), (v128_t)hi);
#else
  return f4_select(hi < f4_select(v < lo, lo, v), hi, f4_select(v < lo, lo, v));
#endif
}
/* Returns the maximum. NaN propagates. */
RUSH_INLINE f4 f4_max(f4 a, f4 b) {
#if defined(__wasm_simd128__)
  return (f4)wasm_f32x4_max((v128_t)a, (v128_t)b);
#else
  return f4_select((a >= b) | (a != a), a, b);
#endif
}
/* Transposes a 4x4 block in place. */
RUSH_INLINE void f4_transpose(f4 *a, f4 *b, f4 *c, f4 *d) {
  f4 ab0 = __builtin_shufflevector(*a, *b, 0, 4, 1, 5);
  f4 ab1 = __builtin_shufflevector(*a, *b, 2, 6, 3, 7);
  f4 cd0 = __builtin_shufflevector(*c, *d, 0, 4, 1, 5);
  f4 cd1 = __builtin_shufflevector(*c, *d, 2, 6, 3, 7);
  *a = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  *b = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  *c = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  *d = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
}

#endif
