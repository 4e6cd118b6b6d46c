/* Programs from the rows of ops.def: up to 12 operators with arguments that fit their schemas, some
 * of them in an IF or a LOOP, on constants that hurt, or on views of one memory. */
#ifndef RUSH_TESTS_FUZZ_PROGRAM_H
#define RUSH_TESTS_FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PROGRAM_HEAD = 4,    /* bytes before the first record */
  PROGRAM_RECORD = 32, /* bytes that decide about one instruction */
  PROGRAM_MOST = 12,   /* instructions */
};

/* The program that the bytes mean, whatever they are, as a file that the caller frees. Its method
 * `main` takes nothing and returns a tuple of the values it made last. */
uint8_t *program_of(const uint8_t *data, size_t size, size_t *file_size);
/* The file of an input: its bytes themselves where they are one, else that of the program that they
 * mean. `made` has to be freed, and may be NULL. */
typedef struct input {
  const uint8_t *file;
  size_t size;
  uint8_t *made;
  bool large; /* to be run with as much memory as wasm has: fuzz_memory.maps */
} input;
input input_of(const uint8_t *data, size_t size);

/* As LLVMFuzzerCustomMutator, for an input of either kind. */
size_t mutate_input(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#endif
