/* Concatenation along a dimension, for cat, stack, roll and other operators. */
#ifndef RUSH_CONCATENATE_H
#define RUSH_CONCATENATE_H

#include "tensor/tensor.h"

/* Computes torch.cat of n >= 1 tensors. The result has `dtype`. A negative `dim` is allowed. */
rush_status rush_cat(rush_heap *heap, size_t n, const rush_tensor *const *tensors, int64_t dim,
                     rush_dtype dtype, rush_tensor **out);
/* Does the same for a result that will be extended again, such as a KV cache. If this function made
 * the first tensor, the others are appended in its spare capacity (growable.h) without a copy.
 * Otherwise the result gets 50 % spare capacity. It gets none if the first tensor was made here,
 * but later copied to PyTorch's layout, because each call would then copy twice. */
rush_status rush_cat_growing(rush_heap *heap, size_t n, const rush_tensor *const *tensors,
                             int64_t dim, rush_dtype dtype, rush_tensor **out);

#endif
