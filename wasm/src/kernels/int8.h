/* Products of 8-bit integers with exact 32-bit sums, which wrap on overflow.
 *
 * An integer q of the left-hand side means (q - zero of the row) * scale of the row. An integer w
 * of the right-hand side means (w - zero of the column) * scale of the column. The right-hand side
 * is packed once, with one byte per weight; a header before the bytes has scales and zeros. Rows
 * are made for each product in the form that this machine multiplies fastest: as bytes if it
 * multiplies bytes exactly, and otherwise widened to 16 bits. The sums, and so all results, are the
 * same on every machine. */
#ifndef RUSH_INT8_H
#define RUSH_INT8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

/* Rows of k integers. The caller owns the memory. */
typedef struct rush_int8_rows {
  size_t m, k;
  void *data;     /* rush_int8_row(k) bytes per row */
  int32_t *zeros; /* [m] */
  uint32_t *sums; /* [m], sums of (q - zero), wrapped */
  float *scales;  /* [m], or NULL for integers only */
} rush_int8_rows;

/* Returns the bytes of a row, a multiple of 16. */
size_t rush_int8_row(size_t k);

/* Computes the bytes of a packed matrix of n columns with k weights each. Returns false on
 * overflow. */
bool rush_int8_packed(size_t n, size_t k, size_t *bytes);

/* Packs w[n][k]. scales, zeros and bias have n numbers each; NULL means ones, zeros and zeros.
 * `packed` is aligned to 16 bytes, and incomplete after a stop request. */
void rush_int8_pack(struct rush_ctx *ctx, size_t n, size_t k, const int8_t *w, const float *scales,
                    const int32_t *zeros, const float *bias, void *packed);

/* Computes the range of k floats, extended to include 0. Returns the minimum and sets *most. The
 * result is NaN if an element is not finite. */
float rush_int8_range(size_t k, const float *x, float *most);

/* Quantizes floats x[m][k] with row stride ldx, one scale per row. The 256 levels span the range of
 * the elements, extended to include 0. A row with an infinity or NaN gets the scale NaN, and a row
 * of zeros the scale 0. */
void rush_int8_rows_of_floats(struct rush_ctx *ctx, const float *x, size_t ldx,
                              const rush_int8_rows *rows);
/* Quantizes with one scale and one zero (0..255) for all rows: round(x / scale) + zero, clamped to
 * 0..255. */
void rush_int8_rows_scaled(struct rush_ctx *ctx, const float *x, size_t ldx, float scale,
                           int32_t zero, const rush_int8_rows *rows);
/* Returns the number of column blocks per work item: `most`, or fewer if threads would idle at the
 * end, but at least 1. `down` is the number of items that share a block of columns. */
size_t rush_int8_blocks(const struct rush_ctx *ctx, size_t most, size_t blocks, size_t down);

/* Computes y[m][n] = clamp(rows * packed + bias, min, max) with row stride ldy: float(sum) * (row
 * scale * column scale) + bias, rounding each step. NaN propagates, and infinite bounds do not
 * clamp. Runs on all threads of the context, or on this one if it is NULL (see rush_parallel). */
void rush_int8_gemm(struct rush_ctx *ctx, const rush_int8_rows *rows, size_t n, const void *packed,
                    float *y, size_t ldy, float min, float max);
/* ---- For int8_conv.c ------------------------------------------------------------------------- */

/* Packs w[n][channels][taps] as n columns of [taps][channels] weights, in runs of `run` weights,
 * each padded to a multiple of four. `run` is `channels`, or all weights. */
void rush_int8_pack_taps(struct rush_ctx *ctx, bool by_pairs, size_t n, size_t channels,
                         size_t taps, size_t run, const int8_t *w, const int32_t *zeros,
                         void *packed);
/* Computes the sum of the weights of each column. */
void rush_int8_packed_sums(size_t n, size_t k, const void *packed, int32_t *sums);
/* Returns a block of packed weights. *zeros are the zeros of its columns, or NULL if all are 0. */
const int8_t *rush_int8_block(const void *packed, const int32_t **zeros);
/* Converts n bytes (int8 or uint8) to the form of the left-hand side: q - zero in 16 bits, or bytes
 * with `flip` applied by xor. */
void rush_int8_elements(bool wide, bool is_signed, uint8_t flip, int32_t zero, size_t n,
                        const uint8_t *x, uint8_t *to);

#endif
