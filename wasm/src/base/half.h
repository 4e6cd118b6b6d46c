/* Conversion between float32 and float16 or bfloat16. Narrowing rounds to nearest, half to even. */
#ifndef RUSH_HALF_H
#define RUSH_HALF_H

#include <stdint.h>
#include <string.h>

static inline float rush_float_from_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
static inline uint32_t rush_float_to_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static inline float rush_from_float16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00) return rush_float_from_bits(sign | 0x7f800000 | rest << 13);
  /* Subnormal numbers are multiples of 2^-24. */
  const float f =
      rest < 0x400 ? (float)rest * 0x1p-24f : rush_float_from_bits((rest << 13) + (112u << 23));
  return rush_float_from_bits(sign | rush_float_to_bits(f));
}
static inline uint16_t rush_to_float16(float f) {
  const uint32_t sign = rush_float_to_bits(f) >> 16 & 0x8000,
                 a = rush_float_to_bits(f) & 0x7fffffff;
  uint32_t h;
  if (a > 0x7f800000)
    h = 0x7e00;
  else if (a >= 0x477ff000) /* 65520, halfway to 2^16 */
    h = 0x7c00;
  else if (a < 0x38800000) /* floats near 0.5 are multiples of 2^-24 */
    h = rush_float_to_bits(rush_float_from_bits(a) + 0.5f) - rush_float_to_bits(0.5f);
  else
    h = (a + 0xfff + (a >> 13 & 1) - (112u << 23)) >> 13;
  return (uint16_t)(sign | h);
}

static inline float rush_from_bfloat16(uint16_t h) {
  return rush_float_from_bits((uint32_t)h << 16);
}
static inline uint16_t rush_to_bfloat16(float f) {
  const uint32_t bits = rush_float_to_bits(f);
  return f != f ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
