/* Fusion of pointwise operators into one pass over their elements. A block of each tensor goes
 * through all operators while it is in cache. Intermediate results are never stored.
 *
 * The results are bitwise equal to those of separate operators, because the bodies are the same.
 * An operator cannot be fused if its sizes or layout differ from the first result's, or if an
 * operand must be converted to the body's dtype. */
#ifndef RUSH_FUSED_H
#define RUSH_FUSED_H

#include "call/call.h"

typedef struct rush_fused rush_fused;

/* Creates a pass of up to n steps (at most RUSH_MAX_CHAIN) with `operands` operands in total. */
rush_status rush_fused_new(rush_ctx *ctx, uint32_t n, uint32_t operands, rush_fused **out);
void rush_fused_destroy(rush_ctx *ctx, rush_fused *w); /* accepts NULL */

/* Appends the pointwise operator c->op with arguments c->args. `operands` names them as rush_code
 * does; trailing ones with defaults may be missing. *stand_in becomes a placeholder for the result,
 * with sizes, strides and dtype but no elements, which later steps take as an argument. The caller
 * owns one array of the stand-ins of all steps, in order. Returns false, and appends nothing, if
 * the operator cannot be fused. */
bool rush_fused_add(rush_fused *w, rush_call *c, const uint32_t *operands, rush_tensor *stand_in);

/* Declares that register r is not read after step `last`. It is the result of step k, or another
 * operand if k < 0. Registers that are not released are stored. */
void rush_fused_release(rush_fused *w, int k, uint32_t r, uint32_t last);

/* Takes the operands of another run from the registers. Returns false if a dtype or a layout
 * differs, or if a number has another value. */
bool rush_fused_rebind(rush_fused *w, const rush_value *registers);

/* Runs all steps. results[k] becomes a new reference to the result of step k, or None if it was
 * released. Returns false, and writes nothing, if the operators must run one by one: if memory is
 * short, or to report an error. */
bool rush_fused_run(rush_fused *w, rush_ctx *ctx, rush_heap *heap, rush_value *results);

#endif
