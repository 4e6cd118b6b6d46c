/* dtypes: sizes, names, categories, promotion. Follows c10/core/ScalarType.h and
 * aten/src/ATen/native/TypeProperties.cpp. */
#ifndef RUSH_DTYPE_H
#define RUSH_DTYPE_H

#include "base/base.h"

/* Whether this runtime computes with the dtype (the reserved ones are not). */
bool rush_dtype_known(int dtype);
/* PyTorch's name without "torch.", e.g. "float32"; "dtype 42" style names are never returned: "?".
 */
const char *rush_dtype_name(rush_dtype dtype);
/* Bytes per element of a known dtype. */
size_t rush_dtype_size(rush_dtype dtype);

static inline bool rush_is_float(rush_dtype d) {
  return d == RUSH_FLOAT32 || d == RUSH_FLOAT64;
}
static inline bool rush_is_int(rush_dtype d) {
  return d == RUSH_UINT8 || d == RUSH_INT32 || d == RUSH_INT64;
}
static inline bool rush_is_bool(rush_dtype d) {
  return d == RUSH_BOOL;
}

/* torch.promote_types. */
rush_dtype rush_promote(rush_dtype a, rush_dtype b);
/* torch.can_cast: whether a result of dtype `from` may be written into `to` in place. */
bool rush_can_cast(rush_dtype from, rush_dtype to);

#endif
