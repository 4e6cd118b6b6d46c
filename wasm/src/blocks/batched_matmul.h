/* Matrix products on whole tensors: what linear, addmm, matmul, bmm and attention share. */
#ifndef RUSH_BATCHED_MATMUL_H
#define RUSH_BATCHED_MATMUL_H

#include "tensor/tensor.h"

/* A stack of matrices inside a tensor; strides in elements. */
typedef struct rush_matrices {
  char *data;
  int64_t row, col;
  int64_t batch[RUSH_MAX_RANK]; /* 0 where broadcast */
} rush_matrices;

/* Of a tensor whose last two dimensions are the matrix, to be read with `rank` batch dimensions.
 * Leading dimensions that the tensor lacks, and those of size 1, are broadcast. */
rush_matrices rush_matrices_of(const rush_tensor *t, int rank);

/* c = a * b for each index of the batch sizes; c's columns are dense (col == 1) and c overlaps
 * neither. k may be 0: c is then 0. dtype: any but bool. */
rush_status rush_matmul_run(rush_heap *heap, rush_dtype dtype, int64_t m, int64_t n, int64_t k,
                            int rank, const int64_t *batch, rush_matrices a, rush_matrices b,
                            rush_matrices c);

/* The leading dimensions of t as rows of one matrix whose columns are dense; false where a copy is
 * needed. */
bool rush_as_rows(const rush_tensor *t, int64_t *rows, int64_t *stride);

/* out = beta * out_old + alpha * out, where `self` (broadcast to out) is out_old: the end of addmm
 * and its kin. A factor of 0 ignores what it multiplies, NaN and all. */
void rush_add_scaled(rush_tensor *out, const rush_tensor *self, const rush_value *beta,
                     const rush_value *alpha);

#endif
