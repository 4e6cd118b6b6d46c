/* Comparison of Python values: ==, <, `is` and others. */
#include "blocks/values.h"
#include "call/define.h"

/* Results of the comparisons. Only those that are asked for are computed. */
typedef struct answers {
  bool equal, less, greater;
} answers;
enum { EQUAL = 1, LESS = 2, GREATER = 4 };

static rush_status compare_arguments(const rush_call *c, int what, answers *out) {
  *out = (answers){false, false, false};
  const rush_value *a = &c->args[0], *b = &c->args[1];
  if (what & LESS) RUSH_TRY(rush_values_less(c->ctx, a, b, &out->less));
  if (what & GREATER) RUSH_TRY(rush_values_less(c->ctx, b, a, &out->greater));
  if ((what & EQUAL) && !out->less && !out->greater)
    RUSH_TRY(rush_values_equal(c->ctx, a, b, &out->equal));
  return RUSH_OK;
}

/* Returns whether any of the asked comparisons holds. */
static rush_status return_comparison(rush_call *c, int what) {
  answers answer;
  RUSH_TRY(compare_arguments(c, what, &answer));
  ret_bool(c, 0, answer.equal || answer.less || answer.greater);
  return RUSH_OK;
}

RUSH_OP(val_eq) {
  return return_comparison(c, EQUAL);
}
RUSH_OP(val_ne) {
  answers answer;
  RUSH_TRY(compare_arguments(c, EQUAL, &answer));
  ret_bool(c, 0, !answer.equal);
  return RUSH_OK;
}
RUSH_OP(val_lt) {
  return return_comparison(c, LESS);
}
RUSH_OP(val_gt) {
  return return_comparison(c, GREATER);
}
RUSH_OP(val_le) {
  return return_comparison(c, LESS | EQUAL);
} /* `!greater` would be wrong for NaN */
RUSH_OP(val_ge) {
  return return_comparison(c, GREATER | EQUAL);
}

static rush_status is_same_object(const rush_call *c, bool *out) {
  const rush_value *a = &c->args[0], *b = &c->args[1];
  *out = false;
  if (rush_is_object(a) && rush_is_object(b)) *out = a->u.ref == b->u.ref;
  if (rush_is_object(a) || a->kind != b->kind) return RUSH_OK;
  return rush_values_equal(c->ctx, a, b, out);
}
RUSH_OP(val_is) {
  bool is;
  RUSH_TRY(is_same_object(c, &is));
  ret_bool(c, 0, is);
  return RUSH_OK;
}
RUSH_OP(val_isnot) {
  bool is;
  RUSH_TRY(is_same_object(c, &is));
  ret_bool(c, 0, !is);
  return RUSH_OK;
}
