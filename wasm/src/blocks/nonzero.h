/* Where a tensor is not zero, in row-major order. */
#ifndef RUSH_NONZERO_H
#define RUSH_NONZERO_H

#include "tensor/tensor.h"

/* int64 [max(rank, 1)][n], row-major: row d holds the coordinates in dimension d; a 0-d tensor has
 * none, and counts as one of size 1 here. */
rush_status rush_nonzero(rush_heap *heap, const rush_tensor *t, rush_tensor **out);

/* Walks the elements of `t` as if it had sizes `rank`, `sizes` (broadcast), in row-major order. */
typedef struct rush_row_major {
  int rank;
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK], index[RUSH_MAX_RANK]; /* strides in bytes */
  const char *at;
} rush_row_major;
void rush_row_major_init(rush_row_major *o, const rush_tensor *t, int rank, const int64_t *sizes);
static inline void rush_row_major_next(rush_row_major *o) {
  for (int d = o->rank - 1; d >= 0; d--) {
    o->at += o->strides[d];
    if (++o->index[d] < o->sizes[d]) return;
    o->at -= o->strides[d] * o->sizes[d];
    o->index[d] = 0;
  }
}

#endif
