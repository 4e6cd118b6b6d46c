/* ==, <, `is` and their kin of Python values. */
#include "blocks/values.h"
#include "ops/define.h"

static rush_status give(rush_call *c, bool v) {
  ret_bool(c, 0, v);
  return RUSH_OK;
}
static bool equal(const rush_call *c) {
  return rush_equal(&c->args[0], &c->args[1]);
}
static bool less(const rush_call *c) {
  return rush_less(&c->args[0], &c->args[1]);
}
static bool greater(const rush_call *c) {
  return rush_less(&c->args[1], &c->args[0]);
}

RUSH_OP(val_eq) {
  return give(c, equal(c));
}
RUSH_OP(val_ne) {
  return give(c, !equal(c));
}
RUSH_OP(val_lt) {
  return give(c, less(c));
}
RUSH_OP(val_gt) {
  return give(c, greater(c));
}
RUSH_OP(val_le) {
  return give(c, less(c) || equal(c));
} /* not `!greater`: NaN */
RUSH_OP(val_ge) {
  return give(c, greater(c) || equal(c));
}

static bool same(const rush_call *c) {
  const rush_value *a = &c->args[0], *b = &c->args[1];
  if (rush_is_object(a) && rush_is_object(b)) return a->u.ref == b->u.ref;
  return a->kind == b->kind && rush_equal(a, b);
}
RUSH_OP(val_is) {
  return give(c, same(c));
}
RUSH_OP(val_isnot) {
  return give(c, !same(c));
}
