/* Quantized tensors: construction, and access to their parameters. */
#include "call/define.h"
#include "call/quantized.h"
#include "tensor/layout.h"
#include "tensor/quant.h"

static rush_status check_quantized(rush_call *c, const char *name) {
  const rush_tensor *x = arg_tensor(c, 0);
  RUSH_CHECK_ARG(rush_is_quantized(x->dtype), "%s: the tensor must be quantized, got %s", name,
                 rush_dtype_torch_name(x->dtype));
  return RUSH_OK;
}

static rush_status check_per_tensor(rush_call *c, const char *name) {
  RUSH_TRY(check_quantized(c, name));
  RUSH_CHECK_ARG(rush_quant_of(arg_tensor(c, 0))->axis < 0,
                 "%s: the tensor must be quantized per tensor, got one quantized per channel",
                 name);
  return RUSH_OK;
}

static rush_status check_per_channel(rush_call *c, const char *name) {
  RUSH_TRY(check_quantized(c, name));
  RUSH_CHECK_ARG(rush_quant_of(arg_tensor(c, 0))->axis >= 0,
                 "%s: the tensor must be quantized per channel, got one quantized per tensor",
                 name);
  return RUSH_OK;
}

/* ---- Construction ---------------------------------------------------------------------------- */

static rush_status check_zero_point(rush_call *c, rush_dtype dtype, int64_t zero_point) {
  const int64_t least = dtype == RUSH_QINT8 ? INT8_MIN : dtype == RUSH_QUINT8 ? 0 : INT32_MIN;
  const int64_t most = dtype == RUSH_QINT8    ? INT8_MAX
                       : dtype == RUSH_QUINT8 ? UINT8_MAX
                                              : INT32_MAX;
  RUSH_CHECK_ARG(zero_point <= most, "zero_point %lld is above upper bound.",
                 (long long)zero_point);
  RUSH_CHECK_ARG(zero_point >= least, "zero_point %lld is below lower bound.",
                 (long long)zero_point);
  return RUSH_OK;
}

static rush_status check_floats(rush_call *c, uint32_t dtype_arg, rush_dtype *dtype) {
  const rush_tensor *x = arg_tensor(c, 0);
  const int64_t given = arg_int(c, dtype_arg);
  RUSH_CHECK_ARG(x->dtype == RUSH_FLOAT32, "Quantize only works on Float Tensor, got %s",
                 rush_dtype_torch_name(x->dtype));
  RUSH_CHECK(c->ctx, given >= RUSH_QINT8 && given <= RUSH_QINT32, RUSH_ERR_UNSUPPORTED,
             "cannot quantize to dtype %lld", (long long)given);
  *dtype = (rush_dtype)given;
  return RUSH_OK;
}

/* Quantizes x with a single scale and returns it as result 0. */
static rush_status quantize_all(rush_call *c, double scale, int64_t zero_point, rush_dtype dtype) {
  rush_tensor *x = arg_tensor(c, 0), *out;
  rush_quant *q;
  rush_enable_quantized(c->heap);
  RUSH_CHECK_ARG(scale > 0, "quantize scale must be positive");
  RUSH_TRY(check_zero_point(c, dtype, zero_point));
  if (rush_is_dense(x))
    RUSH_TRY(rush_result_like(c, 0, x, dtype, &out));
  else
    RUSH_TRY(rush_result(c, 0, dtype, x->rank, x->sizes, &out));
  RUSH_TRY(rush_quant_new(c->heap, out, -1, 1, &q));
  q->scales[0] = scale;
  q->zero_points[0] = zero_point;
  return rush_quant_quantize(c->heap, x, false, out);
}

RUSH_OP(quantize_per_tensor) {
  rush_dtype dtype;
  RUSH_TRY(check_floats(c, 3, &dtype));
  return quantize_all(c, arg_float(c, 1), arg_int(c, 2), dtype);
}

RUSH_OP(quantize_per_tensor_qparams) {
  const rush_tensor *scale = arg_tensor(c, 1), *zero = arg_tensor(c, 2);
  rush_dtype dtype;
  RUSH_TRY(check_floats(c, 3, &dtype));
  RUSH_CHECK_ARG(scale->numel == 1 && zero->numel == 1,
                 "scale and zero_point must have one element");
  return quantize_all(c, rush_load_double(scale->dtype, rush_data(scale)),
                      rush_load_int(zero->dtype, rush_data(zero)), dtype);
}

/* Sets out's scales and zero points, one for each index of the axis, from two arguments. */
static rush_status set_channels(rush_call *c, rush_tensor *out, uint32_t scales_arg, int64_t axis) {
  rush_tensor *scales = arg_tensor(c, scales_arg), *zeros = arg_tensor(c, scales_arg + 1);
  RUSH_CHECK_ARG(axis >= 0 && axis < out->rank,
                 "Channel axis out of range in per channel affine "
                 "quantization. Got: %lld Expected: [0, %d)",
                 (long long)axis, out->rank);
  RUSH_CHECK_ARG(scales->rank == 1 && zeros->rank == 1, "scale and zero point tensors must be 1-D");
  RUSH_CHECK_ARG(scales->numel == zeros->numel && scales->numel == out->sizes[axis],
                 "number of elements in scales must match size of quantization axis");
  rush_quant *q;
  RUSH_TRY(rush_quant_new(c->heap, out, (int)axis, (size_t)scales->numel, &q));
  for (int64_t i = 0; i < scales->numel; i++) {
    RUSH_TRY(rush_charge(c->ctx, 8));
    q->scales[i] = rush_load_double(
        scales->dtype,
        (const char *)rush_data(scales) + i * scales->strides[0] * (int64_t)rush_itemsize(scales));
    q->zero_points[i] =
        rush_load_int(zeros->dtype, (const char *)rush_data(zeros) +
                                        i * zeros->strides[0] * (int64_t)rush_itemsize(zeros));
    RUSH_TRY(check_zero_point(c, out->dtype, q->zero_points[i]));
  }
  return RUSH_OK;
}

RUSH_OP(quantize_per_channel) {
  rush_tensor *x = arg_tensor(c, 0), *out;
  rush_dtype dtype;
  rush_enable_quantized(c->heap);
  RUSH_TRY(check_floats(c, 4, &dtype));
  RUSH_TRY(rush_result(c, 0, dtype, x->rank, x->sizes, &out));
  RUSH_TRY(set_channels(c, out, 1, arg_int(c, 3)));
  return rush_quant_quantize(c->heap, x, false, out);
}

/* Allocates result 0 and fills it with the integers of argument 0. */
static rush_status new_integers(rush_call *c, rush_tensor **out) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_enable_quantized(c->heap);
  const rush_dtype dtype = x->dtype == RUSH_INT8    ? RUSH_QINT8
                           : x->dtype == RUSH_UINT8 ? RUSH_QUINT8
                                                    : RUSH_QINT32;
  RUSH_CHECK_ARG(dtype != RUSH_QINT32 || x->dtype == RUSH_INT32,
                 "\"make_quantized_tensor\" not implemented for '%s'",
                 rush_dtype_torch_name(x->dtype));
  RUSH_TRY(rush_result(c, 0, dtype, x->rank, x->sizes, out));
  rush_tensor view = **out;
  view.dtype = x->dtype;
  return rush_tensor_copy(c->heap, &view, x);
}

RUSH_OP(make_per_tensor_quantized_tensor) {
  rush_tensor *out;
  rush_quant *q;
  RUSH_TRY(new_integers(c, &out));
  RUSH_TRY(rush_quant_new(c->heap, out, -1, 1, &q));
  q->scales[0] = arg_float(c, 1);
  q->zero_points[0] = arg_int(c, 2);
  return RUSH_OK;
}

RUSH_OP(make_per_channel_quantized_tensor) {
  rush_tensor *out;
  RUSH_TRY(new_integers(c, &out));
  return set_channels(c, out, 1, arg_int(c, 3));
}

/* ---- Parameters ------------------------------------------------------------------------------ */

RUSH_OP(dequantize) {
  rush_tensor *x = arg_tensor(c, 0), *out;
  if (!rush_is_quantized(x->dtype)) {
    RUSH_TRY(rush_tensor_to(c->heap, x, RUSH_FLOAT32, &out));
  } else {
    RUSH_TRY(rush_quant_dequantize(c->heap, x, false, &out));
  }
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

RUSH_OP(int_repr) {
  RUSH_TRY(check_quantized(c, "int_repr"));
  const rush_tensor *x = arg_tensor(c, 0);
  const rush_dtype dtype = rush_integer_dtype(x->dtype);
  rush_tensor *out, view = *x;
  view.dtype = dtype;
  RUSH_TRY(rush_result_like(c, 0, x, dtype, &out));
  return rush_tensor_copy(c->heap, out, &view);
}

RUSH_OP(q_scale) {
  RUSH_TRY(check_per_tensor(c, "q_scale"));
  ret_float(c, 0, rush_quant_of(arg_tensor(c, 0))->scales[0]);
  return RUSH_OK;
}

RUSH_OP(q_zero_point) {
  RUSH_TRY(check_per_tensor(c, "q_zero_point"));
  ret_int(c, 0, rush_quant_of(arg_tensor(c, 0))->zero_points[0]);
  return RUSH_OK;
}

/* Returns a tensor of 8-byte numbers, one per channel. */
static rush_status ret_per_channel(rush_call *c, rush_dtype dtype, const void *numbers, size_t n) {
  rush_tensor *out;
  const int64_t size = (int64_t)n;
  RUSH_TRY(rush_result(c, 0, dtype, 1, &size, &out));
  memcpy(rush_data(out), numbers, n * sizeof(int64_t));
  return RUSH_OK;
}

RUSH_OP(q_per_channel_scales) {
  RUSH_TRY(check_per_channel(c, "q_per_channel_scales"));
  const rush_quant *q = rush_quant_of(arg_tensor(c, 0));
  return ret_per_channel(c, RUSH_FLOAT64, q->scales, q->n);
}

RUSH_OP(q_per_channel_zero_points) {
  RUSH_TRY(check_per_channel(c, "q_per_channel_zero_points"));
  const rush_quant *q = rush_quant_of(arg_tensor(c, 0));
  return ret_per_channel(c, RUSH_INT64, q->zero_points, q->n);
}

RUSH_OP(q_per_channel_axis) {
  RUSH_TRY(check_per_channel(c, "q_per_channel_axis"));
  ret_int(c, 0, rush_quant_of(arg_tensor(c, 0))->axis);
  return RUSH_OK;
}

/* Values of c10::QScheme: PER_TENSOR_AFFINE, PER_CHANNEL_AFFINE. */
RUSH_OP(qscheme) {
  RUSH_TRY(check_quantized(c, "qscheme"));
  ret_int(c, 0, rush_quant_of(arg_tensor(c, 0))->axis < 0 ? 0 : 1);
  return RUSH_OK;
}

RUSH_OP(is_quantized) {
  ret_bool(c, 0, rush_is_quantized(arg_tensor(c, 0)->dtype));
  return RUSH_OK;
}
