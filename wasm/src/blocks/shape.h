/* Views with another shape, for view, reshape, flatten and expand. */
#ifndef RUSH_SHAPE_H
#define RUSH_SHAPE_H

#include "tensor/tensor.h"

/* Infers the one size that may be -1. `out` may equal `sizes`. Fails with BAD_ARGUMENT and
 * PyTorch's message if the sizes do not hold `numel` elements. */
rush_status rush_infer_size(rush_ctx *ctx, int64_t numel, int rank, const int64_t *sizes,
                            int64_t *out);

/* Computes strides to view `t` with `sizes` (same number of elements) without a copy. Returns false
 * if that is impossible. Follows c10's computeStride. */
bool rush_view_strides(const rush_tensor *t, int rank, const int64_t *sizes, int64_t *strides);

/* Implements Tensor.view with known sizes. *out is NULL if the strides do not allow a view. */
rush_status rush_view(rush_heap *heap, const rush_tensor *t, int rank, const int64_t *sizes,
                      rush_tensor **out);

/* Implements Tensor.reshape with known sizes: a view if possible, otherwise a contiguous copy. */
rush_status rush_reshape(rush_heap *heap, const rush_tensor *t, int rank, const int64_t *sizes,
                         rush_tensor **out);

/* Implements Tensor.expand: a view with `sizes`, where -1 keeps a size. */
rush_status rush_expand(rush_heap *heap, const rush_tensor *t, int rank, const int64_t *sizes,
                        rush_tensor **out);

#endif
