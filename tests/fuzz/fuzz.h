/* What the fuzzing targets share: memory that counts, limits and fills; the rules that hold for
 * whatever bytes; runs that end. What breaks a rule stops the process with a sentence. */
#ifndef RUSH_TESTS_FUZZ_H
#define RUSH_TESTS_FUZZ_H

#include <rushlight/rushlight.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FUZZ_LOAD_BYTES = 24 << 20, /* that a context may hold */
  FUZZ_RUN_STEPS = 2000,      /* instructions of one run */
  FUZZ_POLLS = 6, /* times that a context may ask whether to stop: a million steps each */
};

/* Stops where the rule does not hold; says which. */
#define FUZZ_RULE(rule, ...)               \
  do {                                     \
    if (!(rule)) fuzz_broken(__VA_ARGS__); \
  } while (0)
void fuzz_broken(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The allocator's state. New memory is filled with `fill`: who reads it before writing gives
 * another answer with another fill. */
typedef struct fuzz_memory {
  size_t live, limit;
  uint64_t calls, fail_at; /* that call (counted from 1) and later ones fail; 0: none */
  uint8_t fill;
  bool refused; /* something was beyond `limit` */
  /* Blocks of megabytes are memory that the system provides when it is touched; they are not
   * filled. */
  bool maps;
  unsigned polls, most_polls; /* most: 0 for FUZZ_POLLS */
  /* Seconds of work at which the running call began, and at which it was first asked to end (0: not
   * yet). */
  double began, asked;
} fuzz_memory;
void *fuzz_alloc(void *user, void *ptr, size_t old_size, size_t new_size);

/* A context on `m`, whose limits are the caller's; NULL where even that fails. */
rush_ctx *fuzz_open(fuzz_memory *m);
/* Around a call that may work for long: once it has been asked to end, it does so soon (stop.h). */
void fuzz_begin(const rush_ctx *ctx);
void fuzz_end(const rush_ctx *ctx);
/* Destroys it: nothing may be left. */
void fuzz_close(rush_ctx *ctx, fuzz_memory *m);

/* A failed call has a status of the API and a message in UTF-8. */
void fuzz_failed(const rush_ctx *ctx, rush_status st);
/* Describes the model in each form; what is called JSON must be. */
void fuzz_describe(rush_ctx *ctx, const rush_model *model);
/* Reads all of the model's names, types and weights. */
void fuzz_inspect(rush_ctx *ctx, const rush_model *model);
/* Steps a run that has begun to its end, at most FUZZ_RUN_STEPS; a run that stays behind is given
 * up. */
rush_status fuzz_finish(rush_ctx *ctx, rush_session *session, rush_value *result);
/* Replays each test vector, and runs each method that needs no arguments. `hash` (or NULL) gets
 * what came of it. */
void fuzz_run_all(rush_ctx *ctx, const rush_model *model, uint64_t *hash);
/* Mixes all that a value says into `hash`; values without end are read in part. */
void fuzz_read(rush_session *session, const rush_value *v, uint64_t *hash);

uint64_t fuzz_hash(uint64_t hash, const void *bytes, size_t n);
bool fuzz_is_utf8(const char *text, size_t n);
bool fuzz_is_json(const char *text, size_t n);

/* Bytes that decide, one after the other; zeros behind the end. */
typedef struct fuzz_bytes {
  const uint8_t *at, *end;
} fuzz_bytes;
static inline uint8_t fuzz_u8(fuzz_bytes *b) {
  return b->at < b->end ? *b->at++ : 0;
}
static inline uint32_t fuzz_u32(fuzz_bytes *b) {
  uint32_t v = 0;
  for (int k = 0; k < 4; k++) v = v << 8 | fuzz_u8(b);
  return v;
}
/* The .rush file in the input, and the decisions behind it; where it has none, some made of it. */
size_t fuzz_split(const uint8_t *data, size_t size, fuzz_bytes *script, uint8_t made[64]);

/* Numbers from a seed (SplitMix64). */
static inline uint64_t fuzz_next(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* libFuzzer's (compiler-rt/lib/fuzzer/FuzzerInterface.h). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#ifdef __cplusplus
}
#endif

#endif
