#include "gpu/images.h"

#include "tensor/layout.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
static const char begin[] = WGSL(
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let i = group_of(g, ng) * 64u + l;
  if (i >= word(0u)) { return; }
  let b = i / (word(3u) * word(2u) * word(1u));
);
static const char contiguous[] = WGSL(
  let ow = i % word(3u); let oh = i / word(3u) % word(2u);
  let oc = i / (word(3u) * word(2u)) % word(1u);
);
static const char channels_last[] = WGSL(
  let oc = i % word(1u); let ow = i / word(1u) % word(3u);
  let oh = i / (word(1u) * word(3u)) % word(2u);
);
/* clang-format on */

bool rush_gpu_can_read_images(const rush_tensor *x) {
  return rush_gpu_can_read(x) && !rush_is_turned(x) && x->numel > 0;
}

bool rush_gpu_is_channels_last(const rush_tensor *x) {
  return rush_suggest_format(x) == RUSH_FORMAT_CHANNELS_LAST;
}

bool rush_gpu_fits_images(int rank, const int64_t *sizes) {
  int64_t numel;
  return rush_numel(rank, sizes, &numel) && numel < INT32_MAX;
}

bool rush_gpu_read_list(rush_call * c, uint32_t arg, int dims, const int64_t *otherwise,
                        int64_t out[2]) {
  int64_t list[RUSH_MAX_RANK];
  int n;
  out[0] = out[1] = 1;
  if (arg_ints(c, arg, RUSH_MAX_RANK, list, &n) != RUSH_OK) return false;
  if (n == 0 && otherwise) {
    out[0] = otherwise[0], out[1] = otherwise[1];
    return true;
  }
  if (n != 1 && n != dims) return false;
  for (int d = 0; d < dims; d++) {
    out[2 - dims + d] = list[n == 1 ? 0 : d];
    if (out[2 - dims + d] < 0 || out[2 - dims + d] >= 1 << 24) return false;
  }
  return true;
}

int64_t rush_gpu_count_windows(int64_t n, int64_t before, int64_t after, int64_t reach,
                               int64_t stride, bool ceils) {
  const int64_t room = n + before + after - reach;
  if (room < 0) return 0;
  const int64_t count = (room + (ceils ? stride - 1 : 0)) / stride + 1;
  /* The last window must begin inside the input or its padding. */
  return ceils && (count - 1) * stride >= n + before ? count - 1 : count;
}

rush_status rush_gpu_new_images(rush_gpu * g, rush_call * c, int rank, const int64_t *sizes,
                                bool last) {
  int64_t strides[RUSH_MAX_RANK];
  if (!last) return rush_gpu_result(g, c, rank, sizes, NULL);
  strides[1] = 1;
  strides[3] = sizes[1];
  strides[2] = strides[3] * sizes[3];
  strides[0] = strides[2] * sizes[2];
  return rush_gpu_result(g, c, rank, sizes, strides);
}

void rush_gpu_write_images(rush_text * t, bool last) {
  rush_text_bytes(t, begin, sizeof begin - 1);
  rush_text_add(t, "%s", last ? channels_last : contiguous);
}

void rush_gpu_place_images(const rush_tensor *x, const rush_tensor *out, uint32_t *words) {
  const bool has_height = x->rank == 4;
  const int w = x->rank - 1;
  words[0] = (uint32_t)out->numel, words[1] = (uint32_t)out->sizes[1];
  words[2] = has_height ? (uint32_t)out->sizes[2] : 1, words[3] = (uint32_t)out->sizes[w];
  words[4] = (uint32_t)x->offset;
  words[5] = (uint32_t)x->strides[0], words[6] = (uint32_t)x->strides[1];
  words[7] = has_height ? (uint32_t)x->strides[2] : 1, words[8] = (uint32_t)x->strides[w];
  words[9] = has_height ? (uint32_t)x->sizes[2] : 1, words[10] = (uint32_t)x->sizes[w];
}
