/* One row times a packed matrix (gemm.h) of floats, or of elements that are widened as they are
 * read. */
#ifndef RUSH_GEMV_H
#define RUSH_GEMV_H

#include "kernels/gemm.h"
#include "kernels/tile.h"

/* Loads eight weights at `w` as floats. */
typedef struct f8 {
  f4 v[2];
} f8;
typedef f8 rush_load_weights(const char *w);

RUSH_INLINE void rush_store_block(size_t left, const f4 sum[2], const float *bias, float *c,
                                  float min, float max) {
  for (size_t h = 0; h < 2 && 4 * h < left; h++) {
    const f4 v = f4_clamp(sum[h] + f4_load(bias + 4 * h), f4_set(min), f4_set(max));
    f4_store_up_to(c + 4 * h, v, left - 4 * h);
  }
}

/* Computes the sums of one block of 8 columns, with two accumulators per vector. */
RUSH_INLINE void rush_gemv_block(size_t item, rush_load_weights *load, float scale, size_t k,
                                 const float *a, const char *w, f4 sum[2]) {
  const size_t row = 8 * item;
  f4 even[2] = {f4_zero(), f4_zero()}, odd[2] = {f4_zero(), f4_zero()};
  size_t i = 0;
  for (; i + 2 <= k; i += 2, w += 2 * row) {
    const f4 x = f4_splat(a + i) * scale, y = f4_splat(a + i + 1) * scale;
    const f8 v = load(w), u = load(w + row);
    for (size_t h = 0; h < 2; h++) even[h] = f4_madd(x, v.v[h], even[h]);
    for (size_t h = 0; h < 2; h++) odd[h] = f4_madd(y, u.v[h], odd[h]);
  }
  if (i < k) {
    const f4 x = f4_splat(a + i) * scale;
    const f8 v = load(w);
    for (size_t h = 0; h < 2; h++) even[h] = f4_madd(x, v.v[h], even[h]);
  }
  for (size_t h = 0; h < 2; h++) sum[h] = even[h] + odd[h];
}

/* Processes four quarters of the columns side by side. Memory bandwidth is higher for streams that
 * are far apart than for a single stream or for nearby ones. XNNPACK's kernel is also bound by the
 * latency of its two accumulators, where this one has eight. The remaining blocks, fewer than four,
 * are processed one by one. A block has 8 columns. A weight has `item` bytes and equals
 * `scale` times the result of `load`. The row's elements times `scale` must be finite. */
RUSH_INLINE void rush_gemv(size_t item, rush_load_weights *load, float scale, size_t n, size_t k,
                           const float *a, const float *packed, float *c, float min, float max) {
  enum { NR = 8, WAYS = 4 };
  const size_t block = NR * (rush_gemm_rows(item, k) + 1), blocks = (n + NR - 1) / NR;
  const size_t part = blocks / WAYS, far = part * block * sizeof(float);
  const size_t row = NR * item;
  f4 sum[WAYS][2];
  for (size_t j = 0; j < part; j++) {
    const float *bias = packed + j * block;
    for (size_t t = 0; t < WAYS; t++) sum[t][0] = sum[t][1] = f4_zero();
    const char *w = (const char *)(bias + NR);
    for (size_t i = 0; i < k; i++, w += row) {
      const f4 x = f4_splat(a + i) * scale;
      for (size_t t = 0; t < WAYS; t++) {
        const f8 v = load(w + t * far);
        for (size_t h = 0; h < 2; h++) sum[t][h] = f4_madd(x, v.v[h], sum[t][h]);
      }
    }
    for (size_t t = 0; t < WAYS; t++) {
      const size_t at = (t * part + j) * NR;
      rush_store_block(n - at, sum[t], bias + t * part * block, c + at, min, max);
    }
  }
  for (size_t j = WAYS * part; j < blocks; j++) {
    const float *bias = packed + j * block;
    rush_gemv_block(item, load, scale, k, a, (const char *)(bias + NR), sum[0]);
    rush_store_block(n - j * NR, sum[0], bias, c + j * NR, min, max);
  }
}

#endif
