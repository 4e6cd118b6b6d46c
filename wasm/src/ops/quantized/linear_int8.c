/* linear with an int8 weight and an input that is dynamically quantized per row. */
#include "blocks/packed_int8.h"
#include "blocks/packed_matmul.h"
#include "call/define.h"

enum { WEIGHT = 1, SCALES, BIAS, MIN, MAX, FITS = 1 << 16 /* terms of a sum in 32 bits */ };

RUSH_PREPARE(linear_int8) {
  const rush_tensor *w = rush_constant_of(p, WEIGHT, RUSH_INT8, 2);
  const rush_tensor *scales = rush_constant_of(p, SCALES, RUSH_FLOAT32, 1);
  const float *bias;
  if (w == NULL || scales == NULL || scales->sizes[0] != w->sizes[0] ||
      !rush_constant_bias(p, BIAS, w->sizes[0], &bias))
    return RUSH_OK;
  p->consumed = 1u << WEIGHT | 1u << SCALES | 1u << BIAS;
  return rush_int8_prepare(p, (size_t)w->sizes[0], (size_t)w->sizes[1], rush_data(w),
                           rush_data(scales), NULL, bias);
}

static rush_status check(rush_call *c, const rush_tensor *x, const rush_tensor *w,
                         const rush_tensor *scales, const rush_tensor *bias) {
  RUSH_CHECK_ARG(x->rank > 0 && x->dtype == RUSH_FLOAT32, "linear_int8: the input must be float32");
  RUSH_CHECK_ARG(w->rank == 2 && w->dtype == RUSH_INT8,
                 "linear_int8: the weight must be a matrix of int8");
  RUSH_CHECK_ARG(x->sizes[x->rank - 1] == w->sizes[1],
                 "linear_int8: the last dimension of the input must be %lld, got %lld",
                 (long long)w->sizes[1], (long long)x->sizes[x->rank - 1]);
  RUSH_TRY(rush_check_int8_sum(c->ctx, (size_t)w->sizes[1], FITS));
  RUSH_CHECK_ARG(scales->rank == 1 && scales->dtype == RUSH_FLOAT32 && scales->numel == w->sizes[0],
                 "linear_int8: there must be a scale for each of %lld rows",
                 (long long)w->sizes[0]);
  RUSH_CHECK_ARG(bias == NULL ||
                     (bias->rank == 1 && bias->dtype == RUSH_FLOAT32 && bias->numel == w->sizes[0]),
                 "linear_int8: bias must have %lld float32 elements", (long long)w->sizes[0]);
  return RUSH_OK;
}

static rush_status pack(rush_call *c, const void **packed) {
  rush_tensor *w, *scales, *bias = NULL;
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, WEIGHT), &w));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, SCALES), &scales));
  if (!arg_is_none(c, BIAS)) RUSH_TRY(tmp_contiguous(c, arg_tensor(c, BIAS), &bias));
  return rush_int8_pack_call(c, (size_t)w->sizes[0], (size_t)w->sizes[1], rush_data(w),
                             rush_data(scales), NULL, bias == NULL ? NULL : rush_data(bias),
                             packed);
}

static rush_status compute(rush_call *c, rush_tensor *x) {
  const rush_tensor *w = arg_tensor(c, WEIGHT);
  RUSH_TRY(check(c, x, w, arg_tensor(c, SCALES), arg_tensor(c, BIAS)));
  const int64_t n = w->sizes[0], k = w->sizes[1];
  const void *packed = rush_packed_data(c->packed);
  rush_linear_rows r;
  rush_int8_rows rows;
  if (packed == NULL) RUSH_TRY(pack(c, &packed));
  RUSH_TRY(rush_linear_begin(c, x, n, &r));
  if (r.y == NULL) return RUSH_OK;
  RUSH_TRY(rush_int8_rows_new(c, (int64_t)r.m, k, &rows));
  rush_int8_rows_of_floats(c->ctx, r.x, r.stride, &rows);
  rush_int8_gemm(c->ctx, &rows, (size_t)n, packed, r.y, (size_t)n, (float)arg_float(c, MIN),
                 (float)arg_float(c, MAX));
  return RUSH_OK;
}

/* input [..., k], weight [n, k] of int8, scales [n], bias [n] or None, min, max. Returns [..., n]
 * of the input's dtype: float32, or a half-precision one. */
RUSH_OP(linear_int8) {
  return rush_linear_in_floats(c, compute);
}
