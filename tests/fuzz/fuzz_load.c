/* Loads the bytes as a file, describes the model, and runs methods without inputs. */
#include "fuzz.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory = {.limit = FUZZ_LOAD_BYTES, .fill = 0xA5};
  rush_ctx *ctx = fuzz_open(&memory);
  rush_model *model;
  fuzz_begin(ctx);
  rush_status st = rush_model_load(ctx, data, size, &model);
  fuzz_end(ctx);
  FUZZ_RULE((st == RUSH_OK) == (model != NULL), "load fails and gives a model");
  if (st == RUSH_OK) {
    fuzz_describe(ctx, model);
    fuzz_inspect(ctx, model);
    fuzz_run_all(ctx, model, NULL);
  } else {
    fuzz_failed(ctx, st);
  }
  rush_model_destroy(ctx, model);
  fuzz_close(ctx, &memory);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  return mutate_file(data, size, max_size, seed);
}
