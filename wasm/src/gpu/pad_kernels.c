/* Padding with a number: the result is filled, and the input is copied into it. */
#include "gpu/walk.h"
#include "tensor/layout.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Parameters: 0 elements, 1 a number. */
static const char fill[] = WGSL(
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let i = group_of(g, ng) * 64u + l;
  if (i < word(0u)) { out[i] = number(1u); }
}
);
/* clang-format on */

static void write_fill(rush_text *t, const void *what) {
  (void)what;
  rush_text_bytes(t, fill, sizeof fill - 1);
}

static rush_status fill_with(rush_gpu *g, rush_call *c, const rush_tensor *t, float v) {
  rush_gpu_job job = {.g = g, .c = c};
  const uint32_t key = 'v';
  RUSH_TRY(rush_gpu_bind(&job, t));
  RUSH_TRY(rush_gpu_find_pipeline(&job, &key, 1, "f", write_fill, NULL));
  job.params[0] = (uint32_t)t->numel;
  memcpy(job.params + 1, &v, sizeof v);
  return rush_gpu_dispatch_elements(&job, (uint64_t)t->numel, 1);
}

/* Reads argument 1: pairs from the last dimension on. Returns false if some are negative. */
static bool read_pairs(rush_call *c, const rush_tensor *x, int64_t *front, int64_t *sizes) {
  int64_t list[2 * RUSH_MAX_RANK], numel;
  int n;
  if (arg_ints(c, 1, 2 * RUSH_MAX_RANK, list, &n) != RUSH_OK || n % 2 != 0 || n / 2 > x->rank)
    return false;
  memcpy(sizes, x->sizes, (size_t)x->rank * sizeof *sizes);
  for (int k = 0; k < n / 2; k++) {
    const int d = x->rank - 1 - k;
    if (list[2 * k] < 0 || list[2 * k] > 1 << 24 || list[2 * k + 1] < 0 ||
        list[2 * k + 1] > 1 << 24)
      return false;
    front[d] = list[2 * k];
    sizes[d] += list[2 * k] + list[2 * k + 1];
  }
  return rush_numel(x->rank, sizes, &numel) && numel > x->numel && numel < INT32_MAX;
}

static rush_status run_pad(rush_gpu *g, rush_call *c, const rush_tensor *x, const int64_t *front,
                           const int64_t *sizes, float v) {
  RUSH_TRY(rush_gpu_result(g, c, x->rank, sizes, NULL));
  const rush_tensor *out = rush_as_tensor(c->results);
  RUSH_TRY(fill_with(g, c, out, v));
  rush_tensor part = *out;
  part.numel = x->numel;
  for (int d = 0; d < x->rank; d++) {
    part.sizes[d] = x->sizes[d];
    part.offset += front[d] * out->strides[d];
  }
  return rush_gpu_copy(g, c, &part, x);
}

/* number: the argument with the value. aten::pad has its mode before it. */
bool rush_gpu_pad(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  const uint32_t value = (uint32_t)row->number;
  int64_t front[RUSH_MAX_RANK] = {0}, sizes[RUSH_MAX_RANK];
  if (value == 3 && strncmp(arg_str(c, 2)->bytes, "constant", sizeof "constant") != 0) return false;
  if (!rush_gpu_can_read(x) || rush_is_turned(x) || x->numel == 0 || !rush_is_contiguous(x) ||
      rush_suggest_format(x) != RUSH_FORMAT_CONTIGUOUS || x->rank > RUSH_GPU_DIMS ||
      c->args[value].kind == RUSH_KIND_COMPLEX || !read_pairs(c, x, front, sizes))
    return false;
  *st = run_pad(g, c, x, front, sizes,
                arg_is_none(c, value) ? 0 : (float)arg_scalar_double(c, value));
  return true;
}
