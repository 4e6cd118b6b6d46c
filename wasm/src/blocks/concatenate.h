/* Joining tensors along a dimension: cat, stack, roll and their kin. */
#ifndef RUSH_CONCATENATE_H
#define RUSH_CONCATENATE_H

#include "tensor/tensor.h"

/* torch.cat of n >= 1 tensors; the result has `dtype`. `dim` is not wrapped yet. */
rush_status rush_cat(rush_heap *heap, size_t n, const rush_tensor *const *tensors, int64_t dim,
                     rush_dtype dtype, rush_tensor **out);
/* The same, of a result to which more will be joined: where the first tensor was made so, what comes
 * behind it goes into its room (room.h) and nothing of it is copied; else the result has room for
 * half as much again, but where the first one's room was of no use: it was laid in PyTorch's order,
 * which would be a second copy each time. */
rush_status rush_cat_growing(rush_heap *heap, size_t n, const rush_tensor *const *tensors,
                             int64_t dim, rush_dtype dtype, rush_tensor **out);

#endif
