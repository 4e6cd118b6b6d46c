/* x times a packed matrix: what linear, addmm, mm and matmul do when their weight is a constant. */
#ifndef RUSH_PACKED_MATMUL_H
#define RUSH_PACKED_MATMUL_H

#include "blocks/packed.h"

/* A constant argument of prepare of rank 2: NULL where it is none, or neither float32 nor, in rows with
 * RUSH_OP_PACKS_HALVES, float16 or bfloat16, as rush_constant_f32. */
const rush_tensor *rush_constant_matrix(const rush_prepare *p, uint32_t arg);

/* Says in `packed` that it is of halves, which `weight` still has. In packed_half.c; slim sets it to NULL, as
 * kernels/optional.h says, where no weight is of halves. Without it they are widened in each call. */
typedef void rush_pack_halves_fn(rush_packed_floats *packed, const rush_tensor *weight);
extern rush_pack_halves_fn *const rush_optional_halves;

/* Packs weight[n][k] (with its strides given as those of n and k) and the bias; see
 * rush_constant_bias. Halves stay halves. In place where the weight is dense and alone in its storage. */
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

/* Sets result 0 of `c`: x[..., k] * what is packed for it, of sizes [..., n], clamped. */
rush_status rush_linear_run(rush_call *c, rush_tensor *x, int64_t n, int64_t k, float min,
                            float max);

#endif
