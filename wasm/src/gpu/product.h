/* Matrix products on the device. */
#ifndef RUSH_GPU_PRODUCT_H
#define RUSH_GPU_PRODUCT_H

#include "gpu/product_kernels.h"

/* A matrix, or a batch with two dimensions, by its strides. */
typedef struct rush_gpu_matrix {
  const rush_tensor *t;
  int64_t offset, row, col, batch[2];
} rush_gpu_matrix;

/* What the columns of b are if a convolution makes them of its input: windows, in words of a kernel
 * from 30 on, which product_kernels.c names. Elements of a window follow each other channel by
 * channel, or pixel by pixel if channels are last. */
typedef struct rush_gpu_pixels {
  bool channels_last;
  uint32_t words[14];
} rush_gpu_pixels;

/* out = min(max(alpha * a b + beta * added, ...)): a is [m, k], b is [k, n], the others [m, n].
 * a and b may be float16. In the inner batch, `share` matrices a have a matrix b in common. */
typedef struct rush_gpu_product {
  int64_t m, n, k, batch[2], share;
  rush_gpu_matrix a, b, added, out; /* added.t may be NULL */
  float alpha, beta, min, max;
  bool causal; /* elements above the diagonal are -inf */
  bool masks;  /* `added` is a mask of bool instead: elements where it is false are -inf */
  const rush_gpu_quantized *quantized; /* if it is not NULL: what a and b have */
  const rush_gpu_pixels *pixels;       /* if it is not NULL: b is the input of a convolution */
} rush_gpu_product;

/* Returns a product of float32 matrices without a batch, a term and limits. */
rush_gpu_product rush_gpu_plain_product(int64_t m, int64_t n, int64_t k);
bool rush_gpu_can_multiply(const rush_tensor *t);
rush_gpu_matrix rush_gpu_matrix_of(const rush_tensor *t);
/* Makes the row-major tensor `t` the result of the product. */
void rush_gpu_set_out(rush_gpu_product *p, const rush_tensor *t);
rush_status rush_gpu_multiply(rush_gpu *g, rush_call *c, const rush_gpu_product *p);
/* Returns whether four elements along a dimension of `size`, with the stride `step`, are always a
 * vector of memory. `other` is the stride of the other dimension. */
bool rush_gpu_is_wide(const rush_gpu_matrix *x, int64_t size, int64_t step, int64_t other);
/* Writes the words of a product, but for 14 and 15: how many tiles are in a line, and lines. */
void rush_gpu_place_product(const rush_gpu_product *p, uint32_t *w);
/* Writes the five words of an operand: its offset and its strides. */
void rush_gpu_place_matrix(const rush_gpu_matrix *x, uint32_t *words);
/* Multiplies the rows of argument 0, which are p->a, and makes the result of the call. */
rush_status rush_gpu_multiply_rows(rush_gpu *g, rush_call *c, rush_gpu_product *p);
/* For rush_gpu_multiply: the words of a quantized weight from 30 on, and its part of a key. */
void rush_gpu_place_quantized(const rush_gpu_product *p, uint32_t *words);
uint32_t rush_gpu_key_quantized(const rush_gpu_product *p);
/* Computes softmax or its logarithm along a dimension of a row-major tensor. A line of -inf gives
 * zeros if it is `masked`, as in attention, and otherwise NaN. */
rush_status rush_gpu_softmax_rows(rush_gpu *g, rush_call *c, const rush_tensor *x, int dim,
                                  bool logarithm, bool masked, const rush_tensor *out);

#endif
