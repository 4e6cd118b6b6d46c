/* Compares results with PyTorch's by the rule of verdict.h. A difference gives MISMATCH and a
 * message with its position and size. */
#ifndef RUSH_COMPARE_H
#define RUSH_COMPARE_H

#include "exec/session.h"

/* Compares the answer to a test vector, with the vector's tolerances and the file's measures. */
rush_status rush_compare_answer(rush_session *s, const rush_value *got, const rush_value *want,
                                size_t test, rush_verify_report *report);
/* Compares any value. The absolute tolerance is relative to a tensor's greatest element if that is
 * above 1. `exact` is the float64 result or NULL. */
rush_status rush_compare_scaled(rush_session *s, const rush_value *got, const rush_value *want,
                                const rush_value *exact, double rtol, double atol,
                                rush_verify_report *report);

#endif
