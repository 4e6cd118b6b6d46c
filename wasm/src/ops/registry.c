/* Finds operators by name. */
#include "call/call.h"

size_t rush_op_count(void) {
  return rush_all_ops.n;
}

const rush_op *rush_op_at(size_t i) {
  return i < rush_op_count() ? &rush_all_ops.rows[i] : NULL;
}

bool rush_ops_slimmed(void) {
  return rush_all_ops.n < rush_all_ops.n_built;
}

/* Returns whether the schema's name, up to the bracket, is `head` + `tail`. */
static bool is_named(const char *schema, const char *head, size_t n_head, const char *tail) {
  if (strncmp(schema, head, n_head) != 0) return false;
  size_t n_tail = strlen(tail);
  return strncmp(schema + n_head, tail, n_tail) == 0 && schema[n_head + n_tail] == '(';
}

/* Names are looked up only once, when a model is loaded, so a linear search is fast enough. */
const rush_op *rush_op_find(const char *name, bool *inplace) {
  *inplace = false;
  const rush_op *ops = rush_all_ops.rows;
  size_t n = strlen(name);
  for (size_t i = 0; i < rush_op_count(); i++)
    if (is_named(ops[i].schema, name, n, "")) return &ops[i];
  const char *colon = strchr(name, ':'), *dot = colon != NULL ? strchr(colon, '.') : NULL;
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
