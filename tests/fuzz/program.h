/* Makes programs from the rows of ops.def: up to 12 operators with arguments that fit their
 * schemas. Some are in an IF or a LOOP, and take extreme constants or views of one buffer. */
#ifndef RUSH_TESTS_FUZZ_PROGRAM_H
#define RUSH_TESTS_FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PROGRAM_HEAD = 4,    /* bytes before the first record */
  PROGRAM_RECORD = 32, /* bytes that determine one instruction */
  PROGRAM_MOST = 12,   /* instructions */
};

/* Makes a program from any bytes. Returns it as a file that the caller frees. Its method `main` has
 * no arguments and returns a tuple of the last values. */
uint8_t *program_of(const uint8_t *data, size_t size, size_t *file_size);
/* The file of an input: either its bytes, or the program made from them. The caller frees `made`,
 * which may be NULL. */
typedef struct input {
  const uint8_t *file;
  size_t size;
  uint8_t *made;
  bool large; /* run with wasm's memory size: fuzz_memory.maps */
} input;
input input_of(const uint8_t *data, size_t size);

/* Mutates an input of either kind as LLVMFuzzerCustomMutator does. */
size_t mutate_input(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#endif
