/* torchvision's deform_conv2d, a convolution in which each kernel tap has its own offset. */
#include "blocks/batched_matmul.h"
#include "call/define.h"
#include "kernels/roi_pooling.h"
#include "tensor/layout.h"

static rush_status check_sizes(rush_call *c, const char *name, const rush_tensor *t,
                               const rush_tensor *x, int64_t channels, const rush_deform *d) {
  RUSH_CHECK_ARG(t->sizes[1] == channels, "%s.shape[1] is not valid: got: %lld expected: %lld",
                 name, (long long)t->sizes[1], (long long)channels);
  RUSH_CHECK_ARG(t->sizes[0] == x->sizes[0], "invalid batch size of %s", name);
  RUSH_CHECK_ARG(t->sizes[2] == d->out[0] && t->sizes[3] == d->out[1],
                 "%s output dims: (%lld, %lld) - computed output dims: (%lld, %lld)", name,
                 (long long)t->sizes[2], (long long)t->sizes[3], (long long)d->out[0],
                 (long long)d->out[1]);
  return RUSH_OK;
}

static rush_status check_numbers(rush_call *c, const rush_deform *d, int64_t groups) {
  const int64_t most = INT32_MAX;
  for (int k = 0; k < 2; k++) {
    RUSH_CHECK_ARG(d->kernel[k] > 0, "weight must have kernel sizes of at least 1, got 0");
    RUSH_CHECK_ARG(d->stride[k] > 0 && d->stride[k] <= most, "stride_h: %lld stride_w: %lld",
                   (long long)d->stride[0], (long long)d->stride[1]);
    RUSH_CHECK_ARG(d->padding[k] >= 0 && d->padding[k] <= most, "pad_h: %lld pad_w: %lld",
                   (long long)d->padding[0], (long long)d->padding[1]);
    RUSH_CHECK_ARG(d->dilation[k] > 0 && d->dilation[k] <= most,
                   "dilation_h: %lld dilation_w: %lld", (long long)d->dilation[0],
                   (long long)d->dilation[1]);
  }
  RUSH_CHECK_ARG(groups > 0 && d->groups > 0, "groups and offset groups must be positive");
  return RUSH_OK;
}

static rush_status check_dtypes(rush_call *c) {
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  RUSH_CHECK_ARG(rush_is_float(dtype) && c->narrow != RUSH_BFLOAT16,
                 "\"deformable_im2col\" not implemented for '%s'",
                 rush_dtype_torch_name(c->narrow == RUSH_BFLOAT16 ? c->narrow : dtype));
  for (uint32_t k = 1; k < 5; k++)
    RUSH_CHECK_ARG((k == 3 && !arg_bool(c, 13)) || arg_tensor(c, k)->dtype == dtype,
                   "expected scalar type %s but found %s", rush_dtype_torch_name(dtype),
                   rush_dtype_torch_name(arg_tensor(c, k)->dtype));
  return RUSH_OK;
}

static rush_status compute_out(rush_call *c, rush_deform *d) {
  for (int k = 0; k < 2; k++) {
    int64_t far, room = (k == 0 ? d->height : d->width) + 2 * d->padding[k] - 1;
    const bool fits = rush_mul64(d->dilation[k], d->kernel[k] - 1, &far) && far <= room;
    d->out[k] = fits ? (room - far) / d->stride[k] + 1 : 0;
  }
  RUSH_CHECK_ARG(d->out[0] > 0 && d->out[1] > 0,
                 "Calculated output size too small - out_h: %lld out_w: %lld", (long long)d->out[0],
                 (long long)d->out[1]);
  return RUSH_OK;
}

static rush_status read_args(rush_call *c, rush_deform *d) {
  const rush_tensor *x = arg_tensor(c, 0), *weight = arg_tensor(c, 1);
  const rush_tensor *offset = arg_tensor(c, 2), *mask = arg_tensor(c, 3);
  const int64_t groups = arg_int(c, 11);
  const bool masked = arg_bool(c, 13);
  RUSH_CHECK_ARG(
      x->rank == 4 && weight->rank == 4 && offset->rank == 4 && (!masked || mask->rank == 4),
      "input, weight, offset and mask should be 4d tensors");
  *d = (rush_deform){.ctx = c->ctx,
                     .channels = x->sizes[1],
                     .height = x->sizes[2],
                     .width = x->sizes[3],
                     .channel_step = x->strides[1],
                     .row_step = x->strides[2],
                     .col_step = x->strides[3],
                     .groups = arg_int(c, 12)};
  for (uint32_t k = 0; k < 2; k++) {
    d->kernel[k] = weight->sizes[2 + k];
    d->stride[k] = arg_int(c, 5 + k);
    d->padding[k] = arg_int(c, 7 + k);
    d->dilation[k] = arg_int(c, 9 + k);
  }
  RUSH_TRY(check_numbers(c, d, groups));
  RUSH_TRY(compute_out(c, d));
  RUSH_CHECK_ARG(x->sizes[1] % groups == 0 && weight->sizes[1] == x->sizes[1] / groups &&
                     weight->sizes[0] % groups == 0 && x->sizes[1] % d->groups == 0,
                 "%lld input and %lld output channels do not fit the weight and the groups",
                 (long long)x->sizes[1], (long long)weight->sizes[0]);
  int64_t taps, moves;
  RUSH_CHECK_ARG(rush_mul64(d->kernel[0], d->kernel[1], &taps) &&
                     rush_mul64(taps, d->groups, &taps) && rush_mul64(taps, 2, &moves),
                 "offset.shape[1] is not valid: got: %lld", (long long)offset->sizes[1]);
  RUSH_TRY(check_sizes(c, "offset", offset, x, moves, d));
  if (masked) RUSH_TRY(check_sizes(c, "mask", mask, x, taps, d));
  const rush_tensor *bias = arg_tensor(c, 4);
  RUSH_CHECK_ARG(bias->numel == weight->sizes[0], "bias must have %lld elements, got %lld",
                 (long long)weight->sizes[0], (long long)bias->numel);
  return check_dtypes(c);
}

static char *at(const rush_tensor *t, int64_t element) {
  return (char *)rush_data(t) + element * (int64_t)rush_itemsize(t);
}

static void columns_of(const rush_deform *d, int64_t image, const rush_tensor *x,
                       const rush_tensor *offset, const rush_tensor *mask, void *columns) {
  const int64_t taps = d->groups * d->kernel[0] * d->kernel[1] * d->out[0] * d->out[1];
  const void *from = at(x, image * x->strides[0]), *by = at(offset, 2 * image * taps);
  const void *factor = mask ? at(mask, image * taps) : NULL;
  if (x->dtype == RUSH_FLOAT64)
    rush_deform_columns_f64(d, from, by, factor, columns);
  else
    rush_deform_columns_f32(d, from, by, factor, columns);
}

/* Multiplies one image: weight[m][k] * columns[k][n] for each group. */
static rush_status multiply(rush_call *c, const rush_deform *d, int64_t image,
                            const rush_tensor *weight, char *columns, rush_tensor *out) {
  const int64_t groups = arg_int(c, 11), m = weight->sizes[0] / groups;
  const int64_t n = d->out[0] * d->out[1], k = weight->sizes[1] * d->kernel[0] * d->kernel[1];
  for (int64_t g = 0; g < groups; g++) {
    rush_matrices a = {.data = at(weight, g * m * k), .row = k, .col = 1};
    rush_matrices b = {
        .data = columns + g * k * n * (int64_t)rush_itemsize(out), .row = n, .col = 1};
    rush_matrices r = {.data = at(out, (image * groups + g) * m * n), .row = n, .col = 1};
    RUSH_TRY(rush_matmul_run(c->heap, out->dtype, m, n, k, 0, NULL, a, b, r));
  }
  return RUSH_OK;
}

/* input [N, C, H, W], weight [O, C / groups, KH, KW], offset [N, 2 * offset_groups * KH * KW, OH,
 * OW], mask [N, offset_groups * KH * KW, OH, OW], bias [O], stride_h, stride_w, pad_h, pad_w,
 * dilation_h, dilation_w, groups, offset_groups, use_mask. Returns [N, O, OH, OW]. */
RUSH_OP(deform_conv2d) {
  rush_tensor *x = arg_tensor(c, 0), *weight, *offset, *mask = NULL, *bias, *out;
  rush_deform d;
  void *columns;
  int64_t n;
  RUSH_TRY(read_args(c, &d));
  const int64_t sizes[] = {x->sizes[0], arg_tensor(c, 1)->sizes[0], d.out[0], d.out[1]};
  const int64_t of_columns[] = {d.channels, d.kernel[0] * d.kernel[1], d.out[0], d.out[1]};
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 1), &weight));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 2), &offset));
  if (arg_bool(c, 13)) RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 3), &mask));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 4), &bias));
  RUSH_CHECK_ARG(rush_numel(4, of_columns, &n), "the matrix of all windows is too large");
  RUSH_TRY(rush_result(c, 0, x->dtype, 4, sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  RUSH_TRY(tmp_items(c, n, rush_itemsize(x), &columns));
  for (int64_t image = 0; image < sizes[0]; image++) {
    columns_of(&d, image, x, offset, mask, columns);
    RUSH_TRY(multiply(c, &d, image, weight, columns, out));
  }
  const rush_value one = rush_int(1);
  rush_tensor *planes;
  const int64_t bias_sizes[] = {sizes[1], 1, 1}, bias_strides[] = {1, 0, 0};
  RUSH_TRY(tmp_view(c, bias, 3, bias_sizes, bias_strides, bias->offset, &planes));
  rush_add_scaled(c->ctx, out, planes, &one, &one);
  return RUSH_OK;
}
