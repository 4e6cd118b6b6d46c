/* Iterates over several tensors, broadcast to one shape, in as few and as long rows as possible. */
#ifndef RUSH_ITER_H
#define RUSH_ITER_H

#include "tensor/tensor.h"

enum { RUSH_ITER_MAX = 8 }; /* maximum number of operands */

/* Computes the broadcast sizes of a and b. Returns false if they do not broadcast. */
bool rush_broadcast(int rank_a, const int64_t *a, int rank_b, const int64_t *b, int *rank,
                    int64_t *out);

/* After rush_iter_init, dimensions are sorted and merged, and dimension 0 is the innermost:
 *
 *   rush_iter it;
 *   rush_iter_init(&it, rank, sizes, n, tensors);      // tensors broadcast to sizes
 *   do { for operand k: bytes it.at[k], step it.stride[k][0], it.size[0] elements }
 *   while (rush_iter_next(&it));
 *
 * Strides are in bytes. An empty shape has size[0] == 0 and one iteration. */
typedef struct rush_iter {
  int n, rank; /* rank: after merging, at least 1 */
  int64_t size[RUSH_MAX_RANK];
  int64_t stride[RUSH_ITER_MAX][RUSH_MAX_RANK];
  char *at[RUSH_ITER_MAX];
  int64_t index[RUSH_MAX_RANK];
} rush_iter;
/* Starts the iteration. The order of dimensions follows tensors[0], the destination. */
void rush_iter_init(rush_iter *it, int rank, const int64_t *sizes, int n,
                    const rush_tensor *const *tensors);
/* Goes on to the next index of dimensions d and above. False after the last one, back at the first
 * one. */
bool rush_iter_next_from(rush_iter *it, int d);
static inline bool rush_iter_next(rush_iter *it) {
  return rush_iter_next_from(it, 1);
}

#endif
