/* What becomes of quantised tensors at an operator's door. */
#ifndef RUSH_QUANTISED_H
#define RUSH_QUANTISED_H

#include "call/schema.h"

/* Whether a quantised tensor is among n arguments, or in a list there. */
bool rush_has_quantised(const rush_value *args, uint32_t n);

/* Runs an operator that has quantised arguments. One that takes them (RUSH_OP_QUANTISED, RUSH_OP_VIEW)
 * sees them; its quantised results stand for what the first of them stands for. One that PyTorch has
 * for them (RUSH_OP_IN_FLOATS) sees their numbers, and what it gives is quantised as the first was.
 * Others refuse. `args` are c->args. */
rush_status rush_call_quantised(rush_call *c, const rush_schema *schema, rush_value *args);

#endif
