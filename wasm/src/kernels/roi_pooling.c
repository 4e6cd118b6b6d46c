/* Follows torchvision/csrc/ops/cpu, in the precision of the tensors, because it decides which
 * pixels a region has. NaN coordinates, with which torchvision reads out of bounds, count as
 * outside. */
#include "kernels/roi_pooling.h"

#include <float.h>
#include <math.h>

#include "base/base.h"

/* Converts like C does on the machines that torchvision supports. */
static int64_t to_int32(double v) {
  return v > -2147483649.0 && v < 2147483648.0 ? (int64_t)v : INT32_MIN;
}

static int64_t clipped(int64_t v, int64_t most) {
  return v < 0 ? 0 : v > most ? most : v;
}

/* Returns whether a bin between columns w[0] and w[1] has pixels and no stop is requested. */
static bool goes_on(const rush_rois *r, const int64_t *w) {
  return w[0] < w[1] && !rush_should_stop(r->ctx, (uint64_t)(w[1] - w[0]));
}

enum { TAPS = 32 }; /* samples per batch */

#define REGIONS(T, f, FLOOR, CEIL)                                                                \
  /* A bilinear sample: the offsets of its four pixels and their weights. */                      \
  typedef struct sample_##f {                                                                     \
    int64_t at[4];                                                                                \
    T weight[4];                                                                                  \
  } sample_##f;                                                                                   \
                                                                                                  \
  static bool sample_at_##f(const rush_rois *r, T y, T x, sample_##f *s) {                        \
    if (!(y >= -1 && y <= (T)r->height && x >= -1 && x <= (T)r->width)) return false;             \
    if (y <= 0) y = 0;                                                                            \
    if (x <= 0) x = 0;                                                                            \
    int64_t top = (int64_t)y, left = (int64_t)x, down = r->row_step, right = r->col_step;         \
    if (top >= r->height - 1) y = (T)(top = r->height - 1), down = 0;                             \
    if (left >= r->width - 1) x = (T)(left = r->width - 1), right = 0;                            \
    const T low = y - (T)top, far = x - (T)left, high = 1 - low, near = 1 - far;                  \
    const int64_t first = top * r->row_step + left * r->col_step;                                 \
    *s = (sample_##f){{first, first + right, first + down, first + down + right},                 \
                      {high * near, high * far, low * near, low * far}};                          \
    return true;                                                                                  \
  }                                                                                               \
                                                                                                  \
  /* The bins of a region in one dimension. */                                                    \
  typedef struct bins_##f {                                                                       \
    T start, size;                                                                                \
    int64_t samples;                                                                              \
  } bins_##f;                                                                                     \
                                                                                                  \
  static bins_##f bins_of_##f(const rush_rois *r, T low, T high, int64_t pooled) {                \
    const T shift = r->aligned || r->by_place ? (T)0.5 : 0, scale = (T)r->scale;                  \
    bins_##f b = {.start = low * scale - shift};                                                  \
    T length = high * scale - shift - b.start;                                                    \
    if (!r->aligned && !r->by_place && length < 1) length = 1;                                    \
    b.size = length / (T)pooled;                                                                  \
    b.samples = r->sampling > 0 ? r->sampling : to_int32((double)CEIL(b.size));                   \
    return b;                                                                                     \
  }                                                                                               \
                                                                                                  \
  /* Adds n samples of an image to bin `bin` of each channel. */                                  \
  static void add_samples_##f(const rush_rois *r, int64_t bin, int n, const sample_##f *s,        \
                              const T *x, T *y) {                                                 \
    const int64_t bins = r->pooled_height * r->pooled_width, channels = rush_roi_channels(r);     \
    const int64_t step = r->by_place ? bins * r->channel_step : r->channel_step;                  \
    if (r->by_place) x += bin * r->channel_step;                                                  \
    for (int64_t c = 0; c < channels && !rush_should_stop(r->ctx, 4 * (uint64_t)n);               \
         c++, x += step) {                                                                        \
      T sum = y[c * bins + bin];                                                                  \
      for (int k = 0; k < n; k++)                                                                 \
        sum += s[k].weight[0] * x[s[k].at[0]] + s[k].weight[1] * x[s[k].at[1]] +                  \
               s[k].weight[2] * x[s[k].at[2]] + s[k].weight[3] * x[s[k].at[3]];                   \
      y[c * bins + bin] = sum;                                                                    \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  static void align_bin_##f(const rush_rois *r, bins_##f h, bins_##f w, int64_t ph, int64_t pw,   \
                            const T *x, T *y) {                                                   \
    const int64_t bins = r->pooled_height * r->pooled_width, bin = ph * r->pooled_width + pw;     \
    const int64_t channels = rush_roi_channels(r);                                                \
    sample_##f samples[TAPS];                                                                     \
    int n = 0;                                                                                    \
    for (int64_t c = 0; c < channels && !rush_stops_at_step(r->ctx, c); c++)                      \
      y[c * bins + bin] = 0;                                                                      \
    for (int64_t i = 0; i < h.samples; i++) {                                                     \
      const T at_y = h.start + (T)ph * h.size + ((T)i + (T)0.5) * h.size / (T)h.samples;          \
      for (int64_t j = 0; j < w.samples; j++) {                                                   \
        const T at_x = w.start + (T)pw * w.size + ((T)j + (T)0.5) * w.size / (T)w.samples;        \
        if (rush_should_stop(r->ctx, 16)) return;                                                 \
        n += sample_at_##f(r, at_y, at_x, samples + n);                                           \
        if (n < TAPS) continue;                                                                   \
        add_samples_##f(r, bin, n, samples, x, y);                                                \
        n = 0;                                                                                    \
      }                                                                                           \
    }                                                                                             \
    add_samples_##f(r, bin, n, samples, x, y);                                                    \
    T count = (T)h.samples * (T)w.samples;                                                        \
    if (!r->by_place && count < 1) count = 1;                                                     \
    for (int64_t c = 0; c < channels && !rush_stops_at_step(r->ctx, c); c++)                      \
      y[c * bins + bin] /= count;                                                                 \
  }                                                                                               \
                                                                                                  \
  void rush_roi_align_##f(const rush_rois *r, const T *regions, const T *x, T *y) {               \
    const int64_t each = rush_roi_channels(r) * r->pooled_height * r->pooled_width;               \
    for (int64_t i = 0; i < r->n; i++, regions += 5, y += each) {                                 \
      const bins_##f h = bins_of_##f(r, regions[2], regions[4], r->pooled_height);                \
      const bins_##f w = bins_of_##f(r, regions[1], regions[3], r->pooled_width);                 \
      const T *image = x + (int64_t)regions[0] * r->batch_step;                                   \
      for (int64_t ph = 0; ph < r->pooled_height; ph++)                                           \
        for (int64_t pw = 0; pw < r->pooled_width; pw++) {                                        \
          if (rush_should_stop(r->ctx, 16 + 2 * (uint64_t)rush_roi_channels(r))) return;          \
          align_bin_##f(r, h, w, ph, pw, image, y);                                               \
        }                                                                                         \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  /* The pixels of bin p, one of `pooled` bins between pixels `low` and `high`, in an image */    \
  /* with `size` pixels. by_place excludes the last pixel of the region and of the image. */      \
  static void pixels_##f(const rush_rois *r, T low, T high, int64_t p, int64_t pooled,            \
                         int64_t size, int64_t *begin, int64_t *end) {                            \
    const int64_t from = to_int32(round((double)(low * (T)r->scale)));                            \
    const int64_t length =                                                                        \
        to_int32(round((double)(high * (T)r->scale))) - from + (r->by_place ? 0 : 1);             \
    const T step = (T)(length < 1 ? 1 : length) / (T)pooled;                                      \
    const int64_t most = r->by_place ? size - 1 : size;                                           \
    *begin = clipped(from + to_int32((double)FLOOR((T)p * step)), most);                          \
    *end = clipped(from + to_int32((double)CEIL((T)(p + 1) * step)), most);                       \
  }                                                                                               \
                                                                                                  \
  static T greatest_##f(const rush_rois *r, const int64_t *h, const int64_t *w, const T *x,       \
                        int32_t *from) {                                                          \
    T best = h[0] < h[1] && w[0] < w[1] ? -FLT_MAX : 0;                                           \
    *from = -1;                                                                                   \
    for (int64_t i = h[0]; i < h[1] && goes_on(r, w); i++)                                        \
      for (int64_t j = w[0]; j < w[1] && !rush_stops_at_step(r->ctx, j - w[0]); j++)              \
        if (x[i * r->row_step + j * r->col_step] > best) {                                        \
          best = x[i * r->row_step + j * r->col_step];                                            \
          *from = (int32_t)(i * r->width + j);                                                    \
        }                                                                                         \
    return best;                                                                                  \
  }                                                                                               \
                                                                                                  \
  static T mean_##f(const rush_rois *r, const int64_t *h, const int64_t *w, const T *x) {         \
    T sum = 0;                                                                                    \
    for (int64_t i = h[0]; i < h[1] && goes_on(r, w); i++)                                        \
      for (int64_t j = w[0]; j < w[1] && !rush_stops_at_step(r->ctx, j - w[0]); j++)              \
        sum += x[i * r->row_step + j * r->col_step];                                              \
    return h[0] < h[1] && w[0] < w[1] ? sum / (T)((h[1] - h[0]) * (w[1] - w[0])) : 0;             \
  }                                                                                               \
                                                                                                  \
  void rush_roi_pool_##f(const rush_rois *r, const T *regions, const T *x, T *y, int32_t *from) { \
    const int64_t bins = r->pooled_height * r->pooled_width, channels = rush_roi_channels(r);     \
    for (int64_t i = 0; i < r->n; i++, regions += 5)                                              \
      for (int64_t c = 0; c < channels; c++)                                                      \
        for (int64_t bin = 0; bin < bins; bin++, y++) {                                           \
          int64_t h[2], w[2];                                                                     \
          pixels_##f(r, regions[2], regions[4], bin / r->pooled_width, r->pooled_height,          \
                     r->height, h, h + 1);                                                        \
          pixels_##f(r, regions[1], regions[3], bin % r->pooled_width, r->pooled_width, r->width, \
                     w, w + 1);                                                                   \
          if (rush_should_stop(r->ctx, 32)) return;                                               \
          const T *image = x + (int64_t)regions[0] * r->batch_step +                              \
                           (r->by_place ? c * bins + bin : c) * r->channel_step;                  \
          *y = r->by_place ? mean_##f(r, h, w, image) : greatest_##f(r, h, w, image, from++);     \
        }                                                                                         \
  }                                                                                               \
                                                                                                  \
  /* Interpolates between four pixels. Pixels outside are 0. */                                   \
  static T between_##f(const rush_deform *d, const T *x, T y_at, T x_at) {                        \
    if (!(y_at > -1 && y_at < (T)d->height && x_at > -1 && x_at < (T)d->width)) return 0;         \
    const T top = FLOOR(y_at), left = FLOOR(x_at);                                                \
    const T low = y_at - top, far = x_at - left, high = 1 - low, near = 1 - far;                  \
    const bool has_top = top >= 0, has_left = left >= 0;                                          \
    const bool has_next = top + 1 < (T)d->height, has_right = left + 1 < (T)d->width;             \
    const ptrdiff_t at = (ptrdiff_t)((int64_t)top * d->row_step + (int64_t)left * d->col_step);   \
    const ptrdiff_t down = (ptrdiff_t)d->row_step, right = (ptrdiff_t)d->col_step;                \
    return high * near * (has_top && has_left ? x[at] : 0) +                                      \
           high * far * (has_top && has_right ? x[at + right] : 0) +                              \
           low * near * (has_next && has_left ? x[at + down] : 0) +                               \
           low * far * (has_next && has_right ? x[at + down + right] : 0);                        \
  }                                                                                               \
                                                                                                  \
  void rush_deform_columns_##f(const rush_deform *d, const T *x, const T *offset, const T *mask,  \
                               T *columns) {                                                      \
    const int64_t out = d->out[0] * d->out[1], kernel = d->kernel[0] * d->kernel[1];              \
    for (int64_t c = 0; c < d->channels; c++)                                                     \
      for (int64_t k = 0; k < kernel; k++) {                                                      \
        const int64_t plane = c / (d->channels / d->groups) * kernel + k;                         \
        const T *by = offset + 2 * plane * out, *factor = mask ? mask + plane * out : NULL;       \
        const int64_t y0 = k / d->kernel[1] * d->dilation[0] - d->padding[0];                     \
        const int64_t x0 = k % d->kernel[1] * d->dilation[1] - d->padding[1];                     \
        for (int64_t i = 0, o = 0; i < d->out[0]; i++) {                                          \
          if (rush_should_stop(d->ctx, 8 * (uint64_t)d->out[1])) return;                          \
          for (int64_t j = 0; j < d->out[1] && !rush_stops_at_step(d->ctx, j); j++, o++)          \
            *columns++ =                                                                          \
                (factor ? factor[o] : 1) * between_##f(d, x + c * d->channel_step,                \
                                                       (T)(i * d->stride[0] + y0) + by[o],        \
                                                       (T)(j * d->stride[1] + x0) + by[out + o]); \
        }                                                                                         \
      }                                                                                           \
  }
REGIONS(float, f32, floorf, ceilf)
REGIONS(double, f64, floor, ceil)
