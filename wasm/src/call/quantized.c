#include "call/quantized.h"

#include "tensor/layout.h"
#include "tensor/quant.h"

static bool in_steps(const rush_call *c) {
  return c->op->flags & RUSH_OP_IN_STEPS;
}

static rush_tensor *quantized_in(const rush_value *v) {
  if (v->kind == RUSH_KIND_TENSOR)
    return rush_is_quantized(rush_as_tensor(v)->dtype) ? rush_as_tensor(v) : NULL;
  if (v->kind != RUSH_KIND_LIST) return NULL;
  const rush_list *list = rush_as_list(v);
  for (size_t k = 0; k < list->n && list->items[k].kind == RUSH_KIND_TENSOR; k++)
    if (rush_is_quantized(rush_as_tensor(list->items + k)->dtype))
      return rush_as_tensor(list->items + k);
  return NULL;
}

static rush_tensor *first_quantized(const rush_value *args, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    rush_tensor *t = quantized_in(args + k);
    if (t) return t;
  }
  return NULL;
}

/* Gives a result the scales and zero points of `first`. With scales per channel, the axis of the
 * result is only known if the sizes are equal. */
static rush_status name_result(rush_call *c, const rush_value *v, const rush_tensor *first) {
  if (v->kind == RUSH_KIND_LIST || v->kind == RUSH_KIND_TUPLE) {
    const rush_list *list = rush_as_list(v);
    for (size_t k = 0; (c->op->flags & RUSH_OP_VIEW) && k < list->n; k++)
      RUSH_TRY(name_result(c, list->items + k, first));
    return RUSH_OK;
  }
  if (v->kind != RUSH_KIND_TENSOR || !rush_is_quantized(rush_as_tensor(v)->dtype)) return RUSH_OK;
  rush_tensor *t = rush_as_tensor(v);
  const bool created = !rush_quant_of(t);
  RUSH_CHECK(c->ctx,
             rush_quant_of(first)->axis < 0 || (!created && t->storage != first->storage) ||
                 (rush_same_sizes(t, first) && (created || rush_same_strides(t, first))),
             RUSH_ERR_UNSUPPORTED, "not implemented for tensors quantized per channel");
  return created ? rush_quant_copy(c->heap, t, first) : RUSH_OK;
}

static rush_status name_results(rush_call *c, const rush_tensor *first) {
  for (uint32_t k = 0; k < c->n_results; k++) RUSH_TRY(name_result(c, c->results + k, first));
  return RUSH_OK;
}

/* Sets the scale and zero point of a new result: those of `first`, unless the row declares a
 * range. */
static rush_status name_new(rush_call *c, rush_tensor *created, const rush_tensor *first) {
  const bool is_signed = c->op->flags & RUSH_OP_TO_SIGNED_UNIT;
  rush_quant *q;
  if (!is_signed && !(c->op->flags & RUSH_OP_TO_UNIT))
    return rush_quant_copy(c->heap, created, first);
  RUSH_CHECK(c->ctx, first->dtype != RUSH_QINT32, RUSH_ERR_UNSUPPORTED,
             "not implemented for 'QInt32'");
  RUSH_TRY(rush_quant_new(c->heap, created, -1, 1, &q));
  q->scales[0] = is_signed ? 2.0 / 256 : 1.0 / 256;
  q->zero_points[0] = (first->dtype == RUSH_QINT8 ? INT8_MIN : 0) + (is_signed ? 128 : 0);
  return RUSH_OK;
}

/* Quantizes `t`, a float32 result, like `first`, or into `given` if that tensor is written. */
static rush_status quantize(rush_call *c, rush_tensor *t, const rush_tensor *first,
                            rush_tensor *given, rush_value *out) {
  rush_tensor *created;
  if (given && rush_same_strides(given, t) && rush_is_dense(given)) {
    RUSH_TRY(rush_check_write(c->ctx, given));
    RUSH_TRY(rush_quant_quantize(c->heap, t, in_steps(c), given));
    *out = rush_of_tensor(rush_tensor_retain(given));
    return RUSH_OK;
  }
  RUSH_CHECK(c->ctx, !given, RUSH_ERR_UNSUPPORTED,
             "a quantized tensor with gaps cannot be written in place");
  RUSH_CHECK(c->ctx, rush_quant_of(first)->axis < 0, RUSH_ERR_UNSUPPORTED,
             "not implemented for tensors quantized per channel");
  if (rush_is_dense(t))
    RUSH_TRY(rush_tensor_new_like(c->heap, t, first->dtype, &created));
  else
    RUSH_TRY(rush_tensor_new(c->heap, first->dtype, t->rank, t->sizes, &created));
  tmp_take(c, created);
  RUSH_TRY(name_new(c, created, first));
  RUSH_TRY(rush_quant_quantize(c->heap, t, in_steps(c), created));
  *out = rush_of_tensor(rush_tensor_retain(created));
  return RUSH_OK;
}

/* Replaces a quantized tensor, or a list of them, by dequantized tensors. *made receives the new
 * list. */
static rush_status numbers_of(rush_call *c, rush_value *v, rush_value *created) {
  rush_tensor *numbers;
  if (v->kind == RUSH_KIND_TENSOR) {
    RUSH_TRY(rush_quant_dequantize(c->heap, rush_as_tensor(v), in_steps(c), &numbers));
    *v = rush_of_tensor(tmp_take(c, numbers));
    return RUSH_OK;
  }
  const rush_list *list = rush_as_list(v);
  RUSH_TRY(rush_new_list(c->heap, RUSH_KIND_LIST, list->type, list->items, list->n, created));
  *v = *created;
  for (size_t i = 0; i < list->n; i++) {
    rush_value *item = rush_as_list(created)->items + i;
    if (!quantized_in(item)) continue;
    RUSH_TRY(rush_quant_dequantize(c->heap, rush_as_tensor(item), in_steps(c), &numbers));
    rush_assign(c->heap, item, rush_of_tensor(numbers));
  }
  return RUSH_OK;
}

static rush_status quantize_results(rush_call *c, const rush_tensor *first, rush_tensor *inplace) {
  for (uint32_t k = 0; k < c->n_results; k++) {
    rush_value out;
    if (c->results[k].kind != RUSH_KIND_TENSOR) continue;
    rush_tensor *t = rush_as_tensor(c->results + k);
    if (t->dtype != RUSH_FLOAT32) continue;
    RUSH_TRY(quantize(c, t, first, k == 0 ? inplace : NULL, &out));
    rush_assign(c->heap, c->results + k, out);
  }
  return RUSH_OK;
}

static rush_status in_floats(rush_call *c, const rush_schema *schema, rush_value *args) {
  rush_value given[RUSH_SCHEMA_MAX_ARGS], created[RUSH_SCHEMA_MAX_ARGS];
  const rush_tensor *first = first_quantized(args, schema->n_args);
  rush_tensor *inplace = c->inplace;
  rush_status st = RUSH_OK;
  for (uint32_t k = 0; k < schema->n_args; k++) {
    given[k] = args[k];
    created[k] = rush_none();
    if (st == RUSH_OK && quantized_in(args + k)) st = numbers_of(c, args + k, created + k);
  }
  if (inplace && st == RUSH_OK) c->inplace = rush_as_tensor(args);
  c->last_use = 0; /* the call owns the dequantized tensors */
  if (st == RUSH_OK) st = c->op->run(c);
  if (st == RUSH_OK) st = quantize_results(c, first, inplace);
  c->inplace = inplace;
  for (uint32_t k = 0; k < schema->n_args; k++) {
    args[k] = given[k];
    rush_drop(c->heap, created + k);
  }
  return st;
}

static rush_status as_they_are(rush_call *c, rush_tensor *first) {
  RUSH_CHECK(c->ctx, c->op->flags & (RUSH_OP_QUANTIZED | RUSH_OP_VIEW), RUSH_ERR_UNSUPPORTED,
             "not implemented for '%s'", rush_dtype_torch_name(first->dtype));
  rush_tensor_retain(first);
  rush_status st = c->op->run(c);
  if (st == RUSH_OK) st = name_results(c, first);
  rush_tensor_drop(c->heap, first);
  return st;
}

bool rush_call_quantized(rush_call *c, const void *schema, rush_status *status) {
  rush_tensor *first = first_quantized(c->args, c->n_args);
  if (!first) return false;
  *status = c->op->flags & RUSH_OP_IN_FLOATS ? in_floats(c, schema, (rush_value *)c->args)
                                             : as_they_are(c, first);
  return true;
}

void rush_enable_quantized(rush_heap *heap) {
  heap->quantized.call = rush_call_quantized;
  rush_quant_enable_pools(heap);
}
