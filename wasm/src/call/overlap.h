/* Operands that overlap a tensor that a row writes. The interpreter resolves them before it calls
 * the row. The exceptions are RUSH_OP_NO_OVERLAP and RUSH_OP_MAY_OVERLAP (call.h). */
#ifndef RUSH_OVERLAP_H
#define RUSH_OVERLAP_H

#include "call/schema.h"

/* The `family` of rows that write a tensor and have other tensor operands. */
typedef struct rush_overlap {
  /* Copies or refuses each tensor in `args` (which are c->args) that overlaps a tensor that the
   * call writes. A tensor in a list is refused. Two tensors that are both written may overlap. */
  rush_status (*resolve)(rush_call *c, const rush_schema *schema, rush_value *args);
} rush_overlap;
extern const rush_overlap rush_overlap_default;

/* Does the same for one operand of a row with RUSH_OP_MAY_OVERLAP. `t` is the tensor that the row
 * writes. */
rush_status rush_overlap_copy(rush_call *c, const rush_tensor *t, rush_value *v);

#endif
