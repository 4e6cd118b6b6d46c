/* Kernels in which a workgroup computes a line, and softmax. */
#include "gpu/lines.h"

#include "gpu/product.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Parameters: 8 lines, 9 elements of a line, 10 their stride, 11 the first element; 12 a number. */
static const char head[] = WGSL(
var<workgroup> part: array<f32, 64>;
fn sum_of(l: u32, v: f32) -> f32 {
  workgroupBarrier();
  part[l] = v;
  workgroupBarrier();
  for (var h = 32u; h > 0u; h = h / 2u) {
    if (l < h) { part[l] = part[l] + part[l + h]; }
    workgroupBarrier();
  }
  return part[0];
}
fn largest_of(l: u32, v: f32) -> f32 {
  workgroupBarrier();
  part[l] = v;
  workgroupBarrier();
  for (var h = 32u; h > 0u; h = h / 2u) {
    if (l < h) { part[l] = larger(part[l], part[l + h]); }
    workgroupBarrier();
  }
  return part[0];
}
fn is_odd(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u; }
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let line = group_of(g, ng);
  if (line >= word(8u)) { return; }
  let n = word(9u); let step = word(10u);
  let first = line / step * n * step + line % step;
  let at = first + word(11u);
);
static const char softmax[] = WGSL(
  var m = -inf();
  for (var j = l; j < n; j += 64u) { m = larger(m, in0[at + j * step]); }
  m = largest_of(l, m);
  var s = 0.0;
  for (var j = l; j < n; j += 64u) { s += exp_(in0[at + j * step] - m); }
  s = sum_of(l, s);
);
static const char softmax_end[] = WGSL(
  for (var j = l; j < n; j += 64u) {
    let y = exp_(in0[at + j * step] - m) / s;
    let odd = select(nan(), 0.0, number(12u) != 0.0 && m < 0.0 && !isnan(m));
    out[first + j * step] = select(y, odd, is_odd(m));
  }
}
);
static const char log_softmax_end[] = WGSL(
  for (var j = l; j < n; j += 64u) {
    let y = (in0[at + j * step] - m) - log_(s);
    out[first + j * step] = select(y, nan(), is_odd(m));
  }
}
);
/* clang-format on */

static void write_lines(rush_text *t, const void *what) {
  const rush_gpu_lines *k = what;
  rush_gpu_functions(t, k->text, k->text[1] ? 2 : 1);
  if (k->functions) rush_text_add(t, "%s", k->functions);
  rush_text_bytes(t, head, sizeof head - 1);
  rush_text_add(t, "%s%s", k->text[0], k->text[1] ? k->text[1] : "");
}

rush_status rush_gpu_run_lines(rush_gpu *g, rush_call *c, const rush_gpu_lines *k,
                               const rush_tensor *x, const rush_tensor *out) {
  rush_gpu_job job = {.g = g, .c = c};
  char types[RUSH_GPU_MORE + 3] = "f";
  uint32_t n = 0;
  if (out->numel == 0) return RUSH_OK;
  RUSH_TRY(rush_gpu_bind(&job, x));
  for (; n < RUSH_GPU_MORE && k->more[n]; n++) {
    types[1 + n] = 'f';
    job.params[13 + n] = (uint32_t)k->more[n]->offset;
    RUSH_TRY(rush_gpu_bind(&job, k->more[n]));
  }
  types[1 + n] = k->writes_words ? 'u' : 'f';
  RUSH_TRY(rush_gpu_bind(&job, out));
  const uint32_t key[] = {'l', (uint32_t)k->name, n};
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 3, types, write_lines, k));
  job.params[8] = k->lines, job.params[9] = k->n, job.params[10] = k->step;
  job.params[11] = (uint32_t)x->offset;
  memcpy(job.params + 12, &k->number, sizeof k->number);
  memcpy(job.params + 17, k->words, sizeof k->words);
  return rush_gpu_dispatch(&job, k->lines, 1, rush_gpu_work_of_lines(k->lines, k->n));
}

bool rush_gpu_is_plain(const rush_tensor *t) {
  return rush_gpu_can_rearrange(t) && !rush_is_turned(t);
}

/* ---- softmax --------------------------------------------------------------------------------- */

rush_status rush_gpu_softmax_rows(rush_gpu *g, rush_call *c, const rush_tensor *x, int dim,
                                  bool logarithm, bool masked, const rush_tensor *out) {
  rush_gpu_lines k = {.name = logarithm ? 'g' : 's',
                      .text = {softmax, logarithm ? log_softmax_end : softmax_end},
                      .number = masked,
                      .n = x->rank ? (uint32_t)x->sizes[dim] : 1,
                      .step = 1};
  for (int d = dim + 1; d < x->rank; d++) k.step *= (uint32_t)x->sizes[d];
  k.lines = k.n ? (uint32_t)x->numel / k.n : 0;
  return rush_gpu_run_lines(g, c, &k, x, out);
}

static rush_status run_softmax(rush_gpu *g, rush_call *c, rush_tensor *x, int dim, bool logarithm) {
  RUSH_TRY(rush_gpu_row_major(g, c, x, &x));
  RUSH_TRY(rush_gpu_result(g, c, x->rank, x->sizes, NULL));
  return rush_gpu_softmax_rows(g, c, x, dim, logarithm, false, rush_as_tensor(c->results));
}

/* number: 1 for the logarithm. Argument 2 is a dtype unless it is a bool. */
bool rush_gpu_softmax(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_tensor *x = arg_tensor(c, 0);
  int dim;
  const bool as_is =
      c->n_args < 3 || arg_is_none(c, 2) ||
      (c->args[2].kind == RUSH_KIND_BOOL ? !arg_bool(c, 2) : arg_int(c, 2) == RUSH_FLOAT32);
  if (!as_is || !rush_gpu_is_plain(x) || arg_dim(c, 1, x->rank, &dim) != RUSH_OK) return false;
  *st = run_softmax(g, c, x, dim, row->number == 1);
  return true;
}
