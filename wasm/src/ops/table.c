/* The table of all operators, made from ops.def. `npx rushlight slim` shortens this table in the
 * compiled binary, so the compiler must not see its rows where it is read. That code is in
 * registry.c. */
#include "blocks/variants.h"
#include "call/overlap.h"

/* Declares the function or family record of each row, so that an operator's file needs no
 * header. */
#define OP(id, schema, flags) rush_status rush_op_##id(rush_call *c);
#define PREPARED(id, schema, flags)       \
  rush_status rush_op_##id(rush_call *c); \
  rush_status rush_prepare_##id(rush_prepare *p);
#define POINTWISE(id, schema, flags) extern const struct rush_pointwise rush_pointwise_##id;
#define REDUCE(id, schema, flags) extern const struct rush_reduce rush_reduce_##id;
#include "ops/ops.def"
#undef OP
#undef PREPARED
#undef POINTWISE
#undef REDUCE

rush_status rush_run_pointwise(rush_call *c);
rush_status rush_run_reduce(rush_call *c);

/* Rows that write declare it here, so that only they link the code that checks operands for
 * overlap. */
#define APART(flags)                                                                  \
  (((flags) & (RUSH_OP_INPLACE | RUSH_OP_WRITES)) && !((flags) & RUSH_OP_MAY_OVERLAP) \
       ? &rush_overlap_default                                                        \
       : NULL)

static const rush_op ops[] = {
#define OP(id, schema, flags) {schema, rush_op_##id, NULL, (flags) | OF_FAMILY, APART(flags)},
#define PREPARED(id, schema, flags) \
  {schema, rush_op_##id, rush_prepare_##id, (flags) | OF_FAMILY, APART(flags)},
#define POINTWISE(id, schema, flags)                                            \
  {schema, rush_run_pointwise, NULL,                                            \
   (flags) | RUSH_OP_ANY_LAYOUT | RUSH_OP_ANY_DTYPE | RUSH_OP_COMPLEX_NUMBERS | \
       RUSH_OP_MAY_OVERLAP,                                                     \
   &rush_pointwise_##id},
#define REDUCE(id, schema, flags)                                                   \
  {schema, rush_run_reduce, NULL, (flags) | RUSH_OP_ANY_LAYOUT | RUSH_OP_ANY_DTYPE, \
   &rush_reduce_##id},
#include "ops/ops.def"
#undef OP
#undef PREPARED
#undef POINTWISE
#undef REDUCE
    {NULL, NULL, NULL, 0, NULL}, /* keeps the table from being empty */
};

enum { N_OPS = sizeof ops / sizeof *ops - 1 };
const rush_op_table rush_all_ops = {ops, N_OPS, N_OPS};
