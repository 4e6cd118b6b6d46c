/* interpolate: nearest, nearest-exact, linear, bilinear, trilinear and bicubic, by output size or
 * by scale factors. The 2-d modes can be antialiased. Follows aten/src/ATen/native/UpSample.h and
 * cpu/UpSampleKernel.cpp. */
#include <math.h>

#include "base/threads.h"
#include "blocks/variants.h"
#include "call/define.h"
#include "kernels/resample.h"
#include "tensor/layout.h"

typedef enum mode {
  NEAREST = RUSH_SAMPLE_NEAREST,
  NEAREST_EXACT = RUSH_SAMPLE_NEAREST_EXACT,
  LINEAR = RUSH_SAMPLE_LINEAR,
  CUBIC = RUSH_SAMPLE_CUBIC,
} mode;

typedef struct sampling {
  rush_ctx *ctx;
  mode mode;
  int dims;
  bool align, smooth; /* smooth: antialiased */
  int64_t out[3];
  double scale[3]; /* the scale_factor argument, or 0 */
} sampling;

/* ---- Filter taps ----------------------------------------------------------------------------- */

/* Computes input positions for output positions. PyTorch computes them in the tensor's precision,
 * so `rounded` rounds to float for float32. */
static double rounded(bool single, double x) {
  return single ? (double)(float)x : x;
}

static double step_of(const sampling *s, int d, int64_t in, int64_t out, bool single) {
  if (s->align) return out > 1 ? rounded(single, (double)(in - 1) / (double)(out - 1)) : 0;
  if (s->scale[d] > 0) return rounded(single, 1 / s->scale[d]);
  return rounded(single, rounded(single, (double)in) / (double)out);
}

/* Clamps a position to [0, most]. NaN becomes 0. */
static int32_t position(double x, double most) {
  return x > 0 ? (int32_t)(x < most ? x : most) : 0;
}

/* Returns whether to leave out position `o` and the rest of an axis */
static bool stops_at(const sampling *s, size_t o) {
  return rush_stops_at_step(s->ctx, (int64_t)o);
}

static void nearest_axis(const sampling *s, rush_resample_axis *a, double step, bool single) {
  const double shift = s->mode == NEAREST_EXACT ? 0.5 : 0;
  for (size_t o = 0; o < a->out && !stops_at(s, o); o++) {
    const double at = floor(rounded(single, ((double)o + shift) * step));
    a->index[o] = position(at, (double)(a->in - 1));
    a->weight[o] = 1;
  }
}

static void linear_axis(const sampling *s, rush_resample_axis *a, double step, bool single) {
  for (size_t o = 0; o < a->out && !stops_at(s, o); o++) {
    double at = s->align ? rounded(single, step * (double)o)
                         : rounded(single, rounded(single, step * ((double)o + 0.5)) - 0.5);
    if (at < 0) at = 0;
    const int32_t low = position(at, (double)(a->in - 1));
    double part = rounded(single, at - low);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    a->index[2 * o] = low;
    a->index[2 * o + 1] = low + (low + 1 < (int32_t)a->in);
    a->weight[2 * o] = rounded(single, 1 - part);
    a->weight[2 * o + 1] = part;
  }
}

/* Evaluates the cubic convolution kernel (Keys, 1981). */
static double cubic(double A, double x) {
  if (x < 1) return ((A + 2) * x - (A + 3)) * x * x + 1;
  return x < 2 ? ((A * x - 5 * A) * x + 8 * A) * x - 4 * A : 0;
}

static void cubic_axis(const sampling *s, rush_resample_axis *a, double step, bool single) {
  for (size_t o = 0; o < a->out && !stops_at(s, o); o++) {
    const double at = s->align ? rounded(single, step * (double)o)
                               : rounded(single, rounded(single, step * ((double)o + 0.5)) - 0.5);
    double low = floor(at);
    if (low > (double)(a->in - 1)) low = (double)(a->in - 1);
    double part = rounded(single, at - low);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    for (int i = 0; i < 4; i++) {
      a->weight[4 * o + (size_t)i] = cubic(-0.75, fabs(part + 1 - i));
      a->index[4 * o + (size_t)i] = position(low + i - 1, (double)(a->in - 1));
    }
  }
}

static void fill_axis(const sampling *s, int d, rush_resample_axis *a, bool single) {
  /* PyTorch copies the pixel in these cases, whatever the scale is. */
  const bool plain = s->mode == NEAREST && s->dims == 2;
  if (a->in == a->out && (a->in == 1 || plain || s->mode == LINEAR)) {
    for (size_t o = 0, i = 0; o < a->out && !stops_at(s, o); o++) {
      for (int t = 0; t < a->n; t++, i++) {
        a->index[i] = (int32_t)o;
        a->weight[i] = t == 0;
      }
    }
    return;
  }
  if (plain && a->out == 2 * a->in) {
    for (size_t o = 0; o < a->out && !stops_at(s, o); o++)
      a->index[o] = (int32_t)(o / 2), a->weight[o] = 1;
    return;
  }
  const double step = step_of(s, d, (int64_t)a->in, (int64_t)a->out, single);
  if (s->mode == LINEAR) {
    linear_axis(s, a, step, single);
  } else if (s->mode == CUBIC) {
    cubic_axis(s, a, step, single);
  } else {
    nearest_axis(s, a, step, single);
  }
}

/* If a size does not change, its pixels do not change either, whatever the scale is. */
static double fill_same(const sampling *s, const rush_resample_spans *a) {
  for (size_t o = 0; o < a->out && !stops_at(s, o); o++) {
    a->first[o] = (int32_t)o;
    a->count[o] = 1;
    a->weight[o * a->n] = 1;
  }
  return 1;
}

/* Fills the taps for antialiasing: all input positions under the kernel, which is as wide as the
 * step. Returns the greatest weight. */
static double fill_spans(const sampling *s, const rush_resample_spans *a, double step,
                         double support, bool single) {
  double most = 0;
  const double in = (double)a->in, inverse = step >= 1 ? rounded(single, 1 / step) : 1;
  for (size_t o = 0; o < a->out; o++) {
    if (rush_should_stop(s->ctx, 4 + (uint64_t)a->n / 2)) return 0;
    const double center = rounded(single, step * ((double)o + 0.5));
    const double low = rounded(single, center - support) + 0.5;
    const double high = rounded(single, center + support) + 0.5;
    const int32_t first = position(low, in);
    int32_t count = position(high, in) - first;
    if (count < 0) count = 0;
    if (count > (int32_t)a->n) count = (int32_t)a->n;
    double *weight = a->weight + o * a->n, total = 0;
    for (int32_t k = 0; k < count; k++) {
      const double x = fabs(rounded(single, (first + k - center + 0.5) * inverse));
      weight[k] = s->mode == CUBIC ? cubic(-0.5, x) : x < 1 ? 1 - x : 0;
      total += weight[k];
    }
    for (int32_t k = 0; k < count && total != 0; k++) {
      weight[k] /= total;
      most = fmax(most, weight[k]);
    }
    a->first[o] = first;
    a->count[o] = count;
  }
  return most;
}

/* ---- Execution ------------------------------------------------------------------------------- */

/* Plans the three axes, without their taps. Returns the number of taps in all. */
static size_t plan_axes(const sampling *s, const rush_tensor *x, rush_resample_axis axes[3]) {
  const int taps = s->mode == LINEAR ? 2 : s->mode == CUBIC ? 4 : 1;
  size_t positions = 0;
  for (int d = 0; d < 3; d++) {
    const int from = d + s->dims - 3;
    axes[d] = (rush_resample_axis){.in = 1, .out = 1, .n = 1};
    /* This includes dimensions of one pixel. PyTorch adds their second tap times 0, so an infinity
     * becomes NaN. */
    if (from >= 0)
      axes[d] =
          (rush_resample_axis){(size_t)x->sizes[2 + from], (size_t)s->out[from], taps, NULL, NULL};
    positions += axes[d].out * (size_t)axes[d].n;
  }
  return positions;
}

static rush_status resample(rush_call *c, const sampling *s, const rush_tensor *x, rush_tensor *out,
                            bool last) {
  rush_resample_axis axes[3];
  const size_t positions = plan_axes(s, x, axes);
  size_t bytes;
  /* Without the taps, there are fewer positions than elements of the result. The sum cannot
   * overflow, because the result's size did not. */
  if (!rush_mul(positions, sizeof(double) + sizeof(int32_t), &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  void *scratch;
  RUSH_TRY(tmp_bytes(c, bytes, &scratch));
  double *weight = scratch;
  int32_t *index = (int32_t *)(weight + positions);
  for (int d = 0; d < 3; d++) {
    axes[d].weight = weight;
    axes[d].index = index;
    weight += axes[d].out * (size_t)axes[d].n;
    index += axes[d].out * (size_t)axes[d].n;
    fill_axis(s, d + s->dims - 3 < 0 ? 0 : d + s->dims - 3, axes + d, x->dtype != RUSH_FLOAT64);
  }
  RUSH_TRY(rush_take_stop(c->ctx));
  const size_t batch = (size_t)x->sizes[0], channels = (size_t)x->sizes[1];
  const size_t pixel = last ? channels : 1;
  void *row;
  if (!rush_resample_scratch(rush_itemsize(x), pixel, axes, &bytes) ||
      !rush_mul(bytes, rush_threads(c->ctx), &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &row));
  rush_resample(c->ctx, x->dtype, rush_itemsize(x), last ? batch : batch * channels, pixel, axes,
                rush_data(x), rush_data(out), row);
  return RUSH_OK;
}

/* Fills linear or cubic taps for uint8 without antialiasing. Weights outside the image are added to
 * the outermost pixel. Returns the greatest weight, including intermediate sums. */
static double fill_taps(const sampling *s, const rush_resample_spans *a, double step) {
  const int taps = (int)a->n, before = taps / 2 - 1;
  double most = 0;
  for (size_t o = 0; o < a->out && !stops_at(s, o); o++) {
    double at = s->align ? step * (double)o : step * ((double)o + 0.5) - 0.5;
    if (s->mode == LINEAR && at < 0) at = 0;
    const double last = (double)a->in - 1, low = fmin(floor((double)(float)at), last);
    const double part = fmin(fmax(at - low, 0), 1);
    const int64_t from = (int64_t)low - before, in = (int64_t)a->in;
    const int64_t first = from < 0 ? 0 : from, end = from + taps > in ? in : from + taps;
    double *weight = a->weight + o * a->n;
    memset(weight, 0, a->n * sizeof *weight);
    for (int k = 0; k < taps; k++) {
      const double x = fabs(k - before - part);
      const int64_t i = from + k < first ? first : from + k >= end ? end - 1 : from + k;
      weight[i - first] += s->mode == CUBIC ? cubic(-0.75, x) : x < 1 ? 1 - x : 0;
      most = fmax(most, weight[i - first]);
    }
    a->first[o] = (int32_t)first;
    a->count[o] = (int32_t)(end - first);
  }
  return most;
}

/* Rounds weights for uint8 to integers of at most 15 bits. Each dimension is rounded to uint8. */
static void round_weights(const sampling *s, rush_resample_spans *a, double most) {
  a->precision = 0;
  while (a->precision < 22 && 0.5 + most * (2 << a->precision) < 1 << 15) a->precision++;
  for (size_t o = 0; o < a->out && !rush_should_stop(s->ctx, (uint64_t)a->n); o++)
    for (int32_t k = 0; k < a->count[o]; k++) {
      double *weight = a->weight + o * a->n + k;
      *weight = trunc(*weight * (1 << a->precision) + (*weight < 0 ? -0.5 : 0.5));
    }
}

/* Resamples one dimension of `rows` matrices [in][channels]. */
static rush_status rows_pass(rush_call *c, const sampling *s, int d, rush_dtype dtype, size_t in,
                             size_t rows, size_t channels, const void *x, void *y) {
  const bool single = dtype == RUSH_FLOAT32;
  rush_resample_spans a = {.in = in, .out = (size_t)s->out[d]};
  const double step = step_of(s, d, (int64_t)in, s->out[d], single);
  const double support = rounded(single, (s->mode == CUBIC ? 2 : 1) * (step >= 1 ? step : 1));
  const double most = s->smooth ? ceil(support) * 2 + 1 : s->mode == CUBIC ? 4 : 2;
  void *scratch;
  size_t bytes, all;
  a.n = most < (double)in || !s->smooth ? (size_t)most : in;
  if (!rush_mul(a.n, sizeof *a.weight, &bytes) || !rush_add(bytes, 2 * sizeof *a.first, &bytes) ||
      !rush_mul(a.out, bytes, &all))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, all, &scratch));
  a.weight = scratch;
  a.first = (int32_t *)(a.weight + a.out * a.n);
  a.count = a.first + a.out;
  const double greatest = in == a.out ? fill_same(s, &a)
                          : s->smooth ? fill_spans(s, &a, step, support, single)
                                      : fill_taps(s, &a, step);
  RUSH_TRY(rush_take_stop(c->ctx));
  if (dtype == RUSH_UINT8) round_weights(s, &a, greatest);
  rush_resample_rows(c->ctx, dtype, rows, channels, &a, x, y);
  return RUSH_OK;
}

/* Resamples antialiased or uint8 images: first the width, then the height. */
static rush_status resample_rows(rush_call *c, const sampling *s, const rush_tensor *x,
                                 rush_tensor *out, bool last) {
  const size_t channels = last ? (size_t)x->sizes[1] : 1, height = (size_t)x->sizes[2];
  void *between;
  size_t images, rows, row, bytes;
  if (!rush_mul((size_t)x->sizes[0], last ? 1 : (size_t)x->sizes[1], &images) ||
      !rush_mul(images, height, &rows) || !rush_mul((size_t)s->out[1], channels, &row) ||
      !rush_mul(rows, row, &bytes) || !rush_mul(bytes, rush_itemsize(x), &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &between));
  const rush_dtype dtype = x->dtype;
  RUSH_TRY(rows_pass(c, s, 1, dtype, (size_t)x->sizes[3], rows, channels, rush_data(x), between));
  return rows_pass(c, s, 0, dtype, height, images, row, between, rush_data(out));
}

static rush_status check(rush_call *c, const sampling *s, const rush_tensor *x) {
  char text[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(x->rank == s->dims + 2, "It is expected input_size equals to %d, but got size %d",
                 s->dims + 2, x->rank);
  bool empty = false;
  for (int d = 0; d < s->dims; d++) {
    empty = empty || x->sizes[2 + d] <= 0 || s->out[d] <= 0;
    RUSH_CHECK_ARG(x->sizes[2 + d] <= INT32_MAX && s->out[d] <= INT32_MAX,
                   "resizing to or from this size is not supported");
  }
  RUSH_CHECK_ARG(
      !empty, "Input and output sizes should be greater than 0, but got input %s output %s",
      rush_shape_text(x->rank, x->sizes, text), s->dims > 0 && s->out[0] <= 0 ? "of size 0" : "");
  for (int d = 1; d < x->rank; d++)
    RUSH_CHECK_ARG(x->sizes[d] > 0,
                   "Non-empty %dD data tensor expected but got a tensor with sizes %s", s->dims + 2,
                   rush_shape_text(x->rank, x->sizes, text));
  const bool copies = s->mode == NEAREST || s->mode == NEAREST_EXACT;
  RUSH_CHECK_ARG(rush_is_float(x->dtype) || (x->dtype == RUSH_UINT8 && (copies || s->dims == 2)),
                 "\"upsample_%s%dd\" not implemented for '%s'", copies ? "nearest" : "linear",
                 s->dims, rush_dtype_torch_name(x->dtype));
  return RUSH_OK;
}

static rush_status upsample(rush_call *c, const sampling *s) {
  rush_tensor *x = arg_tensor(c, 0), *dense, *out;
  RUSH_TRY(check(c, s, x));
  const int format = rush_suggest_format(x);
  bool last = !rush_is_contiguous(x) && rush_is_channels_last(x);
  int64_t sizes[RUSH_MAX_RANK] = {x->sizes[0], x->sizes[1]};
  memcpy(sizes + 2, s->out, sizeof s->out);
  if (last || rush_is_contiguous(x)) {
    dense = x;
  } else {
    last = format != RUSH_FORMAT_CONTIGUOUS;
    RUSH_TRY(rush_clone(c->heap, x, format, &dense));
    tmp_take(c, dense);
  }
  RUSH_TRY(rush_new_in_layout(c->heap, x->dtype, x->rank, sizes, last, format, &out));
  ret_tensor(c, 0, out);
  if (out->numel == 0) return RUSH_OK;
  const bool by_rows =
      s->smooth || (x->dtype == RUSH_UINT8 && (s->mode == LINEAR || s->mode == CUBIC));
  return by_rows ? resample_rows(c, s, dense, out, last) : resample(c, s, dense, out, last);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static sampling of_row(const rush_call *c) {
  const int kind = rush_kind_of(c);
  return (sampling){.ctx = c->ctx,
                    .dims = rush_dims(c),
                    .mode = (mode)(kind & ~RUSH_SAMPLE_SMOOTH),
                    .smooth = (kind & RUSH_SAMPLE_SMOOTH) != 0};
}

/* self, output_size, [align_corners], scales... */
RUSH_OP(upsample) {
  sampling s = of_row(c);
  const bool copies = s.mode == NEAREST || s.mode == NEAREST_EXACT;
  int64_t out[RUSH_MAX_RANK];
  int n;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, out, &n));
  RUSH_CHECK_ARG(n == s.dims, "It is expected output_size equals to %d, but got size %d", s.dims,
                 n);
  memcpy(s.out, out, sizeof s.out);
  if (!copies) s.align = arg_bool(c, 2);
  for (int d = 0; d < s.dims; d++) {
    const uint32_t at = (copies ? 2u : 3u) + (uint32_t)d;
    if (!arg_is_none(c, at)) s.scale[d] = arg_float(c, at);
  }
  return upsample(c, &s);
}

/* input, output_size or None, [align_corners], scale_factors or None */
RUSH_OP(upsample_vec) {
  sampling s = of_row(c);
  const bool copies = s.mode == NEAREST || s.mode == NEAREST_EXACT;
  const uint32_t factors = copies ? 2 : 3;
  const rush_tensor *x = arg_tensor(c, 0);
  int64_t out[RUSH_MAX_RANK];
  int n;
  if (!copies) s.align = arg_bool(c, 2);
  RUSH_CHECK_ARG(x->rank == s.dims + 2, "It is expected input_size equals to %d, but got size %d",
                 s.dims + 2, x->rank);
  if (!arg_is_none(c, 1)) {
    RUSH_CHECK_ARG(arg_is_none(c, factors),
                   "Must specify exactly one of output_size and scale_factors");
    RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, out, &n));
    RUSH_CHECK_ARG(n == s.dims, "It is expected output_size equals to %d, but got size %d", s.dims,
                   n);
    memcpy(s.out, out, sizeof s.out);
    return upsample(c, &s);
  }
  RUSH_CHECK_ARG(!arg_is_none(c, factors),
                 "Must specify exactly one of output_size and scale_factors");
  const rush_list *list = arg_list(c, factors);
  RUSH_CHECK_ARG(list->n == (size_t)s.dims, "expected %d scale factors, got %zu", s.dims, list->n);
  for (int d = 0; d < s.dims; d++) {
    const rush_value *v = &list->items[d];
    s.scale[d] = v->kind == RUSH_KIND_FLOAT ? v->u.f : (double)v->u.i;
    const double size = (double)x->sizes[2 + d] * s.scale[d];
    RUSH_CHECK_ARG(size >= 0 && size < 2147483648.0,
                   "Input and output sizes should be greater than 0, but got a scale of %g",
                   s.scale[d]);
    s.out[d] = (int64_t)size;
  }
  return upsample(c, &s);
}
