/* Damages .rush files so that they still look like one: header, table and gaps stay right, what the
 * records say does not. */
#ifndef RUSH_TESTS_FUZZ_MUTATE_H
#define RUSH_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As LLVMFuzzerCustomMutator. */
size_t mutate_file(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* The same where decisions stand behind the file: now the one, now the other. */
size_t mutate_file_and_script(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* A number that often hurts. */
int64_t hostile_number(uint64_t *random);

#ifdef __cplusplus
}
#endif

#endif
