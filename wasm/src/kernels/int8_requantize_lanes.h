/* rush_int8_requantize on vectors of RUSH_LANES numbers (4 or 8), named
 * RUSH_WITH_LANES(int8_requantize). int8_requantize.c and int8_requantize_avx2.c include this
 * file. */
#include "kernels/elementary_inline.h"
#include "kernels/int8_conv_types.h"
#if RUSH_LANES == 4
#include "kernels/int8_bytes.h"
#endif

/* Vectors per eight numbers. */
enum { PARTS = 8 / RUSH_LANES };

/* For activations by table, inverse and zero map to table indices. */
typedef struct steps {
  f4 inverse, zero, least, magic;
  i4 added;
  b16 sign;
  const uint8_t *table;
} steps;

/* The functions of int8_bytes.h for this vector width. */
#if RUSH_LANES == 8
RUSH_INLINE __m128i words_of(const i4 v[PARTS]) {
  const __m256i all = (__m256i)v[0];
  return _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}
RUSH_INLINE void store_bytes(uint8_t *y, const i4 v[PARTS], b16 sign) {
  const __m128i words = words_of(v);
  _mm_storel_epi64((__m128i *)y, _mm_xor_si128(_mm_packus_epi16(words, words), (__m128i)sign));
}
RUSH_INLINE void store_places(int16_t *y, const i4 v[PARTS]) {
  _mm_storeu_si128((__m128i *)y,
                   _mm_min_epi16(words_of(v), _mm_set1_epi16(RUSH_INT8_TABLE_SIZE - 1)));
}
#else
RUSH_INLINE void store_bytes(uint8_t *y, const i4 v[PARTS], b16 sign) {
  rush_int8_store(y, v[0], v[1], sign);
}
RUSH_INLINE void store_places(int16_t *y, const i4 v[PARTS]) {
  rush_int8_store_wide(y, v[0], v[1], RUSH_INT8_TABLE_SIZE - 1);
}
#endif

/* Stores eight results. */
RUSH_INLINE void put(const steps *s, rush_int8_activation activation, uint8_t *y,
                     const i4 v[PARTS]) {
  if (!rush_int8_by_table(activation)) {
    store_bytes(y, v, s->sign);
    return;
  }
  int16_t places[8];
  store_places(places, v);
  for (int i = 0; i < 8; i++) y[i] = s->table[places[i]];
}

/* Rounds to integers. Numbers are clamped from below first. Numbers that are too large for the
 * rounding stay too large as integers. */
RUSH_INLINE i4 integers(const steps *s, bool first, rush_int8_activation activation, i4 sum,
                        f4 factor, f4 bias) {
  f4 v = f4_from_int(sum) * factor;
  if (!first) {
    v = v + bias;
    if (activation == RUSH_INT8_HARDSWISH) v = f4_hardswish(v);
    if (activation == RUSH_INT8_HARDSIGMOID) v = f4_hardsigmoid(v);
    v = v * s->inverse;
    v = v + s->zero;
  }
  return i4_add((i4)(f4_more(v, s->least) + s->magic), s->added);
}

/* Requantizes eight channels from k on and stores n of them. */
RUSH_INLINE void channels(const rush_int8_requantization *to, const steps *s, bool first,
                          rush_int8_activation activation, size_t rows, size_t k, size_t n,
                          const int32_t *sums, size_t lds, uint8_t *y, size_t ldy) {
  i4 offsets[PARTS], v[PARTS];
  f4 factors[PARTS], bias[PARTS];
  for (size_t p = 0; p < PARTS; p++) {
    memcpy(&offsets[p], to->offsets + k + p * RUSH_LANES, sizeof *offsets);
    factors[p] = f4_load(to->factors + k + p * RUSH_LANES);
    bias[p] = first ? f4_zero() : f4_load(to->bias + k + p * RUSH_LANES);
  }
  for (size_t r = 0; r < rows; r++, sums += lds, y += ldy) {
    for (size_t p = 0; p < PARTS; p++) {
      memcpy(&v[p], sums + p * RUSH_LANES, sizeof *v);
      v[p] = integers(s, first, activation, i4_add(v[p], offsets[p]), factors[p], bias[p]);
    }
    if (n >= 8) {
      put(s, activation, y, v);
    } else {
      uint8_t rest[8];
      put(s, activation, rest, v);
      memcpy(y, rest, n);
    }
  }
}

RUSH_INLINE void requantize(const rush_int8_requantization *to, bool first,
                            rush_int8_activation activation, size_t rows, size_t from, size_t n,
                            const int32_t *sums, size_t lds, size_t step, uint8_t *y, size_t ldy) {
  const float magic = 12582912.0f; /* the method of f4_round_small */
  const bool by_table = rush_int8_by_table(activation);
  const uint8_t sign = to->is_signed ? 128 : 0;
  const int32_t shift = first ? to->zero_point : 0;
  int32_t bits;
  memcpy(&bits, &magic, sizeof bits);
  const steps s = {f4_set(by_table ? to->per_place : to->inverse),
                   f4_set(by_table ? -to->place_0 * to->per_place : (float)to->zero_point),
                   f4_set(by_table ? 0 : (float)(to->least - shift)),
                   f4_set(magic),
                   i4_set(shift + (by_table ? 0 : sign) - bits),
                   b16_set(sign),
                   to->table};
  for (size_t c = 0; c < n; c += 8, sums += step) {
    if (n - c >= 8) {
      channels(to, &s, first, activation, rows, from + c, 8, sums, lds, y + c, ldy);
    } else {
      channels(to, &s, first, activation, rows, from + c, n - c, sums, lds, y + c, ldy);
    }
  }
}

#define RUSH_OF(NAME, first, activation)                                                   \
  static void NAME(const rush_int8_requantization *to, size_t rows, size_t c, size_t n,    \
                   const int32_t *sums, size_t lds, size_t step, uint8_t *y, size_t ldy) { \
    requantize(to, first, activation, rows, c, n, sums, lds, step, y, ldy);                \
  }
RUSH_OF(rounded, true, RUSH_INT8_PLAIN)
RUSH_OF(plain, false, RUSH_INT8_PLAIN)
RUSH_OF(hardswish, false, RUSH_INT8_HARDSWISH)
RUSH_OF(hardsigmoid, false, RUSH_INT8_HARDSIGMOID)
RUSH_OF(looked_up, false, RUSH_INT8_SILU)

rush_int8_requantizer RUSH_WITH_LANES(int8_requantize);
void RUSH_WITH_LANES(int8_requantize)(const rush_int8_requantization *to, size_t rows, size_t c,
                                      size_t n, const int32_t *sums, size_t lds, size_t step,
                                      uint8_t *y, size_t ldy) {
  if (to->rounds_first) {
    rounded(to, rows, c, n, sums, lds, step, y, ldy);
    return;
  }
  switch (to->activation) {
    case RUSH_INT8_HARDSWISH:
      hardswish(to, rows, c, n, sums, lds, step, y, ldy);
      return;
    case RUSH_INT8_HARDSIGMOID:
      hardsigmoid(to, rows, c, n, sums, lds, step, y, ldy);
      return;
    case RUSH_INT8_SILU:
    case RUSH_INT8_SIGMOID:
      looked_up(to, rows, c, n, sums, lds, step, y, ldy);
      return;
    default:
      plain(to, rows, c, n, sums, lds, step, y, ldy);
  }
}
