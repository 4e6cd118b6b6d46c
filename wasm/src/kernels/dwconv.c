/* Depthwise convolution, with four channels per vector. The packed weights are one row of biases,
 * followed by one row of channels per kernel position. This file computes rows of 3x3 and 5x5
 * kernels; dwconv_lanes.h handles all others. */
#include <stdbool.h>
#include <string.h>

#include "base/threads.h"
#include "kernels/conv.h"
#include "kernels/optional.h"
#include "kernels/tile.h"

#define RUSH_WITH_LANES(name) rush_##name##_4
#include "kernels/dwconv_lanes.h"

RUSH_RARE static size_t padded(size_t channels) {
  return (channels + 3) / 4 * 4;
}

RUSH_RARE void rush_dwconv_pack(const rush_conv *s, const float *w, const ptrdiff_t strides[5],
                                const float *bias, float *packed) {
  const size_t channels = s->groups, row = padded(channels);
  for (size_t c = 0; c < row; c++) packed[c] = bias != NULL && c < channels ? bias[c] : 0;
  packed += row;
  for (size_t d = 0; d < s->kernel[0]; d++) {
    for (size_t h = 0; h < s->kernel[1]; h++) {
      for (size_t x = 0; x < s->kernel[2]; x++, packed += row) {
        if (rush_should_stop(s->ctx, row)) return;
        const float *at =
            w + (ptrdiff_t)d * strides[2] + (ptrdiff_t)h * strides[3] + (ptrdiff_t)x * strides[4];
        for (size_t c = 0; c < row && !rush_stops_at_counted_step(s->ctx, (int64_t)c + 1); c++)
          packed[c] = c < channels ? at[(ptrdiff_t)c * strides[0]] : 0;
      }
    }
  }
}

typedef struct rush_dw_job {
  size_t channels, row;
  const float *bias;
  f4 min, max;
} job;

RUSH_INLINE void put(float *y, f4 v, size_t left, const job *j) {
  f4_store_up_to(y, f4_clamp(v, j->min, j->max), left);
}

/* ---- 3x3 and 5x5 ----------------------------------------------------------------------------- */

/* One row of output pixels. The weights stay in registers, and each input is loaded once. Columns
 * outside the input are zero. Parameters in capitals are constants after inlining. */
typedef struct rush_dw_strip {
  const float *x[5]; /* input rows, from column 0; a row outside is zeros with step 0 */
  size_t step[5];    /* floats per pixel, or 0 */
  ptrdiff_t first;   /* input column of the first window */
  ptrdiff_t width;   /* number of input columns */
  size_t n;          /* number of output columns */
} strip;

/* Returns the number of windows that end inside the row. */
static size_t inner(const strip *r, size_t kernel, size_t stride) {
  const ptrdiff_t room = r->width - (ptrdiff_t)kernel - r->first;
  if (room < 0) return 0;
  const size_t n = (size_t)room / stride + 1;
  return n < r->n ? n : r->n;
}

RUSH_INLINE f4 column(const float *x, size_t step, ptrdiff_t i, ptrdiff_t width) {
  return i >= 0 && i < width ? f4_load(x + (size_t)i * step) : f4_set(0);
}

/* The three pixels or weights of a column. */
typedef struct rush_dw_column {
  f4 top, middle, bottom;
} column3;

/* Three input rows. */
typedef struct rush_dw_rows {
  const float *p, *q, *s;
  size_t dp, dq, ds;
  ptrdiff_t width;
} rows3;

RUSH_INLINE column3 column_at(const rows3 *x, ptrdiff_t i) {
  return (column3){column(x->p, x->dp, i, x->width), column(x->q, x->dq, i, x->width),
                   column(x->s, x->ds, i, x->width)};
}

/* Reads a column that is inside the input, and advances to the next one. */
RUSH_INLINE column3 next_column(rows3 *x) {
  const column3 in = {f4_load(x->p), f4_load(x->q), f4_load(x->s)};
  x->p += x->dp, x->q += x->dq, x->s += x->ds;
  return in;
}

RUSH_INLINE f4 add_column(f4 sum, column3 in, column3 g) {
  return f4_madd(in.bottom, g.bottom, f4_madd(in.middle, g.middle, f4_madd(in.top, g.top, sum)));
}

RUSH_INLINE column3 weights_at(const float *w, size_t row) {
  return (column3){f4_load(w), f4_load(w + 3 * row), f4_load(w + 6 * row)};
}

/* Computes channels from c on with a 3x3 kernel and writes LEFT of them. */
RUSH_INLINE void strip_3x3(const job *j, const strip *r, const float *w, size_t c, float *y,
                           const size_t STRIDE, const size_t LEFT) {
  const size_t row = j->row, step = j->channels;
  const f4 bias = f4_load(j->bias + c);
  const column3 g0 = weights_at(w, row), g1 = weights_at(w + row, row),
                g2 = weights_at(w + 2 * row, row);
  const size_t dp = r->step[0], dq = r->step[1], ds = r->step[2];
  const rows3 x = {
      r->x[0] + (dp ? c : 0), r->x[1] + (dq ? c : 0), r->x[2] + (ds ? c : 0), dp, dq, ds, r->width};
  /* Partial sums of the current output pixel and the next one, over the columns that have been
   * read. */
  ptrdiff_t at = r->first;
  f4 now = add_column(bias, column_at(&x, at++), g0), next = bias;
  if (STRIDE == 1) {
    const column3 in = column_at(&x, at++);
    now = add_column(now, in, g1);
    next = add_column(bias, in, g0);
  }
  const size_t n = inner(r, 3, STRIDE);
  rows3 inside = x;
  inside.p += at * (ptrdiff_t)dp, inside.q += at * (ptrdiff_t)dq, inside.s += at * (ptrdiff_t)ds;
  size_t i = 0;
  for (; i < n; i++, y += step) {
    if (STRIDE == 2) now = add_column(now, next_column(&inside), g1);
    const column3 in = next_column(&inside);
    put(y, add_column(now, in, g2), LEFT, j);
    now = STRIDE == 1 ? add_column(next, in, g1) : add_column(bias, in, g0);
    if (STRIDE == 1) next = add_column(bias, in, g0);
  }
  for (at += (ptrdiff_t)(n * STRIDE); i < r->n; i++, y += step) {
    if (STRIDE == 2) now = add_column(now, column_at(&x, at++), g1);
    const column3 in = column_at(&x, at++);
    put(y, add_column(now, in, g2), LEFT, j);
    now = STRIDE == 1 ? add_column(next, in, g1) : add_column(bias, in, g0);
    if (STRIDE == 1) next = add_column(bias, in, g0);
  }
}

/* Adds one kernel row of five weights. Between kernel rows, the sums are kept in y. The inputs are
 * shifted through registers, so that the sums of different pixels are independent. */
RUSH_INLINE void strip_5(const job *j, const strip *r, int k, const float *w, size_t c, float *y,
                         bool first, bool last, const size_t STRIDE, const size_t LEFT) {
  const size_t row = j->row, step = j->channels;
  const f4 bias = f4_load(j->bias + c);
  const f4 g0 = f4_load(w), g1 = f4_load(w + row), g2 = f4_load(w + 2 * row),
           g3 = f4_load(w + 3 * row), g4 = f4_load(w + 4 * row);
  const float *x = r->x[k] + c;
  ptrdiff_t at = r->first;
  f4 p = column(x, step, at, r->width), q = column(x, step, at + 1, r->width),
     o = column(x, step, at + 2, r->width);
  f4 s = f4_set(0);
  if (STRIDE == 1) s = column(x, step, at + 3, r->width);
#define PIXEL(LOAD_S, LOAD_T)                                                  \
  do {                                                                         \
    if (STRIDE == 2) s = LOAD_S;                                               \
    const f4 t = LOAD_T;                                                       \
    f4 sum = f4_madd(p, g0, first ? bias : f4_load_up_to(y, LEFT));            \
    sum = f4_madd(t, g4, f4_madd(s, g3, f4_madd(o, g2, f4_madd(q, g1, sum)))); \
    if (STRIDE == 1) {                                                         \
      p = q, q = o, o = s, s = t;                                              \
    } else {                                                                   \
      p = o, q = s, o = t;                                                     \
    }                                                                          \
    if (last) {                                                                \
      put(y, sum, LEFT, j);                                                    \
    } else if (LEFT >= 4) {                                                    \
      f4_store(y, sum);                                                        \
    } else {                                                                   \
      f4_store_part(y, sum, LEFT);                                             \
    }                                                                          \
  } while (0)
  const size_t n = inner(r, 5, STRIDE);
  const float *to = x + (at + 4) * (ptrdiff_t)step;
  size_t i = 0;
  for (; i < n; i++, y += step, to += STRIDE * step) PIXEL(f4_load(to - step), f4_load(to));
  for (at += (ptrdiff_t)(n * STRIDE) + 4; i < r->n; i++, y += step, at += (ptrdiff_t)STRIDE)
    PIXEL(column(x, step, at - 1, r->width), column(x, step, at, r->width));
#undef PIXEL
}

RUSH_INLINE void strip_5x5(const job *j, const strip *r, const float *w, size_t c, float *y,
                           const size_t STRIDE, const size_t LEFT) {
  int first = 0, last = 4; /* rows inside the input are adjacent, and there is at least one */
  while (first < 4 && r->step[first] == 0) first++;
  while (last > first && r->step[last] == 0) last--;
  for (int k = first; k <= last; k++)
    strip_5(j, r, k, w + (size_t)k * 5 * j->row, c, y, k == first, k == last, STRIDE, LEFT);
}

#define ALL_CHANNELS(name, strip_fn, stride)                                         \
  static void name(const job *j, const strip *r, const float *w, float *y) {         \
    size_t c = 0;                                                                    \
    for (; c + 4 <= j->channels; c += 4) strip_fn(j, r, w + c, c, y + c, stride, 4); \
    if (c < j->channels) strip_fn(j, r, w + c, c, y + c, stride, j->channels - c);   \
  }
ALL_CHANNELS(run_3x3_s1, strip_3x3, 1)
ALL_CHANNELS(run_3x3_s2, strip_3x3, 2)
ALL_CHANNELS(run_5x5_s1, strip_5x5, 1)
ALL_CHANNELS(run_5x5_s2, strip_5x5, 2)

void rush_dwconv_5x5(const job *j, const strip *r, const float *w, float *y, size_t stride) {
  (stride == 1 ? run_5x5_s1 : run_5x5_s2)(j, r, w, y);
}

/* Returns the number of floats in the widest vectors of this processor. */
RUSH_RARE static size_t widest(void) {
#ifdef RUSH_WIDE_VECTORS
  if (__builtin_cpu_supports("avx512f")) return 16;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
  return 4;
}

/* Columns that are read without a bounds check must not start before the row. */
RUSH_RARE static bool is_strip(const rush_conv *s) {
  const size_t k = s->kernel[2], stride = s->stride[2];
  const bool has_5 = rush_optional_dwconv_5x5 != NULL && widest() == 4;
  return s->kernel[0] == 1 && s->kernel[1] == k && (k == 3 || (k == 5 && has_5)) &&
         s->dilation[2] == 1 && stride <= 2 && s->padding[2] >= 0 &&
         s->padding[2] <= (ptrdiff_t)(k - stride);
}

/* Finds the positions first, first + dilation, ... that are inside: the first one and their
 * number. */
static void clip(ptrdiff_t first, size_t positions, size_t dilation, size_t in, size_t *from,
                 size_t *n) {
  const ptrdiff_t step = (ptrdiff_t)dilation, size = (ptrdiff_t)in;
  ptrdiff_t low = first < 0 ? (-first + step - 1) / step : 0;
  ptrdiff_t high = first >= size ? 0 : (size - 1 - first) / step + 1; /* one past the last */
  if (high > (ptrdiff_t)positions) high = (ptrdiff_t)positions;
  *from = (size_t)low;
  *n = high > low ? (size_t)(high - low) : 0;
}

/* Computes n output pixels of a row, the windows of which begin at column `first` and have at least
 * one row inside the input. */
static void run_strip(const rush_conv *s, const job *j, const float *plane, ptrdiff_t h0,
                      const float *weights, float *y, ptrdiff_t first, size_t n) {
  static const float zeros[4];
  strip r = {.first = first, .width = (ptrdiff_t)s->in[2], .n = n};
  for (int k = 0; k < (int)s->kernel[1]; k++) {
    const ptrdiff_t h = h0 + (ptrdiff_t)s->dilation[1] * k;
    const bool inside = h >= 0 && h < (ptrdiff_t)s->in[1];
    r.x[k] = inside ? plane + (size_t)h * s->in[2] * j->channels : zeros;
    r.step[k] = inside ? j->channels : 0;
  }
  if (s->kernel[1] == 3) {
    (s->stride[2] == 1 ? run_3x3_s1 : run_3x3_s2)(j, &r, weights, y);
  } else {
    rush_optional_dwconv_5x5(j, &r, weights, y, s->stride[2]);
  }
}

/* Computes channels [begin, end) with vectors as wide as this processor has. */
static void run_channels(const rush_dw_row *r, size_t begin, size_t end) {
#ifdef RUSH_WIDE_VECTORS
  const size_t lanes = widest(), done = begin + (end - begin) / lanes * lanes;
  if (lanes == 16) rush_dw_row_16(r, begin, done);
  if (lanes == 8) rush_dw_row_8(r, begin, done);
  if (lanes == 4) rush_dw_row_4(r, begin, done);
  begin = done;
#endif
  rush_dw_row_4(r, begin, end);
}

typedef struct run {
  const rush_conv *s;
  job j;
  rush_dw_row row; /* the fields that all rows share */
  const float *x, *weights;
  float *y;
  bool strips;
  size_t pixels, channels; /* computed between two checks for a stop request */
} run;

enum { LONG = 1 << 20 /* products between two checks, in vectors of four */ };

/* Returns whether item `at` of a row or a pixel must not be computed after a stop request. */
static bool stops_at(rush_ctx *ctx, size_t at) {
  return at > 0 && rush_poll_should_stop(ctx);
}
static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Computes a row of output pixels. Strips read the rows of `plane` from h0 on. */
static void run_pieces(const run *r, const rush_dw_row *whole, bool in_strips, const float *plane,
                       ptrdiff_t h0, rush_ctx *ctx) {
  rush_dw_row n = *whole;
  for (size_t at = 0; at < whole->n && !stops_at(ctx, at); at += n.n) {
    n.n = least(r->pixels, whole->n - at);
    n.first = whole->first + (ptrdiff_t)(at * n.stride);
    n.y = whole->y + at * n.channels;
    if (in_strips) {
      run_strip(r->s, &r->j, plane, h0, r->weights, n.y, n.first, n.n);
      continue;
    }
    for (size_t c = 0; c < n.channels && !stops_at(ctx, c); c += r->channels)
      run_channels(&n, c, least(c + r->channels, n.channels));
  }
}

/* Computes a range of rows. A work item is one row of output pixels. */
static void run_rows(const void *arg, size_t begin, size_t end, unsigned who) {
  const run *r = arg;
  const rush_conv *s = r->s;
  const size_t c = s->groups;
  const size_t in_row = s->in[2] * c, in_image = s->in[1] * in_row;
  for (size_t i = begin; i < end; i++) {
    const size_t h = i % s->out[1], d = i / s->out[1] % s->out[0], b = i / s->out[1] / s->out[0];
    const float *x = r->x + b * s->in[0] * in_image;
    float *y = r->y + i * s->out[2] * c;
    const ptrdiff_t d0 = (ptrdiff_t)(d * s->stride[0]) - s->padding[0];
    const ptrdiff_t h0 = (ptrdiff_t)(h * s->stride[1]) - s->padding[1];
    rush_dw_row n = r->row;
    size_t from_d, from_h;
    clip(d0, s->kernel[0], s->dilation[0], s->in[0], &from_d, &n.d);
    clip(h0, s->kernel[1], s->dilation[1], s->in[1], &from_h, &n.h);
    n.x = x + (d0 + (ptrdiff_t)(from_d * s->dilation[0])) * (ptrdiff_t)in_image +
          (h0 + (ptrdiff_t)(from_h * s->dilation[1])) * (ptrdiff_t)in_row;
    n.w = r->weights + from_d * n.w_d + from_h * n.w_h;
    n.y = y;
    const bool in_strips = r->strips && n.h > 0;
    run_pieces(r, &n, in_strips, in_strips ? x + (size_t)d0 * in_image : NULL, h0,
               who == 0 ? s->ctx : NULL);
  }
}

void rush_dwconv_run(const rush_conv *s, const float *x, const float *packed, float *y, float min,
                     float max) {
  const size_t c = s->groups, row = padded(c);
  const size_t in_row = s->in[2] * c;
  run r = {s, {c, row, packed, f4_set(min), f4_set(max)}, {0}, x, packed + row, y, false, 0, 0};
  r.row = (rush_dw_row){.bias = packed,
                        .channels = c,
                        .row = row,
                        .n = s->out[2],
                        .stride = s->stride[2],
                        .dilation = s->dilation[2],
                        .first = -s->padding[2],
                        .columns = (ptrdiff_t)s->in[2],
                        .width = s->kernel[2],
                        .x_d = (ptrdiff_t)(s->dilation[0] * s->in[1] * in_row),
                        .x_h = (ptrdiff_t)(s->dilation[1] * in_row),
                        .w_d = s->kernel[1] * s->kernel[2] * row,
                        .w_h = s->kernel[2] * row,
                        .min = min,
                        .max = max};
  const size_t taps = s->kernel[0] * s->kernel[1] * s->kernel[2], pixel = c * taps / 4 + 1;
  r.pixels = LONG / pixel + 1;
  r.channels = 4 * (LONG / taps / 4 * 4 + 4); /* a multiple of all vectors */
  /* A kernel of depth 1 is inside the input, unless there is padding in depth. */
  r.strips = is_strip(s) && c <= r.channels && s->padding[0] == 0 &&
             s->out[0] * s->stride[0] - s->stride[0] < s->in[0];
  rush_parallel(s->ctx, s->batch * s->out[0] * s->out[1], (uint64_t)s->out[2] * pixel, run_rows,
                &r);
}
