/* Gather and scatter along one dimension, for gather, scatter, index_add and other operators. */
#ifndef RUSH_GATHER_SCATTER_H
#define RUSH_GATHER_SCATTER_H

#include "call/call.h"

/* The operation that combines a scattered element with the destination. */
typedef enum rush_combine {
  RUSH_COMBINE_SET,
  RUSH_COMBINE_ADD,
  RUSH_COMBINE_MUL,
  RUSH_COMBINE_MAX, /* NaN propagates */
  RUSH_COMBINE_MIN,
} rush_combine;

/* Combines src[k] into the element at byte offset at[k] of dst, for k = 0..n-1 in order. */
void rush_combine_row(rush_combine how, rush_dtype dtype, char *dst, const int64_t *at,
                      const char *src, int64_t src_step, int64_t n);
/* Does the same for n elements of a line, with steps in bytes, or for some after a stop request.
 * Returns false, and does nothing, if it does not support the steps or the dtype. */
bool rush_combine_line(rush_ctx *ctx, rush_combine how, rush_dtype dtype, char *dst,
                       int64_t dst_step, const char *src, int64_t src_step, int64_t n);

/* For each position of `index` (int32 or int64, with dst's rank): replaces the coordinate of `dim`
 * by the index, and combines src at the position into dst there. `src` has dst's dtype and at least
 * index's sizes. An index outside 0..size-1 is BAD_ARGUMENT, unless `wrap` lets -size..-1 count
 * from the end. */
rush_status rush_scatter(rush_ctx *ctx, rush_tensor *dst, int dim, const rush_tensor *index,
                         const rush_tensor *src, rush_combine how, bool wrap);
/* Gathers self at those positions into out, which has index's sizes. */
rush_status rush_gather(rush_ctx *ctx, rush_tensor *out, const rush_tensor *self, int dim,
                        const rush_tensor *index);

/* Views a 1-d index along `dim` of a tensor with `like`'s rank and sizes. */
rush_tensor rush_index_along(const rush_tensor *index, const rush_tensor *like, int dim);

/* Fails with "index 7 is out of bounds for dimension 0 with size 3". */
rush_status rush_fail_index(rush_ctx *ctx, int64_t index, int dim, int64_t size);

/* The strides of a copy of argument 0. */
typedef enum rush_copy_strides {
  RUSH_COPY_DENSE,      /* dense, with argument 0's order of dimensions */
  RUSH_COPY_LOOSE,      /* like DENSE; in place, elements may overlap (expand) */
  RUSH_COPY_CONTIGUOUS, /* contiguous */
  RUSH_COPY_ALL,        /* argument 0's own: copies the storage, unless elements overlap */
} rush_copy_strides;

/* Sets result 0 to the tensor that an operator with an in-place form writes: the destination
 * itself, argument 0 if it may be reused, or a copy of argument 0. */
rush_status rush_result_or_inplace(rush_call *c, rush_copy_strides strides, rush_tensor **out);

/* Returns a 0-d tensor without a reference count for a value on the stack. `at` holds the
 * element. */
rush_tensor rush_scalar_tensor(rush_dtype dtype, rush_storage *storage, void *at);

#endif
