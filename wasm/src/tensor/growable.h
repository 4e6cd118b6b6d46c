/* Tensors that grow at their end without a copy.
 *
 * rush::grow gives the result of cat with spare capacity along the dimension of cat. If such a
 * result is the first operand of the next rush::grow, the new elements are put there, and the two
 * tensors share memory. To a program they are separate, like cat's argument and result.
 * Each has therefore its own storage, whose elements lie in the shared memory, and
 * rush_turn_back moves a storage to its own memory before anything writes it. Each position in
 * the spare capacity is written once. */
#ifndef RUSH_GROWABLE_H
#define RUSH_GROWABLE_H

#include "tensor/turned.h"

/* Makes a row-major tensor with memory for `capacity` >= sizes[dim] along `dim`. The elements are
 * not set. */
rush_status rush_tensor_new_growable(rush_heap *heap, rush_dtype dtype, int rank,
                                     const int64_t *sizes, int dim, int64_t capacity,
                                     rush_tensor **out);
/* Returns whether n more along `dim` fit behind t: t is all of its storage, nothing was put behind
 * it before, and the capacity suffices. */
bool rush_can_grow(const rush_tensor *t, int dim, int64_t n);
/* Makes a tensor of t's elements, in their memory, and of n more, which are not set. rush_can_grow
 * must be true. */
rush_status rush_tensor_grown(rush_heap *heap, const rush_tensor *t, int64_t n, rush_tensor **out);

#endif
