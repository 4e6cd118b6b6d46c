/* Follows aten/src/ATen/native/quantized/AffineQuantizer.cpp, fbgemm's QuantUtils where they differ
 * about what no integer holds. */
#include "kernels/quantise.h"

#include <math.h>

#include "base/base.h"
#include "kernels/int8_bytes.h"

/* Bytes, whose zero point is one: what is bounded first is small enough to be rounded fast. */
static void quantise_bytes(float inverse, float zero, float least, float most, size_t n,
                           const float *x, uint8_t *out) {
  const f4 factor = f4_set(inverse), lo = f4_set(least - zero), hi = f4_set(most - zero);
  const i4 zeros = i4_set((int32_t)zero);
  float rest[8] = {0};
  uint8_t last[8];
  for (size_t i = 0; i < n; i += 8) {
    const float *from = n - i < 8 ? memcpy(rest, x + i, (n - i) * sizeof *x) : x + i;
    i4 low, high;
    f4_round_small(f4_less(f4_more(f4_load(from) * factor, lo), hi), &low);
    f4_round_small(f4_less(f4_more(f4_load(from + 4) * factor, lo), hi), &high);
    rush_int8_store(n - i < 8 ? last : out + i, i4_add(low, zeros), i4_add(high, zeros), UINT8_MAX);
    if (n - i < 8) memcpy(out + i, last, n - i);
  }
}

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
  const bool is_signed = dtype == RUSH_QINT8;
  const int64_t least = is_signed ? INT8_MIN : 0;
  if (dtype != RUSH_QINT32 && zero_point >= least && zero_point <= least + UINT8_MAX) {
    quantise_bytes(inverse, zero, (float)least, (float)(least + UINT8_MAX), n, x, out);
  } else if (dtype == RUSH_QUINT8) { /* _make_per_tensor_quantized_tensor takes any zero point */
    QUANTISE(uint8_t, float, 0, UINT8_MAX)
  } else if (is_signed) {
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
  enum { BYTES = 256 };
  if (dtype != RUSH_QINT32 && n > 2 * BYTES) {
    uint8_t bytes[BYTES];
    float numbers[BYTES];
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
    rush_dequantise(dtype, scale, zero_point, BYTES, bytes, numbers);
    for (size_t i = 0; i < n; i++) out[i] = numbers[((const uint8_t *)x)[i]];
  } else if (dtype == RUSH_QUINT8) {
    DEQUANTISE(uint8_t)
  } else if (dtype == RUSH_QINT8) {
    DEQUANTISE(int8_t)
  } else {
    DEQUANTISE(int32_t)
  }
}
