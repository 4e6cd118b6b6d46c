/* cat of quantized tensors, as in models of torch.ao. */
#include "blocks/concatenate.h"
#include "call/define.h"
#include "call/quantized.h"
#include "kernels/quantize_affine.h"
#include "tensor/layout.h"
#include "tensor/quant.h"

enum { TENSORS, DIM, SCALE, ZERO_POINT, RELU, BYTES = UINT8_MAX + 1 };

/* Fills the table that maps each byte of t to the result. Returns false if all bytes stay the
 * same. */
static bool fill_table(const rush_call *c, const rush_tensor *t, uint8_t table[BYTES]) {
  uint8_t bytes[BYTES];
  float numbers[BYTES];
  const rush_quant *q = rush_quant_of(t);
  for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
  rush_dequantize(t->dtype, q->scales[0], q->zero_points[0], BYTES, bytes, numbers);
  for (int i = 0; i < BYTES; i++)
    if (arg_bool(c, RELU) && numbers[i] < 0) numbers[i] = 0;
  rush_quantize(t->dtype, arg_float(c, SCALE), arg_int(c, ZERO_POINT), BYTES, numbers, table);
  return memcmp(table, bytes, BYTES) != 0;
}

/* Returns a tensor with the layout of t and the result's scale and zero point. */
static rush_status requantize(rush_call *c, rush_tensor *t, const rush_tensor **out) {
  uint8_t table[BYTES];
  rush_tensor *created;
  *out = t;
  if (!fill_table(c, t, table)) return RUSH_OK;
  if (!rush_is_dense(t)) RUSH_TRY(tmp_contiguous(c, t, &t));
  RUSH_TRY(rush_tensor_new_like(c->heap, t, t->dtype, &created));
  *out = tmp_take(c, created);
  const uint8_t *from = rush_data(t);
  uint8_t *to = rush_data(created);
  for (size_t at = 0, some; rush_next_piece(c->ctx, (size_t)t->numel, 1, at, &some); at += some)
    rush_lookup(some, table, from + at, to + at);
  return rush_take_stop(c->ctx);
}

/* tensors (all QUINT8 or all QINT8), dim, scale and zero_point of the result, relu (whether
 * negative values become 0). Returns a tensor of the same dtype. */
RUSH_OP(quantized_cat) {
  const rush_list *list = arg_list(c, TENSORS);
  const rush_tensor **parts;
  rush_tensor *out;
  rush_quant *q;
  RUSH_CHECK_ARG(list->n > 0, "torch.cat(): expected a non-empty list of Tensors");
  RUSH_TRY(tmp_items(c, (int64_t)list->n, sizeof *parts, (void **)&parts));
  const rush_dtype dtype = rush_as_tensor(&list->items[0])->dtype;
  const int64_t zero = arg_int(c, ZERO_POINT), least = dtype == RUSH_QINT8 ? INT8_MIN : 0;
  RUSH_CHECK_ARG(arg_float(c, SCALE) > 0 && zero >= least && zero <= least + UINT8_MAX,
                 "scale must be positive and zero_point must fit in the dtype, got %g and %lld",
                 arg_float(c, SCALE), (long long)zero);
  for (size_t k = 0; k < list->n; k++) {
    rush_tensor *t = rush_as_tensor(&list->items[k]);
    RUSH_CHECK_ARG((dtype == RUSH_QUINT8 || dtype == RUSH_QINT8) && t->dtype == dtype,
                   "the tensors must all be quint8, or all qint8");
    RUSH_CHECK_ARG(rush_quant_of(t)->axis < 0,
                   "the tensor must be quantized per tensor, got one quantized per channel");
    RUSH_TRY(requantize(c, t, parts + k));
  }
  RUSH_TRY(rush_cat(c->heap, list->n, parts, arg_int(c, DIM), dtype, &out));
  ret_tensor(c, 0, out);
  RUSH_TRY(rush_quant_new(c->heap, out, -1, 1, &q));
  q->scales[0] = arg_float(c, SCALE);
  q->zero_points[0] = zero;
  return RUSH_OK;
}
