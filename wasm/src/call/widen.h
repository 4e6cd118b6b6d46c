/* Runs operators without support for rare dtypes (RUSH_RARE) on wider copies. */
#ifndef RUSH_WIDEN_H
#define RUSH_WIDEN_H

#include "call/schema.h"

/* Returns the tensor that such an operator sees: a float32 copy of float16 and bfloat16, an int32
 * copy of int8 and int16, or the tensor itself for other dtypes. If the weight `is_packed` or its
 * bytes were freed, it returns only a header. The caller drops the result. */
rush_status rush_widen(rush_heap *heap, rush_tensor *t, bool is_packed, rush_tensor **out);

/* Returns the index of the argument `dtype`, or 0 if the schema has none. */
uint32_t rush_dtype_arg(const rush_schema *schema);

/* Returns whether a `dtype` argument asks for a rare dtype. */
static inline bool rush_is_rare_dtype(const rush_value *v) {
  return v->kind == RUSH_KIND_INT && v->u.i >= 0 && v->u.i < 32 &&
         rush_is_one_of((rush_dtype)v->u.i, RUSH_RARE);
}

/* Runs the operator with wide copies of the rare tensors in `args` (which are c->args). Each result
 * is rounded once: to the dtype that argument `dtype_arg` asks for (0 if there is none), or to that
 * of the first tensor of the same kind. Written arguments are copied back. Complex tensors are
 * refused. */
rush_status rush_call_widened(rush_call *c, const rush_schema *schema, rush_value *args,
                              uint32_t dtype_arg);

#endif
