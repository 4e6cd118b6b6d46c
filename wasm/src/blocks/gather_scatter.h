/* Reading and writing along one dimension at places that another tensor names: gather, scatter,
 * index_add and their kin. */
#ifndef RUSH_GATHER_SCATTER_H
#define RUSH_GATHER_SCATTER_H

#include "call/call.h"

/* What becomes of an element that is written. */
typedef enum rush_combine {
  RUSH_COMBINE_SET,
  RUSH_COMBINE_ADD,
  RUSH_COMBINE_MUL,
  RUSH_COMBINE_MAX, /* NaN wins */
  RUSH_COMBINE_MIN,
} rush_combine;

/* dst[at[k] bytes on] = how(dst[...], src[k]) for k = 0..n-1, in this order. */
void rush_combine_row(rush_combine how, rush_dtype dtype, char *dst, const int64_t *at,
                      const char *src, int64_t src_step, int64_t n);
/* The same with n elements of a line, steps in bytes; false where steps or dtype are such that it does
 * not, and nothing is done. */
bool rush_combine_line(rush_combine how, rush_dtype dtype, char *dst, int64_t dst_step,
                       const char *src, int64_t src_step, int64_t n);

/* For each position of `index` (int32 or int64, of dst's rank): dst at that position, with the
 * index in place of `dim`, is combined with src at that position. `src` has index's sizes at least
 * and dst's dtype. An index outside 0..size-1 is BAD_ARGUMENT, unless `wrap` lets -size..-1 count
 * from the end. */
rush_status rush_scatter(rush_ctx *ctx, rush_tensor *dst, int dim, const rush_tensor *index,
                         const rush_tensor *src, rush_combine how, bool wrap);
/* out, of index's sizes, takes self at those positions. */
rush_status rush_gather(rush_ctx *ctx, rush_tensor *out, const rush_tensor *self, int dim,
                        const rush_tensor *index);

/* A vector of indices, seen along `dim` of a tensor of `like`'s rank and sizes. */
rush_tensor rush_index_along(const rush_tensor *index, const rush_tensor *like, int dim);

/* "index 7 is out of bounds for dimension 0 with size 3" */
rush_status rush_fail_index(rush_ctx *ctx, int64_t index, int dim, int64_t size);

/* The strides of a copy of argument 0. */
typedef enum rush_copy_strides {
  RUSH_COPY_DENSE,      /* of a dense copy, in the order that it has */
  RUSH_COPY_LOOSE,      /* the same; in place elements may be in several places */
  RUSH_COPY_CONTIGUOUS, /* row-major */
  RUSH_COPY_ALL,        /* its own: the whole storage is copied, unless elements are in it twice */
} rush_copy_strides;

/* The tensor that an operator writes which has an in-place form: the destination itself, or
 * argument 0 where it may be reused, or a copy of it. It is set as result 0. */
rush_status rush_result_or_inplace(rush_call *c, rush_copy_strides strides, rush_tensor **out);

/* A tensor without a reference count for a value on the stack: `at` holds one element. */
rush_tensor rush_scalar_tensor(rush_dtype dtype, rush_storage *storage, void *at);

#endif
