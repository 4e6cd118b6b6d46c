/* glu: a half of a tensor, multiplied with the sigmoid of the other half. */
#include "gpu/walk.h"
#include "tensor/layout.h"

static void write_gate(rush_text *t, const void *what) {
  static const char *const functions[] = {"sigmoid_"};
  rush_gpu_functions(t, functions, 1);
  rush_text_add(t,
                "@compute @workgroup_size(64)\n"
                "fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: "
                "vec3<u32>,\n@builtin(local_invocation_index) l: u32) {\n"
                "let i = group_of(g, ng) * 64u + l;\nif (i >= word(8u)) { return; }\n");
  rush_gpu_write_walk(t, what);
  rush_text_add(t, "out[i] = in0[a0] * sigmoid_(in0[a1]);\n}\n");
}

static rush_status run(rush_gpu *g, rush_call *c, const rush_tensor *halves,
                       const rush_gpu_walk *walk, const int64_t *strides) {
  rush_gpu_job job = {.g = g, .c = c};
  const uint32_t key[] = {'G', rush_gpu_key_walk(walk)};
  RUSH_TRY(rush_gpu_bind(&job, halves));
  RUSH_TRY(rush_gpu_result(g, c, halves->rank, halves->sizes, strides));
  RUSH_TRY(rush_gpu_bind(&job, rush_as_tensor(c->results)));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 2, "ff", write_gate, walk));
  job.params[8] = walk->numel;
  rush_gpu_place_walk(walk, job.params);
  return rush_gpu_dispatch_elements(&job, walk->numel, 1);
}

bool rush_gpu_glu(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *x = arg_tensor(c, 0);
  int64_t strides[RUSH_MAX_RANK];
  rush_gpu_walk walk;
  int dim;
  (void)row;
  if (!rush_gpu_can_rearrange(x) || rush_is_turned(x) || x->rank == 0 || x->numel == 0 ||
      arg_dim(c, 1, x->rank, &dim) != RUSH_OK || x->sizes[dim] % 2 != 0)
    return false;
  rush_tensor halves[] = {*x, *x};
  for (int k = 0; k < 2; k++) {
    halves[k].sizes[dim] /= 2;
    halves[k].numel /= 2;
  }
  halves[1].offset += halves[1].sizes[dim] * x->strides[dim];
  const rush_tensor *const both[] = {halves, halves + 1};
  rush_strides_of_copy(halves, strides);
  if (!rush_gpu_plan_walk(&walk, x->rank, halves->sizes, strides, 2, both)) return false;
  *st = run(g, c, halves, &walk, strides);
  return true;
}
