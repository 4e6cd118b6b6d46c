#include "tensor/planes.h"

enum { LARGE = 1 << 20 };

void rush_parallel_planes(rush_ctx *ctx, rush_iter *it, int64_t n, uint64_t work, rush_task *task,
                          const void *arg) {
  const int rank = it->rank;
  bool stopped;
  do n /= it->size[--it->rank];
  while (it->rank > 0 && n > LARGE);
  const int d = it->rank;
  do {
    it->rank = d + 1;
    stopped = rush_parallel(ctx, (size_t)it->size[d], work * (uint64_t)n, task, arg);
    it->rank = rank;
  } while (!stopped && rush_iter_next_from(it, d + 1));
}
