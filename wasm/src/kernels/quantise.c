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

/* Where the scale is a float: a product of two floats is exact in double, so it is rounded once here as there. */
static void dequantise_bytes(float scale, float zero, bool is_signed, size_t n, const uint8_t *x,
                             float *out) {
  const float sign = is_signed ? 128 : 0;
  const uint8_t bit = (uint8_t)sign;
  const b16 flip = {bit, bit, bit, bit, bit, bit, bit, bit};
  const f4 factor = f4_set(scale), from = f4_set(zero), shift = f4_set(sign);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    f4 v[2];
    rush_int8_numbers(b16_load_half(x + i) ^ flip, v);
    f4_store(out + i, (v[0] - shift - from) * factor);
    f4_store(out + i + 4, (v[1] - shift - from) * factor);
  }
  for (; i < n; i++) out[i] = ((float)(x[i] ^ bit) - sign - zero) * scale;
}

#define DEQUANTISE(T)            \
  for (size_t i = 0; i < n; i++) \
    out[i] = (float)((double)((float)((const T *)x)[i] - zero) * scale);

void rush_dequantise(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const void *x,
                     float *out) {
  const float zero = (float)zero_point;
  enum { BYTES = 256 };
  if (dtype != RUSH_QINT32 && (double)(float)scale == scale) {
    dequantise_bytes((float)scale, zero, dtype == RUSH_QINT8, n, x, out);
  } else if (dtype != RUSH_QINT32 && n > 2 * BYTES) {
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

/* ---- Two of them ------------------------------------------------------------------------------- */

enum { BLOCK = 256 };

/* What is below 0 becomes that. */
static void bound(size_t n, float *x) {
  for (size_t i = 0; i < n; i++) x[i] = x[i] < 0 ? 0 : x[i];
}

static void sums(size_t n, float *restrict a, const float *restrict b) {
  for (size_t i = 0; i < n; i++) a[i] += b[i];
}

/* n up to a multiple of 4. What is bounded is far outside of what bytes hold. */
static void products(size_t n, float factor, float scale, float *a, const float *b) {
  const f4 f = f4_set(factor), s = f4_set(scale), most = f4_set(1 << 20), least = f4_zero() - most;
  i4 steps;
  for (size_t i = 0; i < n; i += 4) {
    f4 v = f4_load(a + i) * f4_load(b + i);
    v = v * f;
    f4_store(a + i, f4_round_small(f4_less(f4_more(v, least), most), &steps) * s);
  }
}

void rush_quantised_pair(const rush_quantised_two *q, size_t n, const uint8_t *a, const uint8_t *b,
                         uint8_t *y) {
  const float scale = (float)q->scale, inverse = 1.0f / scale;
  const float step = (float)q->a.scale * (float)q->b.scale;
  float u[BLOCK], v[BLOCK];
  for (size_t i = 0; i < n; i += BLOCK) {
    const size_t some = n - i < BLOCK ? n - i : BLOCK;
    rush_dequantise(q->dtype, q->product ? 1 : q->a.scale, q->a.zero_point, some, a + i, u);
    rush_dequantise(q->dtype, q->product ? 1 : q->b.scale, q->b.zero_point, some, b + i, v);
    if (q->product) {
      for (size_t k = some; k % 4 != 0; k++) u[k] = v[k] = 0;
      products(some, step * inverse, scale, u, v);
    } else {
      sums(some, u, v);
    }
    if (q->relu) bound(some, u);
    rush_quantise(q->dtype, q->scale, q->zero_point, some, u, y + i);
  }
}

void rush_look_up(size_t n, const uint8_t *restrict table, const uint8_t *restrict x,
                  uint8_t *restrict y) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t bytes, made = 0;
    memcpy(&bytes, x + i, sizeof bytes);
    for (int k = 0; k < 64; k += 8) made |= (uint64_t)table[bytes >> k & 255] << k;
    memcpy(y + i, &made, sizeof made);
  }
  for (; i < n; i++) y[i] = table[x[i]];
}
