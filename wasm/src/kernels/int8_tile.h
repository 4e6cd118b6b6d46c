/* The inner loops of int8.c: a few rows times a block of columns. */
#ifndef RUSH_INT8_TILE_H
#define RUSH_INT8_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/simd.h"

enum {
  RUSH_INT8_NR = 8, /* columns per block */
  RUSH_INT8_KR = 4, /* consecutive weights of a column */
  RUSH_INT8_MR = 6  /* maximum number of rows of a tile */
};

/* The elements of a row. */
typedef enum rush_int8_form {
  RUSH_INT8_WIDE,     /* int16: q - zero */
  RUSH_INT8_UNSIGNED, /* uint8: q */
  RUSH_INT8_SIGNED    /* int8: q - 128; the zero is shifted as well */
} rush_int8_form;

/* Computes sums[r][c] over `taps` pieces of a row, each of `groups` groups of KR products. rows:
 * [taps][MR]; missing rows may repeat others. w: [taps][groups][NR][KR]. */
typedef void rush_int8_tile(size_t taps, size_t groups, const void *const *rows, const int8_t *w,
                            int32_t sums[RUSH_INT8_MR][RUSH_INT8_NR]);

/* Defines a tile function for mr rows by inlining `of`. */
#define RUSH_INT8_TILE(name, of, mr)                                              \
  void name(size_t taps, size_t groups, const void *const *rows, const int8_t *w, \
            int32_t sums[RUSH_INT8_MR][RUSH_INT8_NR]) {                           \
    of(mr, taps, groups, rows, w, sums);                                          \
  }

/* Does the same for `blocks` blocks of weights that are `far` bytes apart. Each group is [NR][KR],
 * or [KR / 2][NR][2] if by_pairs. */
typedef void rush_int8_tiles(size_t taps, size_t groups, const void *const *rows, size_t blocks,
                             const int8_t *w, size_t far,
                             int32_t sums[][RUSH_INT8_MR][RUSH_INT8_NR]);

#define RUSH_INT8_TILES(name, of, mr)                                                            \
  void name(size_t taps, size_t groups, const void *const *rows, size_t blocks, const int8_t *w, \
            size_t far, int32_t sums[][RUSH_INT8_MR][RUSH_INT8_NR]) {                            \
    for (size_t b = 0; b < blocks; b++) of(mr, taps, groups, rows, w + b * far, sums[b]);        \
  }

/* Multiplies one row of `groups` groups by two blocks that are `far` bytes apart, because two read
 * streams have a higher bandwidth than one. w: [groups][NR][KR], twice. */
typedef void rush_int8_pair(size_t groups, const void *row, const int8_t *w, size_t far,
                            int32_t sums[2][RUSH_INT8_NR]);

#define RUSH_INT8_PAIR(name, of)                                         \
  void name(size_t groups, const void *row, const int8_t *w, size_t far, \
            int32_t sums[2][RUSH_INT8_NR]) {                             \
    of(groups, row, w, far, sums);                                       \
  }

/* Multiplies a row by one or two blocks of packed columns. The first block is at `at`, and its
 * columns start at j. The second is `far` bytes later, and its columns start at j + apart. */
typedef void rush_int8_blocks_of_row(const void *arg, size_t blocks, size_t j, size_t apart,
                                     const uint8_t *at, size_t far);

/* Processes columns from to right - 1 of a row as two halves side by side. */
RUSH_INLINE void rush_int8_split_columns(size_t from, size_t right, const uint8_t *packed,
                                         size_t block_bytes, rush_int8_blocks_of_row *run,
                                         const void *arg) {
  enum { NR = RUSH_INT8_NR };
  const size_t blocks = (right - from + NR - 1) / NR, half = blocks / 2, far = half * block_bytes;
  const uint8_t *at = packed + from / NR * block_bytes;
  for (size_t j = from; j < from + half * NR; j += NR, at += block_bytes)
    run(arg, 2, j, half * NR, at, far);
  if (blocks % 2 != 0) run(arg, 1, from + 2 * half * NR, 0, at + far, 0);
}

/* Depthwise: computes sums[channel] over `taps` pixels x[tap][channel] of bytes, after xor with
 * `flip`. The weights are packed by rush_int8_depthwise_pack. Pixels have at least 16 readable
 * channels. */
typedef void rush_int8_depthwise(size_t taps, size_t channels, const uint8_t *const *x,
                                 uint8_t flip, const void *w, int32_t *sums);

/* A row of outputs of a 3x3 kernel: its three input rows, with `steps` bytes between pixels, and
 * the first output's input column. A row of zeros is `none` with a step of 0. */
typedef struct rush_int8_strip {
  const uint8_t *rows[3], *none;
  size_t steps[3], n, stride; /* stride 1 or 2 */
  ptrdiff_t first, width;
} rush_int8_strip;

/* Computes sums[n][8] of channels c to c + 7 with their packed weights. */
typedef void rush_int8_strips(const rush_int8_strip *r, size_t c, uint8_t flip, const void *w,
                              int32_t *sums);

typedef struct rush_int8_kernel {
  rush_int8_form form;
  size_t mr;
  rush_int8_tile *one, *many; /* tiles of 1 and of mr rows */
  rush_int8_pair *pair;
  bool by_pairs; /* layout of convolution weights */
  size_t conv_mr;
  rush_int8_tiles *conv_one, *conv; /* tiles of 1 and conv_mr rows for it */
  rush_int8_tile *words;            /* the same for int16 weights; NULL if rows are bytes */
  rush_int8_depthwise *depth;       /* by quads of bytes if the form is not WIDE */
  rush_int8_strips *strips;         /* by quads of bytes if the form is not WIDE */
} rush_int8_kernel;

/* Returns the fastest kernels for this machine. */
rush_int8_kernel rush_int8_kernel_here(void);

/* Returns the fastest kernels for WIDE rows on this machine. */
rush_int8_kernel rush_int8_wide(void);

/* Returns the number of rows that `many` takes for int8 rows and weights from 0 to 15. Returns 0 if
 * the build has no faster instruction for them than for WIDE. `fours` selects dot products of four
 * bytes, else of two. */
size_t rush_int8_nibbles(bool fours, rush_int8_tile **many);

/* Returns whether the machine has exact dot products of four bytes. */
RUSH_INLINE bool rush_int8_dots_of_four(void) {
  return rush_int8_kernel_here().form != RUSH_INT8_WIDE;
}

/* For every machine: WIDE rows, 4 per tile, or 5 by pairs. */
rush_int8_tile rush_int8_one_wide, rush_int8_many_wide, rush_int8_words_wide;
rush_int8_tiles rush_int8_conv_one_wide, rush_int8_conv_wide;
rush_int8_pair rush_int8_pair_wide;
rush_int8_depthwise rush_int8_depthwise_wide;
rush_int8_strips rush_int8_strips_wide;
/* For x86-64 (int8_avx2.c, int8_vnni.c): WIDE and UNSIGNED rows. */
rush_int8_tile rush_int8_one_avx2, rush_int8_many_avx2, rush_int8_words_avx2;
rush_int8_tile rush_int8_one_vnni, rush_int8_many_vnni;
rush_int8_tiles rush_int8_conv_one_avx2, rush_int8_conv_avx2;
rush_int8_tiles rush_int8_conv_one_vnni, rush_int8_conv_vnni;
rush_int8_pair rush_int8_pair_avx2, rush_int8_pair_vnni;
rush_int8_depthwise rush_int8_depthwise_vnni;
rush_int8_strips rush_int8_strips_vnni;

#endif
