/* rush::rotate_half: rotary positions (Su et al., "RoFormer"). */
#include "gpu/walk.h"
#include "tensor/layout.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Parameters: 8 elements, 9 of a row, 10 where rows are split. */
static const char head[] = WGSL(
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let to = group_of(g, ng) * 64u + l;
  if (to >= word(8u)) { return; }
  let j = to % word(9u);
  let i = to - j + (j + word(10u)) % word(9u);
);
static const char end[] = WGSL(
  let v = bitcast<u32>(in0[a0]);
  out[to] = bitcast<f32>(select(v, v ^ 0x80000000u, j < word(9u) - word(10u)));
}
);
/* clang-format on */

static void write_rotation(rush_text *t, const void *what) {
  rush_text_bytes(t, head, sizeof head - 1);
  rush_gpu_write_walk(t, what);
  rush_text_bytes(t, end, sizeof end - 1);
}

static rush_status run(rush_gpu *g, rush_call *c, const rush_tensor *x, const rush_gpu_walk *walk,
                       int64_t split) {
  rush_gpu_job job = {.g = g, .c = c};
  const uint32_t key[] = {'r', rush_gpu_key_walk(walk)};
  RUSH_TRY(rush_gpu_bind(&job, x));
  RUSH_TRY(rush_gpu_result(g, c, x->rank, x->sizes, NULL));
  RUSH_TRY(rush_gpu_bind(&job, rush_as_tensor(c->results)));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 2, "ff", write_rotation, walk));
  job.params[8] = walk->numel;
  job.params[9] = (uint32_t)x->sizes[x->rank - 1];
  job.params[10] = (uint32_t)split;
  rush_gpu_place_walk(walk, job.params);
  return rush_gpu_dispatch_elements(&job, walk->numel, 1);
}

/* Along the last dimension, of tensors whose result is row-major. */
bool rush_gpu_rotate_half(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  const int64_t split = arg_int(c, 2);
  int64_t strides[RUSH_MAX_RANK];
  int from, to;
  rush_gpu_walk walk;
  (void)row;
  if (!rush_gpu_can_rearrange(x) || rush_is_turned(x) || x->rank == 0 || x->numel == 0 ||
      rush_suggest_format(x) != RUSH_FORMAT_CONTIGUOUS ||
      arg_dim(c, 1, x->rank, &from) != RUSH_OK || arg_dim(c, 3, x->rank, &to) != RUSH_OK ||
      from != x->rank - 1 || to != from || split < 0 || split > x->sizes[from])
    return false;
  rush_strides_contiguous(x->rank, x->sizes, strides);
  if (!rush_gpu_plan_walk(&walk, x->rank, x->sizes, strides, 1, &x)) return false;
  *st = run(g, c, x, &walk, split);
  return true;
}
