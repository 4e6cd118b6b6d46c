/* Parallel loops over independent items, on all threads of the context (rush_ctx_set_threads).
 *
 * A loop's results must not depend on where it is split, so that they do not depend on the number
 * of threads. A context without threads runs the same pieces one after the other. */
#ifndef RUSH_THREADS_H
#define RUSH_THREADS_H

#include "base/base.h"

/* Processes items [begin, end). `who` is below rush_threads(ctx) and unique among running tasks, so
 * it can select a part of a scratch buffer. A task must not fail, allocate, or start another loop.
 * It may check for a stop request only if `who` is 0, which is the context's thread. */
typedef void rush_task(const void *arg, size_t begin, size_t end, unsigned who);

/* Runs `task` over n items of `work` steps each, counted as by rush_charge. `ctx` may be NULL. It
 * checks for a stop request between pieces of about a millisecond. After a stop request it returns
 * true, leaves the rest out, and sets ctx->stopped like rush_should_stop. It always counts n *
 * work. Items that take more than tens of milliseconds stay on the context's thread. */
bool rush_parallel(rush_ctx *ctx, size_t n, uint64_t work, rush_task *task, const void *arg);

/* Returns the number of threads that a loop may use, including this one: at least 1. */
unsigned rush_threads(const rush_ctx *ctx);

#ifdef RUSH_FUZZ
/* From now on the context's own thread runs the chunks of each loop in an order drawn from the
 * seed, and passes a drawn `who` to each task. A result that depends on either is found without
 * waiting for the system to schedule threads so. The context must have threads. */
void rush_threads_draw_order(rush_ctx *ctx, uint64_t seed);
#endif

/* Ends the threads, for rush_ctx_destroy. */
void rush_threads_destroy(rush_ctx *ctx);

#endif
