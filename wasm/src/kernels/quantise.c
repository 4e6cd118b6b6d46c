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

/* So long a sum of products fits in 32 bits; longer ones wrap. */
enum { FITS = 1 << 15, ROWS = 4 };

#define DOT(W)                                                         \
  uint32_t sum = 0;                                                    \
  for (size_t from = 0; from < k; from += FITS) {                      \
    const size_t to = k - from < FITS ? k : from + FITS;               \
    int32_t part = 0;                                                  \
    for (size_t i = from; i < to; i++) part += (int32_t)x[i] * (W)[i]; \
    sum = sum + (uint32_t)part;                                        \
  }                                                                    \
  return sum;

static uint32_t dot_bytes(size_t k, const int16_t *x, const int8_t *w) {
  DOT(w)
}
static uint32_t dot(size_t k, const int16_t *x, const int16_t *w) {
  DOT(w)
}

/* Four rows of x at a time: w is read once. */
static void dots(size_t k, const int16_t *restrict x, const int16_t *restrict w, uint32_t *sums) {
  const int16_t *x1 = x + k, *x2 = x1 + k, *x3 = x2 + k;
  for (int r = 0; r < ROWS; r++) sums[r] = 0;
  for (size_t from = 0; from < k; from += FITS) {
    const size_t to = k - from < FITS ? k : from + FITS;
    int32_t part[ROWS] = {0};
    for (size_t i = from; i < to; i++) {
      part[0] += (int32_t)x[i] * w[i];
      part[1] += (int32_t)x1[i] * w[i];
      part[2] += (int32_t)x2[i] * w[i];
      part[3] += (int32_t)x3[i] * w[i];
    }
    for (int r = 0; r < ROWS; r++) sums[r] = sums[r] + (uint32_t)part[r];
  }
}

/* Few rows: the weight is read as it is, and what its zero points make is taken away. */
static void product_of_few(size_t m, size_t n, size_t k, const int16_t *x, const int8_t *w,
                           const int32_t *zeros, int32_t *y, size_t row, size_t col) {
  for (size_t i = 0; i < m; i++, x += k) {
    uint32_t sum = 0;
    for (size_t p = 0; p < k; p++) {
      const int32_t v = x[p];
      sum = sum + (uint32_t)v;
    }
    for (size_t j = 0; j < n; j++)
      y[i * row + j * col] = (int32_t)(dot_bytes(k, x, w + j * k) - sum * (uint32_t)zeros[j]);
  }
}

void rush_int8_product(size_t m, size_t n, size_t k, const int16_t *x, const int8_t *w,
                       const int32_t *zeros, int32_t *y, size_t row, size_t col, int16_t *scratch) {
  if (m < ROWS) {
    product_of_few(m, n, k, x, w, zeros, y, row, col);
    return;
  }
  for (size_t j = 0; j < n; j++, w += k) {
    const int16_t zero = (int16_t)zeros[j];
    uint32_t sums[ROWS];
    size_t i = 0;
    for (size_t p = 0; p < k; p++) scratch[p] = (int16_t)(w[p] - zero);
    for (; i + ROWS <= m; i += ROWS) {
      dots(k, x + i * k, scratch, sums);
      for (size_t r = 0; r < ROWS; r++) y[(i + r) * row + j * col] = (int32_t)sums[r];
    }
    for (; i < m; i++) y[i * row + j * col] = (int32_t)dot(k, x + i * k, scratch);
  }
}
