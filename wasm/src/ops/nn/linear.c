/* linear, and the fused form with a clamp that the exporter makes from linear and an activation. */
#include <math.h>

#include "blocks/linear_any.h"
#include "blocks/packed_matmul.h"
#include "call/define.h"

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

static rush_status linear(rush_call *c, float min, float max) {
  rush_tensor *x = arg_tensor(c, 0);
  const rush_tensor *w = arg_tensor(c, 1);
  RUSH_TRY(check(c, x, w, arg_tensor(c, 2)));
  if (c->packed != NULL) return rush_linear_run(c, x, w->sizes[0], w->sizes[1], min, max);
  RUSH_CHECK(c->ctx, rush_optional_linear_any, RUSH_ERR_UNSUPPORTED,
             "this runtime was slimmed, and has no matrix products with this weight of %s: slim it "
             "for this file, too",
             rush_dtype_name(w->dtype));
  return rush_optional_linear_any(c, min, max);
}

RUSH_OP(linear) {
  return linear(c, -INFINITY, INFINITY);
}

RUSH_OP(rush_linear) {
  return linear(c, (float)arg_float(c, 3), (float)arg_float(c, 4));
}
