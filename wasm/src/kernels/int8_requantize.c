#define RUSH_WITH_LANES(name) rush_##name##_4
#include "kernels/int8_requantize_lanes.h"

void rush_int8_requantize(const rush_int8_requantization *to, size_t rows, size_t c, size_t n,
                          const int32_t *sums, size_t lds, size_t step, uint8_t *y, size_t ldy) {
#ifdef RUSH_WIDE_VECTORS
  if (__builtin_cpu_supports("avx2")) {
    rush_int8_requantize_8(to, rows, c, n, sums, lds, step, y, ldy);
    return;
  }
#endif
  rush_int8_requantize_4(to, rows, c, n, sums, lds, step, y, ldy);
}

void rush_int8_fill_table(rush_int8_requantization *to, uint8_t *table) {
  const bool silu = to->activation == RUSH_INT8_SILU;
  /* Outside this range results are nearly constant. For silu, it extends to the greatest value. */
  const int32_t sign = to->is_signed ? 128 : 0;
  const float greatest = (float)(UINT8_MAX - sign - to->zero_point) / to->inverse + 0.5f;
  const float first = silu ? -10 : -12, last = silu ? (greatest < 1e30f ? greatest : 1e30f) : 12;
  const float step = (last - first) / (RUSH_INT8_TABLE_SIZE - 1);
  const f4 inverse = f4_set(to->inverse), zero = f4_set((float)(to->zero_point + sign));
  const f4 least = f4_set((float)(to->least + sign)), most = f4_set(UINT8_MAX);
  for (int i = 0; i < RUSH_INT8_TABLE_SIZE; i += 8) {
    i4 out[2];
    for (int h = 0; h < 2; h++) {
      f4 x;
      for (int l = 0; l < 4; l++) x[l] = first + (float)(i + 4 * h + l) * step;
      const f4 v = (silu ? f4_silu(x) : f4_sigmoid(x)) * inverse + zero;
      f4_round_small(f4_less(f4_more(v, least), most), &out[h]);
    }
    rush_int8_store(table + i, out[0], out[1], b16_set((uint8_t)sign));
  }
  to->table = table;
  to->place_0 = first;
  to->per_place = 1 / step;
}
