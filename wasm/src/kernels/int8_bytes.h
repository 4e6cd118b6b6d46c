/* Conversion between vectors of integers or floats and bytes. */
#ifndef RUSH_INT8_BYTES_H
#define RUSH_INT8_BYTES_H

#include "kernels/int8_dot.h"

/* Converts the lower eight bytes (0 to 255) to floats. */
RUSH_INLINE void rush_int8_numbers(b16 x, f4 out[2]) {
  const s8 v = s8_low(x), none = {0};
  out[0] = f4_from_int((i4)s8_zip_low(v, none));
  out[1] = f4_from_int((i4)s8_zip_high(v, none));
}

/* Stores integers as bytes and clamps them to the range. `sign` is 128 for signed bytes and 0 for
 * unsigned ones. The integers are relative to the least value. */
RUSH_INLINE void rush_int8_store(uint8_t *y, i4 a, i4 b, b16 sign) {
#if defined(__wasm_simd128__)
  v128_t v = wasm_i16x8_narrow_i32x4((v128_t)a, (v128_t)b);
  v = wasm_u8x16_narrow_i16x8(v, v);
  wasm_v128_store64_lane(y, wasm_v128_xor(v, (v128_t)sign), 0);
#elif defined(__SSE2__)
  const __m128i v = _mm_packs_epi32((__m128i)a, (__m128i)b);
  _mm_storel_epi64((__m128i *)y, _mm_xor_si128(_mm_packus_epi16(v, v), (__m128i)sign));
#else
  for (int i = 0; i < 8; i++) {
    const int32_t v = i < 4 ? a[i] : b[i - 4];
    y[i] = (uint8_t)(v < 0 ? 0 : v < UINT8_MAX ? v : UINT8_MAX) ^ sign[i];
  }
#endif
}

/* Stores eight integers as 16 bits and clamps them to `most`. None is below -2^15. */
RUSH_INLINE void rush_int8_store_wide(int16_t *y, i4 a, i4 b, int16_t most) {
#if defined(__wasm_simd128__)
  const v128_t v = wasm_i16x8_narrow_i32x4((v128_t)a, (v128_t)b);
  wasm_v128_store(y, wasm_i16x8_min(v, wasm_i16x8_splat(most)));
#elif defined(__SSE2__)
  const __m128i v = _mm_packs_epi32((__m128i)a, (__m128i)b);
  _mm_storeu_si128((__m128i *)y, _mm_min_epi16(v, _mm_set1_epi16(most)));
#else
  for (int i = 0; i < 4; i++) {
    y[i] = (int16_t)(a[i] < most ? a[i] : most);
    y[4 + i] = (int16_t)(b[i] < most ? b[i] : most);
  }
#endif
}

#endif
