/* Operands that share memory with what a row writes. The interpreter decides about them before it calls the
 * row, so that no row has to know: RUSH_OP_NO_OVERLAP and RUSH_OP_MAY_OVERLAP (call.h) are the exceptions. */
#ifndef RUSH_OVERLAP_H
#define RUSH_OVERLAP_H

#include "call/schema.h"

/* The `family` of rows that write a tensor and take others: it resolves overlaps. */
typedef struct rush_overlap {
  /* Replaces each tensor among `args`, which are c->args, that shares memory with one that the call
   * writes by a copy, or refuses it. A tensor in a list is refused. Two tensors that are both written may
   * share memory. */
  rush_status (*resolve)(rush_call *c, const rush_schema *schema, rush_value *args);
} rush_overlap;
extern const rush_overlap rush_overlap_default;

/* Does the same for one operand of a row that decides itself: `t` is what the row writes. */
rush_status rush_overlap_copy(rush_call *c, const rush_tensor *t, rush_value *v);

#endif
