/* Shapes that another shape is read as: what view, reshape, flatten and expand share. */
#ifndef RUSH_SHAPE_H
#define RUSH_SHAPE_H

#include "tensor/tensor.h"

/* Fills in the one size that may be -1. `out` may be `sizes`. BAD_ARGUMENT with PyTorch's message
 * where the sizes do not make `numel` elements. */
rush_status rush_infer_size(rush_ctx *ctx, int64_t numel, int rank, const int64_t *sizes,
                            int64_t *out);

/* The strides with which `t` can be seen in `sizes` (as many elements) without a copy; false where
 * it cannot. c10's computeStride. */
bool rush_view_strides(const rush_tensor *t, int rank, const int64_t *sizes, int64_t *strides);

/* Tensor.view to sizes that are known; *out is NULL where the strides do not allow it. */
rush_status rush_view(rush_heap *heap, const rush_tensor *t, int rank, const int64_t *sizes,
                      rush_tensor **out);

/* Tensor.reshape to sizes that are known: a view where possible, else a row-major copy. */
rush_status rush_reshape(rush_heap *heap, const rush_tensor *t, int rank, const int64_t *sizes,
                         rush_tensor **out);

/* Tensor.expand: a view of `t` as `sizes`, of which -1 keeps a size. */
rush_status rush_expand(rush_heap *heap, const rush_tensor *t, int rank, const int64_t *sizes,
                        rush_tensor **out);

#endif
