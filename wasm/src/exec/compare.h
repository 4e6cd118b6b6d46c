/* Comparing what came with what PyTorch gave, by the rule of verdict.h. MISMATCH, and a message that
 * says where in the value and how much, where they differ. */
#ifndef RUSH_COMPARE_H
#define RUSH_COMPARE_H

#include "exec/session.h"

/* The answer to a test vector, with the vector's tolerances and the file's measures. */
rush_status rush_compare_answer(rush_session *s, const rush_value *got, const rush_value *want,
                                size_t test, rush_verify_report *report);
/* Any value, with an absolute tolerance that is relative to a tensor's greatest element where that
 * is above 1. `exact`: float64's, or NULL. */
rush_status rush_compare_scaled(rush_session *s, const rush_value *got, const rush_value *want,
                                const rush_value *exact, double rtol, double atol,
                                rush_verify_report *report);

#endif
