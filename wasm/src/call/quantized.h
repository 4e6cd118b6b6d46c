/* What becomes of quantized tensors at an operator's door. */
#ifndef RUSH_QUANTIZED_H
#define RUSH_QUANTIZED_H

#include "call/schema.h"

/* Whoever makes a quantized tensor says so first: from then on what has quantized arguments is run by what this file has. */
void rush_enable_quantized(rush_heap *heap);

/* Runs an operator that has quantized arguments; false where it has none, and nothing is done. One
 * that takes them (RUSH_OP_QUANTIZED, RUSH_OP_VIEW) sees them; its quantized results stand for what the
 * first of them stands for. One that PyTorch has for them (RUSH_OP_IN_FLOATS) sees their numbers, and
 * what it gives is quantized as the first was. Others refuse. `schema` is the operator's rush_schema. */
bool rush_call_quantized(rush_call *c, const void *schema, rush_status *status);

#endif
