/* Pointwise operators as one walk over their elements: a block of each tensor goes through all of
 * them while it is in cache, and what only they read is never stored.
 *
 * They give what they would give one by one, bit by bit: the bodies are the same. What does not fit
 * (other sizes or another layout than the first result's, an operand whose dtype has to be brought to
 * the body's) is not taken in, and has to be computed alone. */
#ifndef RUSH_FUSED_H
#define RUSH_FUSED_H

#include "call/call.h"

typedef struct rush_fused rush_fused;

/* A walk of up to n steps (RUSH_MAX_CHAIN at most), which take `operands` values in all. */
rush_status rush_fused_new(rush_ctx *ctx, uint32_t n, uint32_t operands, rush_fused **out);
void rush_fused_destroy(rush_ctx *ctx, rush_fused *w); /* accepts NULL */

/* Appends the pointwise operator c->op on c->args, which `operands` name as rush_code does (fewer of
 * them where the last have defaults). *stand_in becomes what it will give, a tensor with sizes, strides
 * and dtype but no elements, for the arguments of later steps; stand-ins of all steps are an array of
 * the caller's, in their order. False, and nothing appended, where the walk cannot take the operator
 * in. */
bool rush_fused_add(rush_fused *w, rush_call *c, const uint32_t *operands, rush_tensor *stand_in);

/* Register r is no longer needed after step `last`: it is the result of step k (where k >= 0), or
 * another operand. What is not released stays. */
void rush_fused_release(rush_fused *w, int k, uint32_t r, uint32_t last);

/* Takes the operands of another run from their registers; false where one has another dtype or lies
 * otherwise. Numbers among them have to be the same. */
bool rush_fused_rebind(rush_fused *w, const rush_value *registers);

/* Computes. results[k]: that of step k, a new reference, or None where it was released. False where
 * the elements have to be computed one operator at a time, for want of memory or to say what is
 * wrong with them: nothing has been written. */
bool rush_fused_run(rush_fused *w, rush_ctx *ctx, rush_heap *heap, rush_value *results);

#endif
