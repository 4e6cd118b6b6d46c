/* The text of matrix products. */
#ifndef RUSH_GPU_PRODUCT_KERNELS_H
#define RUSH_GPU_PRODUCT_KERNELS_H

#include "gpu/device.h"

/* A weight [n, k] of integers with 8 or 4 bits. The rows of `a` are integers, too: a scale for each
 * piece follows all of them, and then the sum of each piece. */
typedef struct rush_gpu_quantized {
  int bits;
  enum { RUSH_GPU_NO_OFFSETS, RUSH_GPU_ZERO_POINTS, RUSH_GPU_MINIMA } kind;
  const rush_tensor *scales, *offsets; /* [n, groups]; offsets may be NULL */
  int64_t k, group;
  bool in_words;                   /* weights of a word are in one group and column */
  bool in_fours;                   /* the same for four words of weights with 4 bits */
  int64_t pieces, of_group, piece; /* pieces of a row and of a group, and columns of a piece */
} rush_gpu_quantized;

/* How a kernel reads four elements of the second operand. */
typedef enum rush_gpu_second {
  RUSH_GPU_ALONG_K, /* of a column */
  RUSH_GPU_ALONG_N, /* of a row */
  RUSH_GPU_PIXELS,  /* of a row, which a convolution makes of its input */
  RUSH_GPU_BITS     /* not at all: weights have 4 or 8 bits */
} rush_gpu_second;

/* The parameters of the text. */
typedef struct rush_gpu_form {
  bool adds, masks, clamps, causal;
  bool wide_a, wide_b;     /* four elements that follow each other are at a multiple of four */
  char letter_a, letter_b; /* f or h */
  rush_gpu_second second;
  uint32_t rows, lanes; /* of a kernel for few rows: rows, and threads of a column; else 0 */
  bool large;           /* whether tiles are large */
  bool channels_last;   /* of windows, if b has PIXELS */
  const rush_gpu_quantized *quantized;
} rush_gpu_form;

/* Elements of a tile. */
typedef struct rush_gpu_tile {
  uint32_t m, n, k, each_m, each_n; /* `each`: of a thread */
} rush_gpu_tile;

rush_gpu_tile rush_gpu_tile_of(bool large);
/* Returns whether rush_gpu_write_bits_step writes the products of a quantized weight. */
bool rush_gpu_has_fast_step(const rush_gpu_form *f);
/* Writes a kernel. `what` is a rush_gpu_form. */
void rush_gpu_write_product(rush_text *t, const void *what);
/* Writes the kernel of a weight whose scales are buffer `scales`: tiles, or few rows of any
 * layout. */
void rush_gpu_write_quantized(rush_text *t, const rush_gpu_quantized *q, bool few, unsigned scales);
/* Writes how a kernel reads weights of 4 or 8 bits: raw(column, row), and four_of() its bits. */
void rush_gpu_write_bits(rush_text *t, int bits);
/* Writes how a kernel for few rows adds the product of one or four words of weights to its sums. */
void rush_gpu_write_bits_step(rush_text *t, const rush_gpu_quantized *q, uint32_t rows,
                              unsigned scales);

#endif
