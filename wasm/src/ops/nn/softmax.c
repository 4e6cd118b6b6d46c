/* softmax and log_softmax over any dimension. */
#include "call/define.h"
#include "kernels/normalize.h"
#include "tensor/layout.h"

enum { COLUMNS = 256 }; /* between two looks at the host's wish to stop */

static void softmax_all(rush_ctx *ctx, rush_tensor *out, const rush_tensor *x, int dim,
                        bool logarithm) {
  size_t n = x->rank == 0 ? 1 : (size_t)x->sizes[dim], outer = 1, inner = 1;
  for (int d = 0; d < dim; d++) outer *= (size_t)x->sizes[d];
  for (int d = dim + 1; d < x->rank; d++) inner *= (size_t)x->sizes[d];
  const bool wide = x->dtype == RUSH_FLOAT64;
  char *to = rush_data(out);
  const char *from = rush_data(x);
  const size_t step = n * inner * rush_itemsize(x);
  for (size_t k = 0; k < outer; k++, to += step, from += step) {
    void *o = to;
    const void *i = from;
    if (inner == 1) {
      if (rush_stops(ctx, 4 * n)) return;
      if (wide)
        rush_softmax_row_f64(n, o, i, logarithm);
      else
        rush_softmax_row_f32(n, o, i, logarithm);
      continue;
    }
    for (size_t at = 0; at < inner; at += COLUMNS) {
      const size_t m = inner - at < COLUMNS ? inner - at : COLUMNS;
      if (rush_stops(ctx, 4 * n * m)) return;
      if (wide)
        rush_softmax_columns_f64(n, m, inner, (double *)o + at, (const double *)i + at, logarithm);
      else
        rush_softmax_columns_f32(n, m, inner, (float *)o + at, (const float *)i + at, logarithm);
    }
  }
}

static rush_status run(rush_call *c, rush_dtype dtype, bool logarithm) {
  rush_tensor *self = arg_tensor(c, 0), *as, *x, *out;
  int dim;
  RUSH_NEED(rush_is_float(dtype), "\"%s_lastdim_kernel_impl\" not implemented for '%s'",
            logarithm ? "log_softmax" : "softmax", rush_dtype_word(dtype));
  RUSH_TRY(arg_dim(c, 1, self->rank, &dim));
  const bool reuse = self->dtype == dtype && rush_is_contiguous(self) && rush_can_reuse(c, 0);
  RUSH_TRY(tmp_to(c, self, dtype, &as));
  RUSH_TRY(tmp_contiguous(c, as, &x));
  if (reuse || (x != self && !rush_is_turned(x))) { /* ours to overwrite */
    out = rush_tensor_keep(x);
    ret_tensor(c, 0, out);
  } else {
    RUSH_TRY(rush_result(c, 0, dtype, x->rank, x->sizes, &out));
  }
  if (x->numel > 0) softmax_all(c->ctx, out, x, dim, logarithm);
  return RUSH_OK;
}

static rush_status with_dtype(rush_call *c, bool logarithm) {
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 2, arg_tensor(c, 0)->dtype, &dtype));
  return run(c, dtype, logarithm);
}
RUSH_OP(softmax) {
  return with_dtype(c, false);
}
RUSH_OP(log_softmax) {
  return with_dtype(c, true);
}
RUSH_OP(softmax_plain) {
  return run(c, arg_tensor(c, 0)->dtype, false);
}
RUSH_OP(log_softmax_plain) {
  return run(c, arg_tensor(c, 0)->dtype, true);
}
