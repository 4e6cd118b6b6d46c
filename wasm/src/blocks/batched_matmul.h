/* Batched matrix products on tensors, shared by linear, addmm, matmul, bmm and attention. */
#ifndef RUSH_BATCHED_MATMUL_H
#define RUSH_BATCHED_MATMUL_H

#include "tensor/tensor.h"

/* A batch of matrices inside a tensor. Strides are in elements. */
typedef struct rush_matrices {
  char *data;
  int64_t row, col;
  int64_t batch[RUSH_MAX_RANK]; /* 0 for broadcast dimensions */
} rush_matrices;

/* Describes a tensor whose last two dimensions are the matrix, with `rank` batch dimensions.
 * Missing leading dimensions, and those of size 1, are broadcast. */
rush_matrices rush_matrices_of(const rush_tensor *t, int rank);

/* Computes c = a * b for each index of the batch. c's columns must be contiguous (col == 1), and c
 * must not overlap a or b. If k is 0, c is filled with zeros. dtype: any but bool. */
rush_status rush_matmul_run(rush_heap *heap, rush_dtype dtype, int64_t m, int64_t n, int64_t k,
                            int rank, const int64_t *batch, rush_matrices a, rush_matrices b,
                            rush_matrices c);

/* Views the leading dimensions of t as rows of one matrix with contiguous columns. Returns false if
 * that needs a copy. */
bool rush_as_rows(const rush_tensor *t, int64_t *rows, int64_t *stride);

/* Computes out = beta * self + alpha * out, with self broadcast to out, as in addmm. A factor of 0
 * ignores its operand, even NaN. */
void rush_add_scaled(rush_ctx *ctx, rush_tensor *out, const rush_tensor *self,
                     const rush_value *beta, const rush_value *alpha);

#endif
