/* Products of float32 rows and a matrix with 8-bit or 4-bit weights, which stay packed in memory.
 *
 * A weight means (integer - zero point) * scale, or integer * scale + minimum. Each column has one
 * scale, and may have one zero point or minimum, per `group` weights. Rows are quantized to 16 or 8
 * bits, in pieces of at most RUSH_INT4_PIECE elements that do not cross groups. Each piece has its
 * own scale, so that an outlier only reduces the precision of its neighbours: half a step is 2^-16
 * or 2^-8 of the piece's largest element. Sums of a piece are exact, so the results are the same on
 * every machine. */
#ifndef RUSH_INT4_GEMM_H
#define RUSH_INT4_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

enum { RUSH_INT4_PIECE = 256 }; /* sums of that many 16-bit by 8-bit products fit in 32 bits */

/* The offset of a group, beside its scale. Without one, zero points are 8 for 4 bits, and 0 for 8
 * bits. Zero points are integers from 0 to 15, and minima are floats. */
typedef enum rush_int4_offsets {
  RUSH_INT4_NO_OFFSETS,
  RUSH_INT4_ZERO_POINTS,
  RUSH_INT4_MINIMA
} rush_int4_offsets;

/* A matrix of n columns with k weights each. */
typedef struct rush_int4_matrix {
  int bits; /* 8 or 4 */
  size_t n, k, group;
  rush_int4_offsets offsets;
  int row_bits; /* 16, or 8 if `bits` is 4 */
} rush_int4_matrix;

/* Returns the number of groups per column. */
size_t rush_int4_groups(const rush_int4_matrix *b);

/* Compute the bytes of a packed matrix and of m rows. Return false on overflow. */
bool rush_int4_packed(const rush_int4_matrix *b, size_t *bytes);
bool rush_int4_rows(const rush_int4_matrix *b, size_t m, size_t *bytes);

/* Packs at most eight columns, `first` to `first` + 7. A context, which may be NULL, lets the host
 * stop, and leaves them incomplete. The other arguments start at these columns:
 * w[..][k] of int8, or for 4 bits two weights per byte, low nibble first, (k + 1) / 2 bytes each;
 * scales[..][groups]; offsets[..][groups] of uint8_t zero points or float minima, if the matrix has
 * any; bias[..] or NULL. `packed` is aligned to 16 bytes. */
void rush_int4_pack(struct rush_ctx *ctx, const rush_int4_matrix *b, size_t first, const void *w,
                    const float *scales, const void *offsets, const float *bias, void *packed);

/* Quantizes floats x[m][k] with row stride ldx. If a piece has an infinity or NaN, all results of
 * its row are NaN. A piece counts as zeros if its largest element is below 1e-37 * 32767 (1e-37 *
 * 127 for 8 bits). `rows` is aligned to 16 bytes. */
void rush_int4_rows_of_floats(struct rush_ctx *ctx, const rush_int4_matrix *b, size_t m,
                              const float *x, size_t ldx, void *rows);

/* Computes y[m][n] = clamp(rows * packed + bias, min, max) with row stride ldy. For each piece it
 * adds float(sum) * (scale of the piece * scale of the group), and with minima float(sum of the
 * row's integers) * (scale of the piece * minimum), then the bias. Each step rounds.
 * NaN propagates, and infinite bounds do not clamp. Runs on all threads of the context, or on this
 * one if it is NULL (see rush_parallel). */
void rush_int4_gemm(struct rush_ctx *ctx, const rush_int4_matrix *b, size_t m, const void *rows,
                    const void *packed, float *y, size_t ldy, float min, float max);

/* Does the same by dot products of four bytes, or of two. Relaxed SIMD has both, and rush_int4_gemm
 * takes those that the machine has as one instruction. Other builds have neither. */
void rush_int4_gemm_by(struct rush_ctx *ctx, bool fours, const rush_int4_matrix *b, size_t m,
                       const void *rows, const void *packed, float *y, size_t ldy, float min,
                       float max);

#endif
