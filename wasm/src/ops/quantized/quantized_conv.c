/* Linear layers and 1-d to 3-d convolutions with quantized input and output. */
#include <math.h>

#include "blocks/packed_int8.h"
#include "call/define.h"
#include "call/quantized.h"
#include "kernels/int8_conv.h"
#include "tensor/layout.h"
#include "tensor/quant.h"

enum { DIMS = 3 };
enum {
  INPUT,
  WEIGHT,
  SCALES,
  ZEROS,
  BIAS,
  QNNPACK,
  STRIDE,
  PADDING,
  DILATION,
  OUTPUT_PADDING,
  GROUPS,
  TRANSPOSED,
  SCALE,
  ZERO_POINT,
  RELU,
  ACTIVATION
};

/* Each array has one element per spatial dimension. Unused dimensions are 1, or 0 for padding. */
typedef struct geometry {
  int dims;
  int64_t size[DIMS], kernel[DIMS], out[DIMS];
  int64_t stride[DIMS], before[DIMS], after[DIMS], dilation[DIMS], output_padding[DIMS];
  bool transposed;
} geometry;

static rush_status read_list(rush_call *c, uint32_t arg, int dims, int64_t least, int64_t *out) {
  int n;
  RUSH_TRY(arg_ints(c, arg, DIMS, out, &n));
  RUSH_CHECK_ARG(n == dims, "quantized_conv: a list must have %d numbers, got %d", dims, n);
  for (int d = 0; d < dims; d++)
    RUSH_CHECK_ARG(out[d] >= least && out[d] <= INT32_MAX,
                   "quantized_conv: a size must be between %lld and 2^31 - 1, got %lld",
                   (long long)least, (long long)out[d]);
  for (int d = dims; d < DIMS; d++) out[d] = least;
  return RUSH_OK;
}

/* Reads padding: one number per dimension, or a pair (before, after). */
static rush_status read_padding(rush_call *c, geometry *v) {
  int64_t given[2 * DIMS];
  int n;
  RUSH_TRY(arg_ints(c, PADDING, 2 * DIMS, given, &n));
  RUSH_CHECK_ARG(n == v->dims || n == 2 * v->dims,
                 "quantized_conv: padding must have %d numbers, or twice as many, got %d", v->dims,
                 n);
  const int each = n == v->dims ? 1 : 2;
  for (int d = 0; d < v->dims; d++) {
    v->before[d] = given[each * d];
    v->after[d] = given[each * d + each - 1];
    RUSH_CHECK_ARG(v->before[d] >= 0 && v->before[d] <= INT32_MAX && v->after[d] >= 0 &&
                       v->after[d] <= INT32_MAX,
                   "quantized_conv: padding must be between 0 and 2^31 - 1");
  }
  return RUSH_OK;
}

/* Returns the first of the zero points of weights that does not fit in a byte, or 0. */
static int32_t wrong_zero(const rush_tensor *zeros) {
  const int32_t *at = rush_data(zeros);
  for (int64_t i = 0; i < zeros->numel; i++, at += zeros->strides[0])
    if (*at < INT8_MIN || *at > INT8_MAX) return *at;
  return 0;
}

static rush_status check_zero_points(rush_call *c, const rush_tensor *x) {
  const int64_t zero = arg_int(c, ZERO_POINT), of_x = rush_quant_of(x)->zero_points[0];
  const int64_t least = x->dtype == RUSH_QINT8 ? INT8_MIN : 0;
  const int32_t of_w = wrong_zero(arg_tensor(c, ZEROS));
  RUSH_CHECK_ARG(of_w == 0, "quantized_conv: a zero point must fit in its dtype, got %d", of_w);
  RUSH_CHECK_ARG(zero >= least && zero <= least + UINT8_MAX,
                 "quantized_conv: a zero point must fit in its dtype, got %lld", (long long)zero);
  RUSH_CHECK_ARG(of_x >= least && of_x <= least + UINT8_MAX,
                 "quantized_conv: a zero point must fit in its dtype, got %lld", (long long)of_x);
  return RUSH_OK;
}

static rush_status check_tensors(rush_call *c) {
  const rush_tensor *x = arg_tensor(c, INPUT), *w = arg_tensor(c, WEIGHT);
  const rush_tensor *scales = arg_tensor(c, SCALES), *zeros = arg_tensor(c, ZEROS);
  const rush_tensor *bias = arg_tensor(c, BIAS);
  const int64_t groups = arg_int(c, GROUPS), activation = arg_int(c, ACTIVATION);
  RUSH_CHECK_ARG((x->dtype == RUSH_QUINT8 || x->dtype == RUSH_QINT8) && rush_quant_of(x)->axis < 0,
                 "quantized_conv: the input must be quint8 or qint8, quantized per tensor");
  RUSH_CHECK_ARG(x->rank >= 2 && x->rank <= DIMS + 2 && w->rank == x->rank,
                 "quantized_conv: input and weight must have 2 to 5 dimensions, got %d and %d",
                 x->rank, w->rank);
  RUSH_CHECK_ARG(
      w->dtype == RUSH_INT8 && zeros->dtype == RUSH_INT32 && zeros->rank == 1 &&
          zeros->numel == w->sizes[0] && scales->dtype == RUSH_FLOAT64 && scales->rank == 1 &&
          scales->numel == w->sizes[0],
      "quantized_conv: the weight must be int8, with a scale and a zero point for each of "
      "its channels");
  RUSH_CHECK_ARG(bias == NULL ||
                     (bias->rank == 1 && bias->dtype == RUSH_FLOAT32 && bias->numel == w->sizes[0]),
                 "quantized_conv: bias must have %lld float32 elements", (long long)w->sizes[0]);
  RUSH_CHECK_ARG(
      groups > 0 && w->sizes[0] % groups == 0 && x->sizes[1] % groups == 0 &&
          x->sizes[1] / groups == w->sizes[1],
      "quantized_conv: %lld channels must be those of the weight (%lld) times groups (%lld)",
      (long long)x->sizes[1], (long long)w->sizes[1], (long long)groups);
  RUSH_CHECK_ARG(activation >= 0 && activation < RUSH_INT8_ACTIVATIONS &&
                     (activation == 0 || !arg_bool(c, QNNPACK)),
                 "quantized_conv: there is no activation %lld", (long long)activation);
  return check_zero_points(c, x);
}

static rush_status read_args(rush_call *c, geometry *v) {
  const rush_tensor *x = arg_tensor(c, INPUT), *w = arg_tensor(c, WEIGHT);
  RUSH_TRY(check_tensors(c));
  *v = (geometry){.dims = x->rank - 2, .transposed = arg_bool(c, TRANSPOSED)};
  RUSH_TRY(read_list(c, STRIDE, v->dims, 1, v->stride));
  RUSH_TRY(read_padding(c, v));
  RUSH_TRY(read_list(c, DILATION, v->dims, 1, v->dilation));
  RUSH_TRY(read_list(c, OUTPUT_PADDING, v->dims, 0, v->output_padding));
  for (int d = 0; d < DIMS; d++) {
    const bool there = d < v->dims;
    v->size[d] = there ? x->sizes[2 + d] : 1;
    v->kernel[d] = there ? w->sizes[2 + d] : 1;
    int64_t far, room;
    RUSH_CHECK_ARG(rush_mul64(v->dilation[d], v->kernel[d] - 1, &far) &&
                       rush_mul64(v->transposed ? v->size[d] - 1 : 1, v->stride[d], &room),
                   "quantized_conv: the kernel is too large");
    const int64_t padding = v->before[d] + v->after[d];
    if (v->transposed) {
      RUSH_CHECK_ARG(rush_add64(room, far, &room) && rush_sub64(room, padding - 1, &room) &&
                         rush_add64(room, v->output_padding[d], &v->out[d]),
                     "quantized_conv: the kernel is too large");
    } else {
      room = v->size[d] + padding - far - 1;
      v->out[d] = room < 0 ? 0 : room / v->stride[d] + 1;
    }
    RUSH_CHECK_ARG(v->kernel[d] > 0 && v->out[d] > 0, "quantized_conv: the output would be empty");
  }
  return RUSH_OK;
}

/* Returns the input position, along dimension d, that kernel tap k reads for output position o, or
 * -1 if it is outside. */
static int64_t input_position(const geometry *v, int d, int64_t o, int64_t k) {
  int64_t at = v->transposed ? o + v->before[d] - k * v->dilation[d]
                             : o * v->stride[d] - v->before[d] + k * v->dilation[d];
  if (v->transposed) {
    if (at < 0 || at % v->stride[d] != 0) return -1;
    at /= v->stride[d];
  }
  return at >= 0 && at < v->size[d] ? at : -1;
}

/* Computes offsets in input pixels, and whether each output reads only the pixel at its own
 * position. */
static rush_status window_of(rush_call *c, const geometry *v, rush_int8_window *w) {
  int64_t pixels = 1;
  for (int d = DIMS - 1; d >= 0; d--) {
    ptrdiff_t *places;
    int64_t items;
    if (!rush_mul64(v->out[d], v->kernel[d], &items)) return rush_fail_memory(c->ctx, SIZE_MAX);
    RUSH_TRY(tmp_items(c, items, sizeof *places, (void **)&places));
    for (int64_t o = 0; o < v->out[d]; o++)
      for (int64_t k = 0; k < v->kernel[d]; k++) {
        RUSH_TRY(rush_charge(c->ctx, 4));
        const int64_t at = input_position(v, d, o, k);
        places[o * v->kernel[d] + k] = (ptrdiff_t)(at < 0 ? -1 : at * pixels);
      }
    w->places[d] = places;
    w->out[d] = (size_t)v->out[d];
    w->kernel[d] = (size_t)v->kernel[d];
    pixels *= v->size[d];
  }
  return RUSH_OK;
}

static bool is_direct(const geometry *v) {
  for (int d = 0; d < DIMS; d++)
    if (v->kernel[d] != 1 || v->stride[d] != 1 || v->before[d] != 0 || v->size[d] != v->out[d])
      return false;
  return true;
}

/* Returns the horizontal stride of a 3x3 convolution, or 0 for other kernels. */
static size_t stride_of_3x3(const geometry *v) {
  for (int d = 0; d < 2; d++)
    if (v->kernel[d] != 3 || v->dilation[d] != 1) return 0;
  return !v->transposed && v->dims == 2 && v->stride[1] <= 2 ? (size_t)v->stride[1] : 0;
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* Sizes of a weight [groups * outs, channels, taps...]. */
typedef struct shape {
  size_t groups, outs, channels, taps, bytes; /* bytes: packed */
} shape;

static bool shape_of(const rush_tensor *w, int64_t groups, shape *s) {
  if (w->rank < 2 || groups < 1 || w->sizes[0] % groups != 0) return false;
  *s = (shape){.groups = (size_t)groups,
               .outs = (size_t)(w->sizes[0] / groups),
               .channels = (size_t)w->sizes[1],
               .taps = 1};
  for (int d = 2; d < w->rank; d++) s->taps *= (size_t)w->sizes[d];
  return rush_int8_conv_packed(s->groups, s->channels, s->outs, s->taps, &s->bytes);
}

static rush_status pack(rush_ctx *ctx, const shape *s, const void *w, const void *zeros,
                        void *packed) {
  RUSH_TRY(rush_set_bytes(ctx, packed, 0, s->bytes));
  rush_int8_conv_pack(ctx, s->groups, s->channels, s->outs, s->taps, w, zeros, packed);
  return rush_take_stop(ctx);
}

RUSH_PREPARE(quantized_conv) {
  const rush_value *groups = p->args[GROUPS], *value = p->args[WEIGHT];
  const int rank =
      value != NULL && value->kind == RUSH_KIND_TENSOR ? rush_as_tensor(value)->rank : 0;
  const rush_tensor *w = rush_constant_of(p, WEIGHT, RUSH_INT8, rank);
  const rush_tensor *zeros = rush_constant_of(p, ZEROS, RUSH_INT32, 1);
  shape s;
  rush_packed_floats *packed;
  if (w == NULL || zeros == NULL || groups == NULL || groups->kind != RUSH_KIND_INT ||
      !shape_of(w, groups->u.i, &s) || zeros->numel != w->sizes[0] || wrong_zero(zeros) != 0)
    return RUSH_OK;
  RUSH_TRY(rush_packed_new(p, (s.bytes + sizeof(float) - 1) / sizeof(float), &packed));
  p->consumed = 1u << WEIGHT;
  return pack(p->ctx, &s, rush_data(w), rush_data(zeros), packed->data);
}

static rush_status weights(rush_call *c, const shape *s, const void **out) {
  rush_tensor *w, *zeros;
  void *packed;
  *out = rush_packed_data(c->packed);
  if (*out != NULL) return RUSH_OK;
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, WEIGHT), &w));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, ZEROS), &zeros));
  RUSH_TRY(tmp_bytes(c, s->bytes, &packed));
  *out = packed;
  return pack(c->ctx, s, rush_data(w), rush_data(zeros), packed);
}

/* ---- Requantization -------------------------------------------------------------------------- */

/* Sets the factor and the offset of each channel, whose zeros the offsets have. */
static void scale_channels(rush_ctx *ctx, const rush_int8_requantization *to, int64_t n,
                           double of_x, const double *scale, float *factors, int32_t *offsets) {
  for (int64_t i = 0; i < n && !rush_stops_at_step(ctx, i); i++) {
    int32_t steps = 0;
    if (to->rounds_first) {
      const float both = (float)scale[i] * (float)of_x, step = 1.0f / (float)(scale[i] * of_x);
      factors[i] = both * to->inverse;
      steps = (int32_t)rush_double_to_int((double)rintf(to->bias[i] * step));
    } else {
      factors[i] = (float)(scale[i] * of_x);
    }
    offsets[i] = (int32_t)((uint32_t)steps - (uint32_t)offsets[i]);
  }
}

/* Computes the requantization of n channels. `v` gives the correction for zero points. */
static rush_status requantized_of(rush_call *c, const rush_int8_conv *v, int64_t n,
                                  rush_int8_requantization *to) {
  enum { MORE = 8 };
  const int64_t room = n + MORE; /* a tensor's size cannot overflow */
  const rush_tensor *x = arg_tensor(c, INPUT);
  const double of_x = rush_quant_of(x)->scales[0];
  rush_tensor *scales, *bias = arg_tensor(c, BIAS);
  int32_t *offsets;
  float *factors, *biases;
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, SCALES), &scales));
  RUSH_TRY(tmp_items(c, room, sizeof *factors, (void **)&factors));
  RUSH_TRY(tmp_items(c, room, sizeof *offsets, (void **)&offsets));
  memset(factors + n, 0, MORE * sizeof *factors);
  memset(offsets + n, 0, MORE * sizeof *offsets);
  const double *scale = rush_data(scales);
  *to = (rush_int8_requantization){.offsets = offsets,
                                   .factors = factors,
                                   .inverse = 1.0f / (float)arg_float(c, SCALE),
                                   .zero_point = (int32_t)arg_int(c, ZERO_POINT),
                                   .least = x->dtype == RUSH_QINT8 ? INT8_MIN : 0,
                                   .is_signed = x->dtype == RUSH_QINT8,
                                   .rounds_first = arg_bool(c, QNNPACK),
                                   .activation = (rush_int8_activation)arg_int(c, ACTIVATION)};
  if (arg_bool(c, RELU) && to->least < to->zero_point) to->least = to->zero_point;
  RUSH_TRY(tmp_items(c, room, sizeof *biases, (void **)&biases));
  RUSH_TRY(rush_set_bytes(c->ctx, biases, 0, (size_t)room * sizeof *biases));
  if (bias != NULL) {
    RUSH_TRY(tmp_contiguous(c, bias, &bias));
    RUSH_TRY(rush_copy_bytes(c->ctx, biases, rush_data(bias), (size_t)n * sizeof *biases));
  }
  to->bias = biases;
  rush_int8_conv_zeros(v, offsets);
  scale_channels(c->ctx, to, n, of_x, scale, factors, offsets);
  if (rush_int8_by_table(to->activation)) {
    void *table;
    RUSH_TRY(tmp_bytes(c, RUSH_INT8_TABLE_SIZE, &table));
    rush_int8_fill_table(to, table);
  }
  return RUSH_OK;
}

/* Sets what the kernel knows of the input and of the geometry. */
static void describe(rush_int8_conv *v, const rush_tensor *x, const geometry *g, const shape *s) {
  v->images = (size_t)x->sizes[0];
  v->pixels = (size_t)(g->size[0] * g->size[1] * g->size[2]);
  v->groups = s->groups;
  v->channels = s->channels;
  v->outs = s->outs;
  v->x = rush_data(x);
  v->is_signed = x->dtype == RUSH_QINT8;
  v->direct = is_direct(g);
  v->stride = stride_of_3x3(g);
  v->first = (ptrdiff_t)-g->before[1];
  v->width = (size_t)g->size[1];
}

/* input [N, C, ...], quantized per tensor; weight [O, C / groups, ...] of int8, with scales of
 * float64 and zero points of int32 [O], per output channel even if transposed; bias [O] of float32;
 * qnnpack (whether to round like QNNPACK); the geometry, where padding may be pairs; scale and
 * zero_point of the result; relu (whether negative values become 0); rush_int8_activation, which
 * must be 0 with qnnpack. Returns [N, O, ...], channels-last. */
RUSH_OP(quantized_conv) {
  geometry g;
  shape s;
  rush_tensor *x = arg_tensor(c, INPUT), *out;
  const rush_tensor *w = arg_tensor(c, WEIGHT);
  rush_int8_conv v = {0};
  rush_int8_requantization to;
  rush_quant *q;
  size_t bytes;
  void *scratch;
  rush_enable_quantized(c->heap);
  RUSH_TRY(read_args(c, &g));
  if (!shape_of(w, arg_int(c, GROUPS), &s)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(rush_check_int8_sum(c->ctx, s.channels * s.taps, RUSH_INT8_LONGEST));
  int64_t sizes[DIMS + 2] = {x->sizes[0], w->sizes[0]};
  memcpy(sizes + 2, g.out, (size_t)g.dims * sizeof *sizes);
  RUSH_TRY(rush_tensor_new_channels_last(c->heap, x->dtype, x->rank, sizes, &out));
  ret_tensor(c, 0, out);
  RUSH_TRY(rush_quant_new(c->heap, out, -1, 1, &q));
  q->scales[0] = arg_float(c, SCALE);
  q->zero_points[0] = arg_int(c, ZERO_POINT);
  if (out->numel == 0) return RUSH_OK;
  v.zero = (int32_t)rush_quant_of(x)->zero_points[0];
  RUSH_TRY(weights(c, &s, &v.packed));
  RUSH_TRY(tmp_channels_last(c, x, &x));
  RUSH_TRY(window_of(c, &g, &v.window));
  describe(&v, x, &g, &s);
  v.to = &to;
  v.y = rush_data(out);
  RUSH_TRY(requantized_of(c, &v, w->sizes[0], &to));
  if (!rush_int8_conv_scratch(c->ctx, &v, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &scratch));
  rush_int8_convolve(c->ctx, &v, scratch);
  return rush_charge(c->ctx, 0);
}
