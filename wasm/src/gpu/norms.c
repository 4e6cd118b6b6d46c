/* Rows that normalize: layer_norm, rms_norm, group_norm and batch_norm. */
#include "gpu/lines.h"
#include "tensor/layout.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
static const char statistics[] = WGSL(
  var s = 0.0;
  for (var j = l; j < n; j += 64u) { s += in0[at + j] - in0[at]; }
  let mean = in0[at] + sum_of(l, s) / f32(n);
  s = 0.0;
  for (var j = l; j < n; j += 64u) { let d = in0[at + j] - mean; s = fma(d, d, s); }
  let scale = 1.0 / sqrt(sum_of(l, s) / f32(n) + number(12u));
);
static const char layer_norm[] = WGSL(
  for (var j = l; j < n; j += 64u) { out[first + j] = scaled((in0[at + j] - mean) * scale, j); }
}
);
/* 17 groups, 18 channels of a group, 19 elements of a channel. */
static const char group_norm[] = WGSL(
  for (var j = l; j < n; j += 64u) {
    let channel = line % word(17u) * word(18u) + j / word(19u);
    out[first + j] = scaled((in0[at + j] - mean) * scale, channel);
  }
}
);
static const char rms_norm[] = WGSL(
  var s = 0.0;
  for (var j = l; j < n; j += 64u) { let d = in0[at + j]; s = fma(d, d, s); }
  let scale = 1.0 / sqrt(sum_of(l, s) / f32(n) + number(12u));
  for (var j = l; j < n; j += 64u) { out[first + j] = scaled(in0[at + j] * scale, j); }
}
);
/* A line is a channel of a sample. 17 channels. */
static const char batch_norm[] = WGSL(
  let channel = line % word(17u);
  let mean = in3[channel + word(15u)];
  let scale = 1.0 / sqrt(in4[channel + word(16u)] + number(12u));
  for (var j = l; j < n; j += 64u) {
    out[first + j] = scaled((in0[at + j] - mean) * scale, channel);
  }
}
);
/* scaled(value, j) has the factors and terms that there are. */
static const char as_is[] = WGSL(
fn scaled(v: f32, j: u32) -> f32 { return v; }
);
static const char factors[] = WGSL(
fn scaled(v: f32, j: u32) -> f32 { return v * in1[j + word(13u)]; }
);
static const char factors_and_terms[] = WGSL(
fn scaled(v: f32, j: u32) -> f32 { return fma(v, in1[j + word(13u)], in2[j + word(14u)]); }
);
/* clang-format on */

static bool is_scale(const rush_tensor *t, int64_t n) {
  return !t || (rush_gpu_can_read(t) && t->numel == n && rush_is_contiguous(t));
}

/* Takes factors and terms of n elements each. Returns false if the kernels cannot. */
static bool take_scale(rush_gpu_lines *k, const rush_tensor *w, const rush_tensor *b, int64_t n) {
  if (!is_scale(w, n) || !is_scale(b, n) || (b && !w)) return false;
  k->more[0] = w;
  k->more[1] = b;
  k->functions = b ? factors_and_terms : w ? factors : as_is;
  return true;
}

/* Reads normalized_shape, argument 1. Returns false if it does not fit. */
static bool read_shape(rush_call *c, const rush_tensor *x, uint32_t *numel) {
  int64_t shape[RUSH_MAX_RANK];
  int n;
  if (arg_ints(c, 1, RUSH_MAX_RANK, shape, &n) != RUSH_OK || n < 1 || n > x->rank) return false;
  *numel = 1;
  for (int d = 0; d < n; d++) {
    if (x->sizes[x->rank - n + d] != shape[d]) return false;
    *numel *= (uint32_t)shape[d];
  }
  return true;
}

static bool run_norm(rush_gpu *g, rush_call *c, rush_gpu_lines *k, rush_status *st) {
  rush_tensor *x = arg_tensor(c, 0);
  k->step = 1;
  k->lines = (uint32_t)x->numel / k->n;
  *st = rush_gpu_row_major(g, c, x, &x);
  if (*st == RUSH_OK) *st = rush_gpu_result(g, c, x->rank, x->sizes, NULL);
  if (*st == RUSH_OK) *st = rush_gpu_run_lines(g, c, k, x, rush_as_tensor(c->results));
  return true;
}

bool rush_gpu_layer_norm(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_gpu_lines k = {.name = 'n', .text = {statistics, layer_norm}};
  (void)row;
  k.number = (float)arg_float(c, 4);
  return rush_gpu_is_plain(x) && x->numel > 0 && read_shape(c, x, &k.n) &&
         take_scale(&k, arg_tensor(c, 2), arg_tensor(c, 3), k.n) && run_norm(g, c, &k, st);
}

/* number: 1 for rush::rms_norm(Tensor self, float eps). */
bool rush_gpu_rms_norm(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_gpu_lines k = {.name = 'r', .text = {rms_norm}};
  const uint32_t eps = row->number ? 1 : 3;
  k.number = arg_is_none(c, eps) ? 0x1p-23f : (float)arg_float(c, eps);
  if (!rush_gpu_is_plain(x) || x->numel == 0 || x->rank == 0 || !rush_is_contiguous(x))
    return false;
  if (row->number)
    k.n = (uint32_t)x->sizes[x->rank - 1];
  else if (!read_shape(c, x, &k.n))
    return false;
  return take_scale(&k, row->number ? NULL : arg_tensor(c, 2), NULL, k.n) && run_norm(g, c, &k, st);
}

/* Returns whether a tensor has samples and channels, and PyTorch's result is contiguous. */
static bool has_channels(const rush_tensor *x) {
  return rush_gpu_is_plain(x) && x->numel > 0 && x->rank >= 2 && rush_is_contiguous(x) &&
         rush_suggest_format(x) == RUSH_FORMAT_CONTIGUOUS;
}

bool rush_gpu_group_norm(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  const int64_t groups = arg_int(c, 1);
  rush_gpu_lines k = {.name = 'o', .text = {statistics, group_norm}};
  (void)row;
  if (!has_channels(x) || groups < 1 || x->sizes[1] % groups != 0 ||
      !take_scale(&k, arg_tensor(c, 2), arg_tensor(c, 3), x->sizes[1]))
    return false;
  k.number = (float)arg_float(c, 4);
  k.n = (uint32_t)(x->numel / (x->sizes[0] * groups));
  k.words[0] = (uint32_t)groups;
  k.words[1] = (uint32_t)(x->sizes[1] / groups);
  k.words[2] = (uint32_t)(x->numel / (x->sizes[0] * x->sizes[1]));
  return run_norm(g, c, &k, st);
}

/* instance_norm with the statistics of the input, and no running ones. */
bool rush_gpu_instance_norm(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  rush_gpu_lines k = {.name = 'o', .text = {statistics, group_norm}};
  (void)row;
  if (!arg_bool(c, 5) || arg_tensor(c, 3) || arg_tensor(c, 4) || !rush_gpu_is_plain(x) ||
      x->numel == 0 || x->rank < 2 ||
      !take_scale(&k, arg_tensor(c, 1), arg_tensor(c, 2), x->sizes[1]))
    return false;
  k.number = (float)arg_float(c, 7);
  k.n = (uint32_t)(x->numel / (x->sizes[0] * x->sizes[1]));
  k.words[0] = (uint32_t)x->sizes[1], k.words[1] = 1, k.words[2] = k.n;
  return run_norm(g, c, &k, st);
}

/* batch_norm with running statistics, factors and terms. */
bool rush_gpu_batch_norm(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0), *mean = arg_tensor(c, 3), *var = arg_tensor(c, 4);
  rush_gpu_lines k = {.name = 'b', .text = {batch_norm}};
  (void)row;
  if (arg_bool(c, 5) || !mean || !var || !has_channels(x) || !arg_tensor(c, 2) ||
      !take_scale(&k, arg_tensor(c, 1), arg_tensor(c, 2), x->sizes[1]) ||
      !is_scale(mean, x->sizes[1]) || !is_scale(var, x->sizes[1]))
    return false;
  k.more[2] = mean;
  k.more[3] = var;
  k.number = (float)arg_float(c, 7);
  k.n = (uint32_t)(x->numel / (x->sizes[0] * x->sizes[1]));
  k.words[0] = (uint32_t)x->sizes[1];
  return run_norm(g, c, &k, st);
}
