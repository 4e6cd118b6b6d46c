/* grid_sampler: pixels at the positions of a grid, interpolated from four. */
#include "gpu/images.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Words: 11 offset and 12-15 strides of the grid, 16 whether corners are aligned, 17 whether a
 * position outside is the next one at the border; otherwise pixels outside are 0. */
static const char positions[] = WGSL(
fn position(v: f32, size: u32) -> f32 {
  let aligned = word(16u) == 1u;
  let at = (v + 1.0) * (f32(size - select(0u, 1u, aligned)) / 2.0) - select(0.5, 0.0, aligned);
  if (word(17u) == 0u) { return at; }
  if (isnan(at)) { return 0.0; }
  return smaller(larger(at, 0.0), f32(size - 1u));
}
fn pixel(x: u32, h: f32, w: f32) -> f32 {
  if (!(h >= 0.0 && h < f32(word(9u)) && w >= 0.0 && w < f32(word(10u)))) { return 0.0; }
  return in0[x + u32(h) * word(7u) + u32(w) * word(8u)];
}
fn is_odd(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u; }
);
static const char sample[] = WGSL(
  let x = word(4u) + b * word(5u) + oc * word(6u);
  let at = word(11u) + b * word(12u) + oh * word(13u) + ow * word(14u);
  let w = position(in1[at], word(10u)); let h = position(in1[at + word(15u)], word(9u));
  let w0 = floor(w); let h0 = floor(h);
  let u = w - w0; let v = h - h0;
  var y = pixel(x, h0, w0) * ((1.0 - v) * (1.0 - u));
  y += pixel(x, h0, w0 + 1.0) * ((1.0 - v) * u);
  y += pixel(x, h0 + 1.0, w0) * (v * (1.0 - u));
  y += pixel(x, h0 + 1.0, w0 + 1.0) * (v * u);
  out[i] = select(y, nan(), is_odd(w) || is_odd(h));
}
);
/* clang-format on */

static void write_sampling(rush_text *t, const void *what) {
  (void)what;
  rush_text_bytes(t, positions, sizeof positions - 1);
  rush_gpu_write_images(t, false);
  rush_text_bytes(t, sample, sizeof sample - 1);
}

static rush_status run(rush_gpu *g, rush_call *c, const int64_t *sizes) {
  const rush_tensor *x = arg_tensor(c, 0), *grid = arg_tensor(c, 1);
  rush_gpu_job job = {.g = g, .c = c};
  const uint32_t key[] = {'S'};
  RUSH_TRY(rush_gpu_new_images(g, c, 4, sizes, false));
  const rush_tensor *out = rush_as_tensor(c->results);
  RUSH_TRY(rush_gpu_bind(&job, x));
  RUSH_TRY(rush_gpu_bind(&job, grid));
  RUSH_TRY(rush_gpu_bind(&job, out));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 1, "fff", write_sampling, NULL));
  rush_gpu_place_images(x, out, job.params);
  job.params[11] = (uint32_t)grid->offset;
  for (int d = 0; d < 4; d++) job.params[12 + d] = (uint32_t)grid->strides[d];
  job.params[16] = arg_bool(c, 4);
  job.params[17] = arg_int(c, 3) == 1;
  return rush_gpu_dispatch_elements(&job, (uint64_t)out->numel, 4);
}

/* Two dimensions and linear interpolation, with zeros or the border outside. In the other modes,
 * the rounding of a position decides which pixel it takes. */
bool rush_gpu_grid_sampler(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0), *grid = arg_tensor(c, 1);
  (void)row;
  if (!rush_gpu_can_read_images(x) || !rush_gpu_can_read_images(grid) || x->rank != 4 ||
      grid->rank != 4 || grid->sizes[3] != 2 || grid->sizes[0] != x->sizes[0] ||
      x->sizes[2] >= 1 << 24 || x->sizes[3] >= 1 << 24 || arg_int(c, 2) != 0 || arg_int(c, 3) < 0 ||
      arg_int(c, 3) > 1)
    return false;
  const int64_t sizes[] = {x->sizes[0], x->sizes[1], grid->sizes[1], grid->sizes[2]};
  if (!rush_gpu_fits_images(4, sizes)) return false;
  *st = run(g, c, sizes);
  return true;
}
