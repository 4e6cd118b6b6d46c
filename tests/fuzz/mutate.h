/* Damages .rush files so that they still look like one: header, table and gaps stay valid, but the
 * records do not. */
#ifndef RUSH_TESTS_FUZZ_MUTATE_H
#define RUSH_TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Mutates as LLVMFuzzerCustomMutator does. */
size_t mutate_file(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* Mutates either the file or the decisions after it. */
size_t mutate_file_and_script(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* Returns a number that often reveals faults. */
int64_t hostile_number(uint64_t *random);

#ifdef __cplusplus
}
#endif

#endif
