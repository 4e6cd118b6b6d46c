/* What becomes of quantised tensors at an operator's door. */
#ifndef RUSH_QUANTISED_H
#define RUSH_QUANTISED_H

#include "call/schema.h"

/* Whoever makes a quantised tensor says so first: from then on what has quantised arguments is run by what this file has. */
void rush_know_quantised(rush_heap *heap);

/* Runs an operator that has quantised arguments; false where it has none, and nothing is done. One
 * that takes them (RUSH_OP_QUANTISED, RUSH_OP_VIEW) sees them; its quantised results stand for what the
 * first of them stands for. One that PyTorch has for them (RUSH_OP_IN_FLOATS) sees their numbers, and
 * what it gives is quantised as the first was. Others refuse. `schema` is the operator's rush_schema. */
bool rush_call_quantised(rush_call *c, const void *schema, rush_status *status);

#endif
