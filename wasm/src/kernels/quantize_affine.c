/* Follows aten/src/ATen/native/quantized/AffineQuantizer.cpp, and fbgemm's QuantUtils for
 * out-of-range numbers. */
#include "kernels/quantize_affine.h"

#include <math.h>

#include "base/base.h"
#include "kernels/int8_bytes.h"

/* The conversion of rounded numbers to bytes: the sign bit, the minimum, and the offset. */
typedef struct ending {
  b16 sign;
  f4 least;
  i4 zero;
} ending;

/* relu: negative values become 0. */
static ending ending_of(rush_dtype dtype, int64_t zero_point, bool relu) {
  const int32_t zero = (int32_t)zero_point + (dtype == RUSH_QINT8 ? 128 : 0);
  return (ending){b16_set(dtype == RUSH_QINT8 ? 128 : 0), f4_set(relu ? 0 : (float)-zero),
                  i4_set(zero)};
}

/* Stores numbers as bytes. They are clamped from below as floats. Numbers that are too large are
 * clamped as integers. */
RUSH_INLINE void put_bytes(ending to, f4 a, f4 b, uint8_t *out) {
  i4 low, high;
  f4_round_small(f4_more(a, to.least), &low);
  f4_round_small(f4_more(b, to.least), &high);
  rush_int8_store(out, i4_add(low, to.zero), i4_add(high, to.zero), to.sign);
}

/* The zero point must be in the range of the dtype. */
static void quantize_bytes(float inverse, ending to, size_t n, const float *x, uint8_t *out) {
  const f4 factor = f4_set(inverse);
  float rest[8] = {0};
  uint8_t last[8];
  for (size_t i = 0; i < n; i += 8) {
    const float *from = n - i < 8 ? memcpy(rest, x + i, (n - i) * sizeof *x) : x + i;
    put_bytes(to, f4_load(from) * factor, f4_load(from + 4) * factor, n - i < 8 ? last : out + i);
    if (n - i < 8) memcpy(out + i, last, n - i);
  }
}

/* FLOAT must represent the bounds of T exactly. */
#define QUANTIZE(T, FLOAT, least, most)                                                  \
  for (size_t i = 0; i < n; i++) {                                                       \
    const FLOAT v = zero + rintf(x[i] * inverse);                                        \
    const FLOAT bounded = v > (FLOAT)(least) ? v < (FLOAT)(most) ? v : (most) : (least); \
    ((T *)out)[i] = (T)bounded;                                                          \
  }

void rush_quantize(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const float *x,
                   void *out) {
  const float inverse = 1.0f / (float)scale, zero = (float)zero_point;
  const bool is_signed = dtype == RUSH_QINT8;
  const int64_t least = is_signed ? INT8_MIN : 0;
  if (dtype != RUSH_QINT32 && zero_point >= least && zero_point <= least + UINT8_MAX) {
    quantize_bytes(inverse, ending_of(dtype, zero_point, false), n, x, out);
  } else if (dtype == RUSH_QUINT8) { /* _make_per_tensor_quantized_tensor accepts any zero point */
    QUANTIZE(uint8_t, float, 0, UINT8_MAX)
  } else if (is_signed) {
    QUANTIZE(int8_t, float, INT8_MIN, INT8_MAX)
  } else {
    QUANTIZE(int32_t, double, INT32_MIN, INT32_MAX)
  }
}

/* For a scale that is a float. A product of two floats is exact in double precision, so the result
 * is rounded once, as in PyTorch. */
static void dequantize_bytes(float scale, float zero, bool is_signed, size_t n, const uint8_t *x,
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

#define DEQUANTIZE(T)            \
  for (size_t i = 0; i < n; i++) \
    out[i] = (float)((double)((float)((const T *)x)[i] - zero) * scale);

enum { BYTES = UINT8_MAX + 1 };

/* Dequantizes all 256 bytes. */
static void numbers_of_bytes(rush_dtype dtype, double scale, int64_t zero_point,
                             float numbers[BYTES]) {
  uint8_t bytes[BYTES];
  for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
  rush_dequantize(dtype, scale, zero_point, BYTES, bytes, numbers);
}

void rush_dequantize(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const void *x,
                     float *out) {
  const float zero = (float)zero_point;
  if (dtype != RUSH_QINT32 && (double)(float)scale == scale) {
    dequantize_bytes((float)scale, zero, dtype == RUSH_QINT8, n, x, out);
  } else if (dtype != RUSH_QINT32 && n > 2 * BYTES) {
    float numbers[BYTES];
    numbers_of_bytes(dtype, scale, zero_point, numbers);
    for (size_t i = 0; i < n; i++) out[i] = numbers[((const uint8_t *)x)[i]];
  } else if (dtype == RUSH_QUINT8) {
    DEQUANTIZE(uint8_t)
  } else if (dtype == RUSH_QINT8) {
    DEQUANTIZE(int8_t)
  } else {
    DEQUANTIZE(int32_t)
  }
}

/* ---- Binary operators ------------------------------------------------------------------------ */

/* One operand. Its bytes become unsigned by xor with `flip`. */
typedef struct side {
  b16 flip;
  f4 zero, scale;       /* scale: 1 for products, which multiply integers */
  const float *numbers; /* dequantized bytes if the scale is not a float, else NULL */
} side;

static side side_of(rush_dtype dtype, double scale, int64_t zero_point, float numbers[BYTES]) {
  const uint8_t sign = dtype == RUSH_QINT8 ? 128 : 0;
  const bool looks_up = (double)(float)scale != scale;
  if (looks_up) numbers_of_bytes(dtype, scale, zero_point, numbers);
  return (side){b16_set(sign), f4_set((float)zero_point + sign), f4_set((float)scale),
                looks_up ? numbers : NULL};
}

/* Dequantizes eight bytes. */
RUSH_INLINE void numbers_of(side s, bool product, const uint8_t *x, f4 out[2]) {
  if (RUSH_UNLIKELY(s.numbers != NULL)) {
    float v[8];
    for (int i = 0; i < 8; i++) v[i] = s.numbers[x[i]];
    out[0] = f4_load(v), out[1] = f4_load(v + 4);
    return;
  }
  rush_int8_numbers(b16_load_half(x) ^ s.flip, out);
  for (int h = 0; h < 2; h++) {
    out[h] = out[h] - s.zero;
    if (!product) out[h] = out[h] * s.scale;
  }
}

RUSH_INLINE void pairs(bool product, side p, side q, f4 factor, ending to, size_t n,
                       const uint8_t *a, const uint8_t *b, uint8_t *y) {
  uint8_t left[2][8] = {{0}}, made[8];
  for (size_t i = 0; i < n; i += 8) {
    const size_t some = n - i < 8 ? n - i : 8;
    const uint8_t *from = a + i, *other = b + i;
    f4 u[2], v[2];
    if (some < 8) {
      from = memcpy(left[0], from, some);
      other = memcpy(left[1], other, some);
    }
    numbers_of(p, product, from, u);
    numbers_of(q, product, other, v);
    for (int h = 0; h < 2; h++) u[h] = (product ? u[h] * v[h] : u[h] + v[h]) * factor;
    put_bytes(to, u[0], u[1], some < 8 ? made : y + i);
    if (some < 8) memcpy(y + i, made, some);
  }
}

static bool is_byte(int64_t zero_point) {
  return zero_point >= 0 && zero_point <= UINT8_MAX;
}

/* Follows pytorch_qnnp_compute_add_quantization_params: the greater factor has 22 bits, `shift` of
 * them fractional. Returns false if the factors or the zero points do not fit. */
static bool sums_in_integers(const rush_quantized_binary *q, size_t n, const uint8_t *a,
                             const uint8_t *b, uint8_t *y) {
  const float p = (float)q->a.scale / (float)q->scale, r = (float)q->b.scale / (float)q->scale;
  const float most = p > r ? p : r;
  if (!(most >= 0x1p-9f && most < 0x1p8f && p >= 0 && r >= 0) || !is_byte(q->a.zero_point) ||
      !is_byte(q->b.zero_point))
    return false;
  float unit = 1;
  int shift = 0;
  while (most * unit < 0x1p21f) unit *= 2, shift++;
  const int32_t times_a = (int32_t)rintf(p * unit), times_b = (int32_t)rintf(r * unit);
  const int32_t from_a = (int32_t)q->a.zero_point, from_b = (int32_t)q->b.zero_point;
  const int32_t zero = (int32_t)q->zero_point, least = q->relu ? zero : 0;
  const int32_t mask = (int32_t)((1u << shift) - 1);
  for (size_t i = 0; i < n; i++) {
    const int32_t sum = (a[i] - from_a) * times_a + (b[i] - from_b) * times_b;
    const int32_t rest = (sum & mask) - (sum < 0);
    int32_t v = (sum >> shift) + (rest > mask >> 1) + zero;
    v = v < least ? least : v;
    y[i] = (uint8_t)(v > UINT8_MAX ? UINT8_MAX : v);
  }
  return true;
}

void rush_quantized_combine(const rush_quantized_binary *q, size_t n, const uint8_t *a,
                            const uint8_t *b, uint8_t *y) {
  if (q->fixed && sums_in_integers(q, n, a, b, y)) return;
  const float inverse = 1.0f / (float)q->scale, step = (float)q->a.scale * (float)q->b.scale;
  const f4 factor = f4_set(q->product ? step * inverse : inverse);
  const ending to = ending_of(q->dtype, q->zero_point, q->relu);
  float numbers[2][BYTES];
  const side u = side_of(q->dtype, q->product ? 1 : q->a.scale, q->a.zero_point, numbers[0]);
  const side v = side_of(q->dtype, q->product ? 1 : q->b.scale, q->b.zero_point, numbers[1]);
  if (q->product) {
    pairs(true, u, v, factor, to, n, a, b, y);
  } else {
    pairs(false, u, v, factor, to, n, a, b, y);
  }
}

void rush_lookup(size_t n, const uint8_t *restrict table, const uint8_t *restrict x,
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
