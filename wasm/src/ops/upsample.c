/* interpolate: nearest (both kinds), linear, bilinear, trilinear and bicubic, each by output size
 * or by scale factors. Follows aten/src/ATen/native/UpSample.h. */
#include <math.h>

#include "blocks/layout.h"
#include "kernels/resample.h"
#include "ops/define.h"

typedef enum mode { NEAREST, NEAREST_EXACT, LINEAR, CUBIC } mode;

typedef struct sampling {
  mode mode;
  int dims;
  bool align;
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

/* The cubic convolution kernel with A = -0.75. */
static void cubic_weights(double t, double *w) {
  const double A = -0.75, x[4] = {t + 1, t, 1 - t, 2 - t};
  for (int i = 0; i < 4; i++) {
    w[i] = i == 0 || i == 3 ? ((A * x[i] - 5 * A) * x[i] + 8 * A) * x[i] - 4 * A
                            : ((A + 2) * x[i] - (A + 3)) * x[i] * x[i] + 1;
  }
}

static void cubic_axis(const sampling *s, rush_resample_axis *a, double step, bool single) {
  for (size_t o = 0; o < a->out; o++) {
    const double at = s->align ? rounded(single, step * (double)o)
                               : rounded(single, rounded(single, step * ((double)o + 0.5)) - 0.5);
    double low = floor(at);
    if (low > (double)(a->in - 1)) low = (double)(a->in - 1);
    double part = rounded(single, at - low);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    cubic_weights(part, a->weight + 4 * o);
    for (int i = 0; i < 4; i++) {
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
    if (out->numel > 0) st = resample(c, s, dense, out, format != RUSH_FORMAT_CONTIGUOUS);
  }
  rush_tensor_drop(c->heap, dense);
  return st;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* What the name says: aten::upsample_nearest2d.vec */
static sampling of_name(const rush_call *c) {
  const char *name = strstr(c->op->schema, "upsample_");
  const char *digit = strpbrk(name, "123");
  sampling s = {.dims = *digit - '0'};
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
