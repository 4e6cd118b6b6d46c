/* interpolate: nearest (both kinds), linear, bilinear, trilinear and bicubic, the 2-d ones also
 * antialiased, each by output size or by scale factors. Follows aten/src/ATen/native/UpSample.h and
 * cpu/UpSampleKernel.cpp. */
#include <math.h>

#include "blocks/layout.h"
#include "kernels/resample.h"
#include "ops/define.h"

typedef enum mode { NEAREST, NEAREST_EXACT, LINEAR, CUBIC } mode;

typedef struct sampling {
  mode mode;
  int dims;
  bool align, smooth; /* smooth: antialiased */
  int64_t out[3];
  double scale[3]; /* as given, 0 where not */
} sampling;

/* ---- Taps ------------------------------------------------------------------------------------ */

/* Input positions per output position. PyTorch computes in the tensor's precision; `f` rounds to
 * float where that is it. */
static double rounded(bool single, double x) {
  return single ? (double)(float)x : x;
}

static double step_of(const sampling *s, int d, int64_t in, int64_t out, bool single) {
  if (s->align) return out > 1 ? rounded(single, (double)(in - 1) / (double)(out - 1)) : 0;
  if (s->scale[d] > 0) return rounded(single, 1 / s->scale[d]);
  return rounded(single, rounded(single, (double)in) / (double)out);
}

static void nearest_axis(const sampling *s, rush_resample_axis *a, double step, bool single) {
  const double shift = s->mode == NEAREST_EXACT ? 0.5 : 0;
  for (size_t o = 0; o < a->out; o++) {
    const double at = floor(rounded(single, ((double)o + shift) * step));
    a->index[o] = (int32_t)(at < (double)a->in ? at : (double)(a->in - 1));
    a->weight[o] = 1;
  }
}

static void linear_axis(const sampling *s, rush_resample_axis *a, double step, bool single) {
  for (size_t o = 0; o < a->out; o++) {
    double at = s->align ? rounded(single, step * (double)o)
                         : rounded(single, rounded(single, step * ((double)o + 0.5)) - 0.5);
    if (at < 0) at = 0;
    int32_t low = at < (double)a->in ? (int32_t)at : (int32_t)a->in - 1;
    double part = rounded(single, at - low);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    a->index[2 * o] = low;
    a->index[2 * o + 1] = low + (low + 1 < (int32_t)a->in);
    a->weight[2 * o] = rounded(single, 1 - part);
    a->weight[2 * o + 1] = part;
  }
}

/* The cubic convolution kernel. */
static double cubic(double A, double x) {
  if (x < 1) return ((A + 2) * x - (A + 3)) * x * x + 1;
  return x < 2 ? ((A * x - 5 * A) * x + 8 * A) * x - 4 * A : 0;
}

static void cubic_axis(const sampling *s, rush_resample_axis *a, double step, bool single) {
  for (size_t o = 0; o < a->out; o++) {
    const double at = s->align ? rounded(single, step * (double)o)
                               : rounded(single, rounded(single, step * ((double)o + 0.5)) - 0.5);
    double low = floor(at);
    if (low > (double)(a->in - 1)) low = (double)(a->in - 1);
    double part = rounded(single, at - low);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    for (int i = 0; i < 4; i++) {
      a->weight[4 * o + (size_t)i] = cubic(-0.75, fabs(part + 1 - i));
      const double at_i = low + i - 1;
      a->index[4 * o + (size_t)i] =
          (int32_t)(at_i<0 ? 0 : at_i>(double)(a->in - 1) ? (double)(a->in - 1) : at_i);
    }
  }
}

static void fill_axis(const sampling *s, int d, rush_resample_axis *a, bool single) {
  /* Where PyTorch takes the pixel itself, whatever the scale says. */
  const bool plain = s->mode == NEAREST && s->dims == 2;
  if (a->in == a->out && (a->in == 1 || plain || s->mode == LINEAR)) {
    memset(a->weight, 0, a->out * (size_t)a->n * sizeof *a->weight);
    for (size_t o = 0, i = 0; o < a->out; o++, i += (size_t)a->n) {
      for (size_t t = 0; t < (size_t)a->n; t++) a->index[i + t] = (int32_t)o;
      a->weight[i] = 1;
    }
    return;
  }
  if (plain && a->out == 2 * a->in) {
    for (size_t o = 0; o < a->out; o++) a->index[o] = (int32_t)(o / 2), a->weight[o] = 1;
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

/* Antialiased: every input position below the kernel, which is as wide as the step. */
static void fill_spans(const sampling *s, const rush_resample_spans *a, double step, double support,
                       bool single) {
  const double in = (double)a->in, inverse = step >= 1 ? rounded(single, 1 / step) : 1;
  for (size_t o = 0; o < a->out; o++) {
    const double center = rounded(single, step * ((double)o + 0.5));
    const double low = rounded(single, center - support) + 0.5;
    const double high = rounded(single, center + support) + 0.5;
    const int32_t first = (int32_t)(low < 0 ? 0 : low > in ? in : low);
    int32_t count = (int32_t)(high < 0 ? 0 : high > in ? in : high) - first;
    if (count > (int32_t)a->n) count = (int32_t)a->n;
    double *weight = a->weight + o * a->n, total = 0;
    for (int32_t k = 0; k < count; k++) {
      const double x = fabs(rounded(single, (first + k - center + 0.5) * inverse));
      weight[k] = s->mode == CUBIC ? cubic(-0.5, x) : x < 1 ? 1 - x : 0;
      total += weight[k];
    }
    for (int32_t k = 0; k < count && total != 0; k++) weight[k] /= total;
    a->first[o] = first;
    a->count[o] = count;
  }
}

/* ---- Running --------------------------------------------------------------------------------- */

static rush_status resample(rush_call *c, const sampling *s, const rush_tensor *x, rush_tensor *out,
                            bool last) {
  const int taps = s->mode == LINEAR ? 2 : s->mode == CUBIC ? 4 : 1;
  rush_resample_axis axes[3];
  size_t positions = 0, bytes;
  for (int d = 0; d < 3; d++) {
    const int from = d + s->dims - 3;
    axes[d] = (rush_resample_axis){.in = 1, .out = 1, .n = 1};
    if (from >= 0 && (x->sizes[2 + from] > 1 || s->out[from] > 1))
      axes[d] =
          (rush_resample_axis){(size_t)x->sizes[2 + from], (size_t)s->out[from], taps, NULL, NULL};
    positions += axes[d].out * (size_t)axes[d].n;
  }
  /* Positions are fewer than elements of the result, but for the taps; the sum cannot overflow what
   * the result did not. */
  if (!rush_mul(positions, sizeof(double) + sizeof(int32_t), &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  void *scratch;
  RUSH_TRY(rush_scratch(c, bytes, &scratch));
  double *weight = scratch;
  int32_t *index = (int32_t *)(weight + positions);
  for (int d = 0; d < 3; d++) {
    axes[d].weight = weight;
    axes[d].index = index;
    weight += axes[d].out * (size_t)axes[d].n;
    index += axes[d].out * (size_t)axes[d].n;
    fill_axis(s, d + s->dims - 3 < 0 ? 0 : d + s->dims - 3, axes + d, x->dtype != RUSH_FLOAT64);
  }
  const size_t batch = (size_t)x->sizes[0], channels = (size_t)x->sizes[1];
  rush_resample((rush_dtype)x->dtype, rush_itemsize(x), last ? batch : batch * channels,
                last ? channels : 1, axes, rush_data(x), rush_data(out));
  rush_heap_free(c->heap, scratch);
  return RUSH_OK;
}

/* One dimension of `rows` times [in][channels]. */
static rush_status smooth_pass(rush_call *c, const sampling *s, int d, rush_dtype dtype, size_t in,
                               size_t rows, size_t channels, const void *x, void *y) {
  const bool single = dtype == RUSH_FLOAT32;
  rush_resample_spans a = {.in = in, .out = (size_t)s->out[d]};
  const double step = step_of(s, d, (int64_t)in, s->out[d], single);
  const double support = rounded(single, (s->mode == CUBIC ? 2 : 1) * (step >= 1 ? step : 1));
  const double most = ceil(support) * 2 + 1;
  void *scratch;
  size_t bytes;
  a.n = most < (double)in ? (size_t)most : in;
  if (!rush_mul(a.out, a.n * sizeof *a.weight + 2 * sizeof *a.first, &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(rush_scratch(c, bytes, &scratch));
  a.weight = scratch;
  a.first = (int32_t *)(a.weight + a.out * a.n);
  a.count = a.first + a.out;
  fill_spans(s, &a, step, support, single);
  rush_resample_rows(dtype, rows, channels, &a, x, y);
  rush_heap_free(c->heap, scratch);
  return RUSH_OK;
}

/* Width, then height. */
static rush_status resample_smooth(rush_call *c, const sampling *s, const rush_tensor *x,
                                   rush_tensor *out, bool last) {
  const size_t images = (size_t)x->sizes[0] * (last ? 1 : (size_t)x->sizes[1]);
  const size_t channels = last ? (size_t)x->sizes[1] : 1, height = (size_t)x->sizes[2];
  const size_t row = (size_t)s->out[1] * channels;
  void *between;
  size_t rows, bytes;
  if (!rush_mul(images, height, &rows) || !rush_mul(rows, row * rush_itemsize(x), &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(rush_scratch(c, bytes, &between));
  const rush_dtype dtype = (rush_dtype)x->dtype;
  rush_status st =
      smooth_pass(c, s, 1, dtype, (size_t)x->sizes[3], rows, channels, rush_data(x), between);
  if (st == RUSH_OK) st = smooth_pass(c, s, 0, dtype, height, images, row, between, rush_data(out));
  rush_heap_free(c->heap, between);
  return st;
}

static rush_status check(rush_call *c, const sampling *s, const rush_tensor *x) {
  char text[RUSH_SHAPE_TEXT];
  RUSH_NEED(x->rank == s->dims + 2, "It is expected input_size equals to %d, but got size %d",
            s->dims + 2, x->rank);
  bool empty = false;
  for (int d = 0; d < s->dims; d++) {
    empty = empty || x->sizes[2 + d] <= 0 || s->out[d] <= 0;
    RUSH_NEED(x->sizes[2 + d] <= INT32_MAX && s->out[d] <= INT32_MAX,
              "resizing to or from this size is not supported");
  }
  RUSH_NEED(!empty, "Input and output sizes should be greater than 0, but got input %s output %s",
            rush_shape_text(x->rank, x->sizes, text),
            s->dims > 0 && s->out[0] <= 0 ? "of size 0" : "");
  for (int d = 1; d < x->rank; d++)
    RUSH_NEED(x->sizes[d] > 0, "Non-empty %dD data tensor expected but got a tensor with sizes %s",
              s->dims + 2, rush_shape_text(x->rank, x->sizes, text));
  RUSH_NEED(!s->smooth || x->dtype != RUSH_UINT8,
            "antialiased resizing of uint8 is not supported: convert to float32 before");
  const bool copies = s->mode == NEAREST || s->mode == NEAREST_EXACT;
  RUSH_NEED(
      rush_is_float((rush_dtype)x->dtype) || (x->dtype == RUSH_UINT8 && (copies || s->dims == 2)),
      "\"upsample_%s%dd\" not implemented for '%s'", copies ? "nearest" : "linear", s->dims,
      rush_dtype_word(x->dtype));
  return RUSH_OK;
}

static rush_status upsample(rush_call *c, const sampling *s) {
  rush_tensor *x = arg_tensor(c, 0), *dense, *out;
  RUSH_TRY(check(c, s, x));
  int format = rush_suggest_format(x);
  int64_t sizes[RUSH_MAX_RANK] = {x->sizes[0], x->sizes[1]};
  memcpy(sizes + 2, s->out, sizeof s->out);
  if (rush_is_in_format(x, format)) {
    dense = rush_tensor_keep(x);
  } else {
    RUSH_TRY(rush_clone(c->heap, x, format, &dense));
  }
  rush_status st = rush_new_in_format(c->heap, (rush_dtype)x->dtype, x->rank, sizes, format, &out);
  if (st == RUSH_OK) {
    ret_tensor(c, 0, out);
    const bool last = format != RUSH_FORMAT_CONTIGUOUS;
    if (out->numel > 0)
      st = s->smooth ? resample_smooth(c, s, dense, out, last) : resample(c, s, dense, out, last);
  }
  rush_tensor_drop(c->heap, dense);
  return st;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* What the name says: aten::upsample_nearest2d.vec */
static sampling of_name(const rush_call *c) {
  const char *name = strstr(c->op->schema, "upsample_");
  const char *digit = strpbrk(name, "123");
  sampling s = {.dims = *digit - '0', .smooth = strncmp(digit + 1, "d_aa", 4) == 0};
  s.mode = strstr(name, "_exact") && strstr(name, "_exact") < digit ? NEAREST_EXACT
           : strncmp(name + 9, "nearest", 7) == 0                   ? NEAREST
           : strncmp(name + 9, "bicubic", 7) == 0                   ? CUBIC
                                                                    : LINEAR;
  return s;
}

/* (self, output_size, [align_corners], scales...) */
RUSH_OP(upsample) {
  sampling s = of_name(c);
  const bool copies = s.mode == NEAREST || s.mode == NEAREST_EXACT;
  int64_t out[RUSH_MAX_RANK];
  int n;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, out, &n));
  RUSH_NEED(n == s.dims, "It is expected output_size equals to %d, but got size %d", s.dims, n);
  memcpy(s.out, out, sizeof s.out);
  if (!copies) s.align = arg_bool(c, 2);
  for (int d = 0; d < s.dims; d++) {
    const uint32_t at = (copies ? 2u : 3u) + (uint32_t)d;
    if (!arg_is_none(c, at)) s.scale[d] = arg_float(c, at);
  }
  return upsample(c, &s);
}

/* (input, output_size or None, [align_corners], scale_factors or None) */
RUSH_OP(upsample_vec) {
  sampling s = of_name(c);
  const bool copies = s.mode == NEAREST || s.mode == NEAREST_EXACT;
  const uint32_t factors = copies ? 2 : 3;
  const rush_tensor *x = arg_tensor(c, 0);
  int64_t out[RUSH_MAX_RANK];
  int n;
  if (!copies) s.align = arg_bool(c, 2);
  RUSH_NEED(x->rank == s.dims + 2, "It is expected input_size equals to %d, but got size %d",
            s.dims + 2, x->rank);
  if (!arg_is_none(c, 1)) {
    RUSH_NEED(arg_is_none(c, factors), "Must specify exactly one of output_size and scale_factors");
    RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, out, &n));
    RUSH_NEED(n == s.dims, "It is expected output_size equals to %d, but got size %d", s.dims, n);
    memcpy(s.out, out, sizeof s.out);
    return upsample(c, &s);
  }
  RUSH_NEED(!arg_is_none(c, factors), "Must specify exactly one of output_size and scale_factors");
  const rush_list *list = arg_list(c, factors);
  RUSH_NEED(list->n == (size_t)s.dims, "expected %d scale factors, got %zu", s.dims, list->n);
  for (int d = 0; d < s.dims; d++) {
    const rush_value *v = &list->items[d];
    s.scale[d] = v->kind == RUSH_KIND_FLOAT ? v->u.f : (double)v->u.i;
    const double size = (double)x->sizes[2 + d] * s.scale[d];
    RUSH_NEED(size >= 0 && size < 2147483648.0,
              "Input and output sizes should be greater than 0, but got a scale of %g", s.scale[d]);
    s.out[d] = (int64_t)size;
  }
  return upsample(c, &s);
}
