/* Follows aten/src/ATen/native/quantized/AffineQuantizer.cpp, fbgemm's QuantUtils where they differ
 * about what no integer holds. */
#include "kernels/quantise.h"

#include <math.h>

#include "base/base.h"

/* FLOAT holds the bounds of T. */
#define QUANTISE(T, FLOAT, least, most)                                                  \
  for (size_t i = 0; i < n; i++) {                                                       \
    const FLOAT v = zero + rintf(x[i] * inverse);                                        \
    const FLOAT bounded = v > (FLOAT)(least) ? v < (FLOAT)(most) ? v : (most) : (least); \
    ((T *)out)[i] = (T)bounded;                                                          \
  }

void rush_quantise(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const float *x,
                   void *out) {
  const float inverse = 1.0f / (float)scale, zero = (float)zero_point;
  if (dtype == RUSH_QUINT8) {
    QUANTISE(uint8_t, float, 0, UINT8_MAX)
  } else if (dtype == RUSH_QINT8) {
    QUANTISE(int8_t, float, INT8_MIN, INT8_MAX)
  } else {
    QUANTISE(int32_t, double, INT32_MIN, INT32_MAX)
  }
}

#define DEQUANTISE(T)            \
  for (size_t i = 0; i < n; i++) \
    out[i] = (float)((double)((float)((const T *)x)[i] - zero) * scale);

void rush_dequantise(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const void *x,
                     float *out) {
  const float zero = (float)zero_point;
  if (dtype == RUSH_QUINT8) {
    DEQUANTISE(uint8_t)
  } else if (dtype == RUSH_QINT8) {
    DEQUANTISE(int8_t)
  } else {
    DEQUANTISE(int32_t)
  }
}
