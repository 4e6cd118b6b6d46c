/* Products with a packed matrix: linear, addmm, mm and matmul with a constant weight. */
#ifndef RUSH_PACKED_MATMUL_H
#define RUSH_PACKED_MATMUL_H

#include "blocks/packed.h"

/* Returns a constant argument of prepare of rank 2, like rush_constant_f32. In rows with
 * RUSH_OP_PACKS_HALVES it may also be float16 or bfloat16. */
const rush_tensor *rush_constant_matrix(const rush_prepare *p, uint32_t arg);

/* Marks `packed` as half-precision, which is `weight`'s dtype. packed_half.c implements it. `slim`
 * sets it to NULL if no weight is half-precision (see kernels/optional.h). Without it, each call
 * widens the weight. */
typedef void rush_pack_halves_fn(rush_packed_floats *packed, const rush_tensor *weight);
extern rush_pack_halves_fn *const rush_optional_halves;

/* Packs weight[n][k], with the strides of n and k, and the bias (see rush_constant_bias).
 * Half-precision weights keep their dtype. Packs in place if the weight is dense and the only
 * tensor on its storage. */
rush_status rush_linear_pack(rush_prepare *p, const rush_tensor *weight, int64_t n, int64_t k,
                             int64_t stride_n, int64_t stride_k, const float *bias);

/* x[..., k] as rows, and the rows of the result. */
typedef struct rush_linear_rows {
  size_t m, stride; /* number of rows, and elements between rows */
  const float *x;   /* NULL if k is 0 */
  float *y;         /* dense; NULL if the result is empty and there is nothing to do */
} rush_linear_rows;

/* Sets result 0 of `c` to an uninitialized float32 [..., n], for an operator to fill. */
rush_status rush_linear_begin(rush_call *c, rush_tensor *x, int64_t n, rush_linear_rows *rows);

/* Calls `compute` with argument 0. If that is half-precision, `compute` gets a float32 copy, and
 * its result is rounded to the argument's dtype, as in PyTorch's linear. */
typedef rush_status rush_linear_fn(rush_call *c, rush_tensor *x);
rush_status rush_linear_in_floats(rush_call *c, rush_linear_fn *compute);

/* Sets result 0 of `c` to x[..., k] times its packed weight, with sizes [..., n], clamped. */
rush_status rush_linear_run(rush_call *c, rush_tensor *x, int64_t n, int64_t k, float min,
                            float max);

/* Clamps a tensor that is contiguous or channels-last. Other dtypes than float32 do not change. */
void rush_clamp(rush_ctx *ctx, rush_tensor *out, float min, float max);

#endif
