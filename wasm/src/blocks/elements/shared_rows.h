/* Rows of the frameworks that other code also runs. Their bodies are in ops/elementwise and
 * ops/reduce. */
#ifndef RUSH_SHARED_ROWS_H
#define RUSH_SHARED_ROWS_H

#include "blocks/elements/pointwise.h"
#include "blocks/elements/reduce.h"

extern const rush_pointwise rush_pointwise_clamp_min, rush_pointwise_div, rush_pointwise_eq,
    rush_pointwise_mul, rush_pointwise_prelu_kernel;
extern const rush_reduce rush_reduce_all, rush_reduce_norm_dim, rush_reduce_sum_dim;

#endif
