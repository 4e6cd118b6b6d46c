/* Depthwise convolution: each channel by itself, four channels per vector. Weights are packed as one row of
 * channels per kernel position, behind the row of biases. Four neighbouring output pixels are made together,
 * so that each weight, and where windows overlap each input, is loaded once for all of them. */
#include <string.h>

#include "kernels/conv.h"
#include "kernels/tile.h"

enum { TILE = 4 };

static size_t padded(size_t channels) { return (channels + 3) / 4 * 4; }

void rush_dwconv_pack(const rush_conv *s, const float *w, const ptrdiff_t strides[5], const float *bias,
                      float *packed) {
  const size_t channels = s->groups, row = padded(channels);
  for (size_t c = 0; c < row; c++) packed[c] = bias != NULL && c < channels ? bias[c] : 0;
  packed += row;
  for (size_t d = 0; d < s->kernel[0]; d++) {
    for (size_t h = 0; h < s->kernel[1]; h++) {
      for (size_t x = 0; x < s->kernel[2]; x++, packed += row) {
        const float *at = w + (ptrdiff_t)d * strides[2] + (ptrdiff_t)h * strides[3] + (ptrdiff_t)x * strides[4];
        for (size_t c = 0; c < row; c++) packed[c] = c < channels ? at[(ptrdiff_t)c * strides[0]] : 0;
      }
    }
  }
}

/* The part of a window that is inside the input, and what it is multiplied with. */
typedef struct window {
  const float *x, *w;         /* of its first position */
  size_t d, h, width;         /* positions */
  ptrdiff_t x_d, x_h, x_w;    /* floats from one to the next in the input */
  size_t w_d, w_h, w_w;       /* and in the weights */
} window;

typedef struct job {
  size_t channels, row;
  const float *bias;
  f4 min, max;
} job;

RUSH_INLINE void put(float *y, f4 v, size_t left, const job *j) {
  v = f4_clamp(v, j->min, j->max);
  if (left >= 4) {
    f4_store(y, v);
  } else {
    f4_store_part(y, v, left);
  }
}

/* One output pixel. */
static void one_pixel(const job *j, const window *n, float *y) {
  for (size_t c = 0; c < j->channels; c += 4) {
    f4 sum = f4_load(j->bias + c);
    for (size_t d = 0; d < n->d; d++) {
      for (size_t h = 0; h < n->h; h++) {
        const float *x = n->x + (ptrdiff_t)d * n->x_d + (ptrdiff_t)h * n->x_h + c;
        const float *w = n->w + d * n->w_d + h * n->w_h + c;
        for (size_t i = 0; i < n->width; i++, x += n->x_w, w += n->w_w) sum = f4_madd(f4_load(x), f4_load(w), sum);
      }
    }
    put(y + c, sum, j->channels - c, j);
  }
}

/* TILE output pixels in a row, all windows inside. KW and STRIDE are constants where the function is
 * inlined (dilation is then 1), or 0 for any. */
RUSH_INLINE void pixels(const job *j, const window *n, float *y, const size_t KW, const size_t STRIDE,
                        size_t stride) {
  const size_t step = stride * j->channels; /* between windows */
  for (size_t c = 0; c < j->channels; c += 4) {
    f4 sum[TILE];
    for (int p = 0; p < TILE; p++) sum[p] = f4_load(j->bias + c);
    for (size_t d = 0; d < n->d; d++) {
      for (size_t h = 0; h < n->h; h++) {
        const float *x = n->x + (ptrdiff_t)d * n->x_d + (ptrdiff_t)h * n->x_h + c;
        const float *w = n->w + d * n->w_d + h * n->w_h + c;
        if (KW != 0) {
          f4 in[(TILE - 1) * 2 + 5];
          for (size_t i = 0; i < (TILE - 1) * STRIDE + KW; i++) in[i] = f4_load(x + (ptrdiff_t)i * n->x_w);
          for (size_t i = 0; i < KW; i++, w += n->w_w) {
            const f4 weight = f4_load(w);
            for (size_t p = 0; p < TILE; p++) sum[p] = f4_madd(in[p * STRIDE + i], weight, sum[p]);
          }
        } else {
          for (size_t i = 0; i < n->width; i++, x += n->x_w, w += n->w_w) {
            const f4 weight = f4_load(w);
            for (int p = 0; p < TILE; p++) sum[p] = f4_madd(f4_load(x + (size_t)p * step), weight, sum[p]);
          }
        }
      }
    }
    for (size_t p = 0; p < TILE; p++) put(y + p * j->channels + c, sum[p], j->channels - c, j);
  }
}

static void any(const job *j, const window *n, float *y, size_t stride) { pixels(j, n, y, 0, 0, stride); }
static void k3s1(const job *j, const window *n, float *y, size_t stride) { pixels(j, n, y, 3, 1, stride); }
static void k3s2(const job *j, const window *n, float *y, size_t stride) { pixels(j, n, y, 3, 2, stride); }
static void k5s1(const job *j, const window *n, float *y, size_t stride) { pixels(j, n, y, 5, 1, stride); }
static void k5s2(const job *j, const window *n, float *y, size_t stride) { pixels(j, n, y, 5, 2, stride); }

typedef void (*tile_fn)(const job *j, const window *n, float *y, size_t stride);

static tile_fn choose(const rush_conv *s) {
  const size_t k = s->kernel[2], stride = s->stride[2];
  if (s->dilation[2] != 1) return any;
  if (k == 3) return stride == 1 ? k3s1 : stride == 2 ? k3s2 : any;
  if (k == 5) return stride == 1 ? k5s1 : stride == 2 ? k5s2 : any;
  return any;
}

/* Of the positions at `first`, first + dilation, ..: the first one inside, and how many are. */
static void clip(ptrdiff_t first, size_t positions, size_t dilation, size_t in, size_t *from, size_t *n) {
  const ptrdiff_t step = (ptrdiff_t)dilation, size = (ptrdiff_t)in;
  ptrdiff_t low = first < 0 ? (-first + step - 1) / step : 0;
  ptrdiff_t high = first >= size ? 0 : (size - 1 - first) / step + 1; /* one past the last */
  if (high > (ptrdiff_t)positions) high = (ptrdiff_t)positions;
  *from = (size_t)low;
  *n = high > low ? (size_t)(high - low) : 0;
}

/* One row of output pixels; n is set but for the width. x is the pixel at column 0 of the first input row. */
static void run_row(const rush_conv *s, const job *j, window *n, const float *x, const float *w, float *y,
                    tile_fn tile) {
  const size_t c = j->channels, stride = s->stride[2], dilation = s->dilation[2], kernel = s->kernel[2];
  const ptrdiff_t padding = s->padding[2], reach = (ptrdiff_t)((kernel - 1) * dilation);
  for (size_t o = 0; o < s->out[2];) {
    const ptrdiff_t first = (ptrdiff_t)(o * stride) - padding;
    const ptrdiff_t last = first + (ptrdiff_t)((TILE - 1) * stride) + reach;
    if (first >= 0 && o + TILE <= s->out[2] && last < (ptrdiff_t)s->in[2] && n->d * n->h > 0) {
      n->x = x + first * (ptrdiff_t)c;
      n->w = w;
      n->width = kernel;
      tile(j, n, y + o * c, stride);
      o += TILE;
      continue;
    }
    size_t from;
    clip(first, kernel, dilation, s->in[2], &from, &n->width);
    n->x = x + (first + (ptrdiff_t)(from * dilation)) * (ptrdiff_t)c;
    n->w = w + from * n->w_w;
    one_pixel(j, n, y + o * c);
    o++;
  }
}

void rush_dwconv_run(const rush_conv *s, const float *x, const float *packed, float *y, float min, float max) {
  const size_t c = s->groups, row = padded(c);
  const job j = {c, row, packed, f4_set(min), f4_set(max)};
  const tile_fn tile = choose(s);
  const size_t in_row = s->in[2] * c, in_image = s->in[1] * in_row;
  const float *weights = packed + row;
  for (size_t b = 0; b < s->batch; b++, x += s->in[0] * in_image) {
    for (size_t d = 0; d < s->out[0]; d++) {
      const ptrdiff_t d0 = (ptrdiff_t)(d * s->stride[0]) - s->padding[0];
      for (size_t h = 0; h < s->out[1]; h++, y += s->out[2] * c) {
        const ptrdiff_t h0 = (ptrdiff_t)(h * s->stride[1]) - s->padding[1];
        window n = {.x_d = (ptrdiff_t)(s->dilation[0] * in_image), .x_h = (ptrdiff_t)(s->dilation[1] * in_row)};
        n.x_w = (ptrdiff_t)(s->dilation[2] * c);
        n.w_w = row;
        n.w_h = s->kernel[2] * row;
        n.w_d = s->kernel[1] * n.w_h;
        size_t from_d, from_h;
        clip(d0, s->kernel[0], s->dilation[0], s->in[0], &from_d, &n.d);
        clip(h0, s->kernel[1], s->dilation[1], s->in[1], &from_h, &n.h);
        const ptrdiff_t first = (d0 + (ptrdiff_t)(from_d * s->dilation[0])) * (ptrdiff_t)in_image +
                                (h0 + (ptrdiff_t)(from_h * s->dilation[1])) * (ptrdiff_t)in_row;
        run_row(s, &j, &n, x + first, weights + from_d * n.w_d + from_h * n.w_h, y, tile);
      }
    }
  }
}
