/* Processors with AVX2 also have F16C. */
#include <immintrin.h>
#include <math.h>

#include "base/half.h"
#include "kernels/fp16.h"

void rush_widen_halves_8(rush_dtype dtype, size_t n, const void *from, void *to) {
  const uint16_t *x = from;
  float *y = to;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i v = _mm_loadu_si128((const __m128i *)(x + i));
    _mm256_storeu_ps(y + i, dtype == RUSH_FLOAT16 ? _mm256_cvtph_ps(v)
                                                  : _mm256_castsi256_ps(_mm256_slli_epi32(
                                                        _mm256_cvtepu16_epi32(v), 16)));
  }
  for (; i < n; i++)
    y[i] = dtype == RUSH_FLOAT16 ? rush_from_float16(x[i]) : rush_from_bfloat16(x[i]);
}

/* The instruction alone would keep the leading bits of a NaN. */
static inline __m128i to_float16(__m256 x) {
  const __m256 nan = _mm256_or_ps(_mm256_and_ps(x, _mm256_set1_ps(-0.0f)), _mm256_set1_ps(NAN));
  x = _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
}
static inline __m128i to_bfloat16(__m256 x) {
  const __m256i v = _mm256_castps_si256(x);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(v, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(v, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i half =
      _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), _mm256_set1_epi32(0x7fc0), is_nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

void rush_narrow_floats_8(rush_dtype dtype, size_t n, const void *from, void *to) {
  const float *x = from;
  uint16_t *y = to;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 v = _mm256_loadu_ps(x + i);
    _mm_storeu_si128((__m128i *)(y + i), dtype == RUSH_FLOAT16 ? to_float16(v) : to_bfloat16(v));
  }
  for (; i < n; i++) y[i] = dtype == RUSH_FLOAT16 ? rush_to_float16(x[i]) : rush_to_bfloat16(x[i]);
}
