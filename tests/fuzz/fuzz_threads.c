/* Runs a program as fuzz_run does, on one thread and on several. Every loop is divided, even a
 * short one (RUSH_LEAST_WORK, cmake/sanitize.cmake). The answers must have the same bits, and a
 * stop at any moment must end all threads. */
#include "fuzz.h"
#include "program.h"

enum { RUN_BYTES = 12 << 20, RUN_POLLS = 4 };

typedef struct outcome {
  uint64_t hash;
  /* A limit of memory or work ended the run. Scratch memory for several threads reaches limits
   * sooner. */
  bool cut;
} outcome;

static outcome run(const input *in, unsigned threads, unsigned polls) {
  fuzz_memory memory = {.limit = RUN_BYTES, .fill = 0xA5, .most_polls = polls};
  rush_ctx *ctx = fuzz_open(&memory);
  rush_model *model;
  outcome o = {0};
  FUZZ_RULE(rush_ctx_set_threads(ctx, threads) == RUSH_OK, "there are no %u threads", threads);
  rush_status st = rush_model_load(ctx, in->file, in->size, &model);
  if (st == RUSH_OK)
    fuzz_run_all(ctx, model, &o.hash);
  else
    fuzz_failed(ctx, st);
  rush_model_destroy(ctx, model);
  fuzz_close(ctx, &memory);
  o.cut = memory.refused || memory.polls > polls;
  return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const input in = input_of(data, size);
  const unsigned threads = 2 + (unsigned)(fuzz_hash(1, data, size) % 3);
  const outcome one = run(&in, 1, RUN_POLLS), several = run(&in, threads, RUN_POLLS);
  FUZZ_RULE(one.cut || several.cut || one.hash == several.hash,
            "the answer depends on the number of threads: %u", threads);
  run(&in, threads, 1); /* stopped early */
  free(in.made);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  return mutate_input(data, size, max_size, seed);
}
