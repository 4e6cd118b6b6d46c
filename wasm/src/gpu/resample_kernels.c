/* Interpolation of images to other sizes, by the nearest pixel or by two in each dimension. */
#include "gpu/images.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Pixel `o` of the result lies at (o + shift) * step - back. Words: 11, 12 step, 13 shift,
 * 14 back; 15, 16 whether a size does not change. */
static const char head[] = WGSL(
  let x = word(4u) + b * word(5u) + oc * word(6u);
);
static const char nearest[] = WGSL(
  let h = min(u32((f32(oh) + number(13u)) * number(11u)), word(9u) - 1u);
  let w = min(u32((f32(ow) + number(13u)) * number(12u)), word(10u) - 1u);
  out[i] = in0[x + h * word(7u) + w * word(8u)];
}
);
/* A tap is multiplied even if its weight is 0, so that an infinity becomes NaN as in PyTorch. */
static const char linear[] = WGSL(
  let h = max((f32(oh) + number(13u)) * number(11u) - number(14u), 0.0);
  let w = max((f32(ow) + number(13u)) * number(12u) - number(14u), 0.0);
  let h0 = min(u32(h), word(9u) - 1u); let w0 = min(u32(w), word(10u) - 1u);
  let h1 = h0 + select(0u, 1u, h0 + 1u < word(9u) && word(15u) == 0u);
  let w1 = w0 + select(0u, 1u, w0 + 1u < word(10u) && word(16u) == 0u);
  let v = clamp(h - f32(h0), 0.0, 1.0); let u = clamp(w - f32(w0), 0.0, 1.0);
  let top = in0[x + h0 * word(7u) + w0 * word(8u)] * (1.0 - u) +
            in0[x + h0 * word(7u) + w1 * word(8u)] * u;
  let bottom = in0[x + h1 * word(7u) + w0 * word(8u)] * (1.0 - u) +
               in0[x + h1 * word(7u) + w1 * word(8u)] * u;
  out[i] = top * (1.0 - v) + bottom * v;
}
);
/* clang-format on */

/* The arguments of aten::upsample_.... Sizes are height and width. */
typedef struct resampling {
  bool linear, exact, align, last;
  int64_t size[2];
  double scale[2]; /* 0 if it is not given */
} resampling;

static void write_resampling(rush_text *t, const void *what) {
  const resampling *r = what;
  rush_gpu_write_images(t, r->last);
  rush_text_bytes(t, head, sizeof head - 1);
  rush_text_add(t, "%s", r->linear ? linear : nearest);
}

/* Returns the step between two pixels in the input, by PyTorch's rule. */
static float step_of(const resampling *r, int d, int64_t in) {
  const int64_t out = r->size[d];
  if (in == out && (r->linear || !r->exact || in == 1)) return 1;
  if (r->align) return out > 1 ? (float)((double)(in - 1) / (double)(out - 1)) : 0;
  if (!r->linear && !r->exact && out == 2 * in) return 0.5f;
  return r->scale[d] > 0 ? (float)(1 / r->scale[d]) : (float)in / (float)out;
}

static rush_status run_resampling(rush_gpu *g, rush_call *c, const resampling *r) {
  const rush_tensor *x = arg_tensor(c, 0);
  const int64_t sizes[] = {x->sizes[0], x->sizes[1], r->size[0], r->size[1]};
  rush_gpu_job job = {.g = g, .c = c};
  const uint32_t key[] = {'i', r->linear, r->last};
  RUSH_TRY(rush_gpu_new_images(g, c, 4, sizes, r->last));
  const rush_tensor *out = rush_as_tensor(c->results);
  RUSH_TRY(rush_gpu_bind(&job, x));
  RUSH_TRY(rush_gpu_bind(&job, out));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 3, "ff", write_resampling, r));
  uint32_t *p = job.params;
  rush_gpu_place_images(x, out, p);
  const float half = r->linear ? !r->align ? 0.5f : 0 : r->exact ? 0.5f : 0;
  const float back = r->linear ? half : 0;
  for (int d = 0; d < 2; d++) {
    const float step = step_of(r, d, x->sizes[2 + d]);
    p[15 + d] = x->sizes[2 + d] == r->size[d];
    memcpy(p + 11 + d, &step, sizeof step);
  }
  memcpy(p + 13, &half, sizeof half);
  memcpy(p + 14, &back, sizeof back);
  return rush_gpu_dispatch_elements(&job, (uint64_t)out->numel, r->linear ? 4 : 1);
}

/* Reads the sizes of the result from a list of integers. */
static bool read_sizes(rush_call *c, resampling *r) {
  int64_t list[RUSH_MAX_RANK];
  int n;
  if (arg_ints(c, 1, RUSH_MAX_RANK, list, &n) != RUSH_OK || n != 2) return false;
  r->size[0] = list[0], r->size[1] = list[1];
  return true;
}

/* Reads the sizes of the form .vec: a list of them, or factors, which are argument `at`. */
static bool read_factors(rush_call *c, uint32_t at, resampling *r) {
  const rush_tensor *x = arg_tensor(c, 0);
  if (arg_is_none(c, 1) == arg_is_none(c, at)) return false;
  if (!arg_is_none(c, 1)) return read_sizes(c, r);
  const rush_list *list = arg_list(c, at);
  if (list->n != 2) return false;
  for (int d = 0; d < 2; d++) {
    const rush_value *v = list->items + d;
    r->scale[d] = v->kind == RUSH_KIND_FLOAT ? v->u.f : (double)v->u.i;
    const double size = (double)x->sizes[2 + d] * r->scale[d];
    if (!(size >= 1 && size < 1 << 24)) return false;
    r->size[d] = (int64_t)size;
  }
  return true;
}

static bool can_resample(const rush_tensor *x, const resampling *r) {
  const int64_t sizes[] = {x->sizes[0], x->sizes[1], r->size[0], r->size[1]};
  for (int d = 0; d < 2; d++)
    if (r->size[d] < 1 || r->size[d] >= 1 << 24 || x->sizes[2 + d] >= 1 << 24) return false;
  return rush_gpu_fits_images(4, sizes);
}

/* number: the bits of how. */
bool rush_gpu_resample(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  resampling r = {.linear = (row->number & RUSH_GPU_LINEAR) != 0,
                  .exact = (row->number & RUSH_GPU_EXACT) != 0};
  const uint32_t at = r.linear ? 3 : 2;
  if (!rush_gpu_can_read_images(x) || x->rank != 4) return false;
  r.last = rush_gpu_is_channels_last(x);
  r.align = r.linear && arg_bool(c, 2);
  if (row->number & RUSH_GPU_OF_FACTORS) {
    if (!read_factors(c, at, &r)) return false;
  } else {
    if (!read_sizes(c, &r)) return false;
    for (uint32_t d = 0; d < 2; d++)
      if (!arg_is_none(c, at + d)) r.scale[d] = arg_float(c, at + d);
  }
  if (!can_resample(x, &r)) return false;
  *st = run_resampling(g, c, &r);
  return true;
}
