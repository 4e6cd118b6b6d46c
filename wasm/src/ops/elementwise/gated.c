/* Operators that run pointwise functions on views of their arguments: glu, prelu and
 * cosine_similarity. */
#include <math.h>

#include "blocks/elements/shared_rows.h"
#include "call/define.h"
#include "kernels/elementary.h"

/* ---- glu ------------------------------------------------------------------------------------- */

static void gate_f32(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const float *x = in[0], *gate = in[1];
  float *o = out, g[256];
  (void)p;
  for (size_t at = 0; at < n; at += 256) {
    const size_t m = n - at < 256 ? n - at : 256;
    rush_sigmoid_f32(m, g, gate + at);
    for (size_t i = 0; i < m; i++) o[at + i] = x[at + i] * g[i];
  }
}
RUSH_BODY_2(gate_f64, double, double, x *rush_sigmoid_ref(y))
static const rush_pointwise gate = {.operands = 2, .f32 = gate_f32, .f64 = gate_f64};

/* self, dim */
RUSH_OP(glu) {
  rush_tensor *self = arg_tensor(c, 0), *halves[2], *out;
  int64_t sizes[RUSH_MAX_RANK];
  int dim;
  RUSH_CHECK_ARG(self->rank > 0, "glu does not support 0-dimensional tensors");
  RUSH_TRY(arg_dim(c, 1, self->rank, &dim));
  RUSH_CHECK_ARG(self->sizes[dim] % 2 == 0,
                 "Halving dimension must be even, but dimension %d is size %lld", dim,
                 (long long)self->sizes[dim]);
  memcpy(sizes, self->sizes, sizeof sizes);
  sizes[dim] /= 2;
  for (int k = 0; k < 2; k++) {
    const int64_t offset = self->offset + k * sizes[dim] * self->strides[dim];
    RUSH_TRY(rush_tensor_new_part(c->heap, self, sizes, offset, &halves[k]));
    tmp_take(c, halves[k]);
  }
  const rush_value args[] = {rush_of_tensor(halves[0]), rush_of_tensor(halves[1])};
  RUSH_TRY(rush_pointwise_on(c, &gate, 2, args, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

/* ---- prelu: weight has one element, or one per channel --------------------------------------- */

RUSH_OP(prelu) {
  rush_tensor *self = arg_tensor(c, 0), *weight = arg_tensor(c, 1), *view, *out;
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  RUSH_CHECK_ARG(self->dtype == weight->dtype, "prelu: Type promoting not supported. Got %s and %s",
                 rush_dtype_torch_name(self->dtype), rush_dtype_torch_name(weight->dtype));
  RUSH_CHECK_ARG(weight->rank <= 1,
                 "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d",
                 weight->rank);
  const int64_t channels = self->rank > 1 ? self->sizes[1] : 1;
  RUSH_CHECK_ARG(
      weight->numel == 1 || (self->rank > 0 && weight->numel == channels),
      "Mismatch of parameter numbers and input channel size. Found parameter numbers = %lld "
      "and channel size = "
      "%lld.",
      (long long)weight->numel, (long long)channels);
  const bool one = weight->numel == 1;
  for (int d = 0; d < self->rank; d++) {
    sizes[d] = d == 1 && !one ? channels : 1;
    strides[d] = d == 1 && !one ? weight->strides[0] : 0;
  }
  RUSH_TRY(tmp_view(c, weight, self->rank, sizes, strides, weight->offset, &view));
  const rush_value args[] = {c->args[0], rush_of_tensor(view)};
  RUSH_TRY(rush_pointwise_on(c, &rush_pointwise_prelu_kernel, 2, args, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

/* ---- cosine_similarity: x1, x2, dim, eps ----------------------------------------------------- */

/* Returns x / max(norm(x over dim), eps). */
static rush_status unit(rush_call *c, rush_tensor *x, int64_t dim, double eps, rush_tensor **out) {
  rush_tensor *norm, *limited;
  const rush_value of_norm[] = {rush_of_tensor(x), rush_int(2), rush_int(dim), rush_bool(true)};
  RUSH_TRY(rush_reduce_on(c, &rush_reduce_norm_dim, 4, of_norm, &norm));
  tmp_take(c, norm);
  const rush_value of_limit[] = {rush_of_tensor(norm), rush_float(eps)};
  RUSH_TRY(rush_pointwise_on(c, &rush_pointwise_clamp_min, 2, of_limit, &limited));
  tmp_take(c, limited);
  const rush_value of_div[] = {rush_of_tensor(x), rush_of_tensor(limited)};
  RUSH_TRY(rush_pointwise_on(c, &rush_pointwise_div, 2, of_div, out));
  tmp_take(c, *out);
  return RUSH_OK;
}

RUSH_OP(cosine_similarity) {
  rush_tensor *u[2], *product, *out;
  const double eps = arg_float(c, 3);
  int64_t sizes[RUSH_MAX_RANK];
  int rank, dim;
  rush_dtype dtype = arg_result_type(c, 3);
  RUSH_CHECK_ARG(rush_is_float(dtype),
                 "expected common dtype to be floating point, yet common dtype is %s",
                 rush_dtype_torch_name(dtype));
  const rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
  RUSH_CHECK_ARG(rush_broadcast(a->rank, a->sizes, b->rank, b->sizes, &rank, sizes),
                 "cosine_similarity: the shapes do not broadcast");
  RUSH_TRY(arg_dim(c, 2, rank, &dim));
  for (uint32_t k = 0; k < 2; k++) {
    const rush_tensor *t = arg_tensor(c, k);
    int64_t strides[RUSH_MAX_RANK];
    rush_tensor *wide, *x;
    for (int d = 0; d < rank; d++) {
      const int e = d - (rank - t->rank);
      strides[d] = e < 0 || t->sizes[e] != sizes[d] ? 0 : t->strides[e];
    }
    RUSH_TRY(tmp_view(c, t, rank, sizes, strides, t->offset, &wide));
    RUSH_TRY(tmp_to(c, wide, rush_is_integral(t->dtype) ? dtype : t->dtype, &x));
    RUSH_TRY(unit(c, x, dim, eps, &u[k]));
  }
  const rush_value factors[] = {rush_of_tensor(u[0]), rush_of_tensor(u[1])};
  RUSH_TRY(rush_pointwise_on(c, &rush_pointwise_mul, 2, factors, &product));
  tmp_take(c, product);
  const rush_value args[] = {rush_of_tensor(product), rush_int(dim), rush_bool(false), rush_none()};
  RUSH_TRY(rush_reduce_on(c, &rush_reduce_sum_dim, 4, args, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}
