/* linear, and the fused form with a clamp that the exporter makes from linear and an activation. */
#include <math.h>

#include "blocks/batched_matmul.h"
#include "blocks/packed_matmul.h"
#include "call/define.h"
#include "kernels/gemm.h"

static rush_status prepare(rush_prepare *p) {
  const rush_tensor *w = rush_constant_matrix(p, 1);
  const float *bias;
  if (w == NULL || !rush_constant_bias(p, 2, w->sizes[0], &bias)) return RUSH_OK;
  p->consumed = 1u << 1 | 1u << 2;
  return rush_linear_pack(p, w, w->sizes[0], w->sizes[1], w->strides[0], w->strides[1], bias);
}
RUSH_PREPARE(linear) {
  return prepare(p);
}
RUSH_PREPARE(rush_linear) {
  return prepare(p);
}

/* PyTorch's messages come from the matrix products that implement linear. */
static rush_status check(rush_call *c, const rush_tensor *x, const rush_tensor *w,
                         const rush_tensor *bias) {
  char a[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(w->rank <= 2, "t() expects a tensor with <= 2 dimensions, but self is %dD",
                 w->rank);
  RUSH_CHECK_ARG(w->rank > 0 && x->rank > 0,
                 "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                 x->rank, w->rank);
  RUSH_CHECK_ARG(x->dtype == w->dtype,
                 "expected m1 and m2 to have the same dtype, but got: %s != %s",
                 rush_dtype_name(x->dtype), rush_dtype_name(w->dtype));
  RUSH_CHECK_ARG(x->dtype != RUSH_BOOL, "\"addmm_impl_cpu_\" not implemented for 'Bool'");
  const int64_t k = x->sizes[x->rank - 1];
  RUSH_CHECK_ARG(k == w->sizes[w->rank - 1],
                 "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                 (long long)(k > 0 ? x->numel / k : 0), (long long)k,
                 (long long)w->sizes[w->rank - 1], (long long)(w->rank == 2 ? w->sizes[0] : 1));
  if (bias == NULL) return RUSH_OK;
  RUSH_CHECK_ARG(w->rank == 2, "mat2 must be a matrix, got 1-D tensor");
  RUSH_CHECK_ARG(bias->dtype == x->dtype,
                 "self and mat2 must have the same dtype, but got %s and %s",
                 rush_dtype_name(bias->dtype), rush_dtype_name(w->dtype));
  /* The bias broadcasts to a matrix [rows][n], which linear adds to the product. */
  const int64_t n = w->sizes[0];
  int64_t rows = 1;
  for (int d = 0; d < x->rank - 1; d++) rows *= x->sizes[d];
  RUSH_CHECK_ARG(
      bias->rank <= 2 &&
          (bias->rank < 1 || bias->sizes[bias->rank - 1] == n ||
           bias->sizes[bias->rank - 1] == 1) &&
          (bias->rank < 2 || bias->sizes[0] == rows || bias->sizes[0] == 1),
      "The expanded size of the tensor (%lld) must match the existing size of the bias %s",
      (long long)n, rush_shape_text(bias->rank, bias->sizes, a));
  return RUSH_OK;
}

/* Limits that a file gives in the wrong order have the meaning of torch.clamp: all is `max`. */
static void clamp(rush_ctx *ctx, rush_tensor *out, float min, float max) {
  if (out->dtype != RUSH_FLOAT32 || (min == -INFINITY && max == INFINITY)) return;
  float *v = rush_data(out);
  for (size_t at = 0, some; rush_piece(ctx, (size_t)out->numel, 1, at, &some); at += some)
    for (size_t i = at; i < at + some; i++) {
      const float y = v[i] < min ? min : v[i];
      v[i] = y > max ? max : y;
    }
}

/* Handles the general case: any dtype, and weights that are not constant. */
static rush_status run(rush_call *c, float min, float max) {
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
  clamp(c->ctx, out, min, max);
  return RUSH_OK;
}

static rush_status linear(rush_call *c, float min, float max) {
  rush_tensor *x = arg_tensor(c, 0);
  const rush_tensor *w = arg_tensor(c, 1);
  RUSH_TRY(check(c, x, w, arg_tensor(c, 2)));
  if (c->packed != NULL) return rush_linear_run(c, x, w->sizes[0], w->sizes[1], min, max);
  return run(c, min, max);
}

RUSH_OP(linear) {
  return linear(c, -INFINITY, INFINITY);
}

RUSH_OP(rush_linear) {
  return linear(c, (float)arg_float(c, 3), (float)arg_float(c, 4));
}
