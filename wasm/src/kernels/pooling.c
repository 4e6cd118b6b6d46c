#include "kernels/pooling.h"

#include <math.h>

#include "base/threads.h"
#include "kernels/int8_bytes.h"
#include "kernels/tile.h"

/* The window of one output position in one dimension: n positions that start at `from` and are
 * `step` apart. `counted` is the divisor of an average. */
typedef struct span {
  size_t from, n, step;
  int64_t counted;
} span;

static span span_of(const rush_pool *s, int d, size_t o) {
  const size_t in = s->in[d];
  if (s->adaptive) {
    /* Follows PyTorch's start_index and end_index. Sizes are at most 2^31, so 64 bits hold the
     * products. */
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
  /* An empty window starts past the end of the input, and so does PyTorch's index of its
   * maximum. */
  return (span){(size_t)(first + low * step), (size_t)n, s->dilation[d],
                s->count_padding ? (int64_t)(end - first) : (int64_t)n};
}

/* The window of one output pixel. */
typedef struct window {
  span d, h, w;
  size_t row, image; /* elements between rows and between planes of the input */
} window;

static size_t first_of(const rush_pool *s, const window *n) {
  return n->d.from * n->image + n->h.from * n->row + n->w.from * s->channels;
}
/* The product is modulo 2^64, as in PyTorch. */
static int64_t divisor_of(const rush_pool *s, const window *n) {
  const uint64_t counted = (uint64_t)n->d.counted * (uint64_t)n->h.counted * (uint64_t)n->w.counted;
  return s->divisor != 0 ? s->divisor : (int64_t)counted;
}

/* The sum wraps around. A divisor of 0 gives 0, where PyTorch's process would crash. */
static double mean_f64(double sum, int64_t divisor) {
  return sum / (double)divisor;
}
static int64_t mean_i64(uint64_t sum, int64_t divisor) {
  if (divisor == 0) return 0;
  return divisor == -1 ? (int64_t)(0 - sum) : (int64_t)sum / divisor;
}

/* A work item is one row of output pixels. Long rows check for a stop request every few windows,
 * and long windows for each few channels. Huge windows have scalar code, which also checks in each
 * row of the window and every LONG_ROW columns. */
enum { LONG_WINDOW = 1024, LONG_ROW = 1 << 16, HUGE_WINDOW = 1 << 20 };

static size_t positions_of(const window *n) {
  return n->d.n * n->h.n * n->w.n;
}
/* Many loops call it. */
RUSH_ALONE static bool stops(rush_ctx *ctx, size_t work) {
  return rush_should_stop(ctx, work);
}
/* Ends the function if its host wants to stop before a part of a long window. */
#define CHECK(window, work)                                                               \
  do {                                                                                    \
    if (RUSH_UNLIKELY(positions_of(window) >= LONG_WINDOW) && stops(ctx, (work))) return; \
  } while (0)
#define EACH_COLUMN(window, at)                                                       \
  for (size_t at = 0, end_; at < (window)->w.n && !(at > 0 && stops(ctx, LONG_ROW));) \
    for (end_ = (window)->w.n - at < LONG_ROW ? (window)->w.n : at + LONG_ROW; at < end_; at++)

struct job;
typedef void rows_fn(const struct job *j, size_t begin, size_t end, rush_ctx *ctx);

typedef struct job {
  const rush_pool *s;
  const void *x;
  void *y;
  int64_t *indices;
  rows_fn *rows;
  int64_t zero; /* zero point for averages of quantized integers */
} job;

/* Returns the most positions that a window can have. */
RUSH_ALONE static uint64_t window_size(const rush_pool *s) {
  uint64_t positions = 1;
  for (int d = 0; d < 3; d++) {
    const uint64_t n = s->adaptive               ? s->in[d] / s->out[d] + 1
                       : s->kernel[d] < s->in[d] ? s->kernel[d]
                                                 : s->in[d];
    if (__builtin_mul_overflow(positions, n, &positions)) return UINT64_MAX;
  }
  return positions;
}

/* Returns the work of a row of windows. */
static uint64_t row_work(const rush_pool *s) {
  uint64_t work = window_size(s) / 4, row;
  if (__builtin_mul_overflow((uint64_t)s->out[2], s->channels, &row) ||
      __builtin_mul_overflow(row, work, &work) || __builtin_add_overflow(row, work, &row))
    return UINT64_MAX;
  return row;
}

static void some_rows(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  j->rows(j, begin, end, who == 0 ? j->s->ctx : NULL);
}
RUSH_ALONE static void run(const job *j) {
  const rush_pool *s = j->s;
  rush_parallel(s->ctx, s->batch * s->out[0] * s->out[1], row_work(s), some_rows, j);
}

/* Evaluates `call` for each output pixel of rows [begin, end). n is its window in x, y is the
 * pixel, and indices points to its index or is NULL. */
#define EACH_PIXEL(type, call)                                                                 \
  do {                                                                                         \
    const rush_pool *s = j->s;                                                                 \
    window n = {.row = s->in[2] * s->channels, .image = s->in[1] * s->in[2] * s->channels};    \
    for (size_t r = begin; r < end; r++) {                                                     \
      const size_t oh = r % s->out[1], od = r / s->out[1] % s->out[0];                         \
      const type *x = (const type *)j->x + r / s->out[1] / s->out[0] * s->in[0] * n.image;     \
      type *y = (type *)j->y + r * s->out[2] * s->channels;                                    \
      int64_t *indices = j->indices ? j->indices + r * s->out[2] * s->channels : NULL;         \
      (void)indices;                                                                           \
      n.d = span_of(s, 0, od);                                                                 \
      n.h = span_of(s, 1, oh);                                                                 \
      for (size_t ow = 0; ow < s->out[2]; ow++, y += s->channels) {                            \
        n.w = span_of(s, 2, ow);                                                               \
        if (RUSH_UNLIKELY(positions_of(&n) >= LONG_WINDOW || ow % LONG_ROW == LONG_ROW - 1) && \
            rush_should_stop(ctx, n.w.n * s->channels))                                        \
          return;                                                                              \
        call;                                                                                  \
      }                                                                                        \
    }                                                                                          \
  } while (0)

/* ---- float32, four channels at a time -------------------------------------------------------- */

static void max_pixel(const rush_pool *s, const window *n, rush_ctx *ctx, const float *x,
                      float *y) {
  if (n->d.n * n->h.n * n->w.n > 0) x += first_of(s, n);
  for (size_t c = 0; c < s->channels; c += 4) {
    const size_t left = s->channels - c;
    CHECK(n, positions_of(n));
    f4 best = f4_set(-INFINITY);
    for (size_t d = 0; d < n->d.n; d++) {
      for (size_t h = 0; h < n->h.n; h++) {
        const float *p = x + d * n->d.step * n->image + h * n->h.step * n->row + c;
        for (size_t w = 0; w < n->w.n; w++, p += n->w.step * s->channels)
          best = f4_max(best, f4_load_up_to(p, left));
      }
    }
    f4_store_up_to(y + c, best, left);
  }
}

/* Each row is summed separately first, which is more accurate for large windows. */
static void avg_pixel(const rush_pool *s, const window *n, rush_ctx *ctx, const float *x,
                      float *y) {
  if (n->d.n * n->h.n * n->w.n > 0) x += first_of(s, n);
  const f4 divisor = f4_set((float)divisor_of(s, n));
  const bool empty = n->d.n * n->h.n * n->w.n == 0;
  for (size_t c = 0; c < s->channels; c += 4) {
    const size_t left = s->channels - c;
    CHECK(n, positions_of(n));
    f4 sum = f4_set(0);
    for (size_t d = 0; d < n->d.n; d++) {
      for (size_t h = 0; h < n->h.n; h++) {
        const float *p = x + d * n->image + h * n->row + c;
        f4 row = f4_set(0);
        for (size_t w = 0; w < n->w.n; w++, p += s->channels) row += f4_load_up_to(p, left);
        sum += row;
      }
    }
    f4_store_up_to(y + c, empty ? f4_set(0) : sum / divisor, left);
  }
}

/* With a single channel, vectors run along the row. */
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

/* ---- Bytes, sixteen channels at a time ------------------------------------------------------- */

/* Handles at least sixteen channels. The last block may overlap the one before. `flip` maps the
 * bytes of x to unsigned order. */
RUSH_INLINE void max_bytes_pixel(const rush_pool *s, const window *n, rush_ctx *ctx, b16 flip,
                                 const uint8_t *x, uint8_t *y) {
  enum { LANES = 16 };
  const size_t last = s->channels - LANES;
  if (n->d.n * n->h.n * n->w.n > 0) x += first_of(s, n);
  for (size_t i = 0; i < s->channels; i += LANES) {
    const size_t c = i < last ? i : last;
    CHECK(n, positions_of(n));
    b16 best = {0};
    for (size_t d = 0; d < n->d.n; d++) {
      for (size_t h = 0; h < n->h.n; h++) {
        const uint8_t *p = x + d * n->d.step * n->image + h * n->h.step * n->row + c;
        for (size_t w = 0; w < n->w.n; w++, p += n->w.step * s->channels)
          best = b16_max(best, b16_load(p) ^ flip);
      }
    }
    best ^= flip;
    memcpy(y + c, &best, sizeof best);
  }
}

/* Returns four averages of unsigned bytes. `zeros` is the zero point times the number of
 * elements. */
RUSH_INLINE i4 mean_of_bytes(i4 sum, i4 zeros, f4 divisor, i4 zero) {
  const f4 most = f4_set(1 << 20), mean = f4_from_int(i4_sub(sum, zeros)) / divisor;
  i4 steps;
  f4_round_small(f4_less(f4_more(mean, f4_zero() - most), most), &steps);
  return i4_add(steps, zero);
}
RUSH_INLINE void avg_bytes_pixel(const rush_pool *s, const window *n, rush_ctx *ctx, b16 flip,
                                 int32_t zero, const uint8_t *x, uint8_t *y) {
  enum { LANES = 16 };
  const size_t last = s->channels - LANES, positions = n->d.n * n->h.n * n->w.n;
  if (positions > 0) x += first_of(s, n);
  const f4 divisor = f4_set(positions > 0 ? (float)divisor_of(s, n) : 1);
  const i4 zeros = i4_set((int32_t)((uint32_t)positions * (uint32_t)zero));
  for (size_t i = 0; i < s->channels; i += LANES) {
    const size_t c = i < last ? i : last;
    CHECK(n, positions_of(n));
    i4 sum[4] = {{0}, {0}, {0}, {0}};
    for (size_t d = 0; d < n->d.n; d++) {
      for (size_t h = 0; h < n->h.n; h++) {
        const uint8_t *p = x + d * n->image + h * n->row + c;
        for (size_t w = 0; w < n->w.n; w++, p += s->channels) {
          const b16 v = b16_load(p) ^ flip;
          const s8 low = s8_low(v), high = s8_high(v), none = {0};
          sum[0] = i4_add(sum[0], (i4)s8_zip_low(low, none));
          sum[1] = i4_add(sum[1], (i4)s8_zip_high(low, none));
          sum[2] = i4_add(sum[2], (i4)s8_zip_low(high, none));
          sum[3] = i4_add(sum[3], (i4)s8_zip_high(high, none));
        }
      }
    }
    for (int k = 0; k < 4; k++) sum[k] = mean_of_bytes(sum[k], zeros, divisor, i4_set(zero));
    rush_int8_store(y + c, sum[0], sum[1], flip);
    rush_int8_store(y + c + 8, sum[2], sum[3], flip);
  }
}

/* ---- All dtypes ------------------------------------------------------------------------------ */

#define MAX_POOL(attributes, name, type, lowest)                                              \
  attributes static void name(const job *j, size_t begin, size_t end, rush_ctx *ctx) {        \
    EACH_PIXEL(type, {                                                                        \
      for (size_t c = 0; c < s->channels; c++) {                                              \
        type best = lowest;                                                                   \
        size_t at = (n.d.from * s->in[1] + n.h.from) * s->in[2] + n.w.from;                   \
        for (size_t d = 0; d < n.d.n; d++) {                                                  \
          for (size_t h = 0; h < n.h.n; h++) {                                                \
            size_t p =                                                                        \
                ((n.d.from + d * n.d.step) * s->in[1] + n.h.from + h * n.h.step) * s->in[2] + \
                n.w.from;                                                                     \
            CHECK(&n, n.w.n);                                                                 \
            EACH_COLUMN(&n, w) {                                                              \
              const type v = x[p * s->channels + c];                                          \
              if (v > best || v != v) {                                                       \
                best = v;                                                                     \
                at = p;                                                                       \
              }                                                                               \
              p += n.w.step;                                                                  \
            }                                                                                 \
          }                                                                                   \
        }                                                                                     \
        y[c] = best;                                                                          \
        if (indices != NULL) *indices++ = (int64_t)at;                                        \
      }                                                                                       \
    });                                                                                       \
  }
MAX_POOL(, max_f32, float, -INFINITY)
MAX_POOL(RUSH_RARE, max_f64, double, (double)-INFINITY)
MAX_POOL(RUSH_RARE, max_u8, uint8_t, 0)
MAX_POOL(RUSH_RARE, max_i8, int8_t, INT8_MIN)
MAX_POOL(RUSH_RARE, max_i32, int32_t, INT32_MIN)
MAX_POOL(RUSH_RARE, max_i64, int64_t, INT64_MIN)

#define AVG_POOL(attributes, name, type, sum_type, mean)                               \
  attributes static void name(const job *j, size_t begin, size_t end, rush_ctx *ctx) { \
    EACH_PIXEL(type, {                                                                 \
      const bool any = n.d.n * n.h.n * n.w.n > 0;                                      \
      const type *first = any ? x + first_of(s, &n) : x;                               \
      for (size_t c = 0; c < s->channels; c++) {                                       \
        sum_type sum = 0;                                                              \
        for (size_t d = 0; d < n.d.n; d++)                                             \
          for (size_t h = 0; h < n.h.n; h++) {                                         \
            CHECK(&n, n.w.n);                                                          \
            EACH_COLUMN(&n, w)                                                         \
            sum += (sum_type)first[d * n.image + h * n.row + w * s->channels + c];     \
          }                                                                            \
        y[c] = !any ? 0 : (type)mean(sum, divisor_of(s, &n));                          \
      }                                                                                \
    });                                                                                \
  }
AVG_POOL(RUSH_RARE, avg_f64, double, double, mean_f64)
AVG_POOL(RUSH_RARE, avg_huge, float, double, mean_f64)
AVG_POOL(RUSH_RARE, avg_i64, int64_t, uint64_t, mean_i64)

/* Averages quantized integers minus their zero point, with the same rounding as the vectorized
 * code. */
RUSH_RARE static double steps_of(double sum, int64_t divisor, double zero, double least,
                                 double most) {
  const double mean = (double)rintf((float)sum / (float)divisor) + zero;
  return mean > least ? mean < most ? mean : most : least;
}
#define AVG_STEPS(name, type, least, most)                                                       \
  RUSH_RARE static void name(const job *j, size_t begin, size_t end, rush_ctx *ctx) {            \
    const double zero = (double)j->zero;                                                         \
    EACH_PIXEL(type, {                                                                           \
      const bool any = n.d.n * n.h.n * n.w.n > 0;                                                \
      const type *first = any ? x + first_of(s, &n) : x;                                         \
      for (size_t c = 0; c < s->channels; c++) {                                                 \
        double sum = 0;                                                                          \
        for (size_t d = 0; d < n.d.n; d++)                                                       \
          for (size_t h = 0; h < n.h.n; h++) {                                                   \
            CHECK(&n, n.w.n);                                                                    \
            EACH_COLUMN(&n, w)                                                                   \
            sum += (double)first[d * n.image + h * n.row + w * s->channels + c] - zero;          \
          }                                                                                      \
        y[c] =                                                                                   \
            (type)steps_of(sum, any ? divisor_of(s, &n) : 1, zero, (double)least, (double)most); \
      }                                                                                          \
    });                                                                                          \
  }
AVG_STEPS(avg_steps_u8, uint8_t, 0, UINT8_MAX)
AVG_STEPS(avg_steps_i8, int8_t, INT8_MIN, INT8_MAX)
AVG_STEPS(avg_steps_i32, int32_t, INT32_MIN, INT32_MAX)

static void avg_bytes(const job *j, size_t begin, size_t end, rush_ctx *ctx) {
  EACH_PIXEL(uint8_t, avg_bytes_pixel(s, &n, ctx, (b16){0}, (int32_t)j->zero, x, y));
}
static void avg_signed(const job *j, size_t begin, size_t end, rush_ctx *ctx) {
  EACH_PIXEL(uint8_t, avg_bytes_pixel(s, &n, ctx, b16_set(128), (int32_t)j->zero + 128, x, y));
}
static void max_bytes(const job *j, size_t begin, size_t end, rush_ctx *ctx) {
  EACH_PIXEL(uint8_t, max_bytes_pixel(s, &n, ctx, (b16){0}, x, y));
}
static void max_signed(const job *j, size_t begin, size_t end, rush_ctx *ctx) {
  EACH_PIXEL(uint8_t, max_bytes_pixel(s, &n, ctx, b16_set(128), x, y));
}
static void max_vectors(const job *j, size_t begin, size_t end, rush_ctx *ctx) {
  EACH_PIXEL(float, max_pixel(s, &n, ctx, x, y));
}
static void avg_f32(const job *j, size_t begin, size_t end, rush_ctx *ctx) {
  EACH_PIXEL(float, {
    if (s->channels == 1)
      avg_single(s, &n, x, y);
    else
      avg_pixel(s, &n, ctx, x, y);
  });
}

/* One channel without indices: processes one tap of all windows of a row at a time. */
#define TAP(stride)                               \
  RUSH_EACH for (size_t o = 0; o < n; o++) {      \
    const float v = x[o * (stride)], best = y[o]; \
    y[o] = ((v > best) | (v != v)) ? v : best;    \
  }
static void max_tap(const rush_pool *s, size_t k, const float *x, float *y) {
  const size_t stride = s->stride[2], in = s->in[2];
  const ptrdiff_t at = (ptrdiff_t)(k * s->dilation[2]) - s->padding[2];
  const size_t low = at < 0 ? ((size_t)-at + stride - 1) / stride : 0;
  if (at >= (ptrdiff_t)in || low >= s->out[2]) return;
  size_t high = ((size_t)((ptrdiff_t)in - at) + stride - 1) / stride;
  if (high > s->out[2]) high = s->out[2];
  if (high <= low) return;
  const size_t n = high - low;
  x += (ptrdiff_t)(low * stride) + at;
  y += low;
  if (stride == 1) {
    TAP(1)
  } else if (stride == 2) {
    TAP(2)
  } else {
    TAP(stride)
  }
}
static void max_single(const job *j, size_t begin, size_t end, rush_ctx *ctx) {
  const rush_pool *s = j->s;
  for (size_t r = begin; r < end; r++) {
    const span h = span_of(s, 1, r % s->out[1]), d = span_of(s, 0, r / s->out[1] % s->out[0]);
    const float *image =
        (const float *)j->x + r / s->out[1] / s->out[0] * s->in[0] * s->in[1] * s->in[2];
    float *y = (float *)j->y + r * s->out[2];
    for (size_t o = 0; o < s->out[2]; o++) y[o] = -INFINITY;
    for (size_t a = 0; a < d.n * h.n; a++) {
      if (rush_should_stop(ctx, (uint64_t)s->kernel[2] * s->out[2])) return;
      const size_t row = (d.from + a / h.n * d.step) * s->in[1] + h.from + a % h.n * h.step;
      for (size_t k = 0; k < s->kernel[2]; k++) max_tap(s, k, image + row * s->in[2], y);
    }
  }
}

static rows_fn *max_of(rush_dtype dtype, const rush_pool *s, bool indices) {
  const bool short_windows = !s->adaptive && s->kernel[2] < LONG_WINDOW && s->out[2] < LONG_ROW,
             huge = window_size(s) >= HUGE_WINDOW;
  switch (dtype) {
    case RUSH_FLOAT32:
      if (indices || huge) return max_f32;
      return s->channels > 1 ? max_vectors : short_windows ? max_single : max_f32;
    case RUSH_FLOAT64:
      return max_f64;
    case RUSH_UINT8:
      return max_u8;
    case RUSH_INT32:
      return max_i32;
    default:
      return max_i64;
  }
}

void rush_max_pool(rush_dtype dtype, const rush_pool *s, const void *x, void *y, int64_t *indices) {
  const job j = {s, x, y, indices, max_of(dtype, s, indices != NULL), 0};
  run(&j);
}

void rush_avg_pool(rush_dtype dtype, const rush_pool *s, const void *x, void *y) {
  job j = {s, x, y, NULL, window_size(s) < HUGE_WINDOW ? avg_f32 : avg_huge, 0};
  if (dtype == RUSH_FLOAT64) j.rows = avg_f64;
  if (dtype == RUSH_INT64) j.rows = avg_i64;
  run(&j);
}

void rush_max_pool_quantized(rush_dtype dtype, const rush_pool *s, const void *x, void *y) {
  const bool by_bytes = s->channels >= sizeof(b16) && window_size(s) < HUGE_WINDOW;
  job j = {s, x, y, NULL, max_i32, 0};
  if (dtype == RUSH_QUINT8) j.rows = by_bytes ? max_bytes : max_u8;
  if (dtype == RUSH_QINT8) j.rows = by_bytes ? max_signed : max_i8;
  run(&j);
}

void rush_avg_pool_quantized(rush_dtype dtype, const rush_pool *s, int64_t zero, const void *x,
                             void *y) {
  /* The vectorized sums must stay below 2^31, and the zero point must be close to the range of
   * bytes. */
  const bool by_bytes = s->channels >= sizeof(b16) && zero >= INT8_MIN && zero <= UINT8_MAX &&
                        row_work(s) < INT32_MAX / 2 / UINT8_MAX;
  job j = {s, x, y, NULL, avg_steps_i32, zero};
  if (dtype == RUSH_QUINT8) j.rows = by_bytes ? avg_bytes : avg_steps_u8;
  if (dtype == RUSH_QINT8) j.rows = by_bytes ? avg_signed : avg_steps_i8;
  run(&j);
}
