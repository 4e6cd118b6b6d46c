/* Products of float32 matrices on XNNPACK's micro-kernels.
 *
 * The right-hand side is packed: groups of rush_gemm_nr() columns, each with its biases and then
 * its k rows. A packed matrix is plain memory that is only read, so a model packs a layer once, to
 * its last place, and all its sessions share it (aligned to 64 bytes, as AVX kernels load it);
 * nothing here keeps state, and any thread may call anything.
 *
 * Why micro-kernels and not XNNPACK's operators: an operator owns a copy of the weights and its
 * shapes, so that sharing, accounting and running out of memory would each need a trick; and it
 * walks all columns for each few rows, which falls out of the cache where the weights are larger
 * than it. */
#ifndef RUSH_GEMM_H
#define RUSH_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

size_t rush_gemm_nr(void);
/* Rows of a tile, at most 32. */
size_t rush_gemm_mr(void);

/* Floats of a packed matrix of k rows of floats and n columns; false where that overflows. */
bool rush_gemm_packed(size_t k, size_t n, size_t *floats);

/* A packed matrix of k rows of elements of `item` bytes (4, or 2: halves, for gemm_half.h) takes what one
 * of so many rows of floats takes. The biases are floats. */
static inline size_t rush_gemm_rows(size_t item, size_t k) {
  return (k * item + sizeof(float) - 1) / sizeof(float);
}

/* Packs b[i * stride_k + j * stride_n] (row i < k, column j < n) and the n biases (NULL: zeros). k
 * may be 0. */
void rush_gemm_pack_items(size_t item, size_t k, size_t n, const void *b, ptrdiff_t stride_k,
                          ptrdiff_t stride_n, const float *bias, float *packed);
static inline void rush_gemm_pack(size_t k, size_t n, const float *b, ptrdiff_t stride_k,
                                  ptrdiff_t stride_n, const float *bias, float *packed) {
  rush_gemm_pack_items(sizeof *b, k, n, b, stride_k, stride_n, bias, packed);
}
/* The same for rows b[n][k] that lie, dense, at the end of `packed` itself. `scratch` holds
 * rush_gemm_nr() * k elements. */
void rush_gemm_pack_placed(size_t item, size_t k, size_t n, const float *bias, void *scratch,
                           float *packed);
/* The same for floats, in parts: the biases, and `rows` rows from `first` on of a matrix of k rows. */
void rush_gemm_pack_bias(size_t k, size_t n, const float *bias, float *packed);
void rush_gemm_pack_rows(size_t k, size_t first, size_t rows, size_t n, const float *b,
                         ptrdiff_t stride_k, ptrdiff_t stride_n, float *packed);

/* Copies a packed matrix of k rows of floats, row i times scale[i]. */
void rush_gemm_scale_rows(size_t k, size_t n, const float *packed, const float *scale, float *to);

/* Column j of a packed matrix of k rows: of linear's weight, the row. */
void rush_gemm_packed_row(size_t item, size_t k, const float *packed, size_t j, void *row);

/* c[m][n] = clamp(a[m][k] * b + bias, min, max), row strides lda and ldc in floats. NaN stays NaN;
 * no clamp where the bounds are infinite. c does not overlap a. m, n and k may be 0. */
void rush_gemm(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *packed,
               float *c, size_t ldc, float min, float max);

/* The same on all threads of the context, and in pieces, between which the host is asked whether to
 * stop: see rush_parallel. */
void rush_gemm_parallel(struct rush_ctx *ctx, size_t m, size_t n, size_t k, const float *a,
                        size_t lda, const float *packed, float *c, size_t ldc, float min,
                        float max);

/* The same for few rows and a matrix b that is not worth packing: c = a * b, without bias and
 * clamp. Says false, and has done nothing, where packing is better: many rows, or neither stride of
 * b is 1. */
bool rush_gemm_unpacked(struct rush_ctx *ctx, size_t m, size_t n, size_t k, const float *a,
                        size_t lda, const float *b, ptrdiff_t stride_k, ptrdiff_t stride_n,
                        float *c, size_t ldc);

#endif
