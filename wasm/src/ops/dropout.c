/* Dropout in eval mode, which is nothing. Training draws random numbers and is refused. */
#include "ops/define.h"

/* input, p, train */
static rush_status check(rush_call *c) {
  const double p = arg_float(c, 1);
  const bool train = !arg_is_none(c, 2) && arg_bool(c, 2);
  RUSH_NEED(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got %g", p);
  RUSH_CHECK(c->ctx, !train || p == 0 || arg_tensor(c, 0)->numel == 0, RUSH_ERR_UNSUPPORTED,
             "dropout in training mode draws random numbers: export the model in eval mode");
  return RUSH_OK;
}

RUSH_OP(dropout) {
  RUSH_TRY(check(c));
  ret_keep(c, 0, &c->args[0]);
  return RUSH_OK;
}

RUSH_OP(native_dropout) {
  rush_tensor *out, *mask;
  const rush_tensor *self = arg_tensor(c, 0);
  RUSH_TRY(check(c));
  RUSH_TRY(rush_result_like(c, 0, self, (rush_dtype)self->dtype, &out));
  RUSH_TRY(rush_tensor_copy(c->heap, out, self));
  RUSH_TRY(rush_result_like(c, 1, self, RUSH_BOOL, &mask));
  if (mask->numel > 0) memset(rush_data(mask), 1, (size_t)mask->numel);
  return RUSH_OK;
}
