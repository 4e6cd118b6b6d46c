/* Runs a program made from the bytes, or the file that they contain, twice. The second run fills
 * new memory with other bytes. Different answers reveal a read of uninitialized memory.
 *
 *   fuzz_run --rush IN OUT             writes the program of the input IN as a file OUT
 *   fuzz_run --random N SEED DIR       writes N programs of any kind as DIR/0.rush, ... */
#include <stdio.h>

#include "fuzz.h"
#include "program.h"

enum { RUN_BYTES = 12 << 20, RUN_POLLS = 4, LARGE_BYTES = 7 << 28, LARGE_POLLS = 400 };

static uint64_t run(const input *in, uint8_t fill) {
  fuzz_memory memory = {.limit = in->large ? LARGE_BYTES : RUN_BYTES,
                        .maps = in->large,
                        .fill = fill,
                        .most_polls = in->large ? LARGE_POLLS : RUN_POLLS};
  rush_ctx *ctx = fuzz_open(&memory);
  rush_model *model;
  uint64_t hash = 0;
  fuzz_begin(ctx);
  rush_status st = rush_model_load(ctx, in->file, in->size, &model);
  fuzz_end(ctx);
  if (st == RUSH_OK) {
    fuzz_run_all(ctx, model, &hash);
  } else {
    fuzz_failed(ctx, st);
  }
  rush_model_destroy(ctx, model);
  fuzz_close(ctx, &memory);
  return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const input in = input_of(data, size);
  const uint64_t one = run(&in, 0xA5), other = run(&in, 0x3C);
  free(in.made);
  FUZZ_RULE(one == other, "the answer depends on what was in the memory before");
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  return mutate_input(data, size, max_size, seed);
}

/* ---- Programs as files ----------------------------------------------------------------------- */

static void write_program(const uint8_t *data, size_t size, const char *path) {
  size_t n;
  uint8_t *file = program_of(data, size, &n);
  FILE *f = fopen(path, "wb");
  FUZZ_RULE(f && fwrite(file, 1, n, f) == n && fclose(f) == 0, "%s cannot be written", path);
  free(file);
}

static void write_one(const char *from, const char *to) {
  uint8_t data[4096];
  FILE *f = fopen(from, "rb");
  FUZZ_RULE(f, "%s cannot be read", from);
  size_t n = fread(data, 1, sizeof data, f);
  fclose(f);
  write_program(data, n, to);
}

static void write_random(long n, uint64_t seed, const char *dir) {
  for (long i = 0; i < n; i++) {
    uint8_t data[PROGRAM_HEAD + 3 * PROGRAM_RECORD];
    char path[4096];
    for (size_t k = 0; k < sizeof data; k++) data[k] = (uint8_t)fuzz_next(&seed);
    data[0] = (uint8_t)(i % 4 == 3); /* most use moderate values only */
    snprintf(path, sizeof path, "%s/%ld.rush", dir, i);
    write_program(data, PROGRAM_HEAD + (1 + fuzz_next(&seed) % 3) * PROGRAM_RECORD, path);
  }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  char **a = *argv;
  if (*argc == 4 && strcmp(a[1], "--rush") == 0) {
    write_one(a[2], a[3]);
  } else if (*argc == 5 && strcmp(a[1], "--random") == 0) {
    write_random(atol(a[2]), (uint64_t)atol(a[3]), a[4]);
  } else {
    return 0;
  }
  exit(0);
}
