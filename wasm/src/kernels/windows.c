#include "kernels/windows.h"

#include <math.h>

#include "base/base.h"
#include "kernels/tile.h"

/* The window of one output position in one dimension: n positions from `from` on, step apart.
 * `counted` are the positions that a mean divides by. */
typedef struct span {
  size_t from, n, step;
  int64_t counted;
} span;

static span span_of(const rush_pool *s, int d, size_t o) {
  const size_t in = s->in[d];
  if (s->adaptive) {
    /* PyTorch's start_index and end_index. Outputs are at most 2^31 and so are inputs: 64 bits hold
     * the products. */
    const uint64_t size = in, out = s->out[d];
    const size_t from = (size_t)(o * size / out), end = (size_t)(((o + 1) * size + out - 1) / out);
    return (span){from, end - from, 1, (int64_t)(end - from)};
  }
  const ptrdiff_t step = (ptrdiff_t)s->dilation[d], size = (ptrdiff_t)in;
  const ptrdiff_t first = (ptrdiff_t)(o * s->stride[d]) - s->padding[d];
  ptrdiff_t low = first < 0 ? (-first + step - 1) / step : 0;
  ptrdiff_t high = first >= size ? 0 : (size - 1 - first) / step + 1;
  if (high > (ptrdiff_t)s->kernel[d]) high = (ptrdiff_t)s->kernel[d];
  const ptrdiff_t n = high > low ? high - low : 0;
  ptrdiff_t end = first + (ptrdiff_t)s->kernel[d];
  if (end > size + s->padding[d]) end = size + s->padding[d];
  /* An empty window is behind the input, and PyTorch's index of its maximum too. */
  return (span){(size_t)(first + low * step), (size_t)n, s->dilation[d],
                s->count_padding ? (int64_t)(end - first) : (int64_t)n};
}

/* One output pixel's window. */
typedef struct window {
  span d, h, w;
  size_t row, image; /* elements of the input from one row, one plane to the next */
} window;

static size_t first_of(const rush_pool *s, const window *n) {
  return n->d.from * n->image + n->h.from * n->row + n->w.from * s->channels;
}
/* Modulo 2^64, as PyTorch's. */
static int64_t divisor_of(const rush_pool *s, const window *n) {
  const uint64_t counted = (uint64_t)n->d.counted * (uint64_t)n->h.counted * (uint64_t)n->w.counted;
  return s->divisor != 0 ? s->divisor : (int64_t)counted;
}

/* A sum that wraps around divided by what need not divide: 0 where PyTorch's process would end. */
static double mean_f64(double sum, int64_t divisor) {
  return sum / (double)divisor;
}
static int64_t mean_i64(uint64_t sum, int64_t divisor) {
  if (divisor == 0) return 0;
  return divisor == -1 ? (int64_t)(0 - sum) : (int64_t)sum / divisor;
}

/* Within a row the host is asked for every window of so many columns, and every so many windows. */
enum { LONG_WINDOW = 1024, LONG_ROW = 1 << 16 };

/* Steps of work of a row of windows with less columns. */
static uint64_t row_work(const rush_pool *s, const window *n) {
  const size_t columns = s->adaptive ? s->in[2] / s->out[2] + 1 : s->kernel[2];
  return (uint64_t)s->out[2] * s->channels *
         (n->d.n * n->h.n * (columns < LONG_WINDOW ? columns : 1) + 4) / 4;
}

/* Calls what(s, &window, x, y, index of y's pixel) for each output pixel. */
#define EACH_PIXEL(s, x, y, type, call)                                      \
  do {                                                                       \
    window n = {.row = (s)->in[2] * (s)->channels,                           \
                .image = (s)->in[1] * (s)->in[2] * (s)->channels};           \
    for (size_t b = 0; b < (s)->batch; b++, x += (s)->in[0] * n.image) {     \
      for (size_t od = 0; od < (s)->out[0]; od++) {                          \
        n.d = span_of(s, 0, od);                                             \
        for (size_t oh = 0; oh < (s)->out[1]; oh++) {                        \
          n.h = span_of(s, 1, oh);                                           \
          if (rush_stops((s)->ctx, row_work(s, &n))) return;                 \
          for (size_t ow = 0; ow < (s)->out[2]; ow++, y += (s)->channels) {  \
            n.w = span_of(s, 2, ow);                                         \
            if (RUSH_UNLIKELY(n.w.n >= LONG_WINDOW || ow % LONG_ROW == 1) && \
                rush_stops((s)->ctx, n.w.n * (s)->channels))                 \
              return;                                                        \
            call;                                                            \
          }                                                                  \
        }                                                                    \
      }                                                                      \
    }                                                                        \
  } while (0)

/* ---- float32, four channels at a time -------------------------------------------------------- */

RUSH_INLINE f4 load(const float *p, size_t left) {
  return left >= 4 ? f4_load(p) : f4_load_part(p, left);
}
RUSH_INLINE void store(float *p, f4 v, size_t left) {
  if (left >= 4) {
    f4_store(p, v);
  } else {
    f4_store_part(p, v, left);
  }
}

static void max_pixel(const rush_pool *s, const window *n, const float *x, float *y) {
  if (n->d.n * n->h.n * n->w.n > 0) x += first_of(s, n);
  for (size_t c = 0; c < s->channels; c += 4) {
    const size_t left = s->channels - c;
    f4 best = f4_set(-INFINITY);
    for (size_t d = 0; d < n->d.n; d++) {
      for (size_t h = 0; h < n->h.n; h++) {
        const float *p = x + d * n->d.step * n->image + h * n->h.step * n->row + c;
        for (size_t w = 0; w < n->w.n; w++, p += n->w.step * s->channels)
          best = f4_max(best, load(p, left));
      }
    }
    store(y + c, best, left);
  }
}

/* Rows are summed by themselves first: more exact where windows are large. */
static void avg_pixel(const rush_pool *s, const window *n, const float *x, float *y) {
  if (n->d.n * n->h.n * n->w.n > 0) x += first_of(s, n);
  const f4 divisor = f4_set((float)divisor_of(s, n));
  const bool empty = n->d.n * n->h.n * n->w.n == 0;
  for (size_t c = 0; c < s->channels; c += 4) {
    const size_t left = s->channels - c;
    f4 sum = f4_set(0);
    for (size_t d = 0; d < n->d.n; d++) {
      for (size_t h = 0; h < n->h.n; h++) {
        const float *p = x + d * n->image + h * n->row + c;
        f4 row = f4_set(0);
        for (size_t w = 0; w < n->w.n; w++, p += s->channels) row += load(p, left);
        sum += row;
      }
    }
    store(y + c, empty ? f4_set(0) : sum / divisor, left);
  }
}

/* One channel: along the row instead. */
static void avg_single(const rush_pool *s, const window *n, const float *x, float *y) {
  if (n->d.n * n->h.n * n->w.n > 0) x += first_of(s, n);
  float sum = 0;
  for (size_t d = 0; d < n->d.n; d++) {
    for (size_t h = 0; h < n->h.n; h++) {
      const float *p = x + d * n->image + h * n->row;
      f4 row = f4_set(0);
      size_t w = 0;
      for (; w + 4 <= n->w.n; w += 4) row += f4_load(p + w);
      float rest = f4_sum(row);
      for (; w < n->w.n; w++) rest += p[w];
      sum += rest;
    }
  }
  *y = n->d.n * n->h.n * n->w.n == 0 ? 0 : sum / (float)divisor_of(s, n);
}

/* ---- Any type -------------------------------------------------------------------------------- */

#define MAX_POOL(name, type, lowest)                                                          \
  static void name(const rush_pool *s, const type *x, type *y, int64_t *indices) {            \
    EACH_PIXEL(s, x, y, type, {                                                               \
      for (size_t c = 0; c < s->channels; c++) {                                              \
        type best = lowest;                                                                   \
        size_t at = (n.d.from * s->in[1] + n.h.from) * s->in[2] + n.w.from;                   \
        for (size_t d = 0; d < n.d.n; d++) {                                                  \
          for (size_t h = 0; h < n.h.n; h++) {                                                \
            size_t p =                                                                        \
                ((n.d.from + d * n.d.step) * s->in[1] + n.h.from + h * n.h.step) * s->in[2] + \
                n.w.from;                                                                     \
            for (size_t w = 0; w < n.w.n; w++, p += n.w.step) {                               \
              const type v = x[p * s->channels + c];                                          \
              if (v > best || v != v) {                                                       \
                best = v;                                                                     \
                at = p;                                                                       \
              }                                                                               \
            }                                                                                 \
          }                                                                                   \
        }                                                                                     \
        y[c] = best;                                                                          \
        if (indices != NULL) *indices++ = (int64_t)at;                                        \
      }                                                                                       \
    });                                                                                       \
  }
MAX_POOL(max_f32, float, -INFINITY)
MAX_POOL(max_f64, double, (double)-INFINITY)
MAX_POOL(max_u8, uint8_t, 0)
MAX_POOL(max_i32, int32_t, INT32_MIN)
MAX_POOL(max_i64, int64_t, INT64_MIN)

#define AVG_POOL(name, type, sum_type, mean)                                         \
  static void name(const rush_pool *s, const type *x, type *y) {                     \
    EACH_PIXEL(s, x, y, type, {                                                      \
      const bool any = n.d.n * n.h.n * n.w.n > 0;                                    \
      const type *first = any ? x + first_of(s, &n) : x;                             \
      for (size_t c = 0; c < s->channels; c++) {                                     \
        sum_type sum = 0;                                                            \
        for (size_t d = 0; d < n.d.n; d++)                                           \
          for (size_t h = 0; h < n.h.n; h++)                                         \
            for (size_t w = 0; w < n.w.n; w++)                                       \
              sum += (sum_type)first[d * n.image + h * n.row + w * s->channels + c]; \
        y[c] = !any ? 0 : mean(sum, divisor_of(s, &n));                              \
      }                                                                              \
    });                                                                              \
  }
AVG_POOL(avg_f64, double, double, mean_f64)
AVG_POOL(avg_i64, int64_t, uint64_t, mean_i64)

static void max_vectors(const rush_pool *s, const float *x, float *y) {
  EACH_PIXEL(s, x, y, float, max_pixel(s, &n, x, y));
}
static void avg_vectors(const rush_pool *s, const float *x, float *y) {
  if (s->channels == 1) {
    EACH_PIXEL(s, x, y, float, avg_single(s, &n, x, y));
  } else {
    EACH_PIXEL(s, x, y, float, avg_pixel(s, &n, x, y));
  }
}

void rush_max_pool(rush_dtype dtype, const rush_pool *s, const void *x, void *y, int64_t *indices) {
  switch (dtype) {
    case RUSH_FLOAT32:
      if (indices == NULL && s->channels > 1) {
        max_vectors(s, x, y);
      } else {
        max_f32(s, x, y, indices);
      }
      break;
    case RUSH_FLOAT64:
      max_f64(s, x, y, indices);
      break;
    case RUSH_UINT8:
      max_u8(s, x, y, indices);
      break;
    case RUSH_INT32:
      max_i32(s, x, y, indices);
      break;
    default:
      max_i64(s, x, y, indices);
      break;
  }
}

void rush_avg_pool(rush_dtype dtype, const rush_pool *s, const void *x, void *y) {
  switch (dtype) {
    case RUSH_FLOAT32:
      avg_vectors(s, x, y);
      break;
    case RUSH_FLOAT64:
      avg_f64(s, x, y);
      break;
    default:
      avg_i64(s, x, y);
      break;
  }
}
