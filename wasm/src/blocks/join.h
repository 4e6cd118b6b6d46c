/* Joining tensors along a dimension: cat, stack, roll and their kin. */
#ifndef RUSH_JOIN_H
#define RUSH_JOIN_H

#include "tensor/tensor.h"

/* torch.cat of n >= 1 tensors; the result has `dtype`. `dim` is not wrapped yet. */
rush_status rush_cat(rush_heap *heap, size_t n, const rush_tensor *const *tensors, int64_t dim,
                     rush_dtype dtype, rush_tensor **out);

#endif
