#include "kernels/resample.h"

#include "kernels/tile.h"

enum {
  MAX_TAPS = RUSH_RESAMPLE_TAPS * RUSH_RESAMPLE_TAPS * RUSH_RESAMPLE_TAPS,
  LOOK = 64, /* pixels between two looks at the host's wish to stop */
};

/* ---- Copies ---------------------------------------------------------------------------------- */

static void copy_row(size_t pixel, const rush_resample_axis *a, const char *x, char *y) {
  const int32_t *index = a->index;
  switch (pixel) {
    case 1:
      for (size_t o = 0; o < a->out; o++) y[o] = x[index[o]];
      break;
    case 4:
      for (size_t o = 0; o < a->out; o++) memcpy(y + 4 * o, x + 4 * (size_t)index[o], 4);
      break;
    case 8:
      for (size_t o = 0; o < a->out; o++) memcpy(y + 8 * o, x + 8 * (size_t)index[o], 8);
      break;
    default:
      for (size_t o = 0; o < a->out; o++)
        memcpy(y + pixel * o, x + pixel * (size_t)index[o], pixel);
  }
}

/* Rows and planes that repeat are copied from the output. */
static void copy_image(rush_ctx *ctx, size_t pixel, const rush_resample_axis *a, const char *x,
                       char *y) {
  const size_t in_row = a[2].in * pixel, in_plane = a[1].in * in_row;
  const size_t row = a[2].out * pixel, plane = a[1].out * row;
  for (size_t d = 0; d < a[0].out; d++, y += plane) {
    if (d > 0 && a[0].index[d] == a[0].index[d - 1]) {
      memcpy(y, y - plane, plane);
      continue;
    }
    const char *from = x + (size_t)a[0].index[d] * in_plane;
    for (size_t h = 0; h < a[1].out; h++) {
      if (rush_stops(ctx, row / 4 + 8)) return;
      char *to = y + h * row;
      if (h > 0 && a[1].index[h] == a[1].index[h - 1]) {
        memcpy(to, to - row, row);
      } else {
        copy_row(pixel, a + 2, from + (size_t)a[1].index[h] * in_row, to);
      }
    }
  }
}

/* ---- Sums ------------------------------------------------------------------------------------ */

typedef struct tap {
  size_t at; /* elements from the image's first pixel */
  double weight;
} tap;

static int taps_of(const rush_resample_axis *a, size_t channels, size_t d, size_t h, size_t w,
                   tap *out) {
  int n = 0;
  for (int i = 0; i < a[0].n; i++) {
    const size_t id = d * (size_t)a[0].n + (size_t)i;
    for (int j = 0; j < a[1].n; j++) {
      const size_t ih = h * (size_t)a[1].n + (size_t)j;
      const double weight = a[0].weight[id] * a[1].weight[ih];
      const size_t row = ((size_t)a[0].index[id] * a[1].in + (size_t)a[1].index[ih]) * a[2].in;
      for (int k = 0; k < a[2].n; k++) {
        const size_t iw = w * (size_t)a[2].n + (size_t)k;
        out[n++] = (tap){(row + (size_t)a[2].index[iw]) * channels, weight * a[2].weight[iw]};
      }
    }
  }
  return n;
}

static void sum_f32(const tap *taps, int n, size_t channels, const float *x, float *y) {
  float weight[MAX_TAPS];
  for (int t = 0; t < n; t++) weight[t] = (float)taps[t].weight;
  size_t c = 0;
  for (; c + 4 <= channels; c += 4) {
    f4 sum = f4_load(x + taps[0].at + c) * f4_set(weight[0]);
    for (int t = 1; t < n; t++) sum = f4_madd(f4_load(x + taps[t].at + c), f4_set(weight[t]), sum);
    f4_store(y + c, sum);
  }
  for (; c < channels; c++) {
    float sum = x[taps[0].at + c] * weight[0];
    for (int t = 1; t < n; t++) sum += x[taps[t].at + c] * weight[t];
    y[c] = sum;
  }
}

static void sum_f64(const tap *taps, int n, size_t channels, const double *x, double *y) {
  for (size_t c = 0; c < channels; c++) {
    double sum = 0;
    for (int t = 0; t < n; t++) sum += x[taps[t].at + c] * taps[t].weight;
    y[c] = sum;
  }
}

static void sum_image(rush_ctx *ctx, rush_dtype dtype, size_t size, size_t channels,
                      const rush_resample_axis *a, const void *x, char *y) {
  tap taps[MAX_TAPS];
  const size_t each = (size_t)(a[0].n * a[1].n * a[2].n) * (channels + 4);
  const uint64_t work = (uint64_t)each * (a[2].out < LOOK ? a[2].out : LOOK);
  for (size_t d = 0; d < a[0].out; d++) {
    for (size_t h = 0; h < a[1].out; h++) {
      for (size_t w = 0; w < a[2].out; w++, y += channels * size) {
        if (w % LOOK == 0 && rush_stops(ctx, work)) return;
        const int n = taps_of(a, channels, d, h, w, taps);
        if (dtype == RUSH_FLOAT32)
          sum_f32(taps, n, channels, x, (float *)(void *)y);
        else
          sum_f64(taps, n, channels, x, (double *)(void *)y);
      }
    }
  }
}

void rush_resample(rush_ctx *ctx, rush_dtype dtype, size_t size, size_t batch, size_t channels,
                   const rush_resample_axis axes[3], const void *x, void *y) {
  const size_t in = axes[0].in * axes[1].in * axes[2].in * channels * size;
  const size_t out = axes[0].out * axes[1].out * axes[2].out * channels * size;
  for (size_t b = 0; b < batch && !rush_stops(ctx, 8); b++) {
    const char *from = (const char *)x + b * in;
    char *to = (char *)y + b * out;
    if (axes[0].n * axes[1].n * axes[2].n == 1) {
      copy_image(ctx, channels * size, axes, from, to);
    } else {
      sum_image(ctx, dtype, size, channels, axes, from, to);
    }
  }
}

/* ---- Spans ----------------------------------------------------------------------------------- */

#define ROWS(name, type)                                                                      \
  static void name(rush_ctx *ctx, size_t rows, size_t channels, const rush_resample_spans *s, \
                   const type *x, type *y) {                                                  \
    for (size_t r = 0; r < rows; r++, x += s->in * channels)                                  \
      for (size_t o = 0; o < s->out; o++, y += channels) {                                    \
        if (rush_stops(ctx, (uint64_t)s->count[o] * channels + 4)) return;                    \
        const type *from = x + (size_t)s->first[o] * channels;                                \
        const double *weight = s->weight + o * s->n;                                          \
        memset(y, 0, channels * sizeof *y);                                                   \
        for (int32_t k = 0; k < s->count[o]; k++, from += channels)                           \
          for (size_t c = 0; c < channels; c++) y[c] += from[c] * (type)weight[k];            \
      }                                                                                       \
  }
ROWS(rows_f32, float)
ROWS(rows_f64, double)

static void rows_u8(rush_ctx *ctx, size_t rows, size_t channels, const rush_resample_spans *s,
                    const uint8_t *x, uint8_t *y) {
  const int32_t half = 1 << (s->precision - 1);
  for (size_t r = 0; r < rows; r++, x += s->in * channels)
    for (size_t o = 0; o < s->out; o++, y += channels) {
      if (rush_stops(ctx, (uint64_t)s->count[o] * channels + 4)) return;
      const uint8_t *from = x + (size_t)s->first[o] * channels;
      const double *weight = s->weight + o * s->n;
      for (size_t c = 0; c < channels; c++) {
        int32_t sum = half;
        for (int32_t k = 0; k < s->count[o]; k++)
          sum += (int32_t)weight[k] * from[(size_t)k * channels + c];
        sum = sum < 0 ? 0 : sum >> s->precision;
        y[c] = sum > 255 ? 255 : (uint8_t)sum;
      }
    }
}

void rush_resample_rows(rush_ctx *ctx, rush_dtype dtype, size_t rows, size_t channels,
                        const rush_resample_spans *spans, const void *x, void *y) {
  if (dtype == RUSH_FLOAT32)
    rows_f32(ctx, rows, channels, spans, x, y);
  else if (dtype == RUSH_FLOAT64)
    rows_f64(ctx, rows, channels, spans, x, y);
  else
    rows_u8(ctx, rows, channels, spans, x, y);
}
