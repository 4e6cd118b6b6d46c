#ifndef RUSH_LINEAR_ANY_H
#define RUSH_LINEAR_ANY_H

#include "call/call.h"

/* Computes linear of checked arguments for the weights that are not packed: those that are
 * computed, those of another dtype or rank, and those whose bias is not a constant row. Limits are
 * those of rush::linear. */
typedef rush_status rush_linear_any_fn(rush_call *c, float min, float max);
/* `npx rushlight slim` sets it to NULL if its files pack all weights: see kernels/optional.h. */
extern rush_linear_any_fn *const rush_optional_linear_any;

#endif
