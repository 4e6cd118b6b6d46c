/* Calls one operator with arguments written as text, for tables of tests. The text has 3 and 2.5, N
 * for None, T and F, 'text', [a b] and (a b). f{2,3} is a float32 tensor with the elements 0, 1, 2
 * .., f{2}=7 repeats 7, and f{4}=7,8 repeats 7, 8; d h i j u s b c z are other dtypes
 * (call_text.c). q{..} and Q{..} are quantized to quint8 and qint8 with scale 0.5 and zero point 3.
 * p{..} is quantized to quint8 with a scale for each row. */
#ifndef RUSH_TESTS_CALL_TEXT_H
#define RUSH_TESTS_CALL_TEXT_H

#include "harness.h"

/* Loads forward(*args): return op(*args), and runs it once. Returns the first result as text, or
 * the message of load or run. */
const char *call_text(rig *r, const char *op, const char *args);

/* A call and its expected answer or message. */
typedef struct call_row {
  const char *op, *args, *wanted;
} call_row;
/* Makes all calls and prints each whose answer does not fit `wanted`, so that one run names them
 * all. Returns how many those are. */
int call_rows(const call_row *rows, size_t n, bool (*fits)(const char *said, const char *wanted));

#endif
