/* Sums and products of two quantized tensors, as in models of torch.ao. */
#include "blocks/shape.h"
#include "call/define.h"
#include "call/quantized.h"
#include "kernels/quantize_affine.h"
#include "tensor/layout.h"
#include "tensor/quant.h"

enum { SCALE = 2, ZERO_POINT, RELU };
enum { SUM, PRODUCT, SUM_OF_QNNPACK };

static rush_status read_one(rush_call *c, uint32_t arg, rush_tensor **t,
                            rush_quantized_params *out) {
  *t = arg_tensor(c, arg);
  RUSH_CHECK_ARG(((*t)->dtype == RUSH_QUINT8 || (*t)->dtype == RUSH_QINT8) &&
                     (*t)->dtype == arg_tensor(c, 0)->dtype,
                 "both tensors must be quint8, or both qint8");
  const rush_quant *q = rush_quant_of(*t);
  RUSH_CHECK_ARG(q->axis < 0,
                 "the tensor must be quantized per tensor, got one quantized per channel");
  *out = (rush_quantized_params){q->scales[0], q->zero_points[0]};
  if (rush_is_dense(*t)) return RUSH_OK;
  return tmp_contiguous(c, *t, t);
}

static rush_status read_args(rush_call *c, rush_quantized_binary *q, rush_tensor *t[2]) {
  RUSH_TRY(read_one(c, 0, t, &q->a));
  RUSH_TRY(read_one(c, 1, t + 1, &q->b));
  q->dtype = t[0]->dtype;
  q->scale = arg_float(c, SCALE);
  q->zero_point = arg_int(c, ZERO_POINT);
  q->product = rush_kind_of(c) == PRODUCT;
  q->fixed = rush_kind_of(c) == SUM_OF_QNNPACK && q->dtype == RUSH_QUINT8 &&
             rush_same_sizes(t[0], t[1]); /* QNNPACK handles no other case */
  q->relu = arg_bool(c, RELU);
  const int64_t least = q->dtype == RUSH_QINT8 ? INT8_MIN : 0;
  RUSH_CHECK_ARG(q->scale > 0 && q->zero_point >= least && q->zero_point <= least + UINT8_MAX,
                 "scale must be positive and zero_point must fit in the dtype, got %g and %lld",
                 q->scale, (long long)q->zero_point);
  return RUSH_OK;
}

/* Allocates result 0 with TensorIterator's strides. */
static rush_status new_result(rush_call *c, const rush_quantized_binary *q, rush_tensor *t[2],
                              rush_tensor **out) {
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  int rank;
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  rush_quant *created;
  RUSH_CHECK_ARG(
      rush_broadcast(t[0]->rank, t[0]->sizes, t[1]->rank, t[1]->sizes, &rank, sizes),
      "The size of tensor a %s must match the size of tensor b %s at non-singleton dimensions",
      rush_shape_text(t[0]->rank, t[0]->sizes, a), rush_shape_text(t[1]->rank, t[1]->sizes, b));
  rush_enable_quantized(c->heap);
  rush_strides_of_result(rank, sizes, 2, (const rush_tensor *const *)t, strides);
  RUSH_TRY(rush_result_turned(c, 0, q->dtype, rank, sizes, strides, strides, out));
  RUSH_TRY(rush_quant_new(c->heap, *out, -1, 1, &created));
  created->scales[0] = q->scale;
  created->zero_points[0] = q->zero_point;
  return RUSH_OK;
}

/* Returns whether t has one element per channel of each image. */
static bool is_by_channel(const rush_tensor *t, const rush_tensor *out) {
  return t->rank == out->rank && t->sizes[0] == out->sizes[0] && t->sizes[1] == out->sizes[1] &&
         t->numel == t->sizes[0] * t->sizes[1] && rush_is_contiguous(t);
}

static bool has_same_layout(const rush_tensor *t, const rush_tensor *out) {
  return rush_same_sizes(t, out) && rush_same_strides(t, out);
}

/* Replaces t by a copy with the sizes and strides of `out`. */
static rush_status copy_to_layout(rush_call *c, const rush_tensor *out, rush_tensor **t) {
  rush_tensor *wide, *created;
  if (has_same_layout(*t, out)) return RUSH_OK;
  RUSH_TRY(rush_expand(c->heap, *t, out->rank, out->sizes, &wide));
  tmp_take(c, wide);
  RUSH_TRY(tmp_new(c, out->dtype, out->rank, out->sizes, &created));
  memcpy(created->strides, out->strides, (size_t)out->rank * sizeof *created->strides);
  RUSH_TRY(rush_tensor_copy(c->heap, created, wide));
  *t = created;
  return RUSH_OK;
}

/* Combines pixel by pixel if one operand has one element per channel, as in
 * squeeze-and-excitation. */
static rush_status combine_by_pixels(rush_call *c, const rush_quantized_binary *q,
                                     rush_tensor *t[2], rush_tensor *out) {
  const size_t channels = (size_t)out->sizes[1], images = (size_t)out->sizes[0];
  const size_t pixels = (size_t)out->numel / channels / images;
  const size_t next_a = has_same_layout(t[0], out) ? channels : 0;
  const size_t next_b = has_same_layout(t[1], out) ? channels : 0;
  const uint8_t *a = rush_data(t[0]), *b = rush_data(t[1]);
  uint8_t *y = rush_data(out);
  for (size_t i = 0; i < images; i++) {
    for (size_t p = 0; p < pixels; p++, y += channels, a += next_a, b += next_b) {
      RUSH_TRY(rush_charge(c->ctx, channels));
      rush_quantized_combine(q, channels, a, b, y);
    }
    if (next_a == 0) a += channels;
    if (next_b == 0) b += channels;
  }
  return RUSH_OK;
}

/* two tensors (both QUINT8 or both QINT8) that broadcast, scale and zero_point of the result, relu
 * (whether negative values become 0). Returns their sum or product, with the same dtype. */
RUSH_OP(quantized_pair) {
  rush_quantized_binary q = {0};
  rush_tensor *t[2], *out;
  RUSH_TRY(read_args(c, &q, t));
  RUSH_TRY(new_result(c, &q, t, &out));
  if (out->numel == 0) return RUSH_OK;
  if (out->rank >= 3 && rush_is_channels_last(out) &&
      ((has_same_layout(t[0], out) && is_by_channel(t[1], out)) ||
       (has_same_layout(t[1], out) && is_by_channel(t[0], out))))
    return combine_by_pixels(c, &q, t, out);
  RUSH_TRY(copy_to_layout(c, out, t));
  RUSH_TRY(copy_to_layout(c, out, t + 1));
  const uint8_t *a = rush_data(t[0]), *b = rush_data(t[1]);
  uint8_t *y = rush_data(out);
  for (size_t at = 0, some; rush_next_piece(c->ctx, (size_t)out->numel, 1, at, &some); at += some)
    rush_quantized_combine(&q, some, a + at, b + at, y + at);
  return RUSH_OK;
}
