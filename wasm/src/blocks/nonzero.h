/* Coordinates of the nonzero elements of a tensor, in row-major order. */
#ifndef RUSH_NONZERO_H
#define RUSH_NONZERO_H

#include "tensor/tensor.h"

/* Returns int64 [max(rank, 1)][n], contiguous. Row d holds the coordinates in dimension d. A 0-d
 * tensor counts as 1-d with one element here. */
rush_status rush_nonzero(rush_heap *heap, const rush_tensor *t, rush_tensor **out);

/* Iterates over the elements of `t`, broadcast to `sizes` of `rank`, in row-major order. */
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
