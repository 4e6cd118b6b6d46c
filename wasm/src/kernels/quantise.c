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

void rush_unpack_weights(int bits, size_t k, size_t group, const void *weights, const float *scales,
                         const uint8_t *zero_points, float *out) {
  for (size_t from = 0, g = 0; from < k; from += group, g++) {
    const size_t to = k - from < group ? k : from + group;
    const float scale = scales[g];
    const int zero = zero_points != NULL ? zero_points[g] : bits == 4 ? 8 : 0;
    if (bits == 8) {
      const int8_t *w = weights;
      for (size_t i = from; i < to; i++) out[i] = (float)(w[i] - zero) * scale;
    } else {
      const uint8_t *w = weights;
      for (size_t i = from; i < to; i++)
        out[i] = (float)((w[i / 2] >> i % 2 * 4 & 15) - zero) * scale;
    }
  }
}
