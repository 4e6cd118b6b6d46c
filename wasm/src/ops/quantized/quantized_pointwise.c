/* Operators between quantized convolutions: quantize, dequantize, sums, per-channel products, and
 * spatial means. Their quantized tensors are channels-last. */
#include "call/define.h"
#include "call/quantized.h"
#include "kernels/int8_pointwise.h"
#include "kernels/quantize_affine.h"
#include "tensor/layout.h"
#include "tensor/quant.h"

/* Checks argument `arg`: [N, C, ...] of QUINT8, quantized per tensor. */
static rush_status check_bytes(rush_call *c, uint32_t arg, const rush_quant **q) {
  const rush_tensor *x = arg_tensor(c, arg);
  RUSH_CHECK_ARG(x->dtype == RUSH_QUINT8 && x->rank >= 3 && rush_quant_of(x)->axis < 0,
                 "the tensor must be quint8, quantized per tensor, and have at least 3 dimensions");
  *q = rush_quant_of(x);
  return RUSH_OK;
}

/* Allocates result 0. Argument `scale` is its scale, and the next argument its zero point. */
static rush_status new_bytes(rush_call *c, uint32_t scale, int rank, const int64_t *sizes,
                             rush_tensor **out) {
  rush_quant *q;
  const double unit = arg_float(c, scale);
  const int64_t zero = arg_int(c, scale + 1);
  RUSH_CHECK_ARG(unit > 0 && zero >= 0 && zero <= UINT8_MAX,
                 "scale must be positive and zero_point must fit in the dtype, got %g and %lld",
                 unit, (long long)zero);
  rush_enable_quantized(c->heap);
  RUSH_TRY(rush_tensor_new_channels_last(c->heap, RUSH_QUINT8, rank, sizes, out));
  ret_tensor(c, 0, *out);
  RUSH_TRY(rush_quant_new(c->heap, *out, -1, 1, &q));
  q->scales[0] = unit;
  q->zero_points[0] = zero;
  return RUSH_OK;
}

/* float32 [N, C, ...], scale, zero_point. Returns QUINT8 of the same sizes. */
RUSH_OP(quantized_of) {
  rush_tensor *x = arg_tensor(c, 0), *out;
  RUSH_CHECK_ARG(x->dtype == RUSH_FLOAT32 && x->rank >= 3,
                 "the input must be float32 and have at least 3 dimensions");
  RUSH_TRY(new_bytes(c, 1, x->rank, x->sizes, &out));
  RUSH_TRY(tmp_channels_last(c, x, &x));
  const float *from = rush_data(x);
  uint8_t *to = rush_data(out);
  for (size_t at = 0, some; rush_next_piece(c->ctx, (size_t)x->numel, 1, at, &some); at += some)
    rush_quantize(RUSH_QUINT8, arg_float(c, 1), arg_int(c, 2), some, from + at, to + at);
  return RUSH_OK;
}

/* QUINT8 [N, C, ...], memory_format of the result (0 or channels-last). Returns float32. */
RUSH_OP(floats_of) {
  rush_tensor *x = arg_tensor(c, 0), *out;
  const rush_quant *q;
  RUSH_TRY(check_bytes(c, 0, &q));
  const double scale = q->scales[0];
  const int64_t zero = q->zero_points[0];
  RUSH_TRY(rush_new_in_layout(c->heap, RUSH_FLOAT32, x->rank, x->sizes, true, arg_int(c, 1), &out));
  ret_tensor(c, 0, out);
  RUSH_TRY(tmp_channels_last(c, x, &x));
  const uint8_t *from = rush_data(x);
  float *to = rush_data(out);
  for (size_t at = 0, some; rush_next_piece(c->ctx, (size_t)x->numel, 1, at, &some); at += some)
    rush_dequantize(RUSH_QUINT8, scale, zero, some, from + at, to + at);
  return RUSH_OK;
}

/* two QUINT8 tensors of the same sizes, scale, zero_point. Returns their sum. */
RUSH_OP(quantized_add) {
  rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1), *out;
  const rush_quant *p, *q;
  RUSH_TRY(check_bytes(c, 0, &p));
  RUSH_TRY(check_bytes(c, 1, &q));
  RUSH_CHECK_ARG(rush_same_sizes(a, b), "quantized_add: the tensors must have the same sizes");
  RUSH_TRY(new_bytes(c, 2, a->rank, a->sizes, &out));
  const double unit = arg_float(c, 2), of_a = p->scales[0] / unit, of_b = q->scales[0] / unit;
  const double shift =
      (double)arg_int(c, 3) - of_a * (double)p->zero_points[0] - of_b * (double)q->zero_points[0];
  RUSH_TRY(tmp_channels_last(c, a, &a));
  RUSH_TRY(tmp_channels_last(c, b, &b));
  const uint8_t *from = rush_data(a), *other = rush_data(b);
  uint8_t *to = rush_data(out);
  for (size_t at = 0, some; rush_next_piece(c->ctx, (size_t)out->numel, 1, at, &some); at += some)
    rush_int8_add(some, from + at, (float)of_a, other + at, (float)of_b, (float)shift, to + at);
  return RUSH_OK;
}

/* QUINT8 [N, C, ...] and [N, C, 1, ...], scale, zero_point. Returns their product. */
RUSH_OP(quantized_scale) {
  rush_tensor *x = arg_tensor(c, 0), *by = arg_tensor(c, 1), *out;
  const rush_quant *p, *q;
  float *factors;
  RUSH_TRY(check_bytes(c, 0, &p));
  RUSH_TRY(check_bytes(c, 1, &q));
  const int64_t n = x->sizes[0], channels = x->sizes[1];
  RUSH_CHECK_ARG(by->rank == x->rank && by->sizes[0] == n && by->sizes[1] == channels &&
                     by->numel == n * channels,
                 "quantized_scale: there must be one number for each channel");
  RUSH_TRY(new_bytes(c, 2, x->rank, x->sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  const double unit = arg_float(c, 2) / p->scales[0], of_by = q->scales[0];
  const float zero = (float)p->zero_points[0], shift = (float)arg_int(c, 3);
  const double of_zero = (double)q->zero_points[0];
  RUSH_TRY(tmp_channels_last(c, x, &x));
  RUSH_TRY(tmp_channels_last(c, by, &by));
  RUSH_TRY(tmp_items(c, channels, sizeof *factors, (void **)&factors));
  const uint8_t *from = rush_data(x), *numbers = rush_data(by);
  uint8_t *to = rush_data(out);
  const size_t image = (size_t)(x->numel / n);
  for (int64_t i = 0; i < n; i++, from += image, to += image, numbers += channels) {
    for (int64_t k = 0; k < channels; k++)
      factors[k] = (float)((numbers[k] - of_zero) * of_by / unit);
    const size_t each = (size_t)channels, n_places = image / each;
    for (size_t at = 0, some; rush_next_piece(c->ctx, n_places, each, at, &some); at += some)
      rush_int8_scale(some, each, from + at * each, zero, factors, shift, to + at * each);
    RUSH_TRY(rush_take_stop(c->ctx));
  }
  return RUSH_OK;
}

/* QUINT8 or QINT8, table of 256 bytes of the same dtype. Returns the table's entry for each
 * byte. */
RUSH_OP(quantized_by_table) {
  rush_tensor *x = arg_tensor(c, 0), *out;
  const rush_tensor *table = arg_tensor(c, 1);
  RUSH_CHECK_ARG(
      (x->dtype == RUSH_QUINT8 || x->dtype == RUSH_QINT8) && table->dtype == x->dtype &&
          table->numel == UINT8_MAX + 1 && rush_is_contiguous(table) &&
          rush_quant_of(table)->axis < 0,
      "the input must be quint8 or qint8, and the table must have 256 elements of its dtype");
  rush_enable_quantized(c->heap);
  if (!rush_is_dense(x)) RUSH_TRY(tmp_contiguous(c, x, &x));
  RUSH_TRY(rush_result_like(c, 0, x, x->dtype, &out));
  rush_quant *q;
  RUSH_TRY(rush_quant_new(c->heap, out, -1, 1, &q));
  q->scales[0] = rush_quant_of(table)->scales[0];
  q->zero_points[0] = rush_quant_of(table)->zero_points[0];
  const uint8_t *from = rush_data(x);
  uint8_t *to = rush_data(out);
  for (size_t at = 0, some; rush_next_piece(c->ctx, (size_t)x->numel, 1, at, &some); at += some)
    rush_lookup(some, rush_data(table), from + at, to + at);
  return RUSH_OK;
}

/* QUINT8 [N, C, ...]. Returns float32 [N, C, 1, ...], the mean over the spatial dimensions. */
RUSH_OP(mean_of_quantized) {
  rush_tensor *x = arg_tensor(c, 0), *out;
  const rush_quant *q;
  uint32_t *sums;
  RUSH_TRY(check_bytes(c, 0, &q));
  int64_t sizes[RUSH_MAX_RANK] = {x->sizes[0], x->sizes[1]};
  for (int d = 2; d < x->rank; d++) sizes[d] = 1;
  const double scale = q->scales[0], zero = (double)q->zero_points[0];
  RUSH_TRY(rush_result(c, 0, RUSH_FLOAT32, x->rank, sizes, &out));
  const int64_t n = sizes[0], channels = sizes[1];
  if (out->numel == 0) return RUSH_OK;
  const int64_t places = x->numel / out->numel;
  RUSH_CHECK_ARG(places > 0 && places <= UINT32_MAX / UINT8_MAX,
                 "a mean over %lld elements is not supported", (long long)places);
  RUSH_TRY(tmp_channels_last(c, x, &x));
  RUSH_TRY(tmp_items(c, channels, sizeof *sums, (void **)&sums));
  const uint8_t *from = rush_data(x);
  float *to = rush_data(out);
  for (int64_t i = 0; i < n; i++, from += places * channels) {
    const size_t each = (size_t)channels;
    memset(sums, 0, each * sizeof *sums);
    for (size_t at = 0, some; rush_next_piece(c->ctx, (size_t)places, each, at, &some); at += some)
      rush_int8_sum(some, each, from + at * each, sums);
    RUSH_TRY(rush_take_stop(c->ctx));
    for (int64_t k = 0; k < channels; k++)
      *to++ = (float)(((double)sums[k] / (double)places - zero) * scale);
  }
  return RUSH_OK;
}
