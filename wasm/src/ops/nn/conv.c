/* All convolutions. They differ in the positions of their arguments. */
#include "blocks/convolve.h"

#include <math.h>
#include <string.h>

#include "blocks/elements/shared_rows.h"
#include "call/define.h"
#include "kernels/gemm.h"

#define PREPARE(id, ...)                                 \
  RUSH_PREPARE(id) {                                     \
    static const rush_conv_positions at = {__VA_ARGS__}; \
    return rush_conv_prepare(p, &at);                    \
  }
/* weight, bias, stride, dilation, groups, transposed */
PREPARE(rush_conv, 1, 2, 3, 5, 6, -1)
PREPARE(scaled_conv, 2, 3, 4, 6, 7, -1)
PREPARE(conv, 1, 2, 3, 5, 6, -1)
PREPARE(conv_padding, 1, 2, 3, 5, 6, -1)
PREPARE(convolution, 1, 2, 3, 5, 8, 6)
PREPARE(conv_transpose, 1, 2, 3, 7, 6, -2)

static rush_status begin(rush_call *c, rush_conv_args *a, uint32_t dilation, uint32_t groups) {
  *a = (rush_conv_args){
      .input = arg_tensor(c, 0), .weight = arg_tensor(c, 1), .bias = arg_tensor(c, 2)};
  a->min = -INFINITY;
  a->max = INFINITY;
  a->weight_format = -1;
  a->groups = arg_int(c, groups);
  RUSH_TRY(arg_ints(c, 3, RUSH_MAX_RANK, a->stride, &a->n_stride));
  return arg_ints(c, dilation, RUSH_MAX_RANK, a->dilation, &a->n_dilation);
}

/* Handles rush::conv and rush::scaled_conv, whose weight is argument `at`. */
static rush_status begin_ours(rush_call *c, rush_conv_args *a, uint32_t at) {
  *a = (rush_conv_args){
      .input = arg_tensor(c, 0), .weight = arg_tensor(c, at), .bias = arg_tensor(c, at + 1)};
  RUSH_TRY(arg_ints(c, at + 2, RUSH_MAX_RANK, a->stride, &a->n_stride));
  RUSH_TRY(arg_ints(c, at + 3, 2 * RUSH_MAX_RANK, a->padding, &a->n_padding));
  RUSH_TRY(arg_ints(c, at + 4, RUSH_MAX_RANK, a->dilation, &a->n_dilation));
  a->two_sided = true;
  a->groups = arg_int(c, at + 5);
  a->min = (float)arg_float(c, at + 6);
  a->max = (float)arg_float(c, at + 7);
  a->weight_format = (int)arg_int(c, at + 8);
  return RUSH_OK;
}

RUSH_OP(rush_conv) {
  rush_conv_args a;
  RUSH_TRY(begin_ours(c, &a, 1));
  return rush_convolve(c, &a);
}

/* ---- Convolution of input * scale, as in squeeze-and-excitation ------------------------------ */

static bool all_are(int n, const int64_t *list, int64_t number) {
  for (int i = 0; i < n; i++)
    if (list[i] != number) return false;
  return true;
}

/* Returns whether scaling the weight is valid and cheaper than scaling the input. The convolution
 * must be a matrix product of one image, the scale must be per channel, and the weight must be
 * smaller than the input. */
static bool scales_weight(const rush_call *c, const rush_conv_args *a, const rush_tensor *scale) {
  const rush_tensor *x = a->input, *w = a->weight;
  const int channel = x->rank - w->rank + 1; /* 0 if x has no batch dimension */
  return c->packed != NULL && (channel == 0 || channel == 1) && a->groups == 1 &&
         x->dtype == RUSH_FLOAT32 && scale->dtype == RUSH_FLOAT32 && x->sizes[channel] > 1 &&
         x->sizes[channel] == w->sizes[1] && (channel == 0 || x->sizes[0] == 1) &&
         scale->rank == x->rank && scale->sizes[channel] == scale->numel &&
         scale->numel == w->sizes[1] && w->numel == w->sizes[0] * w->sizes[1] &&
         all_are(a->n_stride, a->stride, 1) && all_are(a->n_padding, a->padding, 0) &&
         rush_is_channels_last(x) && x->numel > w->numel;
}

/* Computes conv(input * scale). */
RUSH_OP(scaled_conv) {
  rush_conv_args a;
  rush_tensor *scale = arg_tensor(c, 1);
  RUSH_TRY(begin_ours(c, &a, 2));
  if (scales_weight(c, &a, scale)) {
    const size_t k = (size_t)a.weight->sizes[1], n = (size_t)a.weight->sizes[0];
    void *room;
    RUSH_TRY(tmp_contiguous(c, scale, &scale));
    const rush_packed_floats *packed = (const rush_packed_floats *)c->packed;
    RUSH_TRY(tmp_items(c, (int64_t)packed->floats, sizeof(float), &room));
    rush_gemm_scale_rows(k, n, rush_packed_data(c->packed), rush_data(scale), room);
    a.packed = room;
  } else {
    const rush_value factors[] = {c->args[0], c->args[1]};
    RUSH_TRY(rush_pointwise_on(c, &rush_pointwise_mul, 2, factors, &a.input));
    tmp_take(c, a.input);
  }
  return rush_convolve(c, &a);
}

/* conv1d, conv2d and conv3d differ only in a message. */
static rush_status check_rank(rush_call *c, const char *form) {
  const rush_tensor *x = arg_tensor(c, 0);
  const int dims = rush_dims(c);
  char text[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(
      x->rank == dims + 1 || x->rank == dims + 2,
      "Expected %dD (unbatched) or %dD (batched) input to conv%s%dd, but got input of size: %s",
      dims + 1, dims + 2, form, dims, rush_shape_text(x->rank, x->sizes, text));
  const rush_tensor *w = arg_tensor(c, 1);
  RUSH_CHECK_ARG(w->rank == dims + 2,
                 "expected stride to be a single integer value or a list of %d values to match the "
                 "convolution dimensions",
                 w->rank - 2);
  return RUSH_OK;
}

RUSH_OP(conv) {
  rush_conv_args a;
  RUSH_TRY(check_rank(c, ""));
  RUSH_TRY(begin(c, &a, 5, 6));
  RUSH_TRY(arg_ints(c, 4, RUSH_MAX_RANK, a.padding, &a.n_padding));
  return rush_convolve(c, &a);
}

/* padding='same' puts an odd extra element at the end. */
static rush_status named_padding(rush_call *c, const rush_str *name, rush_conv_args *a) {
  const int dims = a->weight->rank - 2;
  const bool same = strcmp(name->bytes, "same") == 0;
  RUSH_CHECK_ARG(same || strcmp(name->bytes, "valid") == 0, "Invalid padding string: '%s'",
                 name->bytes);
  RUSH_CHECK_ARG(dims >= 1 && dims <= 3, "weight should have at least three dimensions");
  a->two_sided = true;
  a->n_padding = 2 * dims;
  for (int d = 0; same && d < dims; d++) {
    RUSH_CHECK_ARG(a->stride[a->n_stride == 1 ? 0 : d] == 1,
                   "padding='same' is not supported for strided convolutions");
    int64_t total;
    RUSH_CHECK_ARG(
        a->weight->sizes[2 + d] > 0 && rush_mul64(a->dilation[a->n_dilation == 1 ? 0 : d],
                                                  a->weight->sizes[2 + d] - 1, &total),
        "kernel size should be greater than zero");
    a->padding[2 * d] = total / 2;
    a->padding[2 * d + 1] = total - total / 2;
  }
  return RUSH_OK;
}

RUSH_OP(conv_padding) {
  rush_conv_args a;
  if (rush_dims(c) > 0) RUSH_TRY(check_rank(c, "")); /* not checked for _convolution_mode */
  RUSH_TRY(begin(c, &a, 5, 6));
  RUSH_TRY(named_padding(c, arg_str(c, 4), &a));
  return rush_convolve(c, &a);
}

RUSH_OP(convolution) {
  rush_conv_args a;
  RUSH_TRY(begin(c, &a, 5, 8));
  RUSH_TRY(arg_ints(c, 4, RUSH_MAX_RANK, a.padding, &a.n_padding));
  RUSH_TRY(arg_ints(c, 7, RUSH_MAX_RANK, a.output_padding, &a.n_output_padding));
  a.transposed = arg_bool(c, 6);
  RUSH_CHECK_ARG(
      a.input->rank == a.weight->rank,
      "Expected %d-dimensional input for %d-dimensional weight, but got %d-dimensional input "
      "instead",
      a.weight->rank, a.weight->rank, a.input->rank);
  return rush_convolve(c, &a);
}

RUSH_OP(conv_transpose) {
  rush_conv_args a;
  RUSH_TRY(check_rank(c, "_transpose"));
  RUSH_TRY(begin(c, &a, 7, 6));
  RUSH_TRY(arg_ints(c, 4, RUSH_MAX_RANK, a.padding, &a.n_padding));
  RUSH_TRY(arg_ints(c, 5, RUSH_MAX_RANK, a.output_padding, &a.n_output_padding));
  a.transposed = true;
  return rush_convolve(c, &a);
}
