/* grid_sample: samples pixels or voxels at the positions that a grid gives. Follows
 * aten/src/ATen/native/GridSamplerUtils.h and GridSampler.cpp. */
#include "kernels/sample_grid.h"

#include "base/half.h"
#include "call/define.h"
#include "tensor/layout.h"

static rush_status check(rush_call *c, const rush_tensor *x, const rush_tensor *grid, int dims) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  rush_shape_text(x->rank, x->sizes, a);
  rush_shape_text(grid->rank, grid->sizes, b);
  RUSH_CHECK_ARG(
      x->rank == dims + 2 && grid->rank == x->rank,
      "grid_sampler(): expected %dD input and grid with same number of dimensions, but got "
      "input with sizes %s and grid with sizes %s",
      dims + 2, a, b);
  RUSH_CHECK_ARG(
      x->sizes[0] == grid->sizes[0],
      "grid_sampler(): expected grid and input to have same batch size, but got input with "
      "sizes %s and grid with sizes %s",
      a, b);
  RUSH_CHECK_ARG(
      grid->sizes[grid->rank - 1] == dims,
      "grid_sampler(): expected grid to have size %d in last dimension, but got grid with "
      "sizes %s",
      dims, b);
  for (int d = 2; d < x->rank; d++)
    RUSH_CHECK_ARG(
        x->sizes[d] > 0,
        "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
        "sizes %s with dimension %d being empty",
        a, d);
  RUSH_CHECK_ARG(rush_is_float(x->dtype), "\"grid_sampler\" not implemented for '%s'",
                 rush_dtype_torch_name(x->dtype));
  RUSH_CHECK_ARG(grid->dtype == x->dtype, "expected scalar type %s but found %s",
                 rush_dtype_torch_name(x->dtype), rush_dtype_torch_name(grid->dtype));
  return RUSH_OK;
}

static float to_float16(float v) {
  return rush_from_float16(rush_to_float16(v));
}
static float to_bfloat16(float v) {
  return rush_from_bfloat16(rush_to_bfloat16(v));
}

static void sample_all(const rush_grid *g, const rush_tensor *x, const rush_tensor *grid,
                       rush_tensor *out) {
  const int64_t places = grid->numel / (x->sizes[0] * g->dims);
  for (int64_t n = 0; n < x->sizes[0]; n++) {
    const int64_t from = n * x->strides[0], at = n * places * g->dims;
    const int64_t to = n * places * g->channels;
    if (x->dtype == RUSH_FLOAT64)
      rush_grid_sample_f64(g, (size_t)places, (const double *)rush_data(grid) + at,
                           (const double *)rush_data(x) + from, (double *)rush_data(out) + to);
    else
      rush_grid_sample_f32(g, (size_t)places, (const float *)rush_data(grid) + at,
                           (const float *)rush_data(x) + from, (float *)rush_data(out) + to);
  }
}

/* input [N, C, (D,) H, W], grid [N, (D,) H, W, dims], interpolation_mode, padding_mode,
 * align_corners. Returns a contiguous [N, C, (D,) H, W] with the spatial sizes of the grid. */
static rush_status grid_sample(rush_call *c, int dims) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_tensor *grid, *out;
  RUSH_TRY(check(c, x, arg_tensor(c, 1), dims));
  const int64_t interpolation = arg_int(c, 2), padding = arg_int(c, 3);
  RUSH_CHECK_ARG(interpolation >= 0 && interpolation <= RUSH_GRID_CUBIC && padding >= 0 &&
                     padding <= RUSH_GRID_REFLECTION,
                 "grid_sampler(): interpolation mode %lld with padding mode %lld is not supported",
                 (long long)interpolation, (long long)padding);
  RUSH_CHECK_ARG(dims == 2 || interpolation != RUSH_GRID_CUBIC,
                 "grid_sampler(): bicubic interpolation only supports 4D input");
  rush_grid g = {.ctx = c->ctx,
                 .interpolation = (int)interpolation,
                 .padding = (int)padding,
                 .align_corners = arg_bool(c, 4),
                 .dims = dims,
                 .channels = x->sizes[1],
                 .channel_step = x->strides[1]};
  if (dims == 3 && rush_is_half(c->narrow))
    g.rounded = c->narrow == RUSH_FLOAT16 ? to_float16 : to_bfloat16;
  for (int d = 0; d < dims; d++) {
    g.size[d] = x->sizes[x->rank - 1 - d];
    g.step[d] = x->strides[x->rank - 1 - d];
  }
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 1), &grid));
  int64_t sizes[RUSH_MAX_RANK] = {x->sizes[0], x->sizes[1]};
  memcpy(sizes + 2, grid->sizes + 1, (size_t)dims * sizeof *sizes);
  RUSH_TRY(rush_result(c, 0, x->dtype, x->rank, sizes, &out));
  if (out->numel > 0) sample_all(&g, x, grid, out);
  return RUSH_OK;
}
RUSH_OP(grid_sampler) {
  return grid_sample(c, arg_tensor(c, 0)->rank == 5 ? 3 : 2);
}
RUSH_OP(grid_sampler_2d) {
  return grid_sample(c, 2);
}
RUSH_OP(grid_sampler_3d) {
  return grid_sample(c, 3);
}
