#include <immintrin.h>

#include "kernels/int8_tile.h"
#include "kernels/simd.h"

RUSH_INLINE void store(__m256i left, __m256i right, int32_t *to) {
  const __m256i both = _mm256_hadd_epi32(left, right);
  _mm256_storeu_si256((__m256i *)to, _mm256_permute4x64_epi64(both, 0xd8));
}

RUSH_INLINE __m256i weights_at(const int8_t *w, size_t item) {
  return item == 1 ? _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w))
                   : _mm256_loadu_si256((const __m256i *)w);
}
/* A vector accumulates four columns, with two partial sums each. item: bytes of a weight. */
RUSH_INLINE void tile_of(size_t item, size_t mr, size_t taps, size_t groups,
                         const void *const *rows, const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  __m256i sum[RUSH_INT8_MR][2];
  for (size_t r = 0; r < mr; r++) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  for (size_t t = 0; t < taps; t++) {
    const int16_t *x[RUSH_INT8_MR];
    for (size_t r = 0; r < mr; r++) x[r] = rows[t * RUSH_INT8_MR + r];
    for (size_t g = 0; g < groups; g++, w += RUSH_INT8_NR * RUSH_INT8_KR * item) {
      const __m256i a = weights_at(w, item), b = weights_at(w + 16 * item, item);
      for (size_t r = 0; r < mr; r++) {
        int64_t four;
        memcpy(&four, x[r] + g * RUSH_INT8_KR, sizeof four);
        const __m256i v = _mm256_set1_epi64x(four);
        sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(a, v));
        sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(b, v));
      }
    }
  }
  for (size_t r = 0; r < mr; r++) store(sum[r][0], sum[r][1], sums[r]);
}

RUSH_INLINE void tile(size_t mr, size_t taps, size_t groups, const void *const *rows,
                      const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  tile_of(sizeof(int8_t), mr, taps, groups, rows, w, sums);
}
RUSH_INLINE void words(size_t mr, size_t taps, size_t groups, const void *const *rows,
                       const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  tile_of(sizeof(int16_t), mr, taps, groups, rows, w, sums);
}

RUSH_INLINE __m256i dot(const int8_t *w, __m256i x, __m256i sum) {
  const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(wide, x));
}
RUSH_INLINE void pair(size_t groups, const int16_t *x, const int8_t *w, size_t far,
                      int32_t sums[][RUSH_INT8_NR]) {
  __m256i sum[2][2];
  for (size_t b = 0; b < 2; b++) sum[b][0] = sum[b][1] = _mm256_setzero_si256();
  for (size_t g = 0; g < groups; g++, w += RUSH_INT8_NR * RUSH_INT8_KR, x += RUSH_INT8_KR) {
    int64_t four;
    memcpy(&four, x, sizeof four);
    const __m256i v = _mm256_set1_epi64x(four);
    for (size_t b = 0; b < 2; b++)
      for (size_t h = 0; h < 2; h++) sum[b][h] = dot(w + b * far + 16 * h, v, sum[b][h]);
  }
  for (size_t b = 0; b < 2; b++) store(sum[b][0], sum[b][1], sums[b]);
}

RUSH_INT8_TILE(rush_int8_one_avx2, tile, 1)
RUSH_INT8_PAIR(rush_int8_pair_avx2, pair)
RUSH_INT8_TILE(rush_int8_many_avx2, tile, 6)
RUSH_INT8_TILE(rush_int8_words_avx2, words, 6)
RUSH_INT8_TILES(rush_int8_conv_one_avx2, tile, 1)
RUSH_INT8_TILES(rush_int8_conv_avx2, tile, 6)
