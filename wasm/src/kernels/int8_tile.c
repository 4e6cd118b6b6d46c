#include "kernels/int8_tile.h"

#include "kernels/int8_depthwise.h"
#include "kernels/int8_dot.h"

/* Processes half a block at a time, so that all sums stay in registers. A vector accumulates two
 * columns. */
RUSH_INLINE void wide_tile(size_t mr, size_t taps, size_t groups, const void *const *rows,
                           const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  enum { HALF = RUSH_INT8_NR / 2 };
  for (size_t h = 0; h < RUSH_INT8_NR; h += HALF) {
    const int8_t *from = w + h * RUSH_INT8_KR;
    i4 sum[RUSH_INT8_MR][2];
    for (size_t r = 0; r < mr; r++) sum[r][0] = sum[r][1] = i4_set(0);
    for (size_t t = 0; t < taps; t++) {
      const int16_t *x[RUSH_INT8_MR];
      for (size_t r = 0; r < mr; r++) x[r] = rows[t * RUSH_INT8_MR + r];
      for (size_t g = 0; g < groups; g++, from += RUSH_INT8_NR * RUSH_INT8_KR) {
        const s8 a = s8_widened(from), b = s8_widened(from + 8);
        for (size_t r = 0; r < mr; r++) {
          const s8 v = s8_twice(x[r] + g * RUSH_INT8_KR);
          sum[r][0] = s8_dot(a, v, sum[r][0]);
          sum[r][1] = s8_dot(b, v, sum[r][1]);
        }
      }
    }
    for (size_t r = 0; r < mr; r++) {
      const i4 both = i4_add_pairs(sum[r][0], sum[r][1]);
      memcpy(&sums[r][h], &both, sizeof both);
    }
  }
}

RUSH_INLINE s8 weights_at(const int8_t *w, size_t item) {
  return item == 1 ? s8_widened(w) : s8_load((const int16_t *)(const void *)w);
}
/* Pairs: a vector accumulates four columns. item: bytes of a weight. */
RUSH_INLINE void tile_of_pairs(size_t item, size_t mr, size_t taps, size_t groups,
                               const void *const *rows, const int8_t *w,
                               int32_t sums[][RUSH_INT8_NR]) {
  enum { PAIRS = RUSH_INT8_KR / 2, EACH = RUSH_INT8_NR * 2 };
  i4 sum[RUSH_INT8_MR][2];
  for (size_t r = 0; r < mr; r++) sum[r][0] = sum[r][1] = i4_set(0);
  for (size_t t = 0; t < taps; t++) {
    const int16_t *x[RUSH_INT8_MR];
    for (size_t r = 0; r < mr; r++) x[r] = rows[t * RUSH_INT8_MR + r];
    for (size_t g = 0; g < groups; g++, w += PAIRS * EACH * item)
      for (size_t p = 0; p < PAIRS; p++) {
        const s8 a = weights_at(w + p * EACH * item, item);
        const s8 b = weights_at(w + (p * EACH + EACH / 2) * item, item);
        for (size_t r = 0; r < mr; r++) {
          const s8 v = s8_four_times(x[r] + g * RUSH_INT8_KR + 2 * p);
          sum[r][0] = s8_dot(a, v, sum[r][0]);
          sum[r][1] = s8_dot(b, v, sum[r][1]);
        }
      }
  }
  for (size_t r = 0; r < mr; r++) memcpy(sums[r], sum[r], sizeof sum[r]);
}
RUSH_INLINE void pairs_tile(size_t mr, size_t taps, size_t groups, const void *const *rows,
                            const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  tile_of_pairs(sizeof(int8_t), mr, taps, groups, rows, w, sums);
}
RUSH_INLINE void words_tile(size_t mr, size_t taps, size_t groups, const void *const *rows,
                            const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  tile_of_pairs(sizeof(int16_t), mr, taps, groups, rows, w, sums);
}

RUSH_INLINE void wide_pair(size_t groups, const int16_t *x, const int8_t *w, size_t far,
                           int32_t sums[][RUSH_INT8_NR]) {
  enum { QUARTERS = 4, EACH = RUSH_INT8_NR * RUSH_INT8_KR / QUARTERS };
  i4 sum[2][QUARTERS] = {{{0}}};
  for (size_t g = 0; g < groups; g++, w += QUARTERS * EACH, x += RUSH_INT8_KR) {
    const s8 v = s8_twice(x);
    for (size_t b = 0; b < 2; b++)
      for (size_t q = 0; q < QUARTERS; q++)
        sum[b][q] = s8_dot(s8_widened(w + b * far + q * EACH), v, sum[b][q]);
  }
  for (size_t b = 0; b < 2; b++) {
    const i4 left = i4_add_pairs(sum[b][0], sum[b][1]), right = i4_add_pairs(sum[b][2], sum[b][3]);
    memcpy(sums[b], &left, sizeof left);
    memcpy(sums[b] + 4, &right, sizeof right);
  }
}

RUSH_INT8_TILE(rush_int8_one_wide, wide_tile, 1)
RUSH_INT8_TILE(rush_int8_many_wide, wide_tile, 4)
RUSH_INT8_TILES(rush_int8_conv_one_wide, pairs_tile, 1)
RUSH_INT8_TILES(rush_int8_conv_wide, pairs_tile, 5)
RUSH_INT8_TILE(rush_int8_words_wide, words_tile, 5)
RUSH_INT8_PAIR(rush_int8_pair_wide, wide_pair)

RUSH_INT8_DEPTHWISE(rush_int8_depthwise_wide, rush_int8_depthwise_pairs)
RUSH_INT8_STRIP(rush_int8_strips_wide, rush_int8_column_pairs, rush_int8_add_pairs)

static const rush_int8_kernel wide = {
    .form = RUSH_INT8_WIDE,
    .mr = 4,
    .one = rush_int8_one_wide,
    .many = rush_int8_many_wide,
    .pair = rush_int8_pair_wide,
    .by_pairs = true,
    .conv_mr = 5,
    .conv_one = rush_int8_conv_one_wide,
    .conv = rush_int8_conv_wide,
    .words = rush_int8_words_wide,
    .depth = rush_int8_depthwise_wide,
    .strips = rush_int8_strips_wide,
};

#if defined(__wasm_relaxed_simd__)
typedef i4 dot_of_bytes(v128_t x, v128_t w, i4 sums);
RUSH_INLINE void tile_by(dot_of_bytes *dot, size_t mr, size_t taps, size_t groups,
                         const void *const *rows, const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  i4 sum[RUSH_INT8_MR][2];
  for (size_t r = 0; r < mr; r++) sum[r][0] = sum[r][1] = i4_set(0);
  for (size_t t = 0; t < taps; t++) {
    const uint8_t *x[RUSH_INT8_MR];
    for (size_t r = 0; r < mr; r++) x[r] = rows[t * RUSH_INT8_MR + r];
    for (size_t g = 0; g < groups; g++, w += RUSH_INT8_NR * RUSH_INT8_KR) {
      const v128_t a = wasm_v128_load(w), b = wasm_v128_load(w + 16);
      for (size_t r = 0; r < mr; r++) {
        const v128_t v = wasm_v128_load32_splat(x[r] + g * RUSH_INT8_KR);
        sum[r][0] = dot(v, a, sum[r][0]);
        sum[r][1] = dot(v, b, sum[r][1]);
      }
    }
  }
  for (size_t r = 0; r < mr; r++) memcpy(sums[r], sum[r], sizeof sum[r]);
}

RUSH_INLINE void byte_tile(size_t mr, size_t taps, size_t groups, const void *const *rows,
                           const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  tile_by(rush_int8_dot, mr, taps, groups, rows, w, sums);
}
RUSH_INLINE void nibble_tile(size_t mr, size_t taps, size_t groups, const void *const *rows,
                             const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  tile_by(rush_nibble_dot, mr, taps, groups, rows, w, sums);
}

/* Sums of two products have 16 bits. They are added to those of 32 bits after some quads. */
RUSH_INLINE void nibble_tile_of_two(size_t mr, size_t taps, size_t groups, const void *const *rows,
                                    const int8_t *w, int32_t sums[][RUSH_INT8_NR]) {
  i4 sum[RUSH_INT8_MR][2];
  (void)taps; /* 1 */
  for (size_t r = 0; r < mr; r++) sum[r][0] = sum[r][1] = i4_set(0);
  for (size_t g = 0; g < groups;) {
    const size_t end = groups - g < RUSH_NIBBLE_QUADS ? groups : g + RUSH_NIBBLE_QUADS;
    v128_t narrow[RUSH_INT8_MR][2];
    for (size_t r = 0; r < mr; r++) narrow[r][0] = narrow[r][1] = wasm_i16x8_splat(0);
    for (; g < end; g++, w += RUSH_INT8_NR * RUSH_INT8_KR) {
      const v128_t a = wasm_v128_load(w), b = wasm_v128_load(w + 16);
      for (size_t r = 0; r < mr; r++) {
        const v128_t v = wasm_v128_load32_splat((const uint8_t *)rows[r] + g * RUSH_INT8_KR);
        narrow[r][0] = rush_nibble_dot_of_two(v, a, narrow[r][0]);
        narrow[r][1] = rush_nibble_dot_of_two(v, b, narrow[r][1]);
      }
    }
    for (size_t r = 0; r < mr; r++)
      for (size_t h = 0; h < 2; h++) sum[r][h] = rush_nibble_widen(sum[r][h], narrow[r][h]);
  }
  for (size_t r = 0; r < mr; r++) memcpy(sums[r], sum[r], sizeof sum[r]);
}

RUSH_INLINE void add_pair(const uint8_t *x, const int8_t *w, size_t far, i4 sum[2][2]) {
  const v128_t v = wasm_v128_load32_splat(x);
  for (size_t b = 0; b < 2; b++)
    for (size_t h = 0; h < 2; h++)
      sum[b][h] = rush_int8_dot(v, wasm_v128_load(w + b * far + h * 16), sum[b][h]);
}
/* Even and odd groups use separate accumulators, because the dot product has a long latency. */
RUSH_INLINE void byte_pair(size_t groups, const uint8_t *x, const int8_t *w, size_t far,
                           int32_t sums[][RUSH_INT8_NR]) {
  enum { STEP = RUSH_INT8_NR * RUSH_INT8_KR };
  i4 even[2][2] = {{{0}}}, odd[2][2] = {{{0}}};
  size_t g = 0;
  for (; g + 2 <= groups; g += 2, x += 2 * RUSH_INT8_KR, w += 2 * STEP) {
    add_pair(x, w, far, even);
    add_pair(x + RUSH_INT8_KR, w + STEP, far, odd);
  }
  if (g < groups) add_pair(x, w, far, even);
  for (size_t b = 0; b < 2; b++)
    for (size_t h = 0; h < 2; h++) {
      const i4 both = i4_add(even[b][h], odd[b][h]);
      memcpy(&sums[b][4 * h], &both, sizeof both);
    }
}

static rush_int8_tile one_byte, many_byte, many_nibbles, many_nibbles_of_two;
static rush_int8_tiles conv_one_byte, conv_byte;
static rush_int8_pair pair_byte;
static rush_int8_depthwise depth_byte;
static rush_int8_strips strips_byte;
RUSH_INT8_TILE(one_byte, byte_tile, 1)
RUSH_INT8_TILE(many_byte, byte_tile, 6)
RUSH_INT8_TILE(many_nibbles, nibble_tile, 6)
RUSH_INT8_TILE(many_nibbles_of_two, nibble_tile_of_two, 6)
RUSH_INT8_TILES(conv_one_byte, byte_tile, 1)
RUSH_INT8_TILES(conv_byte, byte_tile, 6)
RUSH_INT8_PAIR(pair_byte, byte_pair)
RUSH_INT8_DEPTHWISE(depth_byte, rush_int8_depthwise_quads)
RUSH_INT8_STRIP(strips_byte, rush_int8_column_quads, rush_int8_add_quads)

rush_int8_kernel rush_int8_wide(void) {
  return wide;
}
rush_int8_kernel rush_int8_kernel_here(void) {
  enum { W = 127, X = 255 };
  /* volatile keeps wasm-opt from computing this at build time. */
  const volatile int8_t w = W;
  const volatile uint8_t x = X;
  const i4 sum = rush_int8_dot(wasm_u8x16_splat(x), wasm_i8x16_splat(w), i4_set(0));
  const bool is_unsigned = sum[0] == 4 * W * X;
  if (!is_unsigned && sum[0] != 4 * W * (X - 256)) return wide;
  return (rush_int8_kernel){
      .form = is_unsigned ? RUSH_INT8_UNSIGNED : RUSH_INT8_SIGNED,
      .mr = 6,
      .one = one_byte,
      .many = many_byte,
      .pair = pair_byte,
      .conv_mr = 6,
      .conv_one = conv_one_byte,
      .conv = conv_byte,
      .depth = depth_byte,
      .strips = strips_byte,
  };
}
size_t rush_int8_nibbles(bool fours, rush_int8_tile **many) {
  *many = fours ? many_nibbles : many_nibbles_of_two;
  return 6;
}
#else
size_t rush_int8_nibbles(bool fours, rush_int8_tile **many) {
  (void)fours;
  *many = NULL;
  return 0;
}
rush_int8_kernel rush_int8_wide(void) {
#ifdef RUSH_WIDE_VECTORS
  if (__builtin_cpu_supports("avx2")) {
    rush_int8_kernel k = wide;
    k.mr = 6, k.one = rush_int8_one_avx2, k.many = rush_int8_many_avx2;
    k.pair = rush_int8_pair_avx2;
    k.by_pairs = false, k.conv_mr = 6;
    k.conv_one = rush_int8_conv_one_avx2, k.conv = rush_int8_conv_avx2;
    k.words = rush_int8_words_avx2;
    return k;
  }
#endif
  return wide;
}
rush_int8_kernel rush_int8_kernel_here(void) {
#ifdef RUSH_AVXVNNI
  if (__builtin_cpu_supports("avxvnni"))
    return (rush_int8_kernel){
        .form = RUSH_INT8_UNSIGNED,
        .mr = 6,
        .one = rush_int8_one_vnni,
        .many = rush_int8_many_vnni,
        .pair = rush_int8_pair_vnni,
        .conv_mr = 6,
        .conv_one = rush_int8_conv_one_vnni,
        .conv = rush_int8_conv_vnni,
        .depth = rush_int8_depthwise_vnni,
        .strips = rush_int8_strips_vnni,
    };
#endif
  return rush_int8_wide();
}
#endif
