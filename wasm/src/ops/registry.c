/* The table of all operators, made from ops.def. */
#include "blocks/variants.h"
#include "call/call.h"

/* Every function and family record that a row names; an operator's file needs no header of its own.
 */
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

static const rush_op ops[] = {
#define OP(id, schema, flags) {schema, rush_op_##id, NULL, flags, NULL},
#define PREPARED(id, schema, flags) {schema, rush_op_##id, rush_prepare_##id, flags, NULL},
#define POINTWISE(id, schema, flags) \
  {schema, rush_run_pointwise, NULL, (flags) | RUSH_OP_ANY_LAYOUT, &rush_pointwise_##id},
#define REDUCE(id, schema, flags) \
  {schema, rush_run_reduce, NULL, (flags) | RUSH_OP_ANY_LAYOUT, &rush_reduce_##id},
#include "ops/ops.def"
#undef OP
#undef PREPARED
#undef POINTWISE
#undef REDUCE
    {NULL, NULL, NULL, 0, NULL}, /* so that the table is never empty */
};

size_t rush_op_count(void) {
  return sizeof ops / sizeof *ops - 1;
}

const rush_op *rush_op_at(size_t i) {
  return i < rush_op_count() ? &ops[i] : NULL;
}

/* Whether the schema is of the operator `head` + `tail`: its text up to the bracket. */
static bool is_named(const char *schema, const char *head, size_t n_head, const char *tail) {
  if (strncmp(schema, head, n_head) != 0) return false;
  size_t n_tail = strlen(tail);
  return strncmp(schema + n_head, tail, n_tail) == 0 && schema[n_head + n_tail] == '(';
}

/* A model's names are looked up once, when it is loaded: a linear search is quick enough. */
const rush_op *rush_op_find(const char *name, bool *inplace) {
  *inplace = false;
  size_t n = strlen(name);
  for (size_t i = 0; i < rush_op_count(); i++)
    if (is_named(ops[i].schema, name, n, "")) return &ops[i];
  const char *base = strstr(name, "::");
  const char *dot = base != NULL ? strchr(base, '.') : NULL;
  size_t head = dot != NULL ? (size_t)(dot - name) : n;
  if (head < 2 || name[head - 1] != '_') return NULL;
  for (size_t i = 0; i < rush_op_count(); i++) {
    if ((ops[i].flags & RUSH_OP_INPLACE) == 0) continue;
    if (!is_named(ops[i].schema, name, head - 1, name + head)) continue;
    *inplace = true;
    return &ops[i];
  }
  return NULL;
}
