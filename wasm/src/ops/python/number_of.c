/* Conversions to numbers: int(x), float(x), bool(x), item(); and from a number to a tensor. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "blocks/values.h"
#include "call/define.h"
#include "tensor/layout.h"

RUSH_OP(int_of_number) {
  ret_int(c, 0, arg_scalar_is_float(c, 0) ? rush_double_to_int(c->args[0].u.f) : c->args[0].u.i);
  return RUSH_OK;
}
RUSH_OP(float_of_number) {
  ret_float(c, 0, arg_scalar_double(c, 0));
  return RUSH_OK;
}
RUSH_OP(bool_of_number) {
  ret_bool(c, 0, arg_scalar_double(c, 0) != 0);
  return RUSH_OK;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static rush_status one_element(rush_call *c, rush_dtype *dtype, const void **at) {
  const rush_tensor *t = arg_tensor(c, 0);
  RUSH_CHECK_ARG(t->numel == 1, "a Tensor with %lld elements cannot be converted to Scalar",
                 (long long)t->numel);
  RUSH_CHECK_ARG(!rush_is_quantized(t->dtype), "not implemented for '%s'",
                 rush_dtype_torch_name(t->dtype));
  *dtype = t->dtype;
  *at = rush_data(t);
  return RUSH_OK;
}

/* A complex number converts to int or float only if its imaginary part is zero. */
static rush_status check_real(rush_call *c, rush_dtype dtype, const void *at) {
  double z[2];
  rush_convert(RUSH_COMPLEX128, z, dtype, at, 1);
  RUSH_CHECK_ARG(z[1] == 0, "value cannot be converted to a real number without overflow");
  return RUSH_OK;
}

RUSH_OP(item) {
  rush_dtype dtype;
  const void *at;
  RUSH_TRY(one_element(c, &dtype, &at));
  if (rush_is_complex(dtype)) return rush_complex_at(c->heap, dtype, at, &c->results[0]);
  if (rush_is_float(dtype))
    ret_float(c, 0, rush_load_double(dtype, at));
  else if (dtype == RUSH_BOOL)
    ret_bool(c, 0, rush_load_int(dtype, at) != 0);
  else
    ret_int(c, 0, rush_load_int(dtype, at));
  return RUSH_OK;
}

RUSH_OP(int_of_tensor) {
  rush_dtype dtype;
  const void *at;
  RUSH_TRY(one_element(c, &dtype, &at));
  RUSH_TRY(check_real(c, dtype, at));
  if (rush_is_float(dtype)) {
    double v = rush_load_double(dtype, at);
    RUSH_CHECK_ARG(v >= -9223372036854775808.0 && v < 9223372036854775808.0,
                   "value cannot be converted to type int64_t without overflow");
  }
  ret_int(c, 0, rush_load_int(dtype, at));
  return RUSH_OK;
}

RUSH_OP(float_of_tensor) {
  rush_dtype dtype;
  const void *at;
  RUSH_TRY(one_element(c, &dtype, &at));
  RUSH_TRY(check_real(c, dtype, at));
  ret_float(c, 0, rush_load_double(dtype, at));
  return RUSH_OK;
}

RUSH_OP(bool_of_tensor) {
  const rush_tensor *t = arg_tensor(c, 0);
  RUSH_CHECK_ARG(t->numel != 0, "Boolean value of Tensor with no values is ambiguous");
  RUSH_CHECK_ARG(t->numel == 1, "Boolean value of Tensor with more than one value is ambiguous");
  uint8_t truth;
  rush_convert(RUSH_BOOL, &truth, t->dtype, rush_data(t), 1);
  ret_bool(c, 0, truth != 0);
  return RUSH_OK;
}

/* IntImplicit, FloatImplicit, ScalarImplicit and ComplexImplicit accept a 0-d tensor in place of a
 * number. */
static rush_status check_implicit(rush_call *c, bool wants_int) {
  const rush_tensor *t = arg_tensor(c, 0);
  RUSH_CHECK_ARG(t->rank == 0,
                 "Cannot input a tensor of dimension other than 0 as a scalar argument");
  RUSH_CHECK_ARG(!wants_int || !rush_is_float(t->dtype),
                 "Cannot input a tensor of type %s as an integral argument",
                 rush_dtype_name(t->dtype));
  return RUSH_OK;
}

RUSH_OP(int_implicit) {
  RUSH_TRY(check_implicit(c, true));
  return rush_op_int_of_tensor(c);
}
RUSH_OP(float_implicit) {
  RUSH_TRY(check_implicit(c, false));
  return rush_op_float_of_tensor(c);
}
RUSH_OP(scalar_implicit) {
  RUSH_TRY(check_implicit(c, false));
  return rush_op_item(c);
}

RUSH_OP(complex_implicit) {
  rush_dtype dtype;
  const void *at;
  RUSH_TRY(check_implicit(c, false));
  RUSH_TRY(one_element(c, &dtype, &at));
  return rush_complex_at(c->heap, dtype, at, &c->results[0]);
}

/* Returns a 0-d tensor of dtype bool, int64 or float64. */
RUSH_OP(num_to_tensor) {
  rush_tensor *out;
  rush_kind kind = (rush_kind)c->args[0].kind;
  rush_dtype dtype = kind == RUSH_KIND_FLOAT  ? RUSH_FLOAT64
                     : kind == RUSH_KIND_BOOL ? RUSH_BOOL
                                              : RUSH_INT64;
  RUSH_TRY(rush_result(c, 0, dtype, 0, NULL, &out));
  if (dtype == RUSH_FLOAT64)
    rush_store_double(dtype, rush_data(out), c->args[0].u.f);
  else
    rush_store_int(dtype, rush_data(out), c->args[0].u.i);
  return RUSH_OK;
}

/* ---- Strings --------------------------------------------------------------------------------- */

/* int(str) and float(str) parse like std::stoll and std::stod: leading spaces are allowed, trailing
 * characters are not. */
RUSH_OP(int_of_str) {
  const rush_str *s = arg_str(c, 0);
  char *end;
  errno = 0;
  long long v = strtoll(s->bytes, &end, 10);
  RUSH_CHECK_ARG(end == s->bytes + s->size && end != s->bytes,
                 "invalid literal for int() with base 10: '%s'", s->bytes);
  RUSH_CHECK_ARG(errno != ERANGE, "stoll: '%s' is out of range", s->bytes);
  ret_int(c, 0, v);
  return RUSH_OK;
}

RUSH_OP(float_of_str) {
  const rush_str *s = arg_str(c, 0);
  double v;
  const char *end = rush_parse_real(s->bytes, &v);
  RUSH_CHECK_ARG(end == s->bytes + s->size && end != s->bytes,
                 "could not convert string to float: '%s'", s->bytes);
  ret_float(c, 0, v);
  return RUSH_OK;
}

RUSH_OP(ord) {
  const rush_str *s = arg_str(c, 0);
  RUSH_CHECK_ARG(s->size == 1, "String for ord() must be 1 character, found %zu", s->size);
  ret_int(c, 0, (uint8_t)s->bytes[0]);
  return RUSH_OK;
}

RUSH_OP(chr) {
  char byte = (char)(uint8_t)arg_int(c, 0);
  return rush_new_str(c->heap, &byte, 1, &c->results[0]);
}

/* bin, oct and hex: a sign, a prefix and the digits. */
static rush_status in_base(rush_call *c, unsigned shift, char letter) {
  char text[72], *at = text + sizeof text;
  int64_t v = arg_int(c, 0);
  uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  do {
    *--at = "0123456789abcdef"[left & ((1u << shift) - 1)];
    left >>= shift;
  } while (left != 0);
  *--at = letter;
  *--at = '0';
  if (v < 0) *--at = '-';
  return rush_new_str(c->heap, at, (size_t)(text + sizeof text - at), &c->results[0]);
}
RUSH_OP(bin) {
  return in_base(c, 1, 'b');
}
RUSH_OP(oct) {
  return in_base(c, 3, 'o');
}
RUSH_OP(hex) {
  return in_base(c, 4, 'x');
}
