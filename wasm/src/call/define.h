/* How an operator's function begins: RUSH_OP(narrow) { ... }. It is declared on the spot, so that
 * its file needs no header of its own; table.c declares it again, from ops.def. */
#ifndef RUSH_DEFINE_H
#define RUSH_DEFINE_H

#include "call/call.h"

#define RUSH_OP(id)                       \
  rush_status rush_op_##id(rush_call *c); \
  rush_status rush_op_##id(rush_call *c)

/* The same for what it prepares (RUSH_PREPARE(linear) { ... }, of a rush_prepare *p), and for rows
 * of the skeletons: RUSH_POINTWISE(tanh) = {.operands = 1, ...};  (blocks/elements). */
#define RUSH_PREPARE(id)                          \
  rush_status rush_prepare_##id(rush_prepare *p); \
  rush_status rush_prepare_##id(rush_prepare *p)
#define RUSH_POINTWISE(id)                                \
  extern const struct rush_pointwise rush_pointwise_##id; \
  const struct rush_pointwise rush_pointwise_##id
#define RUSH_REDUCE(id)                             \
  extern const struct rush_reduce rush_reduce_##id; \
  const struct rush_reduce rush_reduce_##id

/* The check that operators make most. */
#define RUSH_CHECK_ARG(cond, ...) RUSH_CHECK(c->ctx, cond, RUSH_ERR_BAD_ARGUMENT, __VA_ARGS__)

#endif
