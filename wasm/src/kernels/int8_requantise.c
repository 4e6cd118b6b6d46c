#include "kernels/int8_bytes.h"
#include "kernels/int8_conv.h"
#include "kernels/math_inline.h"

/* For activations by a table inverse and zero are those of places in it. */
typedef struct steps {
  f4 inverse, zero, least, magic;
  i4 added;
  int16_t most;
  bool first, biased;
  const uint8_t *table;
} steps;

/* Eight results. */
RUSH_INLINE void put(const steps *s, rush_int8_activation activation, uint8_t *y, i4 a, i4 b) {
  if (!rush_int8_by_table(activation)) {
    rush_int8_store(y, a, b, s->most);
    return;
  }
  int16_t places[8];
  rush_int8_store_wide(places, a, b, s->most);
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

RUSH_INLINE void requantise(const rush_requantised *to, rush_int8_activation activation,
                            size_t rows, size_t first, size_t n, const int32_t *sums, size_t lds,
                            uint8_t *y, size_t ldy) {
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
  for (size_t c = 0; c < n; c += 8) {
    const size_t k = first + c;
    i4 low, high;
    f4 bias[2] = {f4_zero(), f4_zero()};
    memcpy(&low, to->offsets + k, sizeof low);
    memcpy(&high, to->offsets + k + 4, sizeof high);
    const f4 factors[2] = {f4_load(to->factors + k), f4_load(to->factors + k + 4)};
    if (s.biased) bias[0] = f4_load(to->bias + k), bias[1] = f4_load(to->bias + k + 4);
    for (size_t r = 0; r < rows; r++) {
      i4 a, b;
      memcpy(&a, sums + r * lds + c, sizeof a);
      memcpy(&b, sums + r * lds + c + 4, sizeof b);
      a = integers(&s, activation, i4_add(a, low), factors[0], bias[0]);
      b = integers(&s, activation, i4_add(b, high), factors[1], bias[1]);
      if (n - c >= 8) {
        put(&s, activation, y + r * ldy + c, a, b);
      } else {
        uint8_t rest[8];
        put(&s, activation, rest, a, b);
        memcpy(y + r * ldy + c, rest, n - c);
      }
    }
  }
}

#define OF(NAME, activation)                                                    \
  static void NAME(const rush_requantised *to, size_t rows, size_t c, size_t n, \
                   const int32_t *sums, size_t lds, uint8_t *y, size_t ldy) {   \
    requantise(to, activation, rows, c, n, sums, lds, y, ldy);                  \
  }
OF(plain, RUSH_INT8_PLAIN)
OF(hardswish, RUSH_INT8_HARDSWISH)
OF(hardsigmoid, RUSH_INT8_HARDSIGMOID)
OF(looked_up, RUSH_INT8_SILU)

void rush_int8_requantise(const rush_requantised *to, size_t rows, size_t c, size_t n,
                          const int32_t *sums, size_t lds, uint8_t *y, size_t ldy) {
  switch (to->rounds_first ? RUSH_INT8_PLAIN : to->activation) {
    case RUSH_INT8_HARDSWISH:
      hardswish(to, rows, c, n, sums, lds, y, ldy);
      return;
    case RUSH_INT8_HARDSIGMOID:
      hardsigmoid(to, rows, c, n, sums, lds, y, ldy);
      return;
    case RUSH_INT8_SILU:
    case RUSH_INT8_SIGMOID:
      looked_up(to, rows, c, n, sums, lds, y, ldy);
      return;
    default:
      plain(to, rows, c, n, sums, lds, y, ldy);
  }
}

void rush_int8_fill_table(rush_requantised *to, uint8_t *table) {
  const bool silu = to->activation == RUSH_INT8_SILU;
  /* From where results are as good as constant, silu's up to the greatest there is. */
  const float greatest = (float)(to->most - to->zero_point) / to->inverse + 0.5f;
  const float first = silu ? -10 : -12, last = silu ? (greatest < 1e30f ? greatest : 1e30f) : 12;
  const float step = (last - first) / (RUSH_INT8_PLACES - 1);
  const f4 inverse = f4_set(to->inverse), zero = f4_set((float)to->zero_point);
  const f4 least = f4_set((float)to->least), most = f4_set((float)to->most);
  for (int i = 0; i < RUSH_INT8_PLACES; i += 8) {
    i4 out[2];
    for (int h = 0; h < 2; h++) {
      f4 x;
      for (int l = 0; l < 4; l++) x[l] = first + (float)(i + 4 * h + l) * step;
      const f4 v = (silu ? f4_silu(x) : f4_sigmoid(x)) * inverse + zero;
      f4_round_small(f4_less(f4_more(v, least), most), &out[h]);
    }
    rush_int8_store(table + i, out[0], out[1], (int16_t)to->most);
  }
  to->table = table;
  to->place_0 = first;
  to->per_place = 1 / step;
}
