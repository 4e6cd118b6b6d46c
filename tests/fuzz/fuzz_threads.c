/* Runs a program as fuzz_run does, on one thread, on several, and in a drawn order of the pieces of
 * each loop. Every loop is divided, even a short one (RUSH_LEAST_WORK, cmake/sanitize.cmake). The
 * answers must have the same bits, and a stop at any moment must end all threads. */
#include <stdio.h>

#include "base/threads.h"
#include "fuzz.h"
#include "program.h"

enum { RUN_BYTES = 12 << 20, RUN_POLLS = 4 };

typedef struct outcome {
  uint64_t hash;
  /* A limit of memory or work ended the run. Scratch memory for several threads reaches limits
   * sooner. */
  bool cut;
  char said[512]; /* the last error message */
} outcome;

#ifndef RUSH_FUZZ /* the build that counts coverage has no drawn orders */
static void rush_threads_draw_order(rush_ctx *ctx, uint64_t seed) {
  (void)ctx, (void)seed;
}
#endif

/* If `order` is not 0, it is the seed of a drawn order. */
static outcome run(const input *in, unsigned threads, unsigned polls, uint64_t order) {
  fuzz_memory memory = {.limit = RUN_BYTES, .fill = 0xA5, .most_polls = polls};
  rush_ctx *ctx = fuzz_open(&memory);
  rush_model *model;
  outcome o = {0};
  FUZZ_RULE(rush_ctx_set_threads(ctx, threads) == RUSH_OK, "there are no %u threads", threads);
  if (order) rush_threads_draw_order(ctx, order);
  rush_status st = rush_model_load(ctx, in->file, in->size, &model);
  if (st == RUSH_OK)
    fuzz_run_all(ctx, model, &o.hash);
  else
    fuzz_failed(ctx, st);
  rush_model_destroy(ctx, model);
  snprintf(o.said, sizeof o.said, "%s", rush_ctx_error(ctx));
  fuzz_close(ctx, &memory);
  o.cut = memory.refused || memory.polls > polls;
  return o;
}

static void compare(const outcome *one, const outcome *other, unsigned threads, const char *how) {
  FUZZ_RULE(
      one->cut || other->cut || one->hash == other->hash,
      "the answer depends on the number of threads: %u, %s. The last messages are '%s' on one "
      "thread and '%s' on several",
      threads, how, one->said, other->said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const input in = input_of(data, size);
  const uint64_t seed = fuzz_hash(1, data, size);
  const unsigned threads = 2 + (unsigned)(seed % 3);
  const outcome one = run(&in, 1, RUN_POLLS, 0), several = run(&in, threads, RUN_POLLS, 0),
                drawn = run(&in, threads, RUN_POLLS, seed | 1);
  compare(&one, &several, threads, "in parallel");
  compare(&one, &drawn, threads, "in a drawn order");
  run(&in, threads, 1, 0); /* stopped early */
  free(in.made);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  return mutate_input(data, size, max_size, seed);
}
