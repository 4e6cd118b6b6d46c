/* torchvision's roi_align, roi_pool, ps_roi_align and ps_roi_pool, which pool regions of images to
 * a fixed size. */
#include "blocks/variants.h"
#include "call/define.h"
#include "kernels/roi_pooling.h"
#include "tensor/layout.h"

static rush_status check(rush_call *c, const rush_tensor *x, const rush_tensor *rois,
                         const rush_rois *r) {
  RUSH_CHECK_ARG(x->rank == 4, "input should be a 4d tensor, got %dD", x->rank);
  RUSH_CHECK_ARG(rois->rank == 2 && rois->sizes[1] == 5, "rois must have shape as Tensor[K, 5]");
  RUSH_CHECK_ARG(x->dtype == rois->dtype,
                 "Expected tensor for argument #1 'input' to have the same type "
                 "as tensor for argument #2 'rois'; but type %s does not equal "
                 "%s",
                 rush_dtype_torch_name(x->dtype), rush_dtype_torch_name(rois->dtype));
  RUSH_CHECK_ARG(rush_is_float(x->dtype) && c->narrow != RUSH_BFLOAT16, "not implemented for '%s'",
                 rush_dtype_torch_name(c->narrow == RUSH_BFLOAT16 ? c->narrow : x->dtype));
  RUSH_CHECK_ARG(r->pooled_height >= 0 && r->pooled_width >= 0 &&
                     r->pooled_height <= RUSH_MAX_NUMEL && r->pooled_width <= RUSH_MAX_NUMEL,
                 "cannot pool to %lld by %lld", (long long)r->pooled_height,
                 (long long)r->pooled_width);
  if (!r->by_place) return RUSH_OK;
  int64_t bins;
  RUSH_CHECK_ARG(!__builtin_mul_overflow(r->pooled_height, r->pooled_width, &bins) && bins > 0 &&
                     r->channels % bins == 0,
                 "input channels must be a multiple of pooling height * pooling width");
  return RUSH_OK;
}

/* Checks the first column of the regions, which holds image indices. */
static rush_status check_images(rush_call *c, const rush_tensor *rois, int64_t images) {
  for (int64_t i = 0; i < rois->sizes[0]; i++) {
    const double image = rush_load_double(
        rois->dtype, (const char *)rush_data(rois) + 5 * i * (int64_t)rush_itemsize(rois));
    RUSH_CHECK_ARG(image > -1 && image < (double)images,
                   "rois[%lld] is in image %g, but the batch has %lld", (long long)i, image,
                   (long long)images);
  }
  return RUSH_OK;
}

/* Sets *rois to the contiguous regions, and allocates the results [K, channels, height, width].
 * Result 0 has the input's dtype; an optional result 1 has dtype int32. */
static rush_status read_operands(rush_call *c, rush_rois *r, rush_tensor **rois, rush_tensor **out,
                                 rush_tensor **second) {
  const rush_tensor *x = arg_tensor(c, 0);
  *r = (rush_rois){.ctx = c->ctx,
                   .by_place = rush_kind_of(c) == RUSH_ROI_BY_PLACE,
                   .scale = arg_float(c, 2),
                   .pooled_height = arg_int(c, 3),
                   .pooled_width = arg_int(c, 4)};
  if (x->rank == 4) r->channels = x->sizes[1];
  RUSH_TRY(check(c, x, arg_tensor(c, 1), r));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 1), rois));
  r->n = (*rois)->sizes[0];
  r->height = x->sizes[2];
  r->width = x->sizes[3];
  r->batch_step = x->strides[0];
  r->channel_step = x->strides[1];
  r->row_step = x->strides[2];
  r->col_step = x->strides[3];
  int64_t sizes[] = {r->n, r->channels, r->pooled_height, r->pooled_width};
  if (r->by_place) sizes[1] = rush_roi_channels(r);
  RUSH_TRY(rush_result(c, 0, x->dtype, 4, sizes, out));
  if (c->n_results > 1) RUSH_TRY(rush_result(c, 1, RUSH_INT32, 4, sizes, second));
  if ((*out)->numel == 0) return RUSH_OK;
  RUSH_CHECK_ARG(r->height > 0 && r->width > 0, "input must have pixels");
  return check_images(c, *rois, x->sizes[0]);
}

/* Writes the input channel that each bin reads. */
static void put_channels(rush_ctx *ctx, const rush_rois *r, rush_tensor *to) {
  int32_t *at = rush_data(to);
  const int64_t channels = r->channels;
  for (int64_t i = 0; i < to->numel && !rush_should_stop(ctx, 4); i++) {
    at[i] = (int32_t)(i % channels);  // NOLINT(clang-analyzer-core.DivideZero): to is not empty
  }
}

/* input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio; and aligned, except for
 * ps_roi_align */
RUSH_OP(roi_align) {
  rush_rois r;
  rush_tensor *rois, *out, *channels;
  RUSH_TRY(read_operands(c, &r, &rois, &out, &channels));
  const rush_tensor *x = arg_tensor(c, 0);
  r.sampling = arg_int(c, 5);
  r.aligned = !r.by_place && arg_bool(c, 6);
  if (r.by_place) put_channels(c->ctx, &r, channels);
  if (out->numel == 0) return RUSH_OK;
  if (x->dtype == RUSH_FLOAT64)
    rush_roi_align_f64(&r, rush_data(rois), rush_data(x), rush_data(out));
  else
    rush_roi_align_f32(&r, rush_data(rois), rush_data(x), rush_data(out));
  return RUSH_OK;
}

RUSH_OP(roi_pool) {
  rush_rois r;
  rush_tensor *rois, *out, *from;
  RUSH_TRY(read_operands(c, &r, &rois, &out, &from));
  const rush_tensor *x = arg_tensor(c, 0);
  if (r.by_place) put_channels(c->ctx, &r, from);
  if (out->numel == 0) return RUSH_OK;
  if (x->dtype == RUSH_FLOAT64)
    rush_roi_pool_f64(&r, rush_data(rois), rush_data(x), rush_data(out), rush_data(from));
  else
    rush_roi_pool_f32(&r, rush_data(rois), rush_data(x), rush_data(out), rush_data(from));
  return RUSH_OK;
}
