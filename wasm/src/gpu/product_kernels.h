/* The text of the kernels of product.c. */
#ifndef RUSH_GPU_PRODUCT_KERNELS_H
#define RUSH_GPU_PRODUCT_KERNELS_H

#include "gpu/product.h"

/* How a kernel reads four elements of the second operand. */
typedef enum rush_gpu_second {
  RUSH_GPU_ALONG_K, /* of a column */
  RUSH_GPU_ALONG_N, /* of a row */
  RUSH_GPU_PIXELS,  /* of a row, which a convolution makes of its input */
  RUSH_GPU_BITS     /* of a column, of weights with 4 or 8 bits */
} rush_gpu_second;

/* What the text depends on. */
typedef struct rush_gpu_form {
  bool adds, masks, clamps, causal;
  bool wide_a, wide_b;  /* four elements that follow each other are at a multiple of four */
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
/* Writes a kernel. `what` is a rush_gpu_form. */
void rush_gpu_write_product(rush_text *t, const void *what);

#endif
