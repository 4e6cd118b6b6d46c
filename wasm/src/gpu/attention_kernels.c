/* Attention. For few queries, as when a language model generates, one kernel does it all; otherwise
 * it is two products and a softmax, and the weights are a temporary tensor. */
#include <math.h>

#include "blocks/shape.h"
#include "gpu/product.h"
#include "tensor/layout.h"

/* Headers of [batch, heads, tokens, features]. Groups of `share` heads of the queries have a head
 * of the keys and values in common. */
typedef struct attention {
  rush_tensor q, k, v;
  const rush_tensor *mask;
  int64_t share;
  bool repeated; /* expand() has repeated the heads of keys and values */
  bool causal;
  float scale;
} attention;

/* Adds dimensions of size 1 in front, so that there are four, and sets strides of size 1 to 0. */
static rush_tensor with_four(const rush_tensor *t) {
  rush_tensor x = *t;
  x.rank = 4;
  for (int d = 0; d < 4; d++) {
    const int own = d - (4 - t->rank);
    x.sizes[d] = own < 0 ? 1 : t->sizes[own];
    x.strides[d] = x.sizes[d] == 1 ? 0 : t->strides[own];
  }
  return x;
}

/* Sets the batch of a matrix: samples and heads, also those that heads of the queries share. */
static void set_batch(rush_gpu_matrix *x, const rush_tensor *t) {
  const rush_tensor h = with_four(t);
  x->batch[0] = h.strides[0], x->batch[1] = h.strides[1];
}

static bool set_mask(const attention *a, rush_gpu_product *p) {
  const rush_tensor *t = a->mask;
  if (!t) return true;
  p->masks = t->dtype == RUSH_BOOL;
  if (t->rank < 2 || t->rank > 4 || rush_is_turned(t)) return false;
  if (p->masks ? t->storage->bytes >= INT32_MAX : !rush_gpu_can_read(t)) return false;
  const rush_tensor m = with_four(t);
  const int64_t sizes[] = {a->q.sizes[0], a->q.sizes[1], p->m, p->n};
  for (int d = 0; d < 4; d++)
    if (m.sizes[d] != 1 && m.sizes[d] != sizes[d]) return false;
  p->added =
      (rush_gpu_matrix){.t = t, .offset = t->offset, .row = m.strides[2], .col = m.strides[3]};
  set_batch(&p->added, t);
  return true;
}

/* Returns the two products without their results. Returns false if the kernels cannot. */
static bool plan(const attention *a, rush_gpu_product *scores, rush_gpu_product *values) {
  const int64_t tokens = a->q.sizes[2], keys = a->k.sizes[2];
  *scores = rush_gpu_plain_product(tokens, keys, a->q.sizes[3]);
  *values = rush_gpu_plain_product(tokens, a->v.sizes[3], keys);
  scores->batch[0] = values->batch[0] = a->q.sizes[0];
  scores->batch[1] = values->batch[1] = a->q.sizes[1];
  scores->share = values->share = a->share;
  scores->alpha = a->scale;
  scores->causal = a->causal;
  scores->a = rush_gpu_matrix_of(&a->q);
  scores->b = rush_gpu_matrix_of(&a->k);
  scores->b.row = a->k.strides[3], scores->b.col = a->k.strides[2];
  values->b = rush_gpu_matrix_of(&a->v);
  set_batch(&scores->a, &a->q);
  set_batch(&scores->b, &a->k);
  set_batch(&values->b, &a->v);
  return set_mask(a, scores);
}

/* Computes the strides of PyTorch's result. Its flash kernel follows the queries. */
static void result_strides(const attention *a, const int64_t *sizes, int64_t *strides) {
  const rush_tensor *all[] = {&a->q, &a->k, &a->v};
  bool flash = a->v.sizes[3] == a->q.sizes[3] && (a->share == 1 || a->repeated);
  for (int i = 0; i < 3; i++)
    flash = flash && (all[i]->sizes[3] == 1 || all[i]->strides[3] == 1 || (i > 0 && a->repeated));
  if (flash)
    rush_strides_of_copy(&a->q, strides);
  else
    rush_strides_contiguous(4, sizes, strides);
}

/* Makes the result, which the product of weights and values writes. */
static rush_status make_result(rush_gpu *g, rush_call *c, const attention *a,
                               rush_gpu_product *values) {
  const int64_t sizes[] = {a->q.sizes[0], a->q.sizes[1], a->q.sizes[2], a->v.sizes[3]};
  int64_t strides[RUSH_MAX_RANK];
  result_strides(a, sizes, strides);
  RUSH_TRY(rush_gpu_result(g, c, 4, sizes, strides));
  const rush_tensor *out = rush_as_tensor(c->results);
  values->out = rush_gpu_matrix_of(out);
  set_batch(&values->out, out);
  return RUSH_OK;
}

static rush_status attend(rush_gpu *g, rush_call *c, const attention *a, rush_gpu_product *scores,
                          rush_gpu_product *values) {
  const int64_t sizes[] = {scores->batch[0], scores->batch[1], scores->m, scores->n};
  rush_tensor *s, *weights;
  RUSH_TRY(rush_gpu_temporary(g, c, 4, sizes, &s));
  rush_gpu_set_out(scores, s);
  RUSH_TRY(rush_gpu_multiply(g, c, scores));
  RUSH_TRY(rush_gpu_temporary(g, c, 4, sizes, &weights));
  RUSH_TRY(rush_gpu_softmax_rows(g, c, s, 3, false, true, weights));
  values->a = rush_gpu_matrix_of(weights);
  values->a.batch[1] = values->m * values->k;
  values->a.batch[0] = values->batch[1] * values->a.batch[1];
  RUSH_TRY(make_result(g, c, a, values));
  return rush_gpu_multiply(g, c, values);
}

/* ---- Few queries ----------------------------------------------------------------------------- */

enum { KEYS = 2048 /* at most, whose scores a workgroup has in its memory */ };

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* A workgroup has a query of a head. Words: 0 queries, 1 keys, 2 features of a key, 3 the inner
 * batch, then offsets and strides as in product.c: 4-8 queries, 9-13 keys, 16-20 mask, 25-29
 * result, 30-34 values; 21 the factor, 35 features of a value, 63 the heads that share a key. */
static const char few_queries[] = WGSL(
var<workgroup> p: array<f32, 2048>;
var<workgroup> part: array<f32, 256>;
var<workgroup> sums: array<vec4<f32>, 256>;
fn largest_of(l: u32, v: f32) -> f32 {
  part[l] = v;
  workgroupBarrier();
  if (l % 16u == 0u) { for (var i = 1u; i < 16u; i++) { part[l] = larger(part[l], part[l + i]); } }
  workgroupBarrier();
  var all = part[0];
  for (var i = 16u; i < 256u; i += 16u) { all = larger(all, part[i]); }
  workgroupBarrier();
  return all;
}
fn sum_of(l: u32, v: f32) -> f32 {
  part[l] = v;
  workgroupBarrier();
  if (l % 16u == 0u) { for (var i = 1u; i < 16u; i++) { part[l] += part[l + i]; } }
  workgroupBarrier();
  var all = 0.0;
  for (var i = 0u; i < 256u; i += 16u) { all += part[i]; }
  workgroupBarrier();
  return all;
}
fn write_values(l: u32, v: u32, o: u32, sum: f32, most: f32) {
  let odd = (bitcast<u32>(most) & 0x7f800000u) == 0x7f800000u;
  let lost = select(nan(), 0.0, most < 0.0 && !isnan(most));
  for (var f0 = 0u; f0 < word(35u); f0 += 64u) {
    let f = f0 + l % 16u * 4u;
    var y = vec4<f32>();
    for (var j = l / 16u; j < word(1u); j += 16u) {
      y = fma(vec4<f32>(p[j]), four_of(v + j * word(31u), f), y);
    }
    sums[l] = y;
    workgroupBarrier();
    if (l < 64u) {
      for (var i = 64u; i < 256u; i += 64u) { y += sums[l + i]; }
      sums[l] = y;
    }
    workgroupBarrier();
    if (l < 16u) {
      y = ((sums[l] + sums[l + 16u]) + (sums[l + 32u] + sums[l + 48u])) / sum;
      for (var i = 0u; i < 4u; i++) {
        if (f + i < word(35u)) { out[o + (f + i) * word(27u)] = select(y[i], lost, odd); }
      }
    }
    workgroupBarrier();
  }
}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let row = g.x; let z0 = g.z / word(3u); let z1 = g.z % word(3u);
  let q = word(4u) + z0 * word(7u) + z1 * word(8u) + row * word(5u);
  let k = word(9u) + z0 * word(12u) + z1 / word(63u) * word(13u);
  let v = word(30u) + z0 * word(33u) + z1 / word(63u) * word(34u);
  let o = word(25u) + z0 * word(28u) + z1 * word(29u) + row * word(26u);
  var most = -inf();
  for (var j = l; j < word(1u); j += 256u) {
    let y = score_of(z0, z1, row, j, dot_of(q, k + j * word(11u)) * number(21u));
    p[j] = y;
    most = larger(most, y);
  }
  most = largest_of(l, most);
  var sum = 0.0;
  for (var j = l; j < word(1u); j += 256u) {
    let y = exp_(p[j] - most);
    p[j] = y;
    sum += y;
  }
  sum = sum_of(l, sum);
  write_values(l, v, o, sum, most);
}
);
static const char wide_dot[] = WGSL(
fn dot_of(q: u32, k: u32) -> f32 {
  var sum = vec4<f32>();
  var i = 0u;
  for (; i + 16u <= word(2u); i += 16u) {
    let at = (q + i) >> 2u; let key = (k + i) >> 2u;
    let b0 = in1[key]; let b1 = in1[key + 1u]; let b2 = in1[key + 2u]; let b3 = in1[key + 3u];
    sum = fma(in0[at], b0, fma(in0[at + 1u], b1, sum));
    sum = fma(in0[at + 2u], b2, fma(in0[at + 3u], b3, sum));
  }
  for (; i < word(2u); i += 4u) { sum = fma(in0[(q + i) >> 2u], in1[(k + i) >> 2u], sum); }
  return (sum.x + sum.y) + (sum.z + sum.w);
}
fn four_of(at: u32, f: u32) -> vec4<f32> {
  if (f >= word(35u)) { return vec4<f32>(); }
  return in2[(at + f) >> 2u];
}
);
static const char any_dot[] = WGSL(
fn four_of(at: u32, f: u32) -> vec4<f32> {
  var y = vec4<f32>();
  for (var i = 0u; i < 4u; i++) {
    if (f + i < word(35u)) { y[i] = at2(at + (f + i) * word(32u)); }
  }
  return y;
}
fn dot_of(q: u32, k: u32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < word(2u); i++) {
    sum = fma(at0(q + i * word(6u)), at1(k + i * word(10u)), sum);
  }
  return sum;
}
);
/* clang-format on */

typedef struct few_form {
  bool wide, adds, masks, causal;
} few_form;

static void write_few(rush_text *t, const void *what) {
  const few_form *f = what;
  const char *exponential = "exp_";
  rush_gpu_functions(t, &exponential, 1);
  rush_text_add(t, "%sfn score_of(z0: u32, z1: u32, row: u32, j: u32, x: f32) -> f32 {\n",
                f->wide ? wide_dot : any_dot);
  if (f->causal) rush_text_add(t, "if (j > row) { return -inf(); }\n");
  if (f->adds || f->masks)
    rush_text_add(t,
                  "let c = word(16u) + z0 * word(19u) + z1 * word(20u) + row * word(17u) + "
                  "j * word(18u);\n");
  if (f->masks)
    rush_text_add(t, "if (((in3[c >> 2u] >> ((c & 3u) * 8u)) & 0xffu) == 0u) { return -inf(); }\n");
  rush_text_add(t, "return x%s;\n}\n%s", f->adds ? " + in3[c]" : "", few_queries);
}

static bool is_few(const attention *a) {
  return a->q.sizes[2] <= 4 && a->k.sizes[2] <= KEYS;
}

static rush_status attend_few(rush_gpu *g, rush_call *c, const attention *a,
                              rush_gpu_product *scores, rush_gpu_product *values) {
  rush_gpu_job job = {.g = g, .c = c};
  const rush_tensor *mask = scores->added.t;
  const few_form f = {rush_gpu_is_wide(&scores->a, scores->k, scores->a.col, scores->a.row) &&
                          rush_gpu_is_wide(&scores->b, scores->k, scores->b.row, scores->b.col) &&
                          rush_gpu_is_wide(&values->b, values->n, values->b.col, values->b.row),
                      mask && !scores->masks, scores->masks, scores->causal};
  const uint32_t key[] = {'a', f.wide + 2u * f.adds + 4u * f.masks + 8u * f.causal};
  char types[] = {
      f.wide ? 'v' : 'f', f.wide ? 'v' : 'f', f.wide ? 'v' : 'f', f.masks ? 'u' : 'f', 'f', 0};
  if (!mask) types[4] = 0;
  RUSH_TRY(make_result(g, c, a, values));
  RUSH_TRY(rush_gpu_bind(&job, scores->a.t));
  RUSH_TRY(rush_gpu_bind(&job, scores->b.t));
  RUSH_TRY(rush_gpu_bind(&job, values->b.t));
  if (mask) RUSH_TRY(rush_gpu_bind(&job, mask));
  RUSH_TRY(rush_gpu_bind(&job, values->out.t));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 2, types, write_few, &f));
  scores->out = values->out;
  const int64_t batch = scores->batch[0] * scores->batch[1];
  rush_gpu_place_product(scores, job.params);
  rush_gpu_place_matrix(&values->b, job.params + 30);
  job.params[35] = (uint32_t)values->n;
  return rush_gpu_dispatch(&job, (uint64_t)scores->m, (uint32_t)batch,
                           rush_gpu_work_of_lines((uint64_t)(scores->m * batch),
                                                  (uint64_t)(scores->n * (scores->k + values->n))));
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Reads the arguments after query, key and value, from the mask on. Returns false if the kernels
 * cannot, or if PyTorch refuses them. */
static bool read(rush_call *c, uint32_t mask, attention *a) {
  const rush_tensor *q = &a->q, *all[] = {q, &a->k, &a->v};
  a->mask = arg_tensor(c, mask);
  a->causal = arg_bool(c, mask + 2);
  for (int i = 0; i < 3; i++) {
    const rush_tensor *t = all[i];
    if (!rush_gpu_can_multiply(t) || t->rank != 4 || t->numel == 0 || t->sizes[0] != q->sizes[0] ||
        t->sizes[1] != a->k.sizes[1] * (i == 0 ? a->share : 1))
      return false;
  }
  a->scale =
      (float)(arg_is_none(c, mask + 3) ? 1 / sqrt((double)q->sizes[3]) : arg_float(c, mask + 3));
  return arg_float(c, mask + 1) == 0 && !(a->mask && a->causal) && a->k.sizes[3] == q->sizes[3] &&
         a->v.sizes[2] == a->k.sizes[2] && q->sizes[0] * q->sizes[1] <= RUSH_GPU_GROUPS;
}

static bool run(rush_gpu *g, rush_call *c, uint32_t mask, attention *a, rush_status *st) {
  rush_gpu_product scores, values;
  if (!read(c, mask, a) || !plan(a, &scores, &values)) return false;
  *st = is_few(a) ? attend_few(g, c, a, &scores, &values) : attend(g, c, a, &scores, &values);
  return true;
}

/* Returns how many heads of the queries have a head of the keys in common. */
static int64_t share_of(const rush_tensor *q, const rush_tensor *k) {
  const bool shares = q->rank == 4 && k->rank == 4 && k->sizes[1] > 0;
  return shares ? q->sizes[1] / k->sizes[1] : 1;
}

bool rush_gpu_attention(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  attention a = {.q = *arg_tensor(c, 0), .k = *arg_tensor(c, 1), .v = *arg_tensor(c, 2)};
  (void)row;
  a.share = arg_bool(c, 7) ? share_of(&a.q, &a.k) : 1;
  return run(g, c, 3, &a, st);
}

/* Takes argument i, a [batch, heads, repeated, tokens, features], without the repetitions. */
static bool without_repeats(rush_call *c, uint32_t i, rush_tensor *out) {
  const rush_tensor *t = arg_tensor(c, i), *q = arg_tensor(c, 0);
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  if (t->rank != 5 || q->rank != 4 || t->numel == 0 || t->strides[2] != 0 || rush_is_turned(t) ||
      arg_ints(c, i + 1, RUSH_MAX_RANK, sizes, &rank) != RUSH_OK || rank != 4 ||
      rush_infer_size(c->ctx, t->numel, rank, sizes, sizes) != RUSH_OK)
    return false;
  *out = *t;
  out->rank = 4;
  out->numel = t->numel / t->sizes[2];
  for (int d = 2; d < 4; d++) out->sizes[d] = t->sizes[d + 1], out->strides[d] = t->strides[d + 1];
  return sizes[0] == t->sizes[0] && sizes[1] == t->sizes[1] * t->sizes[2] &&
         sizes[2] == t->sizes[3] && sizes[3] == t->sizes[4] && q->sizes[1] == sizes[1];
}

/* rush::repeated_attention, whose keys and values are followed by the sizes of a reshape. */
bool rush_gpu_repeated_attention(rush_gpu *g, rush_call *c, const rush_gpu_row *row,
                                 rush_status *st) {
  attention a = {.q = *arg_tensor(c, 0), .repeated = true};
  (void)row;
  if (!without_repeats(c, 1, &a.k) || !without_repeats(c, 3, &a.v)) return false;
  a.share = share_of(&a.q, &a.k);
  return run(g, c, 5, &a, st);
}
