/* Operands that share memory with what a row writes. The interpreter decides about them before it calls the
 * row, so that no row has to know: RUSH_OP_APART and RUSH_OP_SHARES (call.h) are the exceptions. */
#ifndef RUSH_APART_H
#define RUSH_APART_H

#include "call/schema.h"

/* How operands are parted: `family` of rows that write a tensor and take others. */
typedef struct rush_apart {
  /* Replaces each tensor among `args`, which are c->args, that shares memory with one that the call
   * writes by a copy, or refuses it. A tensor in a list is refused. Two tensors that are both written may
   * share memory. */
  rush_status (*part)(rush_call *c, const rush_schema *schema, rush_value *args);
} rush_apart;
extern const rush_apart rush_apart_of;

/* Does the same for one operand of a row that decides itself: `t` is what the row writes. */
rush_status rush_set_apart(rush_call *c, const rush_tensor *t, rush_value *v);

#endif
