/* x times a packed matrix: what linear, addmm, mm and matmul do when their weight is a constant. */
#ifndef RUSH_PACKED_MATMUL_H
#define RUSH_PACKED_MATMUL_H

#include "blocks/packed.h"

/* Packs weight[n][k] (with its strides given as those of n and k) and the bias; see
 * rush_constant_bias. In place where the weight is dense and alone in its storage. */
rush_status rush_linear_pack(rush_prepare *p, const rush_tensor *weight, int64_t n, int64_t k,
                             int64_t stride_n, int64_t stride_k, const float *bias);

/* x[..., k] as rows, and the result's. */
typedef struct rush_linear_rows {
  size_t m, stride; /* rows, and elements from one to the next */
  const float *x;   /* NULL where k is 0 */
  float *y;         /* dense; NULL where the result has no elements: there is nothing to do */
} rush_linear_rows;

/* Sets result 0 of `c`, float32 [..., n], for an operator to fill. */
rush_status rush_linear_begin(rush_call *c, rush_tensor *x, int64_t n, rush_linear_rows *rows);

/* Sets result 0 of `c`: x[..., k] * packed, of sizes [..., n], clamped. */
rush_status rush_linear_run(rush_call *c, rush_tensor *x, int64_t n, int64_t k, const float *packed,
                            float min, float max);

#endif
