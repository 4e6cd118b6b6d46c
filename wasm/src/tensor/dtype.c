#include "tensor/dtype.h"

/* Indexed by rush_dtype. A size of 0 marks a reserved dtype. */
static const struct {
  const char *name;
  uint8_t size;
  uint8_t category; /* 0 bool, 1 integer, 2 floating-point, 3 complex, 4 quantized */
} dtypes[] = {
    [RUSH_UINT8] = {"uint8", 1, 1},         [RUSH_INT8] = {"int8", 1, 1},
    [RUSH_INT16] = {"int16", 2, 1},         [RUSH_INT32] = {"int32", 4, 1},
    [RUSH_INT64] = {"int64", 8, 1},         [RUSH_FLOAT16] = {"float16", 2, 2},
    [RUSH_FLOAT32] = {"float32", 4, 2},     [RUSH_FLOAT64] = {"float64", 8, 2},
    [RUSH_COMPLEX64] = {"complex64", 8, 3}, [RUSH_COMPLEX128] = {"complex128", 16, 3},
    [RUSH_BOOL] = {"bool", 1, 0},           [RUSH_QINT8] = {"qint8", 1, 4},
    [RUSH_QUINT8] = {"quint8", 1, 4},       [RUSH_QINT32] = {"qint32", 4, 4},
    [RUSH_BFLOAT16] = {"bfloat16", 2, 2},
};

static bool in_table(int dtype) {
  return dtype >= 0 && dtype < (int)(sizeof dtypes / sizeof *dtypes);
}

bool rush_dtype_known(int dtype) {
  return in_table(dtype) && dtypes[dtype].size > 0 && !rush_is_quantized((rush_dtype)dtype);
}

const char *rush_dtype_name(rush_dtype dtype) {
  return in_table((int)dtype) && dtypes[dtype].name ? dtypes[dtype].name : "?";
}

size_t rush_dtype_size(rush_dtype dtype) {
  assert(in_table((int)dtype) && dtypes[dtype].size > 0);
  return dtypes[dtype].size;
}

rush_dtype rush_promote(rush_dtype a, rush_dtype b) {
  if (a == b) return a;
  int ca = dtypes[a].category, cb = dtypes[b].category;
  if (ca < cb) {
    const rush_dtype swap = a;
    a = b;
    b = swap;
  }
  if (a == RUSH_COMPLEX64 && b == RUSH_FLOAT64) return RUSH_COMPLEX128;
  if (ca != cb) return a;
  /* Within a category, the wider one wins. Neither of two dtypes with the same width can represent
   * the other. */
  if (dtypes[a].size != dtypes[b].size) return dtypes[a].size > dtypes[b].size ? a : b;
  return rush_is_half(a) ? RUSH_FLOAT32 : RUSH_INT16;
}

bool rush_can_cast(rush_dtype from, rush_dtype to) {
  return dtypes[from].category <= dtypes[to].category;
}
