/* x times a packed matrix: what linear, addmm, mm and matmul do when their weight is a constant. */
#ifndef RUSH_PACKED_MATMUL_H
#define RUSH_PACKED_MATMUL_H

#include "blocks/packed.h"

/* Packs weight[n][k] (with its strides given as those of n and k) and the bias; see
 * rush_constant_bias. In place where the weight is dense and alone in its storage. */
rush_status rush_linear_pack(rush_prepare *p, const rush_tensor *weight, int64_t n, int64_t k,
                             int64_t stride_n, int64_t stride_k, const float *bias);

/* Sets result 0 of `c`: x[..., k] * packed, of sizes [..., n], clamped. */
rush_status rush_linear_run(rush_call *c, rush_tensor *x, int64_t n, int64_t k, const float *packed,
                            float min, float max);

#endif
