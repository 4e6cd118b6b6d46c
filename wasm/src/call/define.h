/* Declares and begins an operator's function: RUSH_OP(narrow) { ... }. The declaration saves a
 * header per operator; table.c repeats it from ops.def. */
#ifndef RUSH_DEFINE_H
#define RUSH_DEFINE_H

#include "call/call.h"

#define RUSH_OP(id)                       \
  rush_status rush_op_##id(rush_call *c); \
  rush_status rush_op_##id(rush_call *c)

/* Do the same for its prepare function, which gets a rush_prepare *p (RUSH_PREPARE(linear) { ...
 * }), and for rows of the frameworks in blocks/elements (RUSH_POINTWISE(tanh) = {.operands = 1,
 * ...};). */
#define RUSH_PREPARE(id)                          \
  rush_status rush_prepare_##id(rush_prepare *p); \
  rush_status rush_prepare_##id(rush_prepare *p)
#define RUSH_POINTWISE(id)                                \
  extern const struct rush_pointwise rush_pointwise_##id; \
  const struct rush_pointwise rush_pointwise_##id
#define RUSH_REDUCE(id)                             \
  extern const struct rush_reduce rush_reduce_##id; \
  const struct rush_reduce rush_reduce_##id

/* The most frequent check in operators. */
#define RUSH_CHECK_ARG(cond, ...) RUSH_CHECK(c->ctx, cond, RUSH_ERR_BAD_ARGUMENT, __VA_ARGS__)

#endif
