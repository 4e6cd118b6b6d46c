/* Operators that know nothing of the rare dtypes (RUSH_RARE) work on wider copies. */
#ifndef RUSH_WIDEN_H
#define RUSH_WIDEN_H

#include "call/schema.h"

/* What such an operator sees: a copy in float32 of float16 and bfloat16, in int32 of int8 and int16,
 * of a packed weight (as `is_packed` says, or its bytes are gone) a header; of any other dtype the
 * tensor itself. The caller drops it. */
rush_status rush_widen(rush_heap *heap, rush_tensor *t, bool is_packed, rush_tensor **out);

/* Where the schema has an argument `dtype`, else 0. */
uint32_t rush_dtype_arg(const rush_schema *schema);

/* Whether an argument `dtype` asks for a rare one. */
static inline bool rush_is_rare_dtype(const rush_value *v) {
  return v->kind == RUSH_KIND_INT && v->u.i >= 0 && v->u.i < 32 &&
         rush_is_one_of((rush_dtype)v->u.i, RUSH_RARE);
}

/* Runs the operator with wide copies of the rare tensors among `args`, which are c->args: each result
 * is rounded once, to the dtype of the first tensor of that kind, or to the one that argument
 * `dtype_arg` (0: there is none) asks for; written arguments are written back. Complex tensors are
 * refused. */
rush_status rush_call_widened(rush_call *c, const rush_schema *schema, rush_value *args,
                              uint32_t dtype_arg);

#endif
