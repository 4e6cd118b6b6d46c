#include "tensor/planes.h"

enum { LARGE = 1 << 20 };

void rush_parallel_planes(rush_ctx *ctx, rush_iter *it, int64_t n, uint64_t work, rush_task *task,
                          const void *arg) {
  const int d = it->rank - 1;
  const int64_t planes = it->size[d], each = n / planes;
  if (d == 0 || each <= LARGE) {
    rush_parallel(ctx, (size_t)planes, work * (uint64_t)each, task, arg);
    return;
  }
  it->rank = d;
  for (int64_t i = 0; i < planes && !ctx->stopped; i++) {
    rush_parallel_planes(ctx, it, each, work, task, arg);
    for (int k = 0; k < it->n; k++) it->at[k] += it->stride[k][d];
  }
  for (int k = 0; k < it->n; k++) it->at[k] -= it->stride[k][d] * planes;
  it->rank = d + 1;
}
