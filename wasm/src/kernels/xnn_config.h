/* Selects XNNPACK's micro-kernels. Only files of this folder include this header, and with it
 * XNNPACK. */
#ifndef RUSH_XNN_CONFIG_H
#define RUSH_XNN_CONFIG_H

#include <stddef.h>

#include "xnnpack/gemm.h"

typedef void (*rush_xnn_gemm_fn)(size_t m, size_t n, size_t k, const float *a, size_t a_stride,
                                 const float *w, float *c, size_t c_stride, size_t block_stride,
                                 const union xnn_f32_minmax_params *params);
typedef void (*rush_xnn_igemm_fn)(size_t m, size_t n, size_t kc, size_t ks, const float **a,
                                  const float *w, float *c, size_t c_stride, size_t block_stride,
                                  size_t a_offset, const float *zero,
                                  const union xnn_f32_minmax_params *params);

/* Signatures of XNNPACK's kernels. m is at most RUSH_GEMM_MR. */
#if defined(__wasm_relaxed_simd__)
enum { RUSH_GEMM_MR = 6 };
void rush_gemm_6x8(size_t m, size_t n, size_t k, const float *a, size_t a_stride, const float *w,
                   float *c, size_t c_stride, size_t block_stride,
                   const union xnn_f32_minmax_params *params);
void rush_igemm_6x8(size_t m, size_t n, size_t kc, size_t ks, const float **a, const float *w,
                    float *c, size_t c_stride, size_t block_stride, size_t a_offset,
                    const float *zero, const union xnn_f32_minmax_params *params);
#endif

/* Kernels by [clamping][0: one row, 1: mr rows]. gemm's kernel for one row is NULL if nr is 8,
 * because rush_gemv replaces it. */
typedef struct rush_xnn_kernels {
  size_t mr, nr;
  rush_xnn_gemm_fn gemm[2][2];
  rush_xnn_igemm_fn igemm[2][2];
} rush_xnn_kernels;

/* Returns the kernels for this machine, never NULL. */
const rush_xnn_kernels *rush_xnn_gemm(void);

/* Returns how many columns of a packed matrix of k rows to process at a time: a multiple of nr, or
 * n. */
size_t rush_gemm_columns(size_t k, size_t n);
/* Returns the same for a work item of m rows, fewer than a tile. */
size_t rush_gemm_columns_of_few(size_t m, size_t n, size_t k, size_t threads);

#endif
