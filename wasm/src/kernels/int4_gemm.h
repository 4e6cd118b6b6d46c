/* Products of float32 rows and a matrix whose weights have 8 or 4 bits, in memory, too.
 *
 * A weight stands for (integer - zero point) * scale; the columns of the matrix each have a scale and
 * zero point for every `group` weights. Rows become integers of 16 or 8 bits, in pieces of at most
 * RUSH_INT4_PIECE elements, none across groups, each piece with a scale of its own, so that a large
 * element takes precision from its neighbours alone: half a step is 2^-16 or 2^-8 of a piece's greatest.
 * Sums of a piece are exact; they are the same on every machine, and so are results. */
#ifndef RUSH_INT4_GEMM_H
#define RUSH_INT4_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

enum { RUSH_INT4_PIECE = 256 }; /* sums of so many products of 16 and 8 bits fit in 32 */

/* A matrix of n columns with k weights each. */
typedef struct rush_int4_matrix {
  int bits; /* 8, or 4 */
  size_t n, k, group;
  bool zero_points; /* of 4 bits; else they are 8, of 8 bits 0 */
  int row_bits;     /* 16, or 8 where `bits` is 4 */
} rush_int4_matrix;

/* How many groups a column has. */
size_t rush_int4_groups(const rush_int4_matrix *b);

/* Bytes of a packed matrix, and of m rows; false where that overflows. */
bool rush_int4_packed(const rush_int4_matrix *b, size_t *bytes);
bool rush_int4_rows(const rush_int4_matrix *b, size_t m, size_t *bytes);

/* Packs columns `first` to `first` + 7 at most, of which the arguments are: w[..][k] int8, or of 4 bits
 * two in a byte, the first one below, (k + 1) / 2 bytes each; scales[..][groups]; zero_points
 * [..][groups] of 0 to 15, if the matrix has any; bias[..] or NULL. `packed` is aligned to 16. */
void rush_int4_pack(const rush_int4_matrix *b, size_t first, const void *w, const float *scales,
                    const uint8_t *zero_points, const float *bias, void *packed);

/* Makes rows of floats x[m][k], of row stride ldx. A piece with an infinity or NaN makes all results of
 * its row NaN; one whose greatest element is below 1e-37 * 32767 (of 8 bits: * 127) counts as zeros. `rows` is aligned to 16. */
void rush_int4_rows_of_floats(struct rush_ctx *ctx, const rush_int4_matrix *b, size_t m,
                              const float *x, size_t ldx, void *rows);

/* y[m][n] = clamp(rows * packed + bias, min, max), of row stride ldy: piece by piece float(sum) * (the
 * piece's scale * the group's) is added up, then the bias, each step rounded. NaN stays NaN; no clamp where
 * the bounds are infinite. On all threads of the context (NULL: this one), see rush_parallel. */
void rush_int4_gemm(struct rush_ctx *ctx, const rush_int4_matrix *b, size_t m, const void *rows,
                    const void *packed, float *y, size_t ldy, float min, float max);

#endif
