/* Tensors that grow at their end without being copied.
 *
 * rush::grow gives the answer of cat with room behind it, along the dimension of cat. Where such a
 * result is the first tensor of the next one, what comes new is put into the room, and the two
 * tensors have one memory, as if the one were a view of the other. To a program they are apart, as
 * cat's argument and result are: so they have a storage each, all of whose elements have their
 * place in the room, and a storage is laid in memory of its own, by rush_turn_back, before anything
 * writes it. A place in the room is written once. */
#ifndef RUSH_ROOM_H
#define RUSH_ROOM_H

#include "tensor/turned.h"

/* A row-major tensor, its elements not set, with room for `capacity` >= sizes[dim] along `dim`. */
rush_status rush_tensor_new_roomy(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                                  int dim, int64_t capacity, rush_tensor **out);
/* Whether n more along `dim` have their place behind t: it is all of its storage, nothing was put
 * behind it before, and there is room. */
bool rush_has_room(const rush_tensor *t, int dim, int64_t n);
/* A new tensor of t's elements, where they are, and of n more, which are not set: rush_has_room. */
rush_status rush_tensor_grown(rush_heap *heap, const rush_tensor *t, int64_t n, rush_tensor **out);

#endif
