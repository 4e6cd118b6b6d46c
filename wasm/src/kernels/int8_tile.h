/* The inner loops of int8.c: some rows times a block of columns. */
#ifndef RUSH_INT8_TILE_H
#define RUSH_INT8_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/simd.h"

enum {
  RUSH_INT8_NR = 8, /* columns of a block */
  RUSH_INT8_KR = 4, /* weights of a column that lie together */
  RUSH_INT8_MR = 6  /* the most rows of a tile */
};

/* What a row's elements are. */
typedef enum rush_int8_form {
  RUSH_INT8_WIDE,     /* int16: q - zero */
  RUSH_INT8_UNSIGNED, /* uint8: q */
  RUSH_INT8_SIGNED    /* int8: q - 128, and so is the zero */
} rush_int8_form;

/* sums[r][c] = the sum over `taps` pieces of a row, each of `groups` of KR products. rows: [taps][MR];
 * those that are not there may be any of the others. w: [taps][groups][NR][KR]. */
typedef void rush_int8_tile(size_t taps, size_t groups, const void *const *rows, const int8_t *w,
                            int32_t sums[RUSH_INT8_MR][RUSH_INT8_NR]);

/* Defines one, as `of`, which is inlined, does it for mr rows. */
#define RUSH_INT8_TILE(name, of, mr)                                              \
  void name(size_t taps, size_t groups, const void *const *rows, const int8_t *w, \
            int32_t sums[RUSH_INT8_MR][RUSH_INT8_NR]) {                           \
    of(mr, taps, groups, rows, w, sums);                                          \
  }

/* The same of `blocks` blocks of weights, `far` bytes apart, of which each group is [NR][KR] or, by pairs, [KR / 2][NR][2]. */
typedef void rush_int8_tiles(size_t taps, size_t groups, const void *const *rows, size_t blocks,
                             const int8_t *w, size_t far,
                             int32_t sums[][RUSH_INT8_MR][RUSH_INT8_NR]);

#define RUSH_INT8_TILES(name, of, mr)                                                            \
  void name(size_t taps, size_t groups, const void *const *rows, size_t blocks, const int8_t *w, \
            size_t far, int32_t sums[][RUSH_INT8_MR][RUSH_INT8_NR]) {                            \
    for (size_t b = 0; b < blocks; b++) of(mr, taps, groups, rows, w + b * far, sums[b]);        \
  }

/* One row, of `groups`, times two blocks that lie `far` bytes apart: memory gives more to two streams of
 * reading than to one. w: [groups][NR][KR], and so behind it. */
typedef void rush_int8_pair(size_t groups, const void *row, const int8_t *w, size_t far,
                            int32_t sums[2][RUSH_INT8_NR]);

#define RUSH_INT8_PAIR(name, of)                                         \
  void name(size_t groups, const void *row, const int8_t *w, size_t far, \
            int32_t sums[2][RUSH_INT8_NR]) {                             \
    of(groups, row, w, far, sums);                                       \
  }

/* `blocks` blocks of packed columns times a row, 1 or 2 of which the second lies `far` bytes behind the first at `at`: their
 * columns begin with j, and with j + apart. */
typedef void rush_int8_blocks_of_row(const void *arg, size_t blocks, size_t j, size_t apart,
                                     const uint8_t *at, size_t far);

/* Columns from.. to right - 1 of a row, two halves of them beside each other. */
RUSH_INLINE void rush_int8_by_halves(size_t from, size_t right, const uint8_t *packed,
                                     size_t block_bytes, rush_int8_blocks_of_row *run,
                                     const void *arg) {
  enum { NR = RUSH_INT8_NR };
  const size_t blocks = (right - from + NR - 1) / NR, half = blocks / 2, far = half * block_bytes;
  const uint8_t *at = packed + from / NR * block_bytes;
  for (size_t j = from; j < from + half * NR; j += NR, at += block_bytes)
    run(arg, 2, j, half * NR, at, far);
  if (blocks % 2 != 0) run(arg, 1, from + 2 * half * NR, 0, at + far, 0);
}

/* Depthwise: sums[channel] over `taps` pixels x[tap][channel] of bytes, of which `flip` makes others
 * first, by what rush_int8_depthwise_pack made of the weights. For channels < 16 the pixels have 16. */
typedef void rush_int8_depthwise(size_t taps, size_t channels, const uint8_t *const *x,
                                 uint8_t flip, const void *w, int32_t *sums);

/* A row of outputs that see 3x3 pixels each: their input rows, `steps` bytes from a pixel to the next (0:
 * a row of one pixel of zeros), of which `none` is one; the column that the first output begins with. */
typedef struct rush_int8_strip {
  const uint8_t *rows[3], *none;
  size_t steps[3], n, stride; /* stride 1 or 2 */
  ptrdiff_t first, width;
} rush_int8_strip;

/* sums[n][8] of channels c to c + 7, by what is packed of their weights. */
typedef void rush_int8_strips(const rush_int8_strip *r, size_t c, uint8_t flip, const void *w,
                              int32_t *sums);

typedef struct rush_int8_kernel {
  rush_int8_form form;
  size_t mr;
  rush_int8_tile *one, *many; /* of 1 and of mr rows */
  rush_int8_pair *pair;
  bool by_pairs; /* how weights of convolutions lie, for */
  size_t conv_mr;
  rush_int8_tiles *conv_one, *conv; /* 1 and conv_mr rows, */
  rush_int8_tile *words; /* and as many, of weights that are int16; NULL where rows are bytes */
  rush_int8_depthwise *depth; /* by quads of bytes where the form is not WIDE, */
  rush_int8_strips *strips;   /* and so this */
} rush_int8_kernel;

/* What this machine is best at. */
rush_int8_kernel rush_int8_kernel_here(void);

/* The tiles for rows as WIDE that this machine is best at. */
rush_int8_kernel rush_int8_wide(void);

/* Rows of int8 times weights from 0 to 15, where the machine has more for these than for WIDE: gives how
 * many rows `many` takes, else 0. */
size_t rush_int8_nibbles(rush_int8_tile **many);

/* Of every machine: rows as WIDE, 4 of them, and 5 by pairs. */
rush_int8_tile rush_int8_one_wide, rush_int8_many_wide, rush_int8_words_wide;
rush_int8_tiles rush_int8_conv_one_wide, rush_int8_conv_wide;
rush_int8_pair rush_int8_pair_wide;
rush_int8_depthwise rush_int8_depthwise_wide;
rush_int8_strips rush_int8_strips_wide;
/* For x86-64 (int8_avx2.c, int8_vnni.c): rows as WIDE and as UNSIGNED. */
rush_int8_tile rush_int8_one_avx2, rush_int8_many_avx2, rush_int8_words_avx2;
rush_int8_tile rush_int8_one_vnni, rush_int8_many_vnni;
rush_int8_tiles rush_int8_conv_one_avx2, rush_int8_conv_avx2;
rush_int8_tiles rush_int8_conv_one_vnni, rush_int8_conv_vnni;
rush_int8_pair rush_int8_pair_avx2, rush_int8_pair_vnni;
rush_int8_depthwise rush_int8_depthwise_vnni;
rush_int8_strips rush_int8_strips_vnni;

#endif
