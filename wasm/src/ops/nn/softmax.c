/* softmax and log_softmax over any dimension. */
#include "base/threads.h"
#include "call/define.h"
#include "kernels/normalize.h"
#include "tensor/layout.h"

enum { COLUMNS = 256 };

typedef struct rows {
  rush_ctx *ctx;
  rush_tensor *out;
  const rush_tensor *x;
  size_t n, inner, blocks; /* row length, element stride, rows per outer index */
  bool logarithm;
} rows;

/* Processes a range of items. An item is one row, or COLUMNS adjacent rows. */
static void some_rows(const void *arg, size_t begin, size_t end, unsigned who) {
  const rows *r = arg;
  const size_t n = r->n, inner = r->inner;
  const bool wide = r->x->dtype == RUSH_FLOAT64;
  rush_ctx *ctx = who == 0 ? r->ctx : NULL;
  for (size_t i = begin; i < end; i++) {
    const size_t column = i % r->blocks * COLUMNS, at = i / r->blocks * n * inner + column;
    const size_t m = inner - column < COLUMNS ? inner - column : COLUMNS;
    double *o64 = (double *)rush_data(r->out) + at;
    const double *x64 = (const double *)rush_data(r->x) + at;
    float *o32 = (float *)rush_data(r->out) + at;
    const float *x32 = (const float *)rush_data(r->x) + at;
    if (inner == 1 && wide)
      rush_softmax_row_f64(ctx, n, o64, x64, r->logarithm);
    else if (inner == 1)
      rush_softmax_row_f32(ctx, n, o32, x32, r->logarithm);
    else if (wide)
      rush_softmax_columns_f64(ctx, n, m, inner, o64, x64, r->logarithm);
    else
      rush_softmax_columns_f32(ctx, n, m, inner, o32, x32, r->logarithm);
  }
}

static void softmax_all(rush_ctx *ctx, rush_tensor *out, const rush_tensor *x, int dim,
                        bool logarithm) {
  rows r = {ctx, out, x, x->rank == 0 ? 1 : (size_t)x->sizes[dim], 1, 1, logarithm};
  size_t outer = 1;
  for (int d = 0; d < dim; d++) outer *= (size_t)x->sizes[d];
  for (int d = dim + 1; d < x->rank; d++) r.inner *= (size_t)x->sizes[d];
  r.blocks = (r.inner - 1) / COLUMNS + 1;
  const size_t width = r.inner < COLUMNS ? r.inner : COLUMNS;
  rush_parallel(ctx, outer * r.blocks, 4 * (uint64_t)r.n * width, some_rows, &r);
}

static rush_status run(rush_call *c, rush_tensor *self, rush_dtype dtype, bool logarithm) {
  rush_tensor *as, *x, *out;
  int dim;
  RUSH_CHECK_ARG(rush_is_float(dtype), "\"%s_lastdim_kernel_impl\" not implemented for '%s'",
                 logarithm ? "log_softmax" : "softmax", rush_dtype_torch_name(dtype));
  RUSH_TRY(arg_dim(c, 1, self->rank, &dim));
  RUSH_TRY(tmp_to(c, self, dtype, &as));
  RUSH_TRY(tmp_contiguous(c, as, &x));
  const bool reusable = x == self ? rush_can_reuse(c, 0) : !rush_is_turned(x);
  if (reusable && rush_is_plainly_contiguous(x)) {
    out = rush_tensor_retain(x);
    ret_tensor(c, 0, out);
  } else {
    RUSH_TRY(rush_result(c, 0, dtype, x->rank, x->sizes, &out));
  }
  if (x->numel > 0) softmax_all(c->ctx, out, x, dim, logarithm);
  return RUSH_OK;
}

static rush_status with_dtype(rush_call *c, bool logarithm) {
  rush_tensor *self = arg_tensor(c, 0);
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 2, self->dtype, &dtype));
  RUSH_TRY(tmp_rounded(c, self, 2, &self));
  return run(c, self, dtype, logarithm);
}
RUSH_OP(softmax) {
  return with_dtype(c, false);
}
RUSH_OP(log_softmax) {
  return with_dtype(c, true);
}
RUSH_OP(softmax_plain) {
  return run(c, arg_tensor(c, 0), arg_tensor(c, 0)->dtype, false);
}
RUSH_OP(log_softmax_plain) {
  return run(c, arg_tensor(c, 0), arg_tensor(c, 0)->dtype, true);
}
