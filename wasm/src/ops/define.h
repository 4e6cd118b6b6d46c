/* How an operator's function begins: RUSH_OP(narrow) { ... }. It is declared on the spot, so that its file needs
 * no header of its own; registry.c declares it again, from ops.def. */
#ifndef RUSH_DEFINE_H
#define RUSH_DEFINE_H

#include "ops/op.h"

#define RUSH_OP(id)                       \
  rush_status rush_op_##id(rush_call *c); \
  rush_status rush_op_##id(rush_call *c)

/* The check that operators make most. */
#define RUSH_NEED(cond, ...) RUSH_CHECK(c->ctx, cond, RUSH_ERR_BAD_ARGUMENT, __VA_ARGS__)

#endif
