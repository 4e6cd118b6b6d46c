/* rush_int8_requantise on vectors of RUSH_LANES numbers (4 or 8), under the name RUSH_NAMED(int8_requantise): the text of
 * int8_requantise.c and int8_requantise_avx2.c. */
#include "kernels/int8_conv.h"
#include "kernels/math_inline.h"
#if RUSH_LANES == 4
#include "kernels/int8_bytes.h"
#endif

/* Vectors of eight numbers. */
enum { PARTS = 8 / RUSH_LANES };

/* For activations by a table inverse and zero are those of places in it. */
typedef struct steps {
  f4 inverse, zero, least, magic;
  i4 added;
  int16_t most;
  bool first, biased;
  const uint8_t *table;
} steps;

/* As int8_bytes.h has them. */
#if RUSH_LANES == 8
RUSH_INLINE __m128i words_of(const i4 v[PARTS], int16_t most) {
  const __m256i all = (__m256i)v[0];
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  return _mm_min_epi16(words, _mm_set1_epi16(most));
}
RUSH_INLINE void store_bytes(uint8_t *y, const i4 v[PARTS], int16_t most) {
  const __m128i words = _mm_and_si128(words_of(v, most), _mm_set1_epi16(255));
  _mm_storel_epi64((__m128i *)y, _mm_packus_epi16(words, words));
}
RUSH_INLINE void store_words(int16_t *y, const i4 v[PARTS], int16_t most) {
  _mm_storeu_si128((__m128i *)y, words_of(v, most));
}
#else
RUSH_INLINE void store_bytes(uint8_t *y, const i4 v[PARTS], int16_t most) {
  rush_int8_store(y, v[0], v[1], most);
}
RUSH_INLINE void store_words(int16_t *y, const i4 v[PARTS], int16_t most) {
  rush_int8_store_wide(y, v[0], v[1], most);
}
#endif

/* Eight results. */
RUSH_INLINE void put(const steps *s, rush_int8_activation activation, uint8_t *y,
                     const i4 v[PARTS]) {
  if (!rush_int8_by_table(activation)) {
    store_bytes(y, v, s->most);
    return;
  }
  int16_t places[8];
  store_words(places, v, s->most);
  for (int i = 0; i < 8; i++) y[i] = s->table[places[i]];
}

/* What is rounded is bounded below; what is too large to be so stays too large as an integer. */
RUSH_INLINE i4 integers(const steps *s, rush_int8_activation activation, i4 sum, f4 factor,
                        f4 bias) {
  f4 v = f4_from_int(sum) * factor;
  if (!s->first) {
    if (s->biased) v = v + bias;
    if (activation == RUSH_INT8_HARDSWISH) v = f4_hardswish(v);
    if (activation == RUSH_INT8_HARDSIGMOID) v = f4_hardsigmoid(v);
    v = v * s->inverse;
    v = v + s->zero;
  }
  return i4_add((i4)(f4_more(v, s->least) + s->magic), s->added);
}

/* Eight channels, from k on, of which n are there. */
RUSH_INLINE void channels(const rush_requantised *to, const steps *s,
                          rush_int8_activation activation, size_t rows, size_t k, size_t n,
                          const int32_t *sums, size_t lds, uint8_t *y, size_t ldy) {
  i4 offsets[PARTS], v[PARTS];
  f4 factors[PARTS], bias[PARTS];
  for (size_t p = 0; p < PARTS; p++) {
    memcpy(&offsets[p], to->offsets + k + p * RUSH_LANES, sizeof *offsets);
    factors[p] = f4_load(to->factors + k + p * RUSH_LANES);
    bias[p] = s->biased ? f4_load(to->bias + k + p * RUSH_LANES) : f4_zero();
  }
  for (size_t r = 0; r < rows; r++, sums += lds, y += ldy) {
    for (size_t p = 0; p < PARTS; p++) {
      memcpy(&v[p], sums + p * RUSH_LANES, sizeof *v);
      v[p] = integers(s, activation, i4_add(v[p], offsets[p]), factors[p], bias[p]);
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

RUSH_INLINE void requantise(const rush_requantised *to, rush_int8_activation activation,
                            size_t rows, size_t first, size_t n, const int32_t *sums, size_t lds,
                            size_t step, uint8_t *y, size_t ldy) {
  const float magic = 12582912.0f; /* as f4_round_small */
  const int32_t shift = to->rounds_first ? to->zero_point : 0;
  int32_t bits;
  memcpy(&bits, &magic, sizeof bits);
  const bool by_table = rush_int8_by_table(activation);
  const steps s = {f4_set(by_table ? to->per_place : to->inverse),
                   f4_set(by_table ? -to->place_0 * to->per_place : (float)to->zero_point),
                   f4_set(by_table ? 0 : (float)(to->least - shift)),
                   f4_set(magic),
                   i4_set(shift - bits),
                   by_table ? RUSH_INT8_PLACES - 1 : (int16_t)to->most,
                   to->rounds_first,
                   to->bias != NULL,
                   to->table};
  for (size_t c = 0; c < n; c += 8, sums += step) {
    if (n - c >= 8) {
      channels(to, &s, activation, rows, first + c, 8, sums, lds, y + c, ldy);
    } else {
      channels(to, &s, activation, rows, first + c, n - c, sums, lds, y + c, ldy);
    }
  }
}

#define RUSH_OF(NAME, activation)                                                          \
  static void NAME(const rush_requantised *to, size_t rows, size_t c, size_t n,            \
                   const int32_t *sums, size_t lds, size_t step, uint8_t *y, size_t ldy) { \
    requantise(to, activation, rows, c, n, sums, lds, step, y, ldy);                       \
  }
RUSH_OF(plain, RUSH_INT8_PLAIN)
RUSH_OF(hardswish, RUSH_INT8_HARDSWISH)
RUSH_OF(hardsigmoid, RUSH_INT8_HARDSIGMOID)
RUSH_OF(looked_up, RUSH_INT8_SILU)

rush_int8_requantiser RUSH_NAMED(int8_requantise);
void RUSH_NAMED(int8_requantise)(const rush_requantised *to, size_t rows, size_t c, size_t n,
                                 const int32_t *sums, size_t lds, size_t step, uint8_t *y,
                                 size_t ldy) {
  switch (to->rounds_first ? RUSH_INT8_PLAIN : to->activation) {
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
