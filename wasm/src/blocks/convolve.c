#include "blocks/convolve.h"

#include <math.h>
#include <stdio.h>

#include "blocks/packed_matmul.h"
#include "call/define.h"
#include "kernels/conv.h"
#include "kernels/optional.h"
#include "tensor/layout.h"

/* ---- Sizes from the weight ------------------------------------------------------------------- */

/* Reads kernel size and channels. Spatial dimension d of `dims` becomes dimension d + 3 - dims of
 * three. */
static rush_conv geometry_of_weight(const rush_tensor *w, int64_t groups, bool transposed,
                                    const int64_t *stride, const int64_t *dilation) {
  const int dims = w->rank - 2;
  rush_conv s = {.batch = 1, .groups = (size_t)groups, .transposed = transposed};
  s.in_c = (size_t)(transposed ? w->sizes[0] / groups : w->sizes[1]);
  s.out_c = (size_t)(transposed ? w->sizes[1] : w->sizes[0] / groups);
  for (int d = 0; d < 3; d++) {
    const int from = d + dims - 3;
    s.kernel[d] = from < 0 ? 1 : (size_t)w->sizes[2 + from];
    s.stride[d] = from < 0 ? 1 : (size_t)stride[from];
    s.dilation[d] = from < 0 ? 1 : (size_t)dilation[from];
    s.in[d] = s.out[d] = 1;
  }
  return s;
}

/* Returns whether the convolution has sums of so many products that rush_conv_any must compute
 * them, because it can be stopped within a sum. */
static bool is_long(const rush_conv *s) {
  enum { LONG = 1 << 22 };
  return s->in_c * s->kernel[0] * s->kernel[1] * s->kernel[2] > LONG &&
         rush_optional_conv_any != NULL;
}

/* Expands the strides of [a][b][spatial...] to those of [a][b][d][h][w]. */
static void strides_of(const rush_tensor *t, ptrdiff_t to[5]) {
  const int dims = t->rank - 2;
  to[0] = (ptrdiff_t)t->strides[0];
  to[1] = (ptrdiff_t)t->strides[1];
  for (int d = 0; d < 3; d++)
    to[2 + d] = d + dims - 3 < 0 ? 0 : (ptrdiff_t)t->strides[2 + d + dims - 3];
}

/* Reads a constant `int[]` of one or `dims` positive numbers. */
static bool constant_ints(const rush_prepare *p, int arg, int dims, int64_t *out) {
  const rush_value *v = p->args[arg];
  if (v == NULL || (v->kind != RUSH_KIND_LIST && v->kind != RUSH_KIND_INT)) return false;
  const rush_list *list = v->kind == RUSH_KIND_LIST ? rush_as_list(v) : NULL;
  const size_t n = list ? list->n : 1;
  if (n != 1 && n != (size_t)dims) return false;
  for (int d = 0; d < dims; d++) {
    out[d] = list ? list->items[n == 1 ? 0 : d].u.i : v->u.i;
    if (out[d] < 1 || out[d] > INT32_MAX) return false;
  }
  return true;
}

/* A transposed convolution runs as one plain convolution per phase. The number of phases is the
 * product of its strides. */
enum { MAX_PHASES = 1 << 16 };

static bool has_few_phases(int dims, const int64_t *stride) {
  int64_t n = 1;
  for (int d = 0; d < dims; d++) {
    if (stride[d] > MAX_PHASES) return false;
    n *= stride[d];
    if (n > MAX_PHASES) return false;
  }
  return true;
}

rush_status rush_conv_prepare(rush_prepare *p, const rush_conv_positions *at) {
  const rush_tensor *w = rush_constant_f32(p, (uint32_t)at->weight);
  const rush_value *groups = p->args[at->groups];
  const rush_value *flag = at->transposed >= 0 ? p->args[at->transposed] : NULL;
  const bool transposed = at->transposed == -2 || (flag != NULL && flag->u.i != 0);
  int64_t stride[3], dilation[3];
  const float *bias;
  if (w == NULL || w->rank < 3 || w->rank > 5 || w->numel == 0 || groups == NULL ||
      (at->transposed >= 0 && !flag) || groups->u.i < 1 || w->sizes[0] % groups->u.i != 0 ||
      !constant_ints(p, at->stride, w->rank - 2, stride) ||
      !constant_ints(p, at->dilation, w->rank - 2, dilation) ||
      (transposed && !has_few_phases(w->rank - 2, stride)) ||
      !rush_constant_bias(p, (uint32_t)at->bias,
                          transposed ? w->sizes[1] * groups->u.i : w->sizes[0], &bias))
    return RUSH_OK; /* the run packs it or reports the error */
  rush_conv s = geometry_of_weight(w, groups->u.i, transposed, stride, dilation);
  s.ctx = p->ctx;
  if (is_long(&s)) return RUSH_OK;
  p->consumed = 1u << at->weight | 1u << at->bias;
  /* Pointwise (1x1) */
  if (groups->u.i == 1 && !transposed && w->numel == w->sizes[0] * w->sizes[1])
    return rush_linear_pack(p, w, w->sizes[0], w->sizes[1], w->strides[0], w->strides[1], bias);
  if (p->placing != NULL) return RUSH_OK;
  size_t floats;
  rush_packed_floats *packed;
  if (!rush_conv_packed(&s, &floats)) return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_packed_new(p, floats, &packed));
  ptrdiff_t strides[5];
  strides_of(w, strides);
  rush_conv_pack(&s, rush_data(w), strides, bias, packed->data);
  return RUSH_OK;
}

/* ---- Checks, with PyTorch's messages --------------------------------------------------------- */

#define TOO_LARGE \
  "a convolution of such a size, stride, padding, dilation or number of groups is not supported"

static rush_status expand_list(rush_call *c, const char *what, int dims, int n, int64_t *list) {
  RUSH_CHECK_ARG(n == 1 || n == dims,
                 "expected %s to be a single integer value or a list of %d values to match the "
                 "convolution dimensions, but "
                 "got %d values",
                 what, dims, n);
  for (int d = n; d < dims; d++) list[d] = list[0];
  return RUSH_OK;
}

static rush_status check_lists(rush_call *c, rush_conv_args *a, int dims) {
  RUSH_TRY(expand_list(c, "stride", dims, a->n_stride, a->stride));
  RUSH_TRY(expand_list(c, "dilation", dims, a->n_dilation, a->dilation));
  if (a->transposed)
    RUSH_TRY(expand_list(c, "output_padding", dims, a->n_output_padding, a->output_padding));
  if (a->two_sided) {
    RUSH_CHECK_ARG(a->n_padding == 2 * dims,
                   "expected padding to be a list of %d values, but got %d values", 2 * dims,
                   a->n_padding);
  } else {
    RUSH_TRY(expand_list(c, "padding", dims, a->n_padding, a->padding));
    for (int d = dims - 1; d >= 0; d--) a->padding[2 * d] = a->padding[2 * d + 1] = a->padding[d];
  }
  for (int d = 0; d < dims; d++) {
    RUSH_CHECK_ARG(a->padding[2 * d] >= 0 && a->padding[2 * d + 1] >= 0,
                   "negative padding is not supported");
    RUSH_CHECK_ARG(!a->transposed || a->output_padding[d] >= 0,
                   "negative output_padding is not supported");
    RUSH_CHECK_ARG(a->stride[d] > 0, "non-positive stride is not supported");
    RUSH_CHECK_ARG(a->dilation[d] > 0, "dilation should be greater than zero, but got %lld",
                   (long long)a->dilation[d]);
    /* Keeps the sums below from overflowing. */
    RUSH_CHECK_ARG(a->padding[2 * d] <= INT32_MAX && a->padding[2 * d + 1] <= INT32_MAX &&
                       a->stride[d] <= INT32_MAX && a->dilation[d] <= INT32_MAX &&
                       (!a->transposed || a->output_padding[d] <= INT32_MAX),
                   TOO_LARGE);
  }
  RUSH_CHECK_ARG(!a->transposed || has_few_phases(dims, a->stride),
                 "a transposed convolution whose strides multiply to more than %d is not supported",
                 MAX_PHASES);
  return RUSH_OK;
}

static rush_status check_groups(rush_call *c, const rush_conv_args *a, const char *tw) {
  const rush_tensor *w = a->weight;
  const long long groups = a->groups;
  RUSH_CHECK_ARG(groups > 0, "non-positive groups is not supported");
  RUSH_CHECK_ARG(
      w->sizes[0] >= groups,
      "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight "
      "of size %s instead",
      groups, groups, tw);
  RUSH_CHECK_ARG(
      w->sizes[0] % groups == 0,
      "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got "
      "weight of size [%s] "
      "instead",
      groups, groups, tw);
  return RUSH_OK;
}

static rush_status check_channels(rush_call *c, const rush_conv_args *a) {
  const rush_tensor *x = a->input, *w = a->weight;
  char tx[RUSH_SHAPE_TEXT], tw[RUSH_SHAPE_TEXT];
  rush_shape_text(x->rank, x->sizes, tx);
  rush_shape_text(w->rank, w->sizes, tw);
  const long long groups = a->groups;
  RUSH_CHECK_ARG(
      x->rank == w->rank,
      "Expected %d-dimensional input for %d-dimensional weight %s, but got %d-dimensional "
      "input of size %s instead",
      w->rank, w->rank, tw, x->rank, tx);
  RUSH_TRY(check_groups(c, a, tw));
  int64_t channels = w->sizes[0], out;
  RUSH_CHECK_ARG(rush_mul64(w->sizes[1], groups, a->transposed ? &out : &channels), TOO_LARGE);
  if (!a->transposed) out = w->sizes[0];
  char given[40];
  snprintf(given, sizeof given, a->transposed ? "transposed=1" : "groups=%lld", groups);
  RUSH_CHECK_ARG(
      x->sizes[1] == channels,
      "Given %s, weight of size %s, expected input%s to have %lld channels, but got %lld "
      "channels instead",
      given, tw, tx, (long long)channels, (long long)x->sizes[1]);
  const rush_tensor *b = a->bias;
  RUSH_CHECK_ARG(
      b == NULL || (b->rank == 1 && b->sizes[0] == out),
      "Given %sweight of size %s, expected bias to be 1-dimensional with %lld elements, but "
      "got bias of size %s "
      "instead",
      a->transposed ? "transposed=1, " : "", tw, (long long)out,
      rush_shape_text(b->rank, b->sizes, tx));
  return RUSH_OK;
}

/* "(5 x 5)" */
static const char *sizes_text(int n, const int64_t *sizes, char *to, size_t room) {
  size_t at = 0;
  to[0] = '\0';
  for (int d = 0; d < n && at + 24 < room; d++)
    at += (size_t)snprintf(to + at, room - at, "%s%lld", d ? " x " : "", (long long)sizes[d]);
  return to;
}

static rush_status check_dtypes(rush_call *c, const rush_conv_args *a) {
  const rush_tensor *x = a->input, *w = a->weight;
  RUSH_CHECK_ARG(x->dtype == w->dtype, "Input type (%s) and weight type (%s) should be the same",
                 rush_dtype_name(x->dtype), rush_dtype_name(w->dtype));
  RUSH_CHECK_ARG(a->bias == NULL || a->bias->dtype == x->dtype,
                 "Input type (%s) and bias type (%s) should be the same", rush_dtype_name(x->dtype),
                 a->bias ? rush_dtype_name(a->bias->dtype) : "");
  RUSH_CHECK_ARG(x->dtype != RUSH_BOOL, "\"slow_conv2d_cpu\" not implemented for 'Bool'");
  return RUSH_OK;
}

static rush_status check_output_padding(rush_call *c, const rush_conv_args *a, int d) {
  RUSH_CHECK_ARG(a->output_padding[d] < a->stride[d] || a->output_padding[d] < a->dilation[d],
                 "output padding must be smaller than either stride or dilation, but got "
                 "output_padding %lld, stride "
                 "%lld, dilation %lld",
                 (long long)a->output_padding[d], (long long)a->stride[d],
                 (long long)a->dilation[d]);
  return RUSH_OK;
}

static rush_status check_spatial(rush_call *c, const rush_conv_args *a, int d) {
  const int64_t size = a->weight->sizes[2 + d];
  RUSH_CHECK_ARG(
      size > 0,
      "kernel size should be greater than zero, but got a weight with size 0 at dimension %d",
      2 + d);
  RUSH_CHECK_ARG(size <= INT32_MAX && a->input->sizes[2 + d] <= INT32_MAX, TOO_LARGE);
  return a->transposed ? check_output_padding(c, a, d) : RUSH_OK;
}

/* Computes the spatial sizes of the result. */
static rush_status out_sizes(rush_call *c, const rush_conv_args *a, int dims, int64_t *out) {
  const rush_tensor *x = a->input, *w = a->weight;
  char in_text[100], other[100];
  int64_t padded[3], reach[3];
  bool fits = true, positive = true;
  for (int d = 0; d < dims; d++) {
    RUSH_TRY(check_spatial(c, a, d));
    /* This is below 2^62: one term is the size of an existing tensor, and the factors are below
     * 2^31. */
    const int64_t pads = a->padding[2 * d] + a->padding[2 * d + 1];
    int64_t span; /* the greatest sum in the kernels: ptrdiff_t has 32 bits in wasm */
    reach[d] = a->dilation[d] * (w->sizes[2 + d] - 1) + 1;
    padded[d] = x->sizes[2 + d] + pads;
    if (a->transposed) {
      out[d] = (x->sizes[2 + d] - 1) * a->stride[d] - pads + reach[d] + a->output_padding[d];
      span = (x->sizes[2 + d] - 1) * a->stride[d] + pads + reach[d] + a->output_padding[d];
      positive = positive && (out[d] > 0 || (out[d] == 0 && x->sizes[0] == 0));
    } else {
      fits = fits && padded[d] >= reach[d];
      out[d] = padded[d] < reach[d] ? 0 : (padded[d] - reach[d]) / a->stride[d] + 1;
      span = padded[d] + reach[d] + 8 * a->stride[d]; /* kernels read a few columns ahead */
    }
    RUSH_CHECK_ARG(span <= INT32_MAX, TOO_LARGE);
  }
  RUSH_CHECK_ARG(
      fits,
      "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't "
      "be greater than actual "
      "input size",
      sizes_text(dims, padded, in_text, sizeof in_text),
      sizes_text(dims, reach, other, sizeof other));
  RUSH_CHECK_ARG(
      positive,
      "Given input size per channel: (%s). Calculated output size per channel: (%s). Output "
      "size is too small",
      sizes_text(dims, x->sizes + 2, in_text, sizeof in_text),
      sizes_text(dims, out, other, sizeof other));
  return RUSH_OK;
}

/* ---- Execution ------------------------------------------------------------------------------- */

/* Returns the input as dense channels-last floats with at least 16 readable bytes after them: its
 * own data or a copy. */
static rush_status channels_last(rush_call *c, const rush_tensor *x, const float **data) {
  rush_tensor *copy;
  *data = rush_data(x);
  if (rush_is_channels_last(x) && !x->storage->borrowed) return RUSH_OK;
  RUSH_TRY(rush_tensor_new_channels_last(c->heap, RUSH_FLOAT32, x->rank, x->sizes, &copy));
  *data = rush_data(tmp_take(c, copy));
  return rush_tensor_copy(c->heap, copy, x);
}

/* Packs the weight for this run. */
static rush_status pack_now(rush_call *c, const rush_conv_args *a, const rush_conv *s,
                            const float **packed) {
  size_t floats, bytes;
  rush_tensor *bias = NULL;
  void *room;
  if (!rush_conv_packed(s, &floats) || !rush_mul(floats, sizeof **packed, &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &room));
  if (a->bias != NULL) RUSH_TRY(tmp_contiguous(c, (rush_tensor *)a->bias, &bias));
  ptrdiff_t strides[5];
  strides_of(a->weight, strides);
  rush_conv_pack(s, rush_data(a->weight), strides, bias ? rush_data(bias) : NULL, room);
  *packed = room;
  return RUSH_OK;
}

/* Weights of a transposed convolution are packed for its constant strides and dilations. A run with
 * other values would read past their end. */
static rush_status check_packed(rush_call *c, const rush_conv *s) {
  size_t floats;
  if (!c->packed || !s->transposed) return RUSH_OK;
  const size_t have = ((const rush_packed_floats *)c->packed)->floats;
  RUSH_CHECK(c->ctx, rush_conv_packed(s, &floats) && floats == have, RUSH_ERR_BAD_STATE,
             "the weights were packed for another stride or dilation");
  return RUSH_OK;
}

static rush_status run_f32(rush_call *c, const rush_conv_args *a, const rush_conv *s,
                           rush_tensor *out) {
  const float *packed = a->packed ? a->packed : rush_packed_data(c->packed), *x;
  void *scratch = NULL;
  size_t bytes;
  if (!rush_conv_scratch(s, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(check_packed(c, s));
  if (!packed) RUSH_TRY(pack_now(c, a, s, &packed));
  RUSH_TRY(channels_last(c, a->input, &x));
  if (bytes > 0) RUSH_TRY(tmp_bytes(c, bytes, &scratch));
  rush_conv_run(s, x, packed, rush_data(out), a->min, a->max, scratch);
  return RUSH_OK;
}

/* Returns the header that PyTorch's kernels see. Only its strides matter: a 1-d input becomes 2-d,
 * and is made contiguous first. */
static rush_tensor as_image(const rush_tensor *t, bool contiguous) {
  rush_tensor seen = rush_nominal_header(t);
  if (t->rank != 3) return seen;
  if (contiguous && !rush_is_contiguous(&seen))
    rush_strides_contiguous(seen.rank, seen.sizes, seen.strides);
  seen.rank = 4;
  seen.sizes[3] = seen.sizes[2];
  seen.strides[3] = seen.strides[2];
  seen.sizes[2] = 1;
  seen.strides[2] = seen.sizes[3] * seen.strides[3];
  return seen;
}

/* Follows _determine_backend_memory_format of Convolution.cpp without oneDNN. */
static int result_format(const rush_conv_args *a, const int64_t *out) {
  if (a->weight->rank == 5 || a->input->numel == 0) return RUSH_FORMAT_CONTIGUOUS;
  rush_tensor x = as_image(a->input, true), w = as_image(a->weight, false);
  x.sizes[1] /= a->groups; /* groups are convolved separately and concatenated */
  w.sizes[0] /= a->groups;
  const int of_weight = a->weight_format < 0 ? rush_suggest_format(&w) : a->weight_format;
  int format = rush_suggest_format(&x);
  if (format == RUSH_FORMAT_CONTIGUOUS) format = of_weight;
  bool one = a->groups > 1 && out[1] == a->groups;
  for (int d = 2; d < a->weight->rank; d++) one = one && out[d] == 1;
  return one ? RUSH_FORMAT_CONTIGUOUS : format; /* cat cannot tell the format of a single element */
}

/* Computes result 0 for an input with a batch dimension. */
static rush_status convolve_batched(rush_call *c, const rush_conv_args *a) {
  const rush_tensor *x = a->input, *w = a->weight;
  const int dims = w->rank - 2;
  int64_t sizes[RUSH_MAX_RANK];
  rush_tensor *out;
  char text[RUSH_SHAPE_TEXT];
  RUSH_TRY(check_channels(c, a));
  RUSH_TRY(out_sizes(c, a, dims, sizes + 2));
  RUSH_TRY(check_dtypes(c, a));
  sizes[0] = x->sizes[0];
  sizes[1] = x->sizes[1] == 0 ? 0 : a->transposed ? w->sizes[1] * a->groups : w->sizes[0];
  RUSH_CHECK_ARG(x->numel > 0 || x->sizes[0] == 0 || x->sizes[1] == 0,
                 "Only zero batch or zero channel inputs are supported, but got input shape: %s",
                 rush_shape_text(x->rank, x->sizes, text));
  RUSH_TRY(
      rush_new_in_layout(c->heap, x->dtype, w->rank, sizes, true, result_format(a, sizes), &out));
  ret_tensor(c, 0, out);
  if (out->numel == 0) return RUSH_OK;
  rush_conv s = geometry_of_weight(w, a->groups, a->transposed, a->stride, a->dilation);
  s.batch = (size_t)sizes[0];
  s.ctx = c->ctx;
  for (int d = 0; d < dims; d++) {
    s.in[d + 3 - dims] = (size_t)x->sizes[2 + d];
    s.out[d + 3 - dims] = (size_t)sizes[2 + d];
    s.padding[d + 3 - dims] = (ptrdiff_t)a->padding[2 * d];
  }
  if (x->dtype == RUSH_FLOAT32 && !is_long(&s)) return run_f32(c, a, &s, out);
  RUSH_CHECK(c->ctx, rush_optional_conv_any != NULL, RUSH_ERR_UNSUPPORTED,
             "this runtime was slimmed, and has no convolutions of %s: slim it for this file, too",
             rush_dtype_name(x->dtype));
  ptrdiff_t xs[5], ws[5];
  strides_of(x, xs);
  strides_of(w, ws);
  rush_optional_conv_any(x->dtype, &s, rush_data(x), xs, rush_data(w), ws,
                         a->bias ? rush_data(a->bias) : NULL,
                         a->bias ? (ptrdiff_t)a->bias->strides[0] : 0, rush_data(out));
  rush_clamp(c->ctx, out, a->min, a->max);
  return RUSH_OK;
}

/* Views an unbatched input and result with a batch of one. */
static rush_status convolve_unbatched(rush_call *c, rush_conv_args *a) {
  const rush_tensor *x = a->input;
  int64_t sizes[RUSH_MAX_RANK] = {1}, strides[RUSH_MAX_RANK] = {x->sizes[0] * x->strides[0]};
  for (int d = 0; d < x->rank; d++) sizes[d + 1] = x->sizes[d], strides[d + 1] = x->strides[d];
  RUSH_TRY(tmp_view(c, x, x->rank + 1, sizes, strides, x->offset, &a->input));
  if (rush_is_turned(x)) {
    a->input->nominal[0] = x->sizes[0] * x->nominal[0];
    for (int d = 0; d < x->rank; d++) a->input->nominal[d + 1] = x->nominal[d];
  }
  RUSH_TRY(convolve_batched(c, a));
  const rush_tensor *out = tmp_take(c, rush_as_tensor(c->results));
  c->results[0] = rush_none();
  RUSH_TRY(rush_result_view(c, 0, out, x->rank, out->sizes + 1, out->strides + 1, out->offset));
  if (rush_is_turned(out))
    memcpy(rush_as_tensor(c->results)->nominal, out->nominal + 1,
           (size_t)x->rank * sizeof *out->nominal);
  return RUSH_OK;
}

rush_status rush_convolve(rush_call *c, rush_conv_args *a) {
  const rush_tensor *w = a->weight, *x = a->input;
  RUSH_CHECK(c->ctx, w->rank >= 3 && w->rank <= 5, RUSH_ERR_BAD_ARGUMENT,
             "weight must have 3 to 5 dimensions, got %d", w->rank);
  const int dims = w->rank - 2;
  char text[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(
      x->rank == dims + 1 || x->rank == dims + 2,
      "Expected %dD (unbatched) or %dD (batched) input to conv%s%dd, but got input of size: %s",
      dims + 1, dims + 2, a->transposed ? "_transpose" : "", dims,
      rush_shape_text(x->rank, x->sizes, text));
  RUSH_TRY(check_lists(c, a, dims));
  return x->rank == w->rank ? convolve_batched(c, a) : convolve_unbatched(c, a);
}
