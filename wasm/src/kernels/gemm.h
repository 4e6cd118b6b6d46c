/* Products of float32 matrices with XNNPACK's micro-kernels.
 *
 * The right-hand side is packed: groups of rush_gemm_nr() columns, each with its biases and then
 * its k rows. A packed matrix is plain read-only memory, aligned to 64 bytes for AVX loads. A model
 * packs each layer once, in its final place, and all sessions share it. Nothing here keeps state,
 * and any thread may call any function.
 *
 * Micro-kernels are used instead of XNNPACK's operators for two reasons. An operator owns a copy of
 * the weights and its shapes, which would complicate sharing, accounting and failed allocations. It
 * also iterates over all columns for a few rows at a time, which does not fit the cache if the
 * weights are larger. */
#ifndef RUSH_GEMM_H
#define RUSH_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

size_t rush_gemm_nr(void);
/* Returns the number of rows of a tile, at most 32. */
size_t rush_gemm_mr(void);

/* Computes the number of floats of a packed matrix of k rows of floats and n columns. Returns false
 * on overflow. */
bool rush_gemm_packed(size_t k, size_t n, size_t *floats);

/* Returns the number of rows of floats that take as much memory as k rows of `item` bytes per
 * element (4, or 2 for gemm_half.h). Biases are always floats. */
static inline size_t rush_gemm_rows(size_t item, size_t k) {
  return (k * item + sizeof(float) - 1) / sizeof(float);
}

/* Packs b[i * stride_k + j * stride_n] (row i < k, column j < n) and the n biases, where NULL means
 * zeros. k may be 0. A context, which may be NULL, lets the host stop, and leaves it incomplete. */
void rush_gemm_pack_items(struct rush_ctx *ctx, size_t item, size_t k, size_t n, const void *b,
                          ptrdiff_t stride_k, ptrdiff_t stride_n, const float *bias, float *packed);
static inline void rush_gemm_pack(struct rush_ctx *ctx, size_t k, size_t n, const float *b,
                                  ptrdiff_t stride_k, ptrdiff_t stride_n, const float *bias,
                                  float *packed) {
  rush_gemm_pack_items(ctx, sizeof *b, k, n, b, stride_k, stride_n, bias, packed);
}
/* Packs dense rows b[n][k] that are stored at the end of `packed` itself. `scratch` holds
 * rush_gemm_nr() * k elements. */
void rush_gemm_pack_placed(struct rush_ctx *ctx, size_t item, size_t k, size_t n, const float *bias,
                           void *scratch, float *packed);
/* Packs a matrix of floats in parts: the biases, or `rows` rows starting at `first` of a matrix of
 * k rows. */
void rush_gemm_pack_bias(size_t k, size_t n, const float *bias, float *packed);
void rush_gemm_pack_rows(struct rush_ctx *ctx, size_t k, size_t first, size_t rows, size_t n,
                         const float *b, ptrdiff_t stride_k, ptrdiff_t stride_n, float *packed);

/* Copies a packed matrix of k rows of floats and multiplies row i by scale[i]. */
void rush_gemm_scale_rows(size_t k, size_t n, const float *packed, const float *scale, float *to);

/* Extracts column j of a packed matrix of k rows, which is a row of linear's weight. */
void rush_gemm_packed_row(struct rush_ctx *ctx, size_t item, size_t k, const float *packed,
                          size_t j, void *row);

/* Computes c[m][n] = clamp(a[m][k] * b + bias, min, max). The row strides lda and ldc are in
 * floats. NaN propagates, and infinite bounds do not clamp. c must not overlap a. m, n and k may be
 * 0. */
void rush_gemm(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *packed,
               float *c, size_t ldc, float min, float max);

/* Does the same on all threads of the context, in pieces between which it checks for a stop request
 * (see rush_parallel). */
void rush_gemm_parallel(struct rush_ctx *ctx, size_t m, size_t n, size_t k, const float *a,
                        size_t lda, const float *packed, float *c, size_t ldc, float min,
                        float max);

/* Computes c = a * b without bias and clamp, for few rows and a matrix b that is not worth packing.
 * Returns false, and does nothing, if packing is better: many rows, or no stride of b is 1. */
bool rush_gemm_unpacked(struct rush_ctx *ctx, size_t m, size_t n, size_t k, const float *a,
                        size_t lda, const float *b, ptrdiff_t stride_k, ptrdiff_t stride_n,
                        float *c, size_t ldc);

#endif
