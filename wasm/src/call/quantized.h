/* Calls operators with quantized arguments. */
#ifndef RUSH_QUANTIZED_H
#define RUSH_QUANTIZED_H

#include "call/schema.h"

/* Must be called before the first quantized tensor is created. From then on, this file runs the
 * calls with quantized arguments. */
void rush_enable_quantized(rush_heap *heap);

/* Runs an operator with quantized arguments, or returns false and does nothing if it has none.
 * RUSH_OP_QUANTIZED and RUSH_OP_VIEW see the tensors themselves, and quantized results get the
 * scales and zero points of the first one. RUSH_OP_IN_FLOATS sees dequantized tensors, and its
 * results are quantized like the first one. Other operators refuse. `schema` is the operator's
 * rush_schema. */
bool rush_call_quantized(rush_call *c, const void *schema, rush_status *status);

#endif
