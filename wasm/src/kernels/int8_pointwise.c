#include "kernels/int8_pointwise.h"

#include "kernels/int8_bytes.h"

/* Stores numbers as bytes. They are clamped from below as floats. Numbers that are too large are
 * clamped as integers. */
RUSH_INLINE void store(uint8_t *y, f4 a, f4 b) {
  const f4 magic = f4_set(12582912.0f); /* the method of f4_round_small */
  const i4 low = i4_sub((i4)(f4_more(a, f4_zero()) + magic), (i4)magic);
  const i4 high = i4_sub((i4)(f4_more(b, f4_zero()) + magic), (i4)magic);
  rush_int8_store(y, low, high, (b16){0});
}

void rush_int8_add(size_t n, const uint8_t *a, float of_a, const uint8_t *b, float of_b,
                   float shift, uint8_t *y) {
  const f4 p = f4_set(of_a), q = f4_set(of_b), s = f4_set(shift);
  uint8_t left[2][8] = {{0}}, made[8];
  f4 u[2], v[2];
  for (size_t i = 0; i < n; i += 8) {
    const size_t some = n - i < 8 ? n - i : 8;
    const uint8_t *from = a + i, *other = b + i;
    if (some < 8) {
      from = memcpy(left[0], from, some);
      other = memcpy(left[1], other, some);
    }
    rush_int8_numbers(b16_load_half(from), u);
    rush_int8_numbers(b16_load_half(other), v);
    for (int l = 0; l < 2; l++) {
      u[l] = u[l] * p;
      u[l] = u[l] + v[l] * q;
      u[l] = u[l] + s;
    }
    store(some < 8 ? made : y + i, u[0], u[1]);
    if (some < 8) memcpy(y + i, made, some);
  }
}

void rush_int8_scale(size_t rows, size_t channels, const uint8_t *x, float zero,
                     const float *factors, float shift, uint8_t *y) {
  const f4 z = f4_set(zero), s = f4_set(shift);
  f4 v[2];
  for (size_t r = 0; r < rows; r++, x += channels, y += channels) {
    size_t c = 0;
    for (; c + 8 <= channels; c += 8) {
      rush_int8_numbers(b16_load_half(x + c), v);
      store(y + c, (v[0] - z) * f4_load(factors + c) + s,
            (v[1] - z) * f4_load(factors + c + 4) + s);
    }
    if (c == channels) continue;
    uint8_t bytes[8] = {0};
    float rest[8] = {0};
    memcpy(bytes, x + c, channels - c);
    memcpy(rest, factors + c, (channels - c) * sizeof *rest);
    rush_int8_numbers(b16_load_half(bytes), v);
    store(bytes, (v[0] - z) * f4_load(rest) + s, (v[1] - z) * f4_load(rest + 4) + s);
    memcpy(y + c, bytes, channels - c);
  }
}

void rush_int8_sum(size_t rows, size_t channels, const uint8_t *restrict x,
                   uint32_t *restrict sums) {
  for (size_t r = 0; r < rows; r++, x += channels) {
    RUSH_EACH for (size_t c = 0; c < channels; c++) sums[c] += x[c];
  }
}
