/* isclose, allclose, equal. */
#include <math.h>

#include "blocks/elements/shared_rows.h"
#include "call/define.h"

/* x - y| <= atol + rtol |y|. s is rtol, t is atol, and i[0] is equal_nan. */
#define CLOSE(abs_, atol)                                                   \
  (x == y || (x - y - (x - y) == 0 && abs_(x - y) <= atol + abs_(s * y)) || \
   (p->i[0] != 0 && x != x && y != y))
RUSH_BODY_2(close_f32, float, uint8_t, CLOSE(fabsf, t))
RUSH_BODY_2(close_f64, double, uint8_t, CLOSE(fabs, t))
RUSH_BODY_2(close_c128, rush_c128, uint8_t, CLOSE(cabs, p->f[1]))

/* self, other, rtol, atol, equal_nan */
static rush_status setup_isclose(rush_call *c, rush_pw_job *job) {
  RUSH_CHECK_ARG(arg_tensor(c, 0)->dtype == arg_tensor(c, 1)->dtype, "%s did not match %s",
                 rush_dtype_torch_name(arg_tensor(c, 0)->dtype),
                 rush_dtype_torch_name(arg_tensor(c, 1)->dtype));
  job->p.f[0] = arg_float(c, 2);
  job->p.f[1] = arg_float(c, 3);
  job->p.i[0] = arg_bool(c, 4);
  RUSH_CHECK_ARG(job->p.f[0] >= 0, "rtol must be greater than or equal to zero, but got %g",
                 job->p.f[0]);
  RUSH_CHECK_ARG(job->p.f[1] >= 0, "atol must be greater than or equal to zero, but got %g",
                 job->p.f[1]);
  if (rush_is_integral(job->common)) job->common = RUSH_FLOAT64;
  return RUSH_OK;
}
RUSH_POINTWISE(isclose) = {.operands = 2,
                           .flags = RUSH_PW_TO_BOOL,
                           .f32 = close_f32,
                           .f64 = close_f64,
                           .c128 = close_c128,
                           .setup = setup_isclose};

static rush_status all_of(rush_call *c, const rush_pointwise *row, bool *yes) {
  rush_tensor *each, *all;
  RUSH_TRY(rush_pointwise_on(c, row, c->n_args, c->args, &each));
  const rush_value args[] = {rush_of_tensor(tmp_take(c, each))};
  RUSH_TRY(rush_reduce_on(c, &rush_reduce_all, 1, args, &all));
  *yes = *(const uint8_t *)rush_data(tmp_take(c, all)) != 0;
  return RUSH_OK;
}

RUSH_OP(allclose) {
  bool yes;
  RUSH_TRY(all_of(c, &rush_pointwise_isclose, &yes));
  ret_bool(c, 0, yes);
  return RUSH_OK;
}
RUSH_OP(equal) {
  bool yes = false;
  if (rush_same_sizes(arg_tensor(c, 0), arg_tensor(c, 1)))
    RUSH_TRY(all_of(c, &rush_pointwise_eq, &yes));
  ret_bool(c, 0, yes);
  return RUSH_OK;
}
