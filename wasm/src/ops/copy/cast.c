/* Tensor.to() in all its overloads: conversions of dtype, memory format and device. */
#include "call/define.h"
#include "tensor/layout.h"

/* Implements Tensor.to(dtype, copy, memory_format). `format` is RUSH_FORMAT_PRESERVE if the call
 * has none. */
static rush_status to(rush_call *c, rush_dtype dtype, bool copy, int64_t format) {
  const rush_tensor *t = arg_tensor(c, 0);
  rush_tensor *out;
  if (t->dtype == dtype && !copy &&
      (format == RUSH_FORMAT_PRESERVE || format == rush_suggest_format(t))) {
    ret_retained(c, 0, &c->args[0]);
    return RUSH_OK;
  }
  RUSH_TRY(format == RUSH_FORMAT_PRESERVE
               ? rush_tensor_new_like(c->heap, t, dtype, &out)
               : rush_new_in_format(c->heap, dtype, t->rank, t->sizes, format, &out));
  ret_tensor(c, 0, out);
  return rush_tensor_copy(c->heap, out, t);
}

static int64_t arg_format(const rush_call *c, uint32_t i) {
  return arg_is_none(c, i) ? RUSH_FORMAT_PRESERVE : arg_int(c, i);
}
static bool arg_truth(const rush_call *c, uint32_t i) {
  return !arg_is_none(c, i) && arg_bool(c, i);
}
static rush_dtype own_dtype(const rush_call *c) {
  return arg_tensor(c, 0)->dtype;
}

/* self, dtype, non_blocking, copy, memory_format */
RUSH_OP(to_dtype) {
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 1, own_dtype(c), &dtype));
  return to(c, dtype, arg_truth(c, 3), arg_format(c, 4));
}
/* self, device, dtype, non_blocking, copy, memory_format. The CPU is the only device. */
RUSH_OP(to_device) {
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 2, own_dtype(c), &dtype));
  return to(c, dtype, arg_truth(c, 4), arg_format(c, 5));
}
RUSH_OP(to_other) {
  return to(c, arg_tensor(c, 1)->dtype, arg_truth(c, 3), arg_format(c, 4));
}
/* self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format */
RUSH_OP(to_dtype_layout) {
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 1, own_dtype(c), &dtype));
  return to(c, dtype, arg_truth(c, 6), arg_format(c, 7));
}
/* self, dtype, layout, device, pin_memory, non_blocking, memory_format */
RUSH_OP(to_copy) {
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 1, own_dtype(c), &dtype));
  return to(c, dtype, true, arg_format(c, 6));
}
/* self, device, dtype, non_blocking, copy */
RUSH_OP(to_prim_device) {
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 2, own_dtype(c), &dtype));
  return to(c, dtype, arg_truth(c, 4), RUSH_FORMAT_PRESERVE);
}
/* self, dtype, non_blocking, copy */
RUSH_OP(to_prim_dtype) {
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 1, own_dtype(c), &dtype));
  return to(c, dtype, arg_truth(c, 3), RUSH_FORMAT_PRESERVE);
}
/* self, non_blocking, copy */
RUSH_OP(to_prim_other) {
  return to(c, own_dtype(c), c->n_args > 2 && arg_truth(c, 2), RUSH_FORMAT_PRESERVE);
}
RUSH_OP(type_as) {
  return to(c, arg_tensor(c, 1)->dtype, false, RUSH_FORMAT_PRESERVE);
}
RUSH_OP(cast_float) {
  return to(c, RUSH_FLOAT32, false, RUSH_FORMAT_PRESERVE);
}
RUSH_OP(cast_double) {
  return to(c, RUSH_FLOAT64, false, RUSH_FORMAT_PRESERVE);
}
RUSH_OP(cast_int) {
  return to(c, RUSH_INT32, false, RUSH_FORMAT_PRESERVE);
}
RUSH_OP(cast_long) {
  return to(c, RUSH_INT64, false, RUSH_FORMAT_PRESERVE);
}
RUSH_OP(cast_byte) {
  return to(c, RUSH_UINT8, false, RUSH_FORMAT_PRESERVE);
}
