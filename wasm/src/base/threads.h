/* Loops over independent items, on every thread that the context has (rush_ctx_set_threads).
 *
 * What a loop computes must not depend on where it is cut, so that results do not depend on the
 * number of threads. A context without threads runs the same pieces one after the other. */
#ifndef RUSH_THREADS_H
#define RUSH_THREADS_H

#include "base/base.h"

/* Does items [begin, end). `who` is below rush_threads(ctx), and no two tasks at work have the same:
 * the part of a scratch memory that is this task's. A task never fails, allocates, or starts another
 * loop; whether to stop it may ask only where `who` is 0, which is the thread of the context. */
typedef void rush_task(const void *arg, size_t begin, size_t end, unsigned who);

/* Runs `task` over n items of `work` steps (as rush_charge counts them) each; `ctx` may be NULL. Between
 * pieces of about a millisecond the host is asked whether to stop: true where the rest was left out,
 * and ctx->stopped is set, as by rush_should_stop. Counts n * work in any case. Items of more than some ten
 * milliseconds stay on the thread of the context. */
bool rush_parallel(rush_ctx *ctx, size_t n, uint64_t work, rush_task *task, const void *arg);

/* How many threads a loop may run on, this one among them: at least 1. */
unsigned rush_threads(const rush_ctx *ctx);

/* For rush_ctx_destroy. */
void rush_threads_destroy(rush_ctx *ctx);

#endif
