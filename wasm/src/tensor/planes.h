/* Parallel loops over the planes of an iteration: the parts at one index of the outermost
 * dimension. */
#ifndef RUSH_PLANES_H
#define RUSH_PLANES_H

#include "base/threads.h"
#include "tensor/iter.h"

/* Runs `task`, whose items are planes of `it`, over an iteration of n elements with `work` steps
 * each. `it` is part of `arg`. Large planes are themselves split into planes, so that the run can
 * be stopped within them: then `it` has fewer dimensions during the task. */
void rush_parallel_planes(rush_ctx *ctx, rush_iter *it, int64_t n, uint64_t work, rush_task *task,
                          const void *arg);

#endif
