/* Operands that share memory with what a row writes. The interpreter decides about them before it calls the
 * row, so that no row has to know: RUSH_OP_APART and RUSH_OP_SHARES (call.h) are the exceptions. */
#ifndef RUSH_APART_H
#define RUSH_APART_H

#include "call/schema.h"

/* Whether rush_call_apart has something to do: the row writes a tensor and takes others that may share
 * its memory. */
bool rush_wants_apart(const rush_op *op, const rush_schema *schema);

/* Replaces each tensor among `args`, which are c->args, that shares memory with one that the call writes
 * by a copy, or refuses it. A tensor in a list is refused. Two tensors that are both written may share
 * memory. */
rush_status rush_call_apart(rush_call *c, const rush_schema *schema, rush_value *args);

/* Does the same for one operand of a row that decides itself: `t` is what the row writes. */
rush_status rush_set_apart(rush_call *c, const rush_tensor *t, rush_value *v);

#endif
