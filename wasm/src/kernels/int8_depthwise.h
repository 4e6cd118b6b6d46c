/* The inner loops of depthwise int8 convolutions.
 *
 * For any kernel: sixteen channels of an output at a time. The last block may overlap the one
 * before. Packed weights, per sixteen channels: bytes [taps / 4][channel][4], then 16-bit integers
 * [taps / 2][channel][2], both padded with zeros.
 *
 * For 3x3 kernels: eight channels of a row of outputs at a time. Each column of inputs is
 * rearranged once, for all outputs that read it. Packed weights, per eight channels: bytes
 * [column][channel][row, 4], then 16-bit integers [column][row / 2][channel][2]. */
#ifndef RUSH_INT8_DEPTHWISE_H
#define RUSH_INT8_DEPTHWISE_H

#include "kernels/int8_dot.h"

enum {
  RUSH_INT8_DEPTHWISE_BLOCK = 16,
  RUSH_INT8_STRIP_BLOCK = 8,
  RUSH_INT8_STRIP_QUADS = 3 * 32, /* bytes */
  RUSH_INT8_STRIP_BYTES = 3 * 32 + 3 * 64
};

RUSH_INLINE size_t rush_int8_quads(size_t taps) {
  return (taps + 3) / 4 * 64;
}
RUSH_INLINE size_t rush_int8_depthwise_bytes(size_t taps) {
  return rush_int8_quads(taps) + (taps + 1) / 2 * 64;
}

/* Returns the first channel of block `block`, with `each` channels per block. The last block moves
 * back so that it is complete, if there are enough channels. */
RUSH_INLINE size_t rush_int8_depthwise_from(size_t block, size_t each, size_t channels) {
  const size_t c = block * each;
  return c + each <= channels || channels < each ? c : channels - each;
}

RUSH_INLINE void rush_int8_depthwise_store(int32_t *sums, const i4 sum[4]) {
  memcpy(sums, sum, 4 * sizeof *sum);
}

RUSH_INLINE void rush_int8_depthwise_pairs(size_t taps, const uint8_t *const *x, size_t c, b16 flip,
                                           const uint8_t *w, int32_t *sums) {
  const int16_t *weights = (const int16_t *)(const void *)(w + rush_int8_quads(taps));
  i4 sum[4] = {i4_set(0), i4_set(0), i4_set(0), i4_set(0)};
  for (size_t t = 0; t < taps; t += 2, weights += 32) {
    const b16 a = b16_load(x[t] + c) ^ flip, b = t + 1 < taps ? b16_load(x[t + 1] + c) ^ flip : a;
    const b16 low = b16_zip_low(a, b), high = b16_zip_high(a, b);
    sum[0] = s8_dot(s8_low(low), s8_load(weights), sum[0]);
    sum[1] = s8_dot(s8_high(low), s8_load(weights + 8), sum[1]);
    sum[2] = s8_dot(s8_low(high), s8_load(weights + 16), sum[2]);
    sum[3] = s8_dot(s8_high(high), s8_load(weights + 24), sum[3]);
  }
  rush_int8_depthwise_store(sums + c, sum);
}

#ifdef RUSH_INT8_DOT
RUSH_INLINE void rush_int8_depthwise_quads(size_t taps, const uint8_t *const *x, size_t c, b16 flip,
                                           const uint8_t *w, int32_t *sums) {
  i4 sum[4] = {i4_set(0), i4_set(0), i4_set(0), i4_set(0)};
  for (size_t t = 0; t < taps; t += 4, w += 64) {
    const b16 p = b16_load(x[t] + c) ^ flip;
    b16 q = p, r = p, s = p;
    if (t + 1 < taps) q = b16_load(x[t + 1] + c) ^ flip;
    if (t + 2 < taps) r = b16_load(x[t + 2] + c) ^ flip;
    if (t + 3 < taps) s = b16_load(x[t + 3] + c) ^ flip;
    const s8 pq = (s8)b16_zip_low(p, q), rs = (s8)b16_zip_low(r, s);
    const s8 PQ = (s8)b16_zip_high(p, q), RS = (s8)b16_zip_high(r, s);
    sum[0] = RUSH_INT8_DOT(s8_zip_low(pq, rs), b16_load(w), sum[0]);
    sum[1] = RUSH_INT8_DOT(s8_zip_high(pq, rs), b16_load(w + 16), sum[1]);
    sum[2] = RUSH_INT8_DOT(s8_zip_low(PQ, RS), b16_load(w + 32), sum[2]);
    sum[3] = RUSH_INT8_DOT(s8_zip_high(PQ, RS), b16_load(w + 48), sum[3]);
  }
  rush_int8_depthwise_store(sums + c, sum);
}
#endif

/* Eight channels of one input column, rearranged for the current outputs. */
typedef struct rush_int8_column {
  /* Quads use 2: four channels each; pairs use 4: four channels of the upper rows, then of the
   * lower row. */
  s8 v[4];
} rush_int8_column;
typedef struct rush_int8_outputs {
  i4 low, high;
} rush_int8_outputs;

RUSH_INLINE rush_int8_column rush_int8_column_pairs(b16 p, b16 q, b16 s) {
  const b16 pq = b16_zip_low(p, q);
  const s8 rest = s8_low(s), none = {0};
  return (rush_int8_column){
      {s8_low(pq), s8_high(pq), s8_zip_low(rest, none), s8_zip_high(rest, none)}};
}
RUSH_INLINE rush_int8_outputs rush_int8_add_pairs(rush_int8_outputs o, rush_int8_column c,
                                                  const uint8_t *w, size_t column) {
  const int16_t *at = (const int16_t *)(const void *)(w + RUSH_INT8_STRIP_QUADS) + 32 * column;
  o.low = s8_dot(c.v[2], s8_load(at + 16), s8_dot(c.v[0], s8_load(at), o.low));
  o.high = s8_dot(c.v[3], s8_load(at + 24), s8_dot(c.v[1], s8_load(at + 8), o.high));
  return o;
}

#ifdef RUSH_INT8_DOT
RUSH_INLINE rush_int8_column rush_int8_column_quads(b16 p, b16 q, b16 s) {
  const s8 pq = (s8)b16_zip_low(p, q), rest = (s8)b16_zip_low(s, s);
  return (rush_int8_column){{s8_zip_low(pq, rest), s8_zip_high(pq, rest)}};
}
RUSH_INLINE rush_int8_outputs rush_int8_add_quads(rush_int8_outputs o, rush_int8_column c,
                                                  const uint8_t *w, size_t column) {
  o.low = RUSH_INT8_DOT(c.v[0], b16_load(w + 32 * column), o.low);
  o.high = RUSH_INT8_DOT(c.v[1], b16_load(w + 32 * column + 16), o.high);
  return o;
}
#endif

/* Defines a function for one row of outputs: sums[n][8]. */
#define RUSH_INT8_STRIP(name, COLUMN, ADD)                                           \
  void name(const rush_int8_strip *r, size_t c, uint8_t flip, const void *weights,   \
            int32_t *sums) {                                                         \
    const b16 flips = {flip, flip, flip, flip, flip, flip, flip, flip};              \
    const uint8_t *w = weights;                                                      \
    const rush_int8_outputs none = {{0}, {0}};                                       \
    rush_int8_outputs now = none, next = none, made;                                 \
    const size_t columns = (r->n - 1) * r->stride + 3;                               \
    for (size_t j = 0; j < columns; j++) {                                           \
      const ptrdiff_t i = r->first + (ptrdiff_t)j;                                   \
      const bool inside = i >= 0 && i < r->width;                                    \
      b16 v[3];                                                                      \
      for (int k = 0; k < 3; k++) {                                                  \
        const uint8_t *at = inside ? r->rows[k] + (size_t)i * r->steps[k] : r->none; \
        v[k] = b16_load_half(at + c) ^ flips;                                        \
      }                                                                              \
      const rush_int8_column column = COLUMN(v[0], v[1], v[2]);                      \
      if (r->stride == 1) {                                                          \
        made = ADD(now, column, w, 2);                                               \
        now = ADD(next, column, w, 1);                                               \
        next = ADD(none, column, w, 0);                                              \
        if (j < 2) continue;                                                         \
      } else if (j % 2 == 1) {                                                       \
        now = ADD(now, column, w, 1);                                                \
        continue;                                                                    \
      } else {                                                                       \
        made = ADD(now, column, w, 2);                                               \
        now = ADD(none, column, w, 0);                                               \
        if (j == 0) continue;                                                        \
      }                                                                              \
      memcpy(sums, &made, sizeof made);                                              \
      sums += RUSH_INT8_STRIP_BLOCK;                                                 \
    }                                                                                \
  }

/* Defines a function for all channels. A 3x3 kernel has its own loop. */
#define RUSH_INT8_DEPTHWISE(name, of)                                                           \
  void name(size_t taps, size_t channels, const uint8_t *const *x, uint8_t flip, const void *w, \
            int32_t *sums) {                                                                    \
    const b16 flips = {flip, flip, flip, flip, flip, flip, flip, flip,                          \
                       flip, flip, flip, flip, flip, flip, flip, flip};                         \
    const uint8_t *at = w;                                                                      \
    for (size_t b = 0; b * RUSH_INT8_DEPTHWISE_BLOCK < channels; b++) {                         \
      const size_t c = rush_int8_depthwise_from(b, RUSH_INT8_DEPTHWISE_BLOCK, channels);        \
      if (taps == 9) {                                                                          \
        of(9, x, c, flips, at, sums);                                                           \
      } else {                                                                                  \
        of(taps, x, c, flips, at, sums);                                                        \
      }                                                                                         \
      at += rush_int8_depthwise_bytes(taps);                                                    \
    }                                                                                           \
  }

#endif
