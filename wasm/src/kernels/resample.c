#include "kernels/resample.h"

#include "base/threads.h"
#include "kernels/simd.h"

/* Each work item is one row of the result. */
typedef struct job {
  rush_ctx *ctx;
  size_t pixel, channels; /* bytes, elements */
  const rush_resample_axis *a;
  const char *x;
  char *y, *scratch;
  size_t each; /* bytes of scratch per thread */
} job;

static void row_of(const rush_resample_axis *a, size_t row, size_t *b, size_t *d, size_t *h) {
  *h = row % a[1].out;
  *d = row / a[1].out % a[0].out;
  *b = row / a[1].out / a[0].out;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static void copy_pixels(size_t pixel, size_t n, const int32_t *index, const char *x, char *y) {
  switch (pixel) {
    case 1:
      for (size_t o = 0; o < n; o++) y[o] = x[index[o]];
      break;
    case 4:
      for (size_t o = 0; o < n; o++) memcpy(y + 4 * o, x + 4 * (size_t)index[o], 4);
      break;
    case 8:
      for (size_t o = 0; o < n; o++) memcpy(y + 8 * o, x + 8 * (size_t)index[o], 8);
      break;
    default:
      for (size_t o = 0; o < n; o++) memcpy(y + pixel * o, x + pixel * (size_t)index[o], pixel);
  }
}

/* Copies the pixels of a row, or the whole row before. */
static void copy_row(rush_ctx *ctx, size_t pixel, const rush_resample_axis *a, const char *x,
                     bool repeats, char *y) {
  for (size_t o = 0, some; rush_next_piece(ctx, a->out, pixel, o, &some); o += some) {
    char *to = y + o * pixel;
    if (repeats)
      memcpy(to, to - a->out * pixel, some * pixel);
    else
      copy_pixels(pixel, some, a->index + o, x, to);
  }
}

static void copy_rows(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const rush_resample_axis *a = j->a;
  const size_t in_row = a[2].in * j->pixel, row = a[2].out * j->pixel;
  const char *before = NULL;
  for (size_t r = begin; r < end; r++) {
    size_t b, d, h;
    row_of(a, r, &b, &d, &h);
    const char *from =
        j->x + ((b * a[0].in + (size_t)a[0].index[d]) * a[1].in + (size_t)a[1].index[h]) * in_row;
    char *to = j->y + r * row;
    copy_row(who == 0 ? j->ctx : NULL, j->pixel, a + 2, from, from == before, to);
    before = from;
  }
}

/* ---- Weighted sums --------------------------------------------------------------------------- */

/* Input rows are first combined in `scratch`, then their pixels. `first` sets y to w * x, otherwise
 * w * x is added. */
#define SUMS(T, f)                                                                                 \
  RUSH_INLINE void add_##f(size_t n, bool first, T w, const T *x, T *y) {                          \
    if (first) {                                                                                   \
      RUSH_EACH for (size_t i = 0; i < n; i++) y[i] = x[i] * w;                                    \
    } else {                                                                                       \
      RUSH_EACH for (size_t i = 0; i < n; i++) y[i] += x[i] * w;                                   \
    }                                                                                              \
  }                                                                                                \
  static void pixels_##f(rush_ctx *ctx, size_t channels, const rush_resample_axis *a, const T *x,  \
                         T *y) {                                                                   \
    const size_t n = (size_t)a->n;                                                                 \
    for (size_t o = 0; o < a->out && !rush_should_stop(ctx, n * channels); o++, y += channels) {   \
      const int32_t *index = a->index + o * n;                                                     \
      const double *weight = a->weight + o * n;                                                    \
      for (size_t k = 0; k < n; k++)                                                               \
        add_##f(channels, k == 0, (T)weight[k], x + (size_t)index[k] * channels, y);               \
    }                                                                                              \
  }                                                                                                \
  /* Handles `out` positions of a single channel. */                                               \
  static void points_##f(int n, size_t out, const int32_t *i, const double *w, const T *x, T *y) { \
    if (n == 2) {                                                                                  \
      for (size_t o = 0; o < out; o++, i += 2, w += 2)                                             \
        y[o] = x[i[0]] * (T)w[0] + x[i[1]] * (T)w[1];                                              \
    } else if (n == 4) {                                                                           \
      for (size_t o = 0; o < out; o++, i += 4, w += 4)                                             \
        y[o] = x[i[0]] * (T)w[0] + x[i[1]] * (T)w[1] + x[i[2]] * (T)w[2] + x[i[3]] * (T)w[3];      \
    } else {                                                                                       \
      for (size_t o = 0; o < out; o++) y[o] = x[i[o]] * (T)w[o];                                   \
    }                                                                                              \
  }                                                                                                \
  static void sum_rows_##f(const void *arg, size_t begin, size_t end, unsigned who) {              \
    const job *j = arg;                                                                            \
    const rush_resample_axis *a = j->a;                                                            \
    const size_t width = a[2].in * j->channels, out = a[2].out * j->channels;                      \
    T *row = (T *)(void *)(j->scratch + who * j->each);                                            \
    rush_ctx *ctx = who == 0 ? j->ctx : NULL;                                                      \
    for (size_t r = begin; r < end; r++) {                                                         \
      size_t b, d, h;                                                                              \
      row_of(a, r, &b, &d, &h);                                                                    \
      const T *x = (const T *)(const void *)j->x + b * a[0].in * a[1].in * width;                  \
      T *y = (T *)(void *)j->y + r * out;                                                          \
      for (size_t k = 0; k < (size_t)(a[0].n * a[1].n); k++) {                                     \
        const size_t id = d * (size_t)a[0].n + k / (size_t)a[1].n;                                 \
        const size_t ih = h * (size_t)a[1].n + k % (size_t)a[1].n;                                 \
        const T *from = x + ((size_t)a[0].index[id] * a[1].in + (size_t)a[1].index[ih]) * width;   \
        const T w = (T)(a[0].weight[id] * a[1].weight[ih]);                                        \
        for (size_t i = 0, some; rush_next_piece(ctx, width, 1, i, &some); i += some)              \
          add_##f(some, k == 0, w, from + i, row + i);                                             \
      }                                                                                            \
      const size_t n = (size_t)a[2].n;                                                             \
      if (j->channels > 1) {                                                                       \
        pixels_##f(ctx, j->channels, a + 2, row, y);                                               \
        continue;                                                                                  \
      }                                                                                            \
      for (size_t o = 0, some; rush_next_piece(ctx, a[2].out, n, o, &some); o += some)             \
        points_##f(a[2].n, some, a[2].index + o * n, a[2].weight + o * n, row, y + o);             \
    }                                                                                              \
  }
SUMS(float, f32)
SUMS(double, f64)

bool rush_resample_scratch(size_t size, size_t channels, const rush_resample_axis axes[3],
                           size_t *bytes) {
  const bool copies = axes[0].n * axes[1].n * axes[2].n == 1;
  return rush_mul(copies ? 0 : axes[2].in, channels, bytes) && rush_mul(*bytes, size, bytes);
}

void rush_resample(rush_ctx *ctx, rush_dtype dtype, size_t size, size_t batch, size_t channels,
                   const rush_resample_axis axes[3], const void *x, void *y, void *scratch) {
  job j = {ctx, channels * size, channels, axes, x, y, scratch, 0};
  (void)rush_resample_scratch(size, channels, axes, &j.each);
  const size_t rows = batch * axes[0].out * axes[1].out;
  const uint64_t out = (uint64_t)axes[2].out * channels, in = (uint64_t)axes[2].in * channels;
  if (j.each == 0) {
    rush_parallel(ctx, rows, out * size / 4 + 8, copy_rows, &j);
  } else {
    rush_parallel(ctx, rows, in * (uint64_t)(axes[0].n * axes[1].n) + out * (uint64_t)axes[2].n,
                  dtype == RUSH_FLOAT32 ? sum_rows_f32 : sum_rows_f64, &j);
  }
}

/* ---- Spans ----------------------------------------------------------------------------------- */

#define ROWS(name, type)                                                                      \
  static void name(rush_ctx *ctx, size_t rows, size_t channels, const rush_resample_spans *s, \
                   const type *x, type *y) {                                                  \
    for (size_t r = 0; r < rows; r++, x += s->in * channels)                                  \
      for (size_t o = 0; o < s->out; o++, y += channels) {                                    \
        if (rush_should_stop(ctx, (uint64_t)s->count[o] * channels + 4)) return;              \
        const type *from = x + (size_t)s->first[o] * channels;                                \
        const double *weight = s->weight + o * s->n;                                          \
        if (channels == 1) {                                                                  \
          type sum = 0;                                                                       \
          for (int32_t k = 0; k < s->count[o]; k++) sum += from[k] * (type)weight[k];         \
          y[0] = sum;                                                                         \
          continue;                                                                           \
        }                                                                                     \
        memset(y, 0, channels * sizeof *y);                                                   \
        for (int32_t k = 0; k < s->count[o]; k++, from += channels)                           \
          RUSH_EACH for (size_t c = 0; c < channels; c++) y[c] += from[c] * (type)weight[k];  \
      }                                                                                       \
  }
ROWS(rows_f32, float)
ROWS(rows_f64, double)

static void rows_u8(rush_ctx *ctx, size_t rows, size_t channels, const rush_resample_spans *s,
                    const uint8_t *x, uint8_t *y) {
  const int32_t half = 1 << (s->precision - 1);
  for (size_t r = 0; r < rows; r++, x += s->in * channels)
    for (size_t o = 0; o < s->out; o++, y += channels) {
      if (rush_should_stop(ctx, (uint64_t)s->count[o] * channels + 4)) return;
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
