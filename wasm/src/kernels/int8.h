/* Products of 8-bit integers, whose sums are exact in 32 bits (and wrap beyond them).
 *
 * An integer q of the left-hand side stands for (q - its row's zero) * its row's scale, one of the
 * right-hand side for (w - its column's zero) * its column's scale. The right-hand side is packed
 * once, in a byte for each weight; what its bytes mean is in front of them. Rows are made anew for
 * each product, in the form that this machine multiplies fastest: as bytes, where it multiplies
 * bytes exactly, else widened to 16 bits. Sums, and so all results, are the same everywhere. */
#ifndef RUSH_INT8_H
#define RUSH_INT8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

/* Rows of k integers; the memory is the caller's. */
typedef struct rush_int8_rows {
  size_t m, k;
  void *data;     /* rush_int8_row(k) bytes for each row */
  int32_t *zeros; /* m */
  uint32_t *sums; /* m: of each row's (q - zero), wrapped */
  float *scales;  /* m, or NULL: for integers only */
} rush_int8_rows;

/* A multiple of 16. */
size_t rush_int8_row(size_t k);

/* Bytes of a packed matrix of n columns with k weights each; false where that overflows. */
bool rush_int8_packed(size_t n, size_t k, size_t *bytes);

/* Packs w[n][k]. scales, zeros, bias: n numbers each, or NULL: ones, zeros, zeros. `packed` is
 * aligned to 16 bytes. */
void rush_int8_pack(size_t n, size_t k, const int8_t *w, const float *scales, const int32_t *zeros,
                    const float *bias, void *packed);

/* The range of k floats and 0: its least number, and *most. NaN where one is not finite. */
float rush_int8_range(size_t k, const float *x, float *most);

/* Fills rows from floats x[m][k], of row stride ldx, each with a scale of its own: the 256 integers
 * are spread evenly from the least to the greatest element, or to 0 where that is beyond. A row with
 * an infinity or NaN gets the scale NaN, one of zeros the scale 0. */
void rush_int8_rows_of_floats(struct rush_ctx *ctx, const float *x, size_t ldx,
                              const rush_int8_rows *rows);
/* The same with a scale and a zero of 0..255 for all: round(x / scale) + zero, where it is between 0
 * and 255, else the nearer of these. */
void rush_int8_rows_scaled(struct rush_ctx *ctx, const float *x, size_t ldx, float scale,
                           int32_t zero, const rush_int8_rows *rows);
/* Blocks of columns that an item of a product takes: `most`, fewer where threads would wait for the last
 * items, of which `down` have the same columns; at least 1. */
size_t rush_int8_blocks(const struct rush_ctx *ctx, size_t most, size_t blocks, size_t down);

/* y[m][n] = clamp(rows * packed + bias, min, max), of row stride ldy: float(sum) * (row's scale *
 * column's scale) + bias, each step rounded. NaN stays NaN; no clamp where the bounds are infinite.
 * On all threads of the context (NULL: this one), see rush_parallel. */
void rush_int8_gemm(struct rush_ctx *ctx, const rush_int8_rows *rows, size_t n, const void *packed,
                    float *y, size_t ldy, float min, float max);
/* ---- For int8_conv.c --------------------------------------------------------------------------- */

/* Packs w[n][channels][taps], n columns of [taps][channels] weights each, in runs of `run` of them, rounded up to fours:
 * `channels`, or all. */
void rush_int8_pack_taps(bool by_pairs, size_t n, size_t channels, size_t taps, size_t run,
                         const int8_t *w, const int32_t *zeros, void *packed);
/* The sums of the weights of each column. */
void rush_int8_packed_sums(size_t n, size_t k, const void *packed, int32_t *sums);
/* A block of packed weights, and the zeros of its columns: NULL where there are none but 0. */
const int8_t *rush_int8_block(const void *packed, const int32_t **zeros);
/* n bytes, int8 or uint8 ones, as the left-hand side: less their zero in 16 bits, or with bits flipped. */
void rush_int8_elements(bool wide, bool is_signed, uint8_t flip, int32_t zero, size_t n,
                        const uint8_t *x, uint8_t *to);

#endif
