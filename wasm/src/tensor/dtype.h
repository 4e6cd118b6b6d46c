/* dtypes: sizes, names, categories and promotion. Follows c10/core/ScalarType.h and
 * aten/src/ATen/native/TypeProperties.cpp. */
#ifndef RUSH_DTYPE_H
#define RUSH_DTYPE_H

#include "base/base.h"

/* Returns whether this runtime supports the dtype. Reserved dtypes are not supported. */
bool rush_dtype_known(int dtype);
/* Returns PyTorch's name without "torch.", such as "float32", or "?" for an unknown dtype. */
const char *rush_dtype_name(rush_dtype dtype);
/* Returns the bytes per element of a known dtype. */
size_t rush_dtype_size(rush_dtype dtype);

/* Sets of dtypes, with one bit per rush_dtype. */
enum {
  RUSH_HALVES = 1 << RUSH_FLOAT16 | 1 << RUSH_BFLOAT16,
  RUSH_FLOATS = RUSH_HALVES | 1 << RUSH_FLOAT32 | 1 << RUSH_FLOAT64,
  RUSH_SHORTS = 1 << RUSH_INT8 | 1 << RUSH_INT16,
  RUSH_INTS = RUSH_SHORTS | 1 << RUSH_UINT8 | 1 << RUSH_INT32 | 1 << RUSH_INT64,
  RUSH_COMPLEXES = 1 << RUSH_COMPLEX64 | 1 << RUSH_COMPLEX128,
  RUSH_QUANTIZED = 1 << RUSH_QINT8 | 1 << RUSH_QUINT8 | 1 << RUSH_QINT32,
  /* Operators only see these if they declare it: RUSH_OP_ANY_DTYPE in call.h. */
  RUSH_RARE = RUSH_HALVES | RUSH_SHORTS | RUSH_COMPLEXES,
};
/* RUSH_DTYPE_UNKNOWN is in no set, because its bit, the last, is never set. */
static inline bool rush_is_one_of(rush_dtype d, int set) {
  return (set >> (d & 31) & 1) != 0;
}
static inline bool rush_is_float(rush_dtype d) {
  return rush_is_one_of(d, RUSH_FLOATS);
}
/* Returns whether d is float16 or bfloat16. */
static inline bool rush_is_half(rush_dtype d) {
  return rush_is_one_of(d, RUSH_HALVES);
}
/* Returns whether d is a quantized dtype (quant.h). Programs create such tensors; files contain
 * none. */
static inline bool rush_is_quantized(rush_dtype d) {
  return rush_is_one_of(d, RUSH_QUANTIZED);
}
static inline bool rush_is_complex(rush_dtype d) {
  return rush_is_one_of(d, RUSH_COMPLEXES);
}
static inline bool rush_is_int(rush_dtype d) {
  return rush_is_one_of(d, RUSH_INTS);
}
static inline bool rush_is_bool(rush_dtype d) {
  return d == RUSH_BOOL;
}
/* Returns whether d is an integer dtype or bool. */
static inline bool rush_is_integral(rush_dtype d) {
  return rush_is_one_of(d, RUSH_INTS | 1 << RUSH_BOOL);
}

/* Returns the integer dtype that a quantized dtype stores. */
static inline rush_dtype rush_integer_dtype(rush_dtype d) {
  return d == RUSH_QINT8 ? RUSH_INT8 : d == RUSH_QUINT8 ? RUSH_UINT8 : RUSH_INT32;
}

/* Returns the dtype of a complex dtype's parts, or d itself. */
static inline rush_dtype rush_real_dtype(rush_dtype d) {
  return d == RUSH_COMPLEX64 ? RUSH_FLOAT32 : d == RUSH_COMPLEX128 ? RUSH_FLOAT64 : d;
}

/* Implements torch.promote_types. */
rush_dtype rush_promote(rush_dtype a, rush_dtype b);
/* Implements torch.can_cast: whether a result of dtype `from` may be written to `to` in place. */
bool rush_can_cast(rush_dtype from, rush_dtype to);

#endif
