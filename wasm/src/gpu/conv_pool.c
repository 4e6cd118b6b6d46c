/* Convolutions, transposed ones and pooling: a thread computes an element of the result.
 * Convolutions of many channels are matrix products. */
#include <math.h>

#include "gpu/images.h"
#include "gpu/product.h"
#include "tensor/layout.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Words from 11 on: 11, 12 the window; 13-18 stride, padding, dilation. */
static const char head[] = WGSL(
  let h0 = i32(oh * word(13u)) - i32(word(15u)); let w0 = i32(ow * word(14u)) - i32(word(16u));
);
/* 19 channels of a group, 20 results of a group, 21-25 offset and strides of the weight, 26 offset
 * of the bias, 27, 28 limits. */
static const char convolution[] = WGSL(
  let x0 = word(4u) + b * word(5u) + oc / word(20u) * word(19u) * word(6u);
  let y0 = word(21u) + oc * word(22u);
  var sum = 0.0;
  for (var c = 0u; c < word(19u); c++) {
    for (var r = 0u; r < HEIGHT; r++) {
      let h = h0 + i32(r * word(17u));
      for (var q = 0u; q < WIDTH; q++) {
        let w = w0 + i32(q * word(18u));
        var x = 0.0;
        if (h >= 0 && h < i32(word(9u)) && w >= 0 && w < i32(word(10u))) {
          x = in0[x0 + c * word(6u) + u32(h) * word(7u) + u32(w) * word(8u)];
        }
        sum = fma(x, at1(y0 + c * word(23u) + r * word(24u) + q * word(25u)), sum);
      }
    }
  }
);
static const char limits[] = WGSL(
  out[i] = limit(sum, number(27u), number(28u));
}
);
static const char max_pool[] = WGSL(
  let x0 = word(4u) + b * word(5u) + oc * word(6u);
  var m = -inf();
  for (var r = 0u; r < HEIGHT; r++) {
    let h = h0 + i32(r * word(17u));
    if (h < 0 || h >= i32(word(9u))) { continue; }
    for (var q = 0u; q < WIDTH; q++) {
      let w = w0 + i32(q * word(18u));
      if (w < 0 || w >= i32(word(10u))) { continue; }
      m = larger(m, in0[x0 + u32(h) * word(7u) + u32(w) * word(8u)]);
    }
  }
  out[i] = m;
}
);
/* Its words are those of a convolution. */
static const char transposed[] = WGSL(
  let x0 = word(4u) + b * word(5u) + oc / word(20u) * word(19u) * word(6u);
  let y0 = word(21u) + oc / word(20u) * word(19u) * word(22u) + oc % word(20u) * word(23u);
  var sum = 0.0;
  for (var r = 0u; r < HEIGHT; r++) {
    let h = (oh + word(15u) - r * word(17u)) / word(13u);
    if (oh + word(15u) < r * word(17u) || h >= word(9u)) { continue; }
    if (h * word(13u) + r * word(17u) != oh + word(15u)) { continue; }
    for (var q = 0u; q < WIDTH; q++) {
      let w = (ow + word(16u) - q * word(18u)) / word(14u);
      if (ow + word(16u) < q * word(18u) || w >= word(10u)) { continue; }
      if (w * word(14u) + q * word(18u) != ow + word(16u)) { continue; }
      for (var c = 0u; c < word(19u); c++) {
        sum = fma(in0[x0 + c * word(6u) + h * word(7u) + w * word(8u)],
                  at1(y0 + c * word(22u) + r * word(24u) + q * word(25u)), sum);
      }
    }
  }
);
/* clang-format on */

typedef struct window {
  const rush_tensor *x, *w, *bias; /* w is NULL for pooling */
  int dims;                        /* spatial dimensions: 1 or 2 */
  int64_t kernel[2], stride[2], before[2], after[2], dilation[2], groups;
  float min, max;
  bool ceils, transposed, last; /* last: the result is channels-last */
} window;

/* Returns whether the text has the sizes of a window, so that loops over it can be unrolled. */
static bool is_small(const window *a) {
  return a->kernel[0] <= 8 && a->kernel[1] <= 8;
}

static void write_window(rush_text *t, const void *what) {
  const window *a = what;
  rush_gpu_write_images(t, a->last);
  rush_text_bytes(t, head, sizeof head - 1);
  if (is_small(a))
    rush_text_add(t, "const HEIGHT = %uu; const WIDTH = %uu;\n", (unsigned)a->kernel[0],
                  (unsigned)a->kernel[1]);
  else
    rush_text_add(t, "let HEIGHT = word(11u); let WIDTH = word(12u);\n");
  if (!a->w) {
    rush_text_bytes(t, max_pool, sizeof max_pool - 1);
    return;
  }
  rush_text_add(t, "%s", a->transposed ? transposed : convolution);
  if (a->bias) rush_text_add(t, "sum += in2[word(26u) + oc];\n");
  rush_text_bytes(t, limits, sizeof limits - 1);
}

/* Computes the sizes of the result [batch, channels, (height,) width]. */
static bool result_sizes(const window *a, int64_t channels, int64_t *sizes) {
  sizes[0] = a->x->sizes[0];
  sizes[1] = channels;
  for (int d = 0; d < a->dims; d++) {
    const int k = 2 - a->dims + d;
    const int64_t reach = a->dilation[k] * (a->kernel[k] - 1) + 1, stride = a->stride[k];
    if (a->transposed) {
      sizes[2 + d] = (a->x->sizes[2 + d] - 1) * stride - a->before[k] - a->after[k] + reach;
      if (stride < 1 || a->kernel[k] < 1 || a->dilation[k] < 1 || sizes[2 + d] < 1) return false;
      continue;
    }
    if (stride < 1 || a->kernel[k] < 1 || a->dilation[k] < 1) return false;
    sizes[2 + d] = rush_gpu_count_windows(a->x->sizes[2 + d], a->before[k], a->after[k], reach,
                                          stride, a->ceils);
    if (sizes[2 + d] == 0) return false;
  }
  return true;
}

static uint32_t at(const int64_t *list, int dims, int d) {
  return d >= 2 - dims ? (uint32_t)list[d - (2 - dims)] : 1;
}

static void place(const window *a, const rush_tensor *out, uint32_t *p) {
  rush_gpu_place_images(a->x, out, p);
  for (int d = 0; d < 2; d++) {
    p[11 + d] = (uint32_t)a->kernel[d], p[13 + d] = (uint32_t)a->stride[d];
    p[15 + d] = (uint32_t)a->before[d], p[17 + d] = (uint32_t)a->dilation[d];
  }
  if (!a->w) return;
  const uint32_t of_group = (uint32_t)(a->w->sizes[0] / a->groups),
                 other = (uint32_t)a->w->sizes[1];
  p[19] = a->transposed ? of_group : other, p[20] = a->transposed ? other : of_group;
  p[21] = (uint32_t)a->w->offset;
  p[22] = (uint32_t)a->w->strides[0], p[23] = (uint32_t)a->w->strides[1];
  p[24] = at(a->w->strides + 2, a->dims, 0), p[25] = at(a->w->strides + 2, a->dims, 1);
  p[26] = a->bias ? (uint32_t)a->bias->offset : 0;
  memcpy(p + 27, &a->min, sizeof a->min);
  memcpy(p + 28, &a->max, sizeof a->max);
}

/* Returns how many elements of the input an element of the result reads, at most. */
static uint64_t steps_of(const window *a) {
  const uint64_t taps = (uint64_t)a->kernel[0] * (uint64_t)a->kernel[1];
  if (!a->w || taps > UINT32_MAX) return taps;
  return taps * (uint64_t)(a->transposed ? a->w->sizes[0] / a->groups : a->w->sizes[1]);
}

static rush_status run_window(rush_gpu *g, rush_call *c, const window *a, const int64_t *sizes) {
  rush_gpu_job job = {.g = g, .c = c};
  const char weight = a->w ? rush_gpu_letter(a->w) : 0,
             types[] = {'f', weight ? weight : 'f', a->w ? 'f' : 0, a->bias ? 'f' : 0, 0};
  const bool small = is_small(a);
  const uint32_t key[] = {'w',
                          (uint32_t)weight,
                          a->bias != NULL,
                          a->transposed + 2u * a->last,
                          small ? (uint32_t)a->kernel[0] : 0,
                          small ? (uint32_t)a->kernel[1] : 0};
  RUSH_TRY(rush_gpu_new_images(g, c, a->x->rank, sizes, a->last));
  const rush_tensor *out = rush_as_tensor(c->results);
  if (out->numel == 0) return RUSH_OK;
  RUSH_TRY(rush_gpu_bind(&job, a->x));
  if (a->w) RUSH_TRY(rush_gpu_bind(&job, a->w));
  if (a->bias) RUSH_TRY(rush_gpu_bind(&job, a->bias));
  RUSH_TRY(rush_gpu_bind(&job, out));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 6, types, write_window, a));
  place(a, out, job.params);
  return rush_gpu_dispatch_elements(&job, (uint64_t)out->numel, steps_of(a));
}

/* ---- As a product --------------------------------------------------------------------------- */

/* Returns whether the elements of each channel's weight follow each other pixel by pixel. */
static bool is_channels_last(const rush_tensor *w) {
  int64_t step = w->sizes[1];
  if (w->sizes[1] > 1 && w->strides[1] != 1) return false;
  for (int d = w->rank - 1; d >= 2; step *= w->sizes[d--])
    if (w->sizes[d] > 1 && w->strides[d] != step) return false;
  return w->sizes[0] == 1 || w->strides[0] == step;
}

/* Returns whether a convolution has enough channels for tiles, in each group. */
static bool is_product(const window *a, const int64_t *sizes) {
  enum { CHANNELS = 8, ELEMENTS = 16 }; /* at least */
  const rush_tensor *w = a->w;
  return !a->transposed && w->sizes[0] / a->groups >= CHANNELS &&
         w->sizes[1] * a->kernel[0] * a->kernel[1] >= ELEMENTS &&
         sizes[0] * a->groups <= RUSH_GPU_GROUPS && (rush_is_contiguous(w) || is_channels_last(w));
}

static rush_gpu_pixels pixels_of(const window *a, const rush_tensor *out) {
  const rush_tensor *x = a->x;
  rush_gpu_pixels p = {.channels_last = !rush_is_contiguous(a->w)};
  p.words[0] = at(x->sizes + 2, a->dims, 0), p.words[1] = at(x->sizes + 2, a->dims, 1);
  p.words[2] = (uint32_t)(p.channels_last ? a->w->sizes[1] : a->kernel[0] * a->kernel[1]);
  p.words[3] = (uint32_t)a->kernel[1];
  for (int d = 0; d < 2; d++) {
    p.words[4 + d] = (uint32_t)a->stride[d], p.words[6 + d] = (uint32_t)a->before[d];
    p.words[8 + d] = (uint32_t)a->dilation[d];
  }
  p.words[10] = at(out->sizes + 2, a->dims, 1);
  p.words[11] = (uint32_t)x->strides[1];
  p.words[12] = at(x->strides + 2, a->dims, 0), p.words[13] = at(x->strides + 2, a->dims, 1);
  return p;
}

/* Returns whether a window is a pixel, and pixels follow each other row by row. */
static bool is_pointwise(const window *a) {
  const rush_tensor *x = a->x;
  for (int d = 0; d < 2; d++)
    if (a->kernel[d] != 1 || a->stride[d] != 1 || a->before[d] || a->after[d]) return false;
  return a->dims == 1 || x->strides[2] == x->sizes[3] * x->strides[3];
}

/* Multiplies the weight [channels, k] of each group with the windows [k, pixels] of each sample. */
static rush_status multiply(rush_gpu *g, rush_call *c, const window *a, const int64_t *sizes) {
  const rush_tensor *x = a->x, *w = a->w;
  RUSH_TRY(rush_gpu_new_images(g, c, x->rank, sizes, a->last));
  const rush_tensor *out = rush_as_tensor(c->results);
  const int64_t m = w->sizes[0] / a->groups, k = w->numel / w->sizes[0];
  if (out->numel == 0) return RUSH_OK;
  const rush_gpu_pixels pixels = pixels_of(a, out);
  rush_gpu_product p = rush_gpu_plain_product(m, out->numel / (sizes[0] * w->sizes[0]), k);
  p.batch[0] = sizes[0], p.batch[1] = a->groups;
  p.a = (rush_gpu_matrix){.t = w, .offset = w->offset, .row = k, .col = 1, .batch = {0, m * k}};
  p.b = (rush_gpu_matrix){
      .t = x, .offset = x->offset, .row = x->strides[1], .col = x->strides[x->rank - 1]};
  p.b.batch[0] = x->strides[0], p.b.batch[1] = w->sizes[1] * x->strides[1];
  if (!is_pointwise(a)) p.pixels = &pixels;
  if (a->bias)
    p.added = (rush_gpu_matrix){.t = a->bias, .offset = a->bias->offset, .row = 1, .batch = {0, m}};
  p.min = a->min, p.max = a->max;
  p.out = (rush_gpu_matrix){.t = out, .offset = out->offset, .row = out->strides[1]};
  p.out.col = out->strides[x->rank - 1];
  p.out.batch[0] = out->strides[0], p.out.batch[1] = m * out->strides[1];
  return rush_gpu_multiply(g, c, &p);
}

/* Returns whether the strides are those of a new tensor, also in dimensions of size 1. */
static bool is_as_new(const rush_tensor *t) {
  int64_t strides[RUSH_MAX_RANK];
  rush_strides_contiguous(t->rank, t->sizes, strides);
  return memcmp(strides, t->strides, t->rank * sizeof *strides) == 0;
}

/* Returns whether PyTorch's result is channels-last. `format`: the weight's, or negative. */
static bool gives_channels_last(const window *a, const int64_t *sizes, int64_t format) {
  rush_tensor x = *a->x, w = *a->w;
  x.sizes[1] /= a->groups; /* groups are convolved separately and concatenated */
  w.sizes[0] /= a->groups;
  /* cat cannot tell the format of a single element */
  if (a->dims == 1 || (a->groups > 1 && sizes[1] == a->groups && sizes[2] * sizes[3] == 1))
    return false;
  return rush_gpu_is_channels_last(&x) ||
         (format < 0 ? rush_gpu_is_channels_last(&w) : format == RUSH_FORMAT_CHANNELS_LAST);
}

/* PyTorch sees an input of conv1d as an image, and makes it contiguous. Returns false if
 * dimensions of size 1 have strides that could change the format of the result. */
static bool is_plain_line(const window *a, int64_t format) {
  return (is_as_new(a->x) || !rush_is_contiguous(a->x)) &&
         (format < 0 ? is_as_new(a->w) : format == RUSH_FORMAT_CONTIGUOUS);
}

static bool run_conv(rush_gpu *g, rush_call *c, window *a, int64_t format, rush_status *st) {
  int64_t sizes[RUSH_MAX_RANK];
  const rush_tensor *x = a->x, *w = a->w;
  if (!rush_gpu_can_read_images(x) || !rush_gpu_can_read_real(w) || rush_is_turned(w) ||
      w->numel == 0)
    return false;
  if (x->rank != a->dims + 2 || a->groups < 1 || w->sizes[0] % a->groups != 0 ||
      x->sizes[1] != (a->transposed ? w->sizes[0] : w->sizes[1] * a->groups) ||
      (a->dims == 1 && !is_plain_line(a, format)))
    return false;
  const int64_t channels = a->transposed ? w->sizes[1] * a->groups : w->sizes[0];
  if (a->bias && (!rush_gpu_can_read(a->bias) || a->bias->rank != 1 ||
                  a->bias->sizes[0] != channels || a->bias->strides[0] != 1))
    return false;
  a->kernel[0] = 1;
  for (int d = 0; d < a->dims; d++) a->kernel[2 - a->dims + d] = w->sizes[2 + d];
  if (!result_sizes(a, channels, sizes) || !rush_gpu_fits_images(x->rank, sizes)) return false;
  a->last = gives_channels_last(a, sizes, format);
  *st = is_product(a, sizes) ? multiply(g, c, a, sizes) : run_window(g, c, a, sizes);
  return true;
}

/* number: 0 for rush::conv, otherwise the dimensions of aten::conv1d and aten::conv2d. */
bool rush_gpu_conv(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *w = arg_tensor(c, 1);
  window a = {.x = arg_tensor(c, 0), .w = w, .bias = arg_tensor(c, 2), .dims = w->rank - 2};
  int64_t padding[2 * RUSH_MAX_RANK];
  int n;
  if (a.dims < 1 || a.dims > 2 || !rush_gpu_read_list(c, 3, a.dims, NULL, a.stride) ||
      !rush_gpu_read_list(c, 5, a.dims, NULL, a.dilation) ||
      arg_ints(c, 4, 2 * RUSH_MAX_RANK, padding, &n) != RUSH_OK)
    return false;
  const bool is_rush_conv = row->number == 0;
  if (is_rush_conv ? n != 2 * a.dims : n != 1 && n != a.dims) return false;
  for (int d = 0; d < a.dims; d++) {
    const int k = 2 - a.dims + d;
    a.before[k] = padding[is_rush_conv ? 2 * d : n == 1 ? 0 : d];
    a.after[k] = is_rush_conv ? padding[2 * d + 1] : a.before[k];
    if (a.before[k] < 0 || a.before[k] > 1 << 24 || a.after[k] < 0 || a.after[k] > 1 << 24)
      return false;
  }
  a.groups = arg_int(c, 6);
  a.min = is_rush_conv ? (float)arg_float(c, 7) : -INFINITY;
  a.max = is_rush_conv ? (float)arg_float(c, 8) : INFINITY;
  return run_conv(g, c, &a, is_rush_conv ? arg_int(c, 9) : -1, st);
}

/* rush::scaled_conv, whose argument 1 is a factor of the input. */
bool rush_gpu_scaled_conv(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0), *factor = arg_tensor(c, 1);
  rush_value args[10]; /* of rush::conv */
  rush_tensor *scaled;
  if (!rush_gpu_can_read_images(x) || !rush_gpu_can_copy(x, factor) || factor->rank != x->rank ||
      rush_is_turned(factor) || x->rank != arg_tensor(c, 2)->rank)
    return false;
  for (int d = 0; d < x->rank; d++)
    if (factor->sizes[d] != 1 && factor->sizes[d] != x->sizes[d]) return false;
  const bool last = rush_gpu_is_channels_last(x);
  if (!rush_is_in_format(x, last ? RUSH_FORMAT_CHANNELS_LAST : RUSH_FORMAT_CONTIGUOUS))
    return false;
  *st = rush_gpu_scale(g, c, x, factor, x->strides, &scaled);
  if (*st != RUSH_OK) return true;
  args[0] = rush_of_tensor(scaled);
  memcpy(args + 1, c->args + 2, 9 * sizeof *args);
  rush_call sub = *c;
  sub.args = args;
  sub.n_args = 10;
  sub.last_use = 0;
  return rush_gpu_conv(g, &sub, row, st);
}

/* Where the arguments are that follow the bias and the stride. */
typedef struct places {
  uint32_t padding, dilation, output_padding, groups;
} places;

/* The output padding of a transposed convolution is at the end. */
static bool conv_at(rush_gpu *g, rush_call *c, const places *p, bool transposes, rush_status *st) {
  const rush_tensor *w = arg_tensor(c, 1);
  window a = {.x = arg_tensor(c, 0),
              .w = w,
              .bias = arg_tensor(c, 2),
              .dims = w->rank - 2,
              .transposed = transposes,
              .groups = arg_int(c, p->groups),
              .min = -INFINITY,
              .max = INFINITY};
  int64_t output_padding[2];
  if (a.dims < 1 || a.dims > 2 || !rush_gpu_read_list(c, 3, a.dims, NULL, a.stride) ||
      !rush_gpu_read_list(c, p->padding, a.dims, NULL, a.before) ||
      !rush_gpu_read_list(c, p->output_padding, a.dims, NULL, output_padding) ||
      !rush_gpu_read_list(c, p->dilation, a.dims, NULL, a.dilation))
    return false;
  if (a.dims == 1) a.before[0] = output_padding[0] = 0;
  for (int d = 0; d < 2; d++) {
    const int64_t most = a.stride[d] > a.dilation[d] ? a.stride[d] : a.dilation[d];
    if (transposes && output_padding[d] >= most) return false;
    a.after[d] = a.before[d] - (transposes ? output_padding[d] : 0);
  }
  return run_conv(g, c, &a, -1, st);
}

/* number: the dimensions of aten::conv_transpose1d and 2d. */
bool rush_gpu_conv_transpose(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  return arg_tensor(c, 1)->rank == row->number + 2 &&
         conv_at(g, c, &(places){.padding = 4, .output_padding = 5, .groups = 6, .dilation = 7},
                 true, st);
}

/* aten::convolution, whose argument 6 says whether it is transposed. */
bool rush_gpu_convolution(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  (void)row;
  return conv_at(g, c, &(places){.padding = 4, .dilation = 5, .output_padding = 7, .groups = 8},
                 arg_bool(c, 6), st);
}

/* number: the dimensions. */
bool rush_gpu_max_pool(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  window a = {.x = arg_tensor(c, 0), .dims = row->number, .ceils = arg_bool(c, 5)};
  int64_t sizes[RUSH_MAX_RANK];
  if (!rush_gpu_can_read_images(a.x) || a.x->rank != a.dims + 2 ||
      !rush_gpu_read_list(c, 1, a.dims, NULL, a.kernel) ||
      !rush_gpu_read_list(c, 2, a.dims, a.kernel, a.stride) ||
      !rush_gpu_read_list(c, 3, a.dims, NULL, a.before) ||
      !rush_gpu_read_list(c, 4, a.dims, NULL, a.dilation))
    return false;
  if (a.dims == 1) a.before[0] = 0;
  for (int d = 0; d < 2; d++) {
    if (a.before[d] > a.kernel[d] / 2) return false;
    a.after[d] = a.before[d];
  }
  if (!result_sizes(&a, a.x->sizes[1], sizes)) return false;
  a.last = rush_gpu_is_channels_last(a.x);
  *st = run_window(g, c, &a, sizes);
  return true;
}
