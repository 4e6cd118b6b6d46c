/* Shared by the fuzzing targets: memory that is counted, limited and filled; rules that hold for
 * any bytes; and runs that end. A broken rule ends the process with a message. */
#ifndef RUSH_TESTS_FUZZ_H
#define RUSH_TESTS_FUZZ_H

#include <rushlight/rushlight.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FUZZ_LOAD_BYTES = 24 << 20, /* limit of a context's memory */
  FUZZ_RUN_STEPS = 2000,      /* instructions of one run */
  FUZZ_POLLS = 6,             /* polls of a context, one every million steps */
};

/* Ends the process with the rule's name if the rule does not hold. */
#define FUZZ_RULE(rule, ...)               \
  do {                                     \
    if (!(rule)) fuzz_broken(__VA_ARGS__); \
  } while (0)
void fuzz_broken(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The allocator's state. New memory is filled with `fill`. A read of uninitialized memory then
 * gives another answer with another fill. */
typedef struct fuzz_memory {
  size_t live, limit;
  uint64_t calls, fail_at; /* calls from this one (from 1) on fail; 0: none */
  uint8_t fill;
  bool refused; /* an allocation exceeded `limit` */
  /* Blocks of megabytes are memory that the system provides when it is touched; they are not
   * filled. */
  bool maps;
  unsigned polls, most_polls; /* a limit of 0 stands for FUZZ_POLLS */
  /* Seconds of work at which the running call began, and at which it was first asked to end (0: not
   * yet). */
  double began, asked;
} fuzz_memory;
void *fuzz_alloc(void *user, void *ptr, size_t old_size, size_t new_size);

/* Makes a context on `m` with the caller's limits. Returns NULL if that fails. */
rush_ctx *fuzz_open(fuzz_memory *m);
/* These enclose a call that may take long. It must end soon after the host asks it to (stop.h). */
void fuzz_begin(const rush_ctx *ctx);
void fuzz_end(const rush_ctx *ctx);
/* Destroys the context. No memory may leak. */
void fuzz_close(rush_ctx *ctx, fuzz_memory *m);

/* Checks that a failed call has a status of the API and a message in UTF-8. */
void fuzz_failed(const rush_ctx *ctx, rush_status st);
/* Describes the model in each form, and checks the JSON. */
void fuzz_describe(rush_ctx *ctx, const rush_model *model);
/* Reads all names, types and weights of the model. */
void fuzz_inspect(rush_ctx *ctx, const rush_model *model);
/* Steps a started run to its end, at most FUZZ_RUN_STEPS steps. Cancels a run that does not end. */
rush_status fuzz_finish(rush_ctx *ctx, rush_session *session, rush_value *result);
/* Replays each test vector, and runs each method without required arguments. Mixes the outcomes
 * into `hash` unless it is NULL. */
void fuzz_run_all(rush_ctx *ctx, const rush_model *model, uint64_t *hash);
/* Mixes the content of a value into `hash`. An endless value is read in part. */
void fuzz_read(rush_session *session, const rush_value *v, uint64_t *hash);

uint64_t fuzz_hash(uint64_t hash, const void *bytes, size_t n);
bool fuzz_is_utf8(const char *text, size_t n);
bool fuzz_is_json(const char *text, size_t n);

/* Bytes that make decisions, one after the other. Zeros follow the last byte. */
typedef struct fuzz_bytes {
  const uint8_t *at, *end;
} fuzz_bytes;
static inline uint8_t fuzz_u8(fuzz_bytes *b) {
  return b->at < b->end ? *b->at++ : 0;
}
/* Splits the input into a .rush file and the decisions after it. Without any, it derives some. */
size_t fuzz_split(const uint8_t *data, size_t size, fuzz_bytes *script, uint8_t made[64]);

/* Generates numbers from a seed (SplitMix64). */
static inline uint64_t fuzz_next(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* Entry points of libFuzzer (compiler-rt/lib/fuzzer/FuzzerInterface.h). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#ifdef __cplusplus
}
#endif

#endif
