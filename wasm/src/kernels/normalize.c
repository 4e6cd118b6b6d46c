#include "kernels/normalize.h"

#include "base/base.h"
#include "kernels/elementary.h"
#include "kernels/elementary_inline.h"
#include "kernels/reduction.h"

/* ---- Softmax --------------------------------------------------------------------------------- */

/* The elements of a row in pieces, between which the host may stop the run */
#define PIECES                                                                                   \
  for (size_t at = 0, some = n; at < n && (n <= SHORT || rush_next_piece(ctx, n, 1, at, &some)); \
       at += some)
enum { SHORT = 1 << 16 /* elements of a row */ };

static void subtract(size_t n, float *out, const float *x, float most, float logarithm) {
  const f4 m = f4_set(most), l = f4_set(logarithm);
  RUSH_MAP_F4(out, x, n, v, v - m - l)
}

void rush_softmax_row_f32(struct rush_ctx *ctx, size_t n, float *out, const float *x,
                          bool logarithm) {
  float most = -INFINITY, scratch[256];
  double sum = 0;
  PIECES {
    const float v = rush_max_f32(some, x + at);
    if (v > most || v != v) most = v;
  }
  if (!logarithm) {
    PIECES sum += rush_exp_sum_f32(some, out + at, x + at, most);
    PIECES rush_affine_f32(some, out + at, out + at, (float)(1 / sum), 0);
    return;
  }
  for (size_t at = 0; at < n && !rush_stops_at_step(ctx, (int64_t)at); at += 256)
    sum += rush_exp_sum_f32(n - at < 256 ? n - at : 256, scratch, x + at, most);
  PIECES subtract(some, out + at, x + at, most, (float)log(sum));
}

void rush_softmax_row_f64(struct rush_ctx *ctx, size_t n, double *out, const double *x,
                          bool logarithm) {
  rush_softmax_columns_f64(ctx, n, 1, 1, out, x, logarithm);
}

void rush_softmax_columns_f64(struct rush_ctx *ctx, size_t n, size_t cols, size_t stride,
                              double *out, const double *x, bool logarithm) {
  for (size_t j = 0; j < cols; j++) {
    double most = -(double)INFINITY, sum = 0;
    for (size_t i = 0; i < n && !rush_stops_at_step(ctx, (int64_t)i); i++) {
      const double v = x[i * stride + j];
      if (v > most || v != v) most = v;
    }
    for (size_t i = 0; i < n && !rush_stops_at_step(ctx, (int64_t)i); i++) {
      const double v = x[i * stride + j] - most, e = exp(v);
      sum += e;
      out[i * stride + j] = logarithm ? v : e;
    }
    const double l = log(sum);
    for (size_t i = 0; i < n && !rush_stops_at_step(ctx, (int64_t)i); i++) {
      double *o = &out[i * stride + j];
      *o = logarithm ? *o - l : *o / sum;
    }
  }
}

/* Processes four columns at a time, row by row, in memory order. The sum is compensated (Kahan),
 * because n may be large. */
enum { COLUMNS = 64 };
static void softmax_some(struct rush_ctx *ctx, size_t n, size_t cols, size_t stride, float *out,
                         const float *x, bool logarithm) {
  f4 most[COLUMNS / 4], sum[COLUMNS / 4], lost[COLUMNS / 4];
  const size_t whole = cols / 4, left = cols % 4, all = whole + (left > 0);
#define EACH_ROW for (size_t i = 0; i < n && !rush_stops_at_step(ctx, (int64_t)i); i++)
#define GET(p, k) (k < whole ? f4_load((p) + 4 * k) : f4_load_part((p) + 4 * k, left))
#define PUT(p, k, v) (k < whole ? f4_store((p) + 4 * k, v) : f4_store_part((p) + 4 * k, v, left))
  for (size_t k = 0; k < all; k++) {
    most[k] = GET(x, k);
    sum[k] = lost[k] = f4_zero();
  }
  EACH_ROW
  for (size_t k = 0; k < all; k++) {
    const f4 v = GET(x + i * stride, k);
    most[k] = f4_select((v > most[k]) | (v != v), v, most[k]);
  }
  EACH_ROW
  for (size_t k = 0; k < all; k++) {
    const f4 e = f4_exp_negative(GET(x + i * stride, k) - most[k]);
    const f4 add = e - lost[k], next = sum[k] + add;
    lost[k] = (next - sum[k]) - add;
    sum[k] = next;
    if (!logarithm) PUT(out + i * stride, k, e);
  }
  for (size_t k = 0; k < all; k++) sum[k] = logarithm ? f4_log(sum[k]) : f4_set(1.0f) / sum[k];
  EACH_ROW
  for (size_t k = 0; k < all; k++) {
    if (logarithm)
      PUT(out + i * stride, k, GET(x + i * stride, k) - most[k] - sum[k]);
    else
      PUT(out + i * stride, k, GET(out + i * stride, k) * sum[k]);
  }
}
void rush_softmax_columns_f32(struct rush_ctx *ctx, size_t n, size_t cols, size_t stride,
                              float *out, const float *x, bool logarithm) {
  if (n == 0) return;
  for (size_t j = 0; j < cols; j += COLUMNS)
    softmax_some(ctx, n, cols - j < COLUMNS ? cols - j : COLUMNS, stride, out + j, x + j,
                 logarithm);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

void rush_affine_f32(size_t n, float *out, const float *x, float scale, float shift) {
  RUSH_EACH for (size_t i = 0; i < n; i++) out[i] = x[i] * scale + shift;
}
void rush_affine_f64(size_t n, double *out, const double *x, double scale, double shift) {
  RUSH_EACH for (size_t i = 0; i < n; i++) out[i] = x[i] * scale + shift;
}

#define ROWS(T, f)                                                                           \
  static void shift_##f(size_t n, T *out, const T *x, T m, T r, const T *w, const T *b) {    \
    if (w && b) {                                                                            \
      RUSH_EACH for (size_t i = 0; i < n; i++) out[i] = (x[i] - m) * r * w[i] + b[i];        \
    } else if (w) {                                                                          \
      RUSH_EACH for (size_t i = 0; i < n; i++) out[i] = (x[i] - m) * r * w[i];               \
    } else {                                                                                 \
      RUSH_EACH for (size_t i = 0; i < n; i++) out[i] = (x[i] - m) * r;                      \
      if (b) RUSH_EACH for (size_t i = 0; i < n; i++) out[i] += b[i];                        \
    }                                                                                        \
  }                                                                                          \
  void rush_layer_norm_##f(struct rush_ctx *ctx, size_t n, T *out, const T *x, const T *w,   \
                           const T *b, double eps, T *mean_, T *rstd_) {                     \
    double sum = 0, squares = 0;                                                             \
    PIECES sum += rush_sum_##f(some, x + at);                                                \
    const double k = (double)n, mean = sum / k, off = mean - (double)(T)mean;                \
    PIECES squares += rush_sum_squares_##f(some, x + at, (T)mean);                           \
    const double var = squares / k - off * off;                                              \
    const T m = (T)mean, r = (T)(1 / sqrt((var > 0 || var != var ? var : 0) + eps));         \
    *mean_ = m;                                                                              \
    *rstd_ = r;                                                                              \
    PIECES shift_##f(some, out + at, x + at, m, r, w ? w + at : w, b ? b + at : b);          \
  }                                                                                          \
  static void scale_##f(size_t n, T *out, const T *x, T r, const T *w) {                     \
    if (w) {                                                                                 \
      RUSH_EACH for (size_t i = 0; i < n; i++) out[i] = x[i] * r * w[i];                     \
    } else {                                                                                 \
      RUSH_EACH for (size_t i = 0; i < n; i++) out[i] = x[i] * r;                            \
    }                                                                                        \
  }                                                                                          \
  void rush_rms_norm_##f(struct rush_ctx *ctx, size_t n, T *out, const T *x, const T *w,     \
                         double eps) {                                                       \
    double squares = 0;                                                                      \
    PIECES squares += rush_sum_squares_##f(some, x + at, 0);                                 \
    const T sum = (T)squares; /* it overflows as PyTorch's does */                           \
    const T r = (T)(1 / sqrt((double)sum / (double)n + eps));                                \
    PIECES scale_##f(some, out + at, x + at, r, w ? w + at : w);                             \
  }                                                                                          \
  void rush_affine_columns_##f(size_t rows, size_t cols, T *out, const T *x, const T *scale, \
                               const T *shift) {                                             \
    for (size_t i = 0; i < rows; i++, out += cols, x += cols)                                \
      RUSH_EACH for (size_t j = 0; j < cols; j++) out[j] = x[j] * scale[j] + shift[j];       \
  }
ROWS(float, f32)
ROWS(double, f64)

/* ---- Columns --------------------------------------------------------------------------------- */

enum { TILE = 64, DEEP = 64 };

#define TILES(T, expr)                                                       \
  for (size_t first = 0; first < cols; first += TILE) {                      \
    const size_t width = cols - first < TILE ? cols - first : TILE;          \
    for (size_t top = 0; top < rows; top += DEEP) {                          \
      const size_t end = rows - top < DEEP ? rows : top + DEEP;              \
      T acc[TILE] = {0};                                                     \
      for (size_t i = top; i < end; i++) {                                   \
        const T *p = x + i * cols + first;                                   \
        RUSH_EACH for (size_t j = 0; j < width; j++) acc[j] += expr;         \
      }                                                                      \
      for (size_t j = 0; j < width; j++) total[first + j] += (double)acc[j]; \
    }                                                                        \
  }
void rush_add_columns_f32(size_t rows, size_t cols, const float *x, double *total) {
  TILES(float, p[j])
}
void rush_add_columns_f64(size_t rows, size_t cols, const double *x, double *total) {
  TILES(double, p[j])
}
#define SQUARE(c) ((p[j] - (c)[first + j]) * (p[j] - (c)[first + j]))
void rush_add_square_columns_f32(size_t rows, size_t cols, const float *x, const float *centre,
                                 double *total) {
  TILES(float, SQUARE(centre))
}
void rush_add_square_columns_f64(size_t rows, size_t cols, const double *x, const double *centre,
                                 double *total) {
  TILES(double, SQUARE(centre))
}
