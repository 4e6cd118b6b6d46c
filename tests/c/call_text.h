/* Calls of one operator whose arguments are written, for tables: 3 and 2.5, N for None, T and F,
 * 'text', [a b] and (a b), f{2,3} for a tensor of float32 with the elements 0, 1, 2 .., f{2}=7 with
 * 7 everywhere, f{4}=7,8 with 7, 8, 7, 8; d h i j u s b c z are other dtypes (call_text.c). q{..}
 * and Q{..} are quantized to quint8 and qint8 with scale 0.5 and zero point 3, p{..} to quint8,
 * each row by its own scale. */
#ifndef RUSH_TESTS_CALL_TEXT_H
#define RUSH_TESTS_CALL_TEXT_H

#include "harness.h"

/* Loads forward(*args): return op(*args), runs it once and shows the first result, or what load or
 * run said. */
const char *call_text(rig *r, const char *op, const char *args);

/* A call, and what it must give. */
typedef struct call_row {
  const char *op, *args, *wanted;
} call_row;
/* Makes all calls and prints each whose answer does not fit `wanted`, so that one run names them
 * all. Returns how many those are. */
int call_rows(const call_row *rows, size_t n, bool (*fits)(const char *said, const char *wanted));

#endif
