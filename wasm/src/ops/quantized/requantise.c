/* Exact sums of products of 8-bit integers as such integers again. */
#include <math.h>

#include "call/define.h"
#include "call/quantised.h"
#include "kernels/int8.h"
#include "tensor/layout.h"
#include "tensor/quant.h"

enum { INPUT, SUMS, SCALES, BIAS, QNNPACK, SCALE, ZERO_POINT, RELU };

/* What the kernel wants of each channel. */
static rush_status channels_of(rush_call *c, double input_scale, int64_t n, rush_requantised *to) {
  rush_tensor *scales, *bias;
  int32_t *steps = NULL;
  float *factors;
  const float unit = (float)arg_float(c, SCALE), inverse = 1.0f / unit;
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, SCALES), &scales));
  RUSH_TRY(tmp_items(c, n, sizeof *factors, (void **)&factors));
  const double *scale = rush_data(scales);
  *to = (rush_requantised){
      .factors = factors, .inverse = inverse, .rounds_first = arg_bool(c, QNNPACK)};
  if (!arg_is_none(c, BIAS)) {
    RUSH_TRY(tmp_contiguous(c, arg_tensor(c, BIAS), &bias));
    to->bias = rush_data(bias);
  }
  if (!to->rounds_first) {
    for (int64_t i = 0; i < n; i++) factors[i] = (float)(scale[i] * input_scale);
    return RUSH_OK;
  }
  for (int64_t i = 0; i < n; i++) {
    const float both = (float)scale[i] * (float)input_scale;
    factors[i] = both * inverse;
  }
  if (to->bias == NULL) return RUSH_OK;
  RUSH_TRY(tmp_items(c, n, sizeof *steps, (void **)&steps));
  for (int64_t i = 0; i < n; i++) {
    const float step = 1.0f / (float)(scale[i] * input_scale);
    steps[i] = (int32_t)rush_int_of((double)rintf(to->bias[i] * step));
  }
  to->steps = steps;
  return RUSH_OK;
}

static rush_status check(rush_call *c) {
  const rush_tensor *x = arg_tensor(c, INPUT), *sums = arg_tensor(c, SUMS);
  const rush_tensor *scales = arg_tensor(c, SCALES), *bias = arg_tensor(c, BIAS);
  RUSH_NEED((x->dtype == RUSH_QUINT8 || x->dtype == RUSH_QINT8) && rush_quant_of(x)->axis < 0,
            "requantise: a tensor of bytes, quantised as a whole, was wanted");
  RUSH_NEED(sums->dtype == RUSH_INT32 && sums->rank >= 2, "requantise: sums of int32 were wanted");
  RUSH_NEED(scales->rank == 1 && scales->dtype == RUSH_FLOAT64 && scales->numel == sums->sizes[1],
            "requantise: a scale for each of %lld channels was wanted", (long long)sums->sizes[1]);
  RUSH_NEED(bias == NULL ||
                (bias->rank == 1 && bias->dtype == RUSH_FLOAT32 && bias->numel == sums->sizes[1]),
            "requantise: a bias of %lld numbers was wanted", (long long)sums->sizes[1]);
  const int64_t zero = arg_int(c, ZERO_POINT);
  RUSH_NEED(zero >= (x->dtype == RUSH_QINT8 ? INT8_MIN : 0) &&
                zero <= (x->dtype == RUSH_QINT8 ? INT8_MAX : UINT8_MAX),
            "requantise: zero point %lld", (long long)zero);
  return RUSH_OK;
}

/* input, of whose scale and dtype it is; sums [N, C, ...], scales [C] of float64, bias [C] or None,
 * whether as qnnpack rounds, scale and zero_point of the result, whether nothing is below 0 -> the
 * same sizes, channels last in memory */
RUSH_OP(requantise) {
  const rush_tensor *x = arg_tensor(c, INPUT);
  rush_tensor *sums, *out;
  RUSH_TRY(check(c));
  rush_requantised to;
  rush_quant *q;
  RUSH_TRY(tmp_channels_last(c, arg_tensor(c, SUMS), &sums));
  const int64_t n = sums->sizes[1];
  c->heap->quantised = rush_call_quantised;
  RUSH_TRY(channels_of(c, rush_quant_of(x)->scales[0], n, &to));
  const bool is_signed = x->dtype == RUSH_QINT8;
  to.zero_point = (int32_t)arg_int(c, ZERO_POINT);
  to.least = is_signed ? INT8_MIN : 0;
  to.most = is_signed ? INT8_MAX : UINT8_MAX;
  if (arg_bool(c, RELU) && to.least < to.zero_point) to.least = to.zero_point;
  RUSH_TRY(rush_tensor_new_channels_last(c->heap, x->dtype, sums->rank, sums->sizes, &out));
  ret_tensor(c, 0, out);
  RUSH_TRY(rush_quant_make(c->heap, out, -1, 1, &q));
  q->scales[0] = arg_float(c, SCALE);
  q->zero_points[0] = to.zero_point;
  RUSH_TRY(rush_work(c->ctx, (uint64_t)sums->numel));
  if (n > 0)
    rush_int8_requantise((size_t)(sums->numel / n), (size_t)n, rush_data(sums), &to,
                         rush_data(out));
  return RUSH_OK;
}
