/* Tiles of six rows for relaxed SIMD. Twelve accumulators, two vectors of weights and one input use
 * the fifteen registers that engines have on x86, so each input is loaded right before its use.
 * XNNPACK's 4-row tile is bound by the latency of its eight accumulators, and its 6-row tile loads
 * all inputs first, which spills. Without relaxed SIMD, a product needs another register, and four
 * rows are better. Four rows also handle the remaining rows and fewer than eight columns. On ARM,
 * XNNPACK itself uses six rows. */
#include "kernels/xnn_config.h"

#if defined(__wasm_relaxed_simd__)
#include "kernels/tile.h"

enum { MR = RUSH_GEMM_MR, FEW = 4, NR = 8 };

/* Adds k bytes of each row times w[k][NR]. Returns the end of these weights. */
RUSH_INLINE const float *add_rows(size_t k, const float *at[MR], const float *w, f4 sum[MR][2]) {
  for (size_t left = k; left != 0; left -= sizeof *w, w += NR) {
    const f4 u = f4_load(w), v = f4_load(w + 4);
    for (size_t i = 0; i < MR; i++) {
      const f4 input = f4_splat(at[i]++);
      sum[i][0] = f4_madd(input, u, sum[i][0]);
      sum[i][1] = f4_madd(input, v, sum[i][1]);
    }
  }
  return w;
}

void rush_gemm_6x8(size_t m, size_t n, size_t k, const float *a, size_t a_stride, const float *w,
                   float *c, size_t c_stride, size_t block_stride,
                   const union xnn_f32_minmax_params *params) {
  const size_t lda = a_stride / sizeof *a, ldc = c_stride / sizeof *c;
  if (m > FEW) { /* five or six rows; with five, the last one is computed twice */
    for (; n >= NR; n -= NR, c += NR) {
      const float *at[MR], *bias = w;
      f4 sum[MR][2];
      for (size_t i = 0; i < MR; i++) {
        at[i] = a + (i == MR - 1 ? m - 1 : i) * lda;
        sum[i][0] = sum[i][1] = f4_zero();
      }
      w = add_rows(k, at, w + NR, sum);
      /* Loaded only now, because they would take registers in the loop. */
      const f4 min = f4_set(params->scalar.min), max = f4_set(params->scalar.max);
      for (size_t i = 0; i < MR; i++) {
        float *row = c + (i == MR - 1 ? m - 1 : i) * ldc;
        f4_store(row, f4_clamp(sum[i][0] + f4_load(bias), min, max));
        f4_store(row + 4, f4_clamp(sum[i][1] + f4_load(bias + 4), min, max));
      }
    }
  }
  for (size_t i = 0; i < m && n > 0; i += FEW)
    xnn_f32_gemm_minmax_ukernel_4x8__wasmrelaxedsimd_fma_loadsplat(
        m - i < FEW ? m - i : FEW, n, k, a + i * lda, a_stride, w, c + i * ldc, c_stride,
        block_stride, params);
}

/* Missing rows repeat the last one. */
void rush_igemm_6x8(size_t m, size_t n, size_t kc, size_t ks, const float **a, const float *w,
                    float *c, size_t c_stride, size_t block_stride, size_t a_offset,
                    const float *zero, const union xnn_f32_minmax_params *params) {
  const size_t offset = a_offset / sizeof **a, taps = ks / (MR * sizeof *a);
  (void)block_stride;
  for (size_t j = 0; j < n; j += NR) {
    const float *bias = w, **from = a;
    f4 sum[MR][2];
    for (size_t i = 0; i < MR; i++) sum[i][0] = sum[i][1] = f4_zero();
    w += NR;
    for (size_t t = 0; t < taps; t++, from += MR) {
      const float *at[MR];
      for (size_t i = 0; i < MR; i++)
        at[i] = offset == 0 || from[i] == zero ? from[i] : from[i] + offset;
      w = add_rows(kc, at, w, sum);
    }
    const f4 min = f4_set(params->scalar.min), max = f4_set(params->scalar.max);
    for (size_t i = 0; i < MR; i++) {
      float *row = c + (i < m ? i : m - 1) * (c_stride / sizeof *c) + j;
      f4_store_up_to(row, f4_clamp(sum[i][0] + f4_load(bias), min, max), n - j);
      if (n - j > 4)
        f4_store_up_to(row + 4, f4_clamp(sum[i][1] + f4_load(bias + 4), min, max), n - j - 4);
    }
  }
}
#endif
