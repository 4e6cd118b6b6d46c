/* Matrix products on the device. */
#ifndef RUSH_GPU_PRODUCT_H
#define RUSH_GPU_PRODUCT_H

#include "gpu/device.h"

/* A matrix, or a batch with two dimensions, by its strides. */
typedef struct rush_gpu_matrix {
  const rush_tensor *t;
  int64_t offset, row, col, batch[2];
} rush_gpu_matrix;

/* out = min(max(alpha * a b + beta * added, ...)): a is [m, k], b is [k, n], the others [m, n]. */
typedef struct rush_gpu_product {
  int64_t m, n, k, batch[2];
  rush_gpu_matrix a, b, added, out; /* added.t may be NULL */
  float alpha, beta, min, max;
  bool causal; /* elements above the diagonal are -inf */
  bool masks;  /* `added` is a mask of bool instead: elements where it is false are -inf */
} rush_gpu_product;

/* Returns a product of float32 matrices without a batch, a term and limits. */
rush_gpu_product rush_gpu_plain_product(int64_t m, int64_t n, int64_t k);
bool rush_gpu_can_multiply(const rush_tensor *t);
rush_gpu_matrix rush_gpu_matrix_of(const rush_tensor *t);
/* Makes the row-major tensor `t` the result of the product. */
void rush_gpu_set_out(rush_gpu_product *p, const rush_tensor *t);
rush_status rush_gpu_multiply(rush_gpu *g, rush_call *c, const rush_gpu_product *p);
/* Computes softmax or its logarithm along a dimension of a row-major tensor. A line of -inf gives
 * zeros if it is `masked`, as in attention, and otherwise NaN. */
rush_status rush_gpu_softmax_rows(rush_gpu *g, rush_call *c, const rush_tensor *x, int dim,
                                  bool logarithm, bool masked, const rush_tensor *out);

#endif
