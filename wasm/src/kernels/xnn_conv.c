/* Convolution as an indirect matrix product: a tile is a few output pixels; for each kernel
 * position it has the address of the input pixel that contributes, or of zeros. The addresses are
 * made per tile, right before they are used: that costs one per cent of the product, needs no
 * memory per layer, and works when shapes change. A tile that touches no border reads each
 * kernel row as one run of pixels.
 *
 * A transposed convolution of stride s is s plain ones (per dimension), each with every s-th kernel
 * position, for every s-th output pixel. */
#include <math.h>
#include <string.h>

#include "kernels/xnn_conv.h"

#include "base/threads.h"
#include "kernels/gemm.h"
#include "kernels/optional.h"
#include "kernels/simd.h"

enum { MAX_MR = 8 };

typedef rush_conv_axis axis;
typedef rush_conv_job job;

RUSH_RARE static size_t gcd(size_t a, size_t b) {
  return b == 0 ? a : gcd(b, a % b);
}

/* x with a * x = 1 (mod n), for a and n that have no common divisor: Euclid's algorithm, keeping
 * a * x = r (mod n) for both remainders. */
RUSH_RARE static size_t inverse(size_t a, size_t n) {
  ptrdiff_t x0 = 0, x1 = 1, r0 = (ptrdiff_t)n, r1 = (ptrdiff_t)(a % n);
  while (r1 > 1) {
    const ptrdiff_t q = r0 / r1, r = r0 % r1, x = x0 - q * x1;
    r0 = r1, r1 = r;
    x0 = x1, x1 = x;
  }
  return x1 < 0 ? (size_t)(x1 + (ptrdiff_t)n) : (size_t)x1;
}

RUSH_RARE static size_t phases(const rush_conv *s, int d) {
  return s->transposed ? s->stride[d] : 1;
}

/* Everything of an axis that packing needs; the rest is 0. */
RUSH_RARE static axis axis_taps(const rush_conv *s, int d, size_t phase) {
  const size_t kernel = s->kernel[d], dilation = s->dilation[d], stride = s->stride[d];
  if (!s->transposed) {
    return (axis){.taps = kernel,
                  .in_step = stride,
                  .out_step = 1,
                  .off_step = (ptrdiff_t)dilation,
                  .k_step = 1};
  }
  /* Positions k with k * dilation = phase (mod stride), the last one first: their inputs then
   * ascend. */
  const size_t common = gcd(stride, dilation), step = stride / common;
  axis a = {.in_step = 1,
            .out_step = stride,
            .off_step = (ptrdiff_t)(dilation / common),
            .k_step = -(ptrdiff_t)step};
  const size_t k =
      phase % common == 0 ? phase / common * inverse(dilation / common, step) % step : kernel;
  if (k >= kernel) return a;
  a.taps = (kernel - 1 - k) / step + 1;
  a.k0 = (ptrdiff_t)(k + (a.taps - 1) * step);
  return a;
}

static axis axis_of(const rush_conv *s, int d, size_t phase) {
  axis a = axis_taps(s, d, phase);
  if (!s->transposed) {
    a.count = s->out[d];
    a.off0 = -s->padding[d];
    return a;
  }
  const ptrdiff_t stride = (ptrdiff_t)s->stride[d], padding = s->padding[d];
  ptrdiff_t first = ((ptrdiff_t)phase - padding) % stride;
  if (first < 0) first += stride;
  a.out0 = (size_t)first;
  a.count = s->out[d] > a.out0 ? (s->out[d] - a.out0 - 1) / s->stride[d] + 1 : 0;
  a.off0 =
      (first + padding - a.k0 * (ptrdiff_t)s->dilation[d]) / stride; /* exact if there are taps */
  return a;
}

/* ---- Packing --------------------------------------------------------------------------------- */

/* Depth of the matrix of a phase: kernel positions times input channels. */
RUSH_RARE static bool depth_of(const rush_conv *s, const axis *a, size_t *k) {
  return !__builtin_mul_overflow(a[0].taps, a[1].taps, k) &&
         !__builtin_mul_overflow(*k, a[2].taps, k) && !__builtin_mul_overflow(*k, s->in_c, k);
}

RUSH_RARE bool rush_conv_packed(const rush_conv *s, size_t *floats) {
  if (rush_conv_is_depthwise(s)) {
    size_t rows, channels;
    if (!rush_add(s->groups, 3, &channels)) return false;
    channels -= channels % 4;
    return !__builtin_mul_overflow(s->kernel[0], s->kernel[1], &rows) &&
           !__builtin_mul_overflow(rows, s->kernel[2], &rows) &&
           !__builtin_add_overflow(rows, (size_t)1, &rows) &&
           !__builtin_mul_overflow(rows, channels, floats);
  }
  size_t sum = 0;
  for (size_t d = 0; d < phases(s, 0); d++) {
    for (size_t h = 0; h < phases(s, 1); h++) {
      for (size_t w = 0; w < phases(s, 2); w++) {
        const axis a[3] = {axis_taps(s, 0, d), axis_taps(s, 1, h), axis_taps(s, 2, w)};
        size_t k, one;
        if (!depth_of(s, a, &k) || !rush_gemm_packed(k, s->out_c, &one) ||
            __builtin_mul_overflow(one, s->groups, &one) || __builtin_add_overflow(sum, one, &sum))
          return false;
      }
    }
  }
  *floats = sum;
  return true;
}

/* One group of a phase, and where its matrix of k rows goes. `columns` of them are packed. */
typedef struct group {
  const rush_conv *s;
  const axis *a;
  size_t k, columns;
  const float *w;
  const ptrdiff_t *strides;
  float *packed;
} group;

/* Rows of the matrix from `first` on, of weights at `w`, in pieces between which the host may
 * stop. */
RUSH_RARE static bool pack_rows(const group *g, size_t first, size_t rows, const float *w,
                                ptrdiff_t in, ptrdiff_t out) {
  enum { PIECE = 1 << 18 };
  const size_t most = PIECE / g->columns + 1;
  for (size_t i = 0; i < rows; i += most) {
    const size_t n = rows - i < most ? rows - i : most;
    if (rush_should_stop(g->s->ctx, n * g->columns)) return false;
    rush_gemm_pack_rows(g->s->ctx, g->k, first + i, n, g->s->out_c, w + (ptrdiff_t)i * in, in, out,
                        g->packed);
  }
  return true;
}

/* False where the host has stopped it. */
RUSH_RARE static bool pack_group(const group *g) {
  const rush_conv *s = g->s;
  const axis *a = g->a;
  const ptrdiff_t *strides = g->strides;
  const ptrdiff_t out = strides[s->transposed ? 1 : 0], in = strides[s->transposed ? 0 : 1];
  const ptrdiff_t c = (ptrdiff_t)s->in_c;
  const ptrdiff_t kw = (ptrdiff_t)s->kernel[2], kh = (ptrdiff_t)s->kernel[1];
  const bool channels_last = in == 1 && (kw == 1 || strides[4] == c) &&
                             (kh == 1 || strides[3] == kw * c) &&
                             (s->kernel[0] == 1 || strides[2] == kh * kw * c);
  if (channels_last && !s->transposed) return pack_rows(g, 0, g->k, g->w, 1, out);
  size_t first = 0;
  for (size_t d = 0; d < a[0].taps; d++) {
    for (size_t h = 0; h < a[1].taps; h++) {
      for (size_t x = 0; x < a[2].taps; x++, first += s->in_c) {
        const float *at = g->w + (a[0].k0 + (ptrdiff_t)d * a[0].k_step) * strides[2] +
                          (a[1].k0 + (ptrdiff_t)h * a[1].k_step) * strides[3] +
                          (a[2].k0 + (ptrdiff_t)x * a[2].k_step) * strides[4];
        if (!pack_rows(g, first, s->in_c, at, in, out)) return false;
      }
    }
  }
  return true;
}

/* Packs all groups of a phase, and moves *packed past them. Returns false if the host has stopped
 * it. */
RUSH_RARE static bool pack_phase(const rush_conv *s, const axis *a, const float *w,
                                 const ptrdiff_t *strides, const float *bias, float **packed) {
  /* Dimension 0 of the weight counts the outputs, or (transposed) the inputs, of all groups. */
  const ptrdiff_t step = strides[0] * (ptrdiff_t)(s->transposed ? s->in_c : s->out_c);
  size_t k = 0, one = 0;
  depth_of(s, a, &k);
  rush_gemm_packed(k, s->out_c, &one);
  for (size_t g = 0; g < s->groups; g++, *packed += one) {
    const group to = {s, a, k, one / (k + 1), w + (ptrdiff_t)g * step, strides, *packed};
    if (rush_should_stop(s->ctx, to.columns)) return false;
    rush_gemm_pack_bias(k, s->out_c, bias ? bias + g * s->out_c : NULL, *packed);
    if (to.columns > 0 && !pack_group(&to)) return false;
  }
  return true;
}

RUSH_RARE void rush_conv_pack(const rush_conv *s, const float *w, const ptrdiff_t strides[5],
                              const float *bias, float *packed) {
  if (rush_conv_is_depthwise(s)) {
    rush_dwconv_pack(s, w, strides, bias, packed);
    return;
  }
  for (size_t d = 0; d < phases(s, 0); d++) {
    for (size_t h = 0; h < phases(s, 1); h++) {
      for (size_t x = 0; x < phases(s, 2); x++) {
        const axis a[3] = {axis_taps(s, 0, d), axis_taps(s, 1, h), axis_taps(s, 2, x)};
        if (!pack_phase(s, a, w, strides, bias, &packed)) return;
      }
    }
  }
}

/* ---- Running --------------------------------------------------------------------------------- */

/* A job's tile at work. */
typedef struct tile {
  rush_ctx *ctx;  /* NULL on other threads than the context's */
  const float *x; /* its image */
  const float **at;
  size_t first, columns; /* outputs of each group */
} tile;

/* The start of an output pixel's window in each dimension. */
typedef struct window {
  ptrdiff_t at[3];
} window;

static window window_of(const job *j, size_t d, size_t h, size_t w) {
  const axis *a = j->a;
  return (window){{(ptrdiff_t)(d * a[0].in_step) + a[0].off0,
                   (ptrdiff_t)(h * a[1].in_step) + a[1].off0,
                   (ptrdiff_t)(w * a[2].in_step) + a[2].off0}};
}

static bool is_inside(const job *j, const window *w) {
  for (int d = 0; d < 3; d++) {
    const ptrdiff_t last = w->at[d] + (ptrdiff_t)(j->a[d].taps - 1) * j->a[d].off_step;
    if (w->at[d] < 0 || last >= (ptrdiff_t)j->s->in[d]) return false;
  }
  return true;
}

static const float *pixel(const job *j, const tile *t, ptrdiff_t d, ptrdiff_t h, ptrdiff_t w) {
  const ptrdiff_t height = (ptrdiff_t)j->s->in[1], width = (ptrdiff_t)j->s->in[2];
  return t->x + ((d * height + h) * width + w) * (ptrdiff_t)j->in_pixel;
}

/* Stores the addresses if all windows are inside, where kernel rows may be taken whole. Returns the
 * number of addresses per pixel. */
static size_t inner_addresses(const job *j, const tile *t, const window *w, size_t row_taps) {
  const axis *a = j->a;
  const size_t mr = j->mr;
  const ptrdiff_t width = (ptrdiff_t)(j->s->in[2] * j->in_pixel),
                  image = width * (ptrdiff_t)j->s->in[1];
  const float *base[MAX_MR];
  for (size_t p = 0; p < mr; p++) base[p] = pixel(j, t, w[p].at[0], w[p].at[1], w[p].at[2]);
  const float **to = t->at;
  for (size_t d = 0; d < a[0].taps; d++) {
    for (size_t h = 0; h < a[1].taps; h++) {
      ptrdiff_t off = (ptrdiff_t)d * a[0].off_step * image + (ptrdiff_t)h * a[1].off_step * width;
      for (size_t x = 0; x < row_taps; x++, to += mr, off += a[2].off_step * (ptrdiff_t)j->in_pixel)
        for (size_t p = 0; p < mr; p++) to[p] = base[p] + off;
    }
  }
  return (size_t)(to - t->at) / mr;  // NOLINT(clang-analyzer-core.DivideZero): mr is a tile's
}

static size_t border_addresses(const job *j, const tile *on, const window *w) {
  const axis *a = j->a;
  const size_t mr = j->mr;
  for (size_t p = 0; p < mr; p++) {
    const float **to = on->at + p;
    for (size_t t = 0; t < a[0].taps; t++) {
      const ptrdiff_t d = w[p].at[0] + (ptrdiff_t)t * a[0].off_step;
      for (size_t u = 0; u < a[1].taps; u++) {
        const ptrdiff_t h = w[p].at[1] + (ptrdiff_t)u * a[1].off_step;
        const bool row =
            d >= 0 && d < (ptrdiff_t)j->s->in[0] && h >= 0 && h < (ptrdiff_t)j->s->in[1];
        for (size_t v = 0; v < a[2].taps; v++, to += mr) {
          const ptrdiff_t x = w[p].at[2] + (ptrdiff_t)v * a[2].off_step;
          *to = row && x >= 0 && x < (ptrdiff_t)j->s->in[2] ? pixel(j, on, d, h, x) : j->zeros;
        }
      }
    }
  }
  return a[0].taps * a[1].taps * a[2].taps;
}

/* m output pixels with these windows, at y and every y_step floats. */
static void run_tile(const job *j, const tile *t, size_t m, window *w, float *y, size_t y_step) {
  for (size_t p = m; p < j->mr; p++) w[p] = w[m - 1];
  bool inside = true;
  for (size_t p = 0; p < m && inside; p++) inside = is_inside(j, &w[p]);
  size_t kc = j->s->in_c, ks;
  if (inside) {
    const bool whole = j->s->groups == 1 && j->a[2].off_step == 1;
    if (whole) kc *= j->a[2].taps;
    ks = inner_addresses(j, t, w, whole ? 1 : j->a[2].taps);
  } else {
    ks = border_addresses(j, t, w);
  }
  for (size_t g = 0, left = j->some; g < j->s->groups; g++) {
    if (left-- == 0) {
      if (rush_poll_should_stop(t->ctx)) return;
      left = j->some;
    }
    const float *packed = j->packed + g * j->one + t->first * (j->depth + 1);
    j->kernel(m, t->columns, kc * sizeof(float), ks * j->mr * sizeof(void *), t->at, packed,
              y + g * j->s->out_c + t->first, y_step * sizeof(float), j->nr * sizeof(float),
              g * j->s->in_c * sizeof(float), j->zeros, &j->params);
  }
}

static float *output(const job *j, size_t image, size_t d, size_t h, size_t w) {
  const rush_conv *s = j->s;
  const axis *a = j->a;
  return j->y + (((image * s->out[0] + a[0].out0 + d * a[0].out_step) * s->out[1] + a[1].out0 +
                  h * a[1].out_step) *
                     s->out[2] +
                 a[2].out0 + w * a[2].out_step) *
                    j->out_pixel;
}

static void run_items(const void *arg, size_t begin, size_t end, unsigned who) {
  const job *j = arg;
  const axis *a = j->a;
  const size_t all = j->lines * j->tiles,
               in = j->s->in[0] * j->s->in[1] * j->s->in[2] * j->in_pixel;
  const size_t height = a[1].count, width = a[2].count, y_step = a[2].out_step * j->out_pixel;
  tile t = {.ctx = who == 0 ? j->s->ctx : NULL,
            .at = (const float **)(void *)(j->scratch + who * j->each)};
  window w[MAX_MR];
  /* The next pixel: the first one of the next tile of a line. */
  size_t image = 0, d = 0, h = 0, x = 0;
  for (size_t i = begin; i < end; i++) {
    const size_t from = i % j->tiles * j->mr;
    const size_t m = j->line - from < j->mr ? j->line - from : j->mr;
    if (i == begin || from == 0) {
      const size_t row = i % all / j->tiles * (j->line / width) + from / width;
      t.first = i / all * j->columns;
      t.columns = j->s->out_c - t.first < j->columns ? j->s->out_c - t.first : j->columns;
      x = from % width;
      h = row % height;
      d = row / height % a[0].count;
      image = row / height / a[0].count;
      t.x = j->x + image * in;
    }
    float *y = output(j, image, d, h, x);
    for (size_t p = 0; p < m; p++) {
      w[p] = window_of(j, d, h, x);
      if (++x < width) continue;
      x = 0;
      if (++h < height) continue;
      h = 0;
      d++;
    }
    run_tile(j, &t, m, w, y, y_step);
  }
}

void rush_conv_run_pixels(const rush_conv_job *j, size_t image, size_t h, size_t w, size_t n,
                          size_t first, size_t columns, unsigned who) {
  const rush_conv *s = j->s;
  const tile t = {.x = j->x + image * s->in[1] * s->in[2] * j->in_pixel,
                  .at = (const float **)(void *)(j->scratch + who * j->each),
                  .first = first,
                  .columns = columns};
  window windows[MAX_MR];
  for (size_t i = 0; i < n; i += j->mr) {
    const size_t m = n - i < j->mr ? n - i : j->mr;
    for (size_t p = 0; p < m; p++) windows[p] = window_of(j, 0, h, w + i + p);
    run_tile(j, &t, m, windows, output(j, image, 0, h, w + i), j->out_pixel);
  }
}

/* Writes the biases for a phase without kernel positions, or if there are no input channels. */
RUSH_RARE static void run_empty(const job *j, float min, float max) {
  const rush_conv *s = j->s;
  for (size_t b = 0; b < s->batch; b++)
    for (size_t d = 0; d < j->a[0].count; d++)
      for (size_t h = 0; h < j->a[1].count && !rush_should_stop(s->ctx, j->a[2].count * s->groups);
           h++)
        for (size_t g = 0; g < s->groups; g++)
          rush_gemm(j->a[2].count, s->out_c, 0, NULL, 0, j->packed + g * j->one,
                    output(j, b, d, h, 0) + g * s->out_c, j->a[2].out_step * j->out_pixel, min,
                    max);
}

/* Tiles go on over the ends of rows where the output has no gaps. */
static void run_phase(job *j, float min, float max) {
  enum {
    EACH = 4,      /* items at least, for every thread */
    LONG = 1 << 22 /* weights between two checks for a stop request */
  };
  const rush_conv *s = j->s;
  if (j->depth == 0) {
    run_empty(j, min, max);
    return;
  }
  const size_t width = j->a[2].count, rows = j->a[0].count * j->a[1].count;
  if (rows * width == 0) return;
  j->line = s->transposed ? width : rows * width;
  j->lines = s->transposed ? s->batch * rows : s->batch;
  j->tiles = (j->line - 1) / j->mr + 1;
  j->columns = s->out_c;
  if (j->depth > LONG / s->out_c) j->columns = rush_gemm_columns(j->depth, s->out_c);
  j->some = LONG / j->depth / j->columns;
  if (s->groups == 1) {
    const size_t tiles = j->lines * j->tiles, wanted = EACH * rush_threads(s->ctx);
    const size_t least = 4 * j->nr;
    if (rows * width * s->batch > j->mr) j->columns = rush_gemm_columns(j->depth, s->out_c);
    if (rush_threads(s->ctx) > 1 && tiles < wanted && j->columns > s->out_c / (wanted / tiles))
      j->columns = (s->out_c / (wanted / tiles) + least) / least * least;
    if (j->columns > s->out_c) j->columns = s->out_c;
  }
  const size_t blocks = (s->out_c - 1) / j->columns + 1;
  rush_parallel(s->ctx, blocks * j->lines * j->tiles,
                (uint64_t)j->mr * j->columns * (j->depth + 8) * s->groups / 8 + 1, run_items, j);
}

RUSH_RARE static bool is_product(const rush_conv *s) {
  for (int d = 0; d < 3; d++)
    if (s->kernel[d] != 1 || s->stride[d] != 1 || s->padding[d] != 0 || s->in[d] != s->out[d])
      return false;
  return !s->transposed || s->groups == 1;
}

RUSH_RARE bool rush_conv_scratch(const rush_conv *s, size_t *bytes) {
  *bytes = 0;
  if (rush_conv_is_depthwise(s) || is_product(s)) return true;
  size_t taps, zeros;
  if (__builtin_mul_overflow(s->kernel[0], s->kernel[1], &taps) ||
      __builtin_mul_overflow(taps, s->kernel[2], &taps) ||
      __builtin_mul_overflow(taps, MAX_MR * sizeof(void *), &taps) ||
      __builtin_mul_overflow(s->in_c, sizeof(float), &zeros) ||
      __builtin_add_overflow(zeros, (size_t)16, &zeros))
    return false;
  const size_t more = rush_optional_winograd == NULL ? 0 : rush_optional_winograd(s, NULL);
  return !__builtin_mul_overflow(taps, (size_t)rush_threads(s->ctx), &taps) &&
         !__builtin_add_overflow(taps, zeros, bytes) &&
         !__builtin_add_overflow(*bytes, more, bytes);
}

/* Computes a convolution that is a matrix product for each group. */
static void run_product(const rush_conv *s, size_t pixels, const float *x, const float *packed,
                        float *y, float min, float max) {
  size_t one = 0;
  rush_gemm_packed(s->in_c, s->out_c, &one);
  for (size_t g = 0; g < s->groups; g++)
    rush_gemm_parallel(s->ctx, pixels, s->out_c, s->in_c, x + g * s->in_c, s->groups * s->in_c,
                       packed + g * one, y + g * s->out_c, s->groups * s->out_c, min, max);
}

/* Runs each phase of a job, and sets its axes, its depth and its weights. */
static void run_phases(job *j, float min, float max) {
  const rush_conv *s = j->s;
  for (size_t d = 0; d < phases(s, 0); d++) {
    for (size_t h = 0; h < phases(s, 1); h++) {
      for (size_t w = 0; w < phases(s, 2) && !rush_should_stop(s->ctx, 100); w++) {
        j->a[0] = axis_of(s, 0, d);
        j->a[1] = axis_of(s, 1, h);
        j->a[2] = axis_of(s, 2, w);
        depth_of(s, j->a, &j->depth);
        rush_gemm_packed(j->depth, s->out_c, &j->one);
        if (rush_optional_winograd == NULL || rush_optional_winograd(s, j) == 0)
          run_phase(j, min, max);
        j->packed += s->groups * j->one;
      }
    }
  }
}

void rush_conv_run(const rush_conv *s, const float *x, const float *packed, float *y, float min,
                   float max, void *scratch) {
  const size_t pixels = s->out[0] * s->out[1] * s->out[2] * s->batch;
  if (pixels == 0 || s->groups * s->out_c == 0) return;
  if (rush_conv_is_depthwise(s)) {
    rush_dwconv_run(s, x, packed, y, min, max);
    return;
  }
  if (is_product(s)) {
    run_product(s, pixels, x, packed, y, min, max);
    return;
  }
  const rush_xnn_kernels *kernels = rush_xnn_gemm();
  const bool clamped = !(min == -INFINITY && max == INFINITY);
  const bool many = pixels > 1 && kernels->mr <= MAX_MR;
  const size_t taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
  const size_t each = taps * MAX_MR * sizeof(void *);
  float *zeros = (float *)(void *)((char *)scratch + each * rush_threads(s->ctx));
  memset(zeros, 0, s->in_c * sizeof(float) + 16);
  job j = {.s = s, .x = x, .packed = packed, .y = y};
  j.in_pixel = s->groups * s->in_c;
  j.out_pixel = s->groups * s->out_c;
  j.scratch = scratch;
  j.each = each;
  j.zeros = zeros;
  j.mr = many ? kernels->mr : 1;
  j.nr = kernels->nr;
  j.kernel = kernels->igemm[clamped][many];
  j.params.scalar.min = min;
  j.params.scalar.max = max;
  run_phases(&j, min, max);
}
