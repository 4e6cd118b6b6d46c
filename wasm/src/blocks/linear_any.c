#include "blocks/linear_any.h"

#include "blocks/batched_matmul.h"
#include "blocks/packed_matmul.h"
#include "call/define.h"

static rush_status linear_any(rush_call *c, float min, float max) {
  const rush_tensor *x = arg_tensor(c, 0), *w = arg_tensor(c, 1), *bias = arg_tensor(c, 2);
  const int own = x->rank - 1;
  int64_t sizes[RUSH_MAX_RANK];
  const int64_t k = x->sizes[own], n = w->rank == 2 ? w->sizes[0] : 1;
  for (int d = 0; d < own; d++) sizes[d] = x->sizes[d];
  sizes[own] = n;
  rush_tensor *out;
  RUSH_TRY(rush_result(c, 0, x->dtype, w->rank == 2 ? own + 1 : own, sizes, &out));
  rush_matrices a = {rush_data(x), own > 0 ? x->strides[own - 1] : k, x->strides[own], {0}};
  rush_matrices b = {rush_data(w), w->strides[w->rank - 1], w->rank == 2 ? w->strides[0] : 1, {0}};
  rush_matrices to = {rush_data(out), n, 1, {0}};
  int64_t step = n * (own > 0 ? x->sizes[own - 1] : 1);
  for (int d = own - 2; d >= 0; step *= x->sizes[d], d--) {
    a.batch[d] = x->strides[d];
    to.batch[d] = step;
  }
  RUSH_TRY(rush_matmul_run(c->heap, x->dtype, own > 0 ? x->sizes[own - 1] : 1, n, k,
                           own > 1 ? own - 1 : 0, x->sizes, a, b, to));
  if (bias != NULL && out->numel > 0) {
    const rush_value one = rush_int(1);
    rush_tensor *matrix;
    RUSH_TRY(tmp_view(c, out, 2, (int64_t[]){out->numel / n, n}, (int64_t[]){n, 1}, 0, &matrix));
    rush_add_scaled(c->ctx, matrix, bias, &one, &one);
  }
  rush_clamp(c->ctx, out, min, max);
  return RUSH_OK;
}

rush_linear_any_fn *const rush_optional_linear_any = linear_any;
