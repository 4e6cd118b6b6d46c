#include <immintrin.h>

#include "kernels/int8_depthwise.h"
#include "kernels/int8_tile.h"
#include "kernels/simd.h"

RUSH_INLINE __m256i dot(const uint8_t *x, const int8_t *w, __m256i sum) {
  int32_t four;
  memcpy(&four, x, sizeof four);
  return _mm256_dpbusd_avx_epi32(sum, _mm256_set1_epi32(four),
                                 _mm256_loadu_si256((const __m256i *)w));
}

/* Each row has two accumulators to hide the instruction's latency. */
RUSH_INLINE void tile(size_t mr, size_t taps, size_t groups, const void *const *rows,
                      const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  enum { STEP = RUSH_INT8_NR * RUSH_INT8_KR };
  __m256i sum[RUSH_INT8_MR][2];
  for (size_t r = 0; r < mr; r++) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  for (size_t t = 0; t < taps; t++) {
    const uint8_t *x[RUSH_INT8_MR];
    for (size_t r = 0; r < mr; r++) x[r] = rows[t * RUSH_INT8_MR + r];
    size_t g = 0;
    for (; g + 2 <= groups; g += 2, w += 2 * STEP) {
      for (size_t r = 0; r < mr; r++) {
        sum[r][0] = dot(x[r] + g * RUSH_INT8_KR, w, sum[r][0]);
        sum[r][1] = dot(x[r] + (g + 1) * RUSH_INT8_KR, w + STEP, sum[r][1]);
      }
    }
    if (g == groups) continue;
    for (size_t r = 0; r < mr; r++) sum[r][0] = dot(x[r] + g * RUSH_INT8_KR, w, sum[r][0]);
    w += STEP;
  }
  for (size_t r = 0; r < mr; r++)
    _mm256_storeu_si256((__m256i *)sums[r], _mm256_add_epi32(sum[r][0], sum[r][1]));
}

RUSH_INLINE void pair(size_t groups, const uint8_t *x, const int8_t *w, size_t far,
                      int32_t sums[][RUSH_INT8_NR]) {
  enum { STEP = RUSH_INT8_NR * RUSH_INT8_KR };
  __m256i even[2], odd[2];
  even[0] = even[1] = odd[0] = odd[1] = _mm256_setzero_si256();
  size_t g = 0;
  for (; g + 2 <= groups; g += 2, x += 2 * RUSH_INT8_KR, w += 2 * STEP)
    for (size_t b = 0; b < 2; b++) {
      even[b] = dot(x, w + b * far, even[b]);
      odd[b] = dot(x + RUSH_INT8_KR, w + b * far + STEP, odd[b]);
    }
  if (g < groups)
    for (size_t b = 0; b < 2; b++) even[b] = dot(x, w + b * far, even[b]);
  for (size_t b = 0; b < 2; b++)
    _mm256_storeu_si256((__m256i *)sums[b], _mm256_add_epi32(even[b], odd[b]));
}

RUSH_INT8_TILE(rush_int8_one_vnni, tile, 1)
RUSH_INT8_PAIR(rush_int8_pair_vnni, pair)
RUSH_INT8_TILE(rush_int8_many_vnni, tile, 6)
RUSH_INT8_TILES(rush_int8_conv_one_vnni, tile, 1)
RUSH_INT8_TILES(rush_int8_conv_vnni, tile, 6)
RUSH_INT8_DEPTHWISE(rush_int8_depthwise_vnni, rush_int8_depthwise_quads)
RUSH_INT8_STRIP(rush_int8_strips_vnni, rush_int8_column_quads, rush_int8_add_quads)
