/* Matrix products: linear, mm, bmm, matmul and addmm. */
#include <math.h>

#include "gpu/product.h"
#include "tensor/layout.h"

enum { TILE = 32 };

/* A workgroup computes a tile of 32x32 elements, and each of its 64 threads 4x4 of them. */
/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
static const char tile[] = WGSL(
var<workgroup> sa: array<f32, 544>;
var<workgroup> sb: array<f32, 528>;
fn load_a(l: u32, at: u32, m0: u32, k0: u32) {
  for (var e = l; e < 512u; e += 64u) {
    let r = m0 + e / 16u; let j = k0 + e % 16u;
    var v = 0.0;
    if (r < word(0u) && j < word(2u)) { v = in0[at + r * word(5u) + j * word(6u)]; }
    sa[e / 16u * 17u + e % 16u] = v;
  }
}
fn load_b(l: u32, at: u32, n0: u32, k0: u32) {
  for (var e = l; e < 512u; e += 64u) {
    var j = e / 32u; var c = e % 32u;
    if (word(10u) == 1u) { j = e % 16u; c = e / 16u; }
    var v = 0.0;
    if (n0 + c < word(1u) && k0 + j < word(2u)) {
      v = at1(at + (k0 + j) * word(10u) + (n0 + c) * word(11u));
    }
    sb[j * 33u + c] = v;
  }
}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let id = group_of(g, ng);
  let m = word(0u); let n = word(1u); let k = word(2u);
  if (id >= word(14u) * word(15u)) { return; }
  let m0 = id / word(14u) * 32u; let n0 = id % word(14u) * 32u;
  let z0 = g.z / word(3u); let z1 = g.z % word(3u);
  let a0 = word(4u) + z0 * word(7u) + z1 * word(8u);
  let b0 = word(9u) + z0 * word(12u) + z1 * word(13u);
  let r0 = l / 8u * 4u; let c0 = l % 8u * 4u;
  var sum: array<vec4<f32>, 4>;
  for (var k0 = 0u; k0 < k; k0 += 16u) {
    load_a(l, a0, m0, k0);
    load_b(l, b0, n0, k0);
    workgroupBarrier();
    let depth = min(16u, k - k0);
    for (var j = 0u; j < depth; j++) {
      let at = j * 33u + c0;
      let b = vec4<f32>(sb[at], sb[at + 1u], sb[at + 2u], sb[at + 3u]);
      for (var r = 0u; r < 4u; r++) { sum[r] = fma(vec4<f32>(sa[(r0 + r) * 17u + j]), b, sum[r]); }
    }
    workgroupBarrier();
  }
  for (var r = 0u; r < 4u; r++) {
    for (var c = 0u; c < 4u; c++) {
      let row = m0 + r0 + r; let col = n0 + c0 + c;
      if (row < m && col < n) { store(z0, z1, row, col, sum[r][c]); }
    }
  }
}
);

/* For few rows: a workgroup computes eight elements of a row, and eight threads one of them. */
static const char few_rows[] = WGSL(
var<workgroup> part: array<f32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let id = group_of(g, ng);
  let n = word(1u);
  if (id >= word(14u) * word(15u)) { return; }
  let row = id / word(14u); let col = id % word(14u) * 8u + l / 8u;
  let z0 = g.z / word(3u); let z1 = g.z % word(3u);
  let a0 = word(4u) + z0 * word(7u) + z1 * word(8u) + row * word(5u);
  let b0 = word(9u) + z0 * word(12u) + z1 * word(13u) + col * word(11u);
  var sum = 0.0;
  if (col < n) {
    for (var j = l % 8u; j < word(2u); j += 8u) {
      sum = fma(in0[a0 + j * word(6u)], at1(b0 + j * word(10u)), sum);
    }
  }
  part[l] = sum;
  workgroupBarrier();
  if (l % 8u == 0u && col < n) {
    store(z0, z1, row, col, ((part[l] + part[l + 4u]) + (part[l + 2u] + part[l + 6u])) +
                                 ((part[l + 1u] + part[l + 5u]) + (part[l + 3u] + part[l + 7u])));
  }
}
);
/* clang-format on */

/* The form of a product, which its text depends on. */
typedef struct form {
  bool few, adds, masks, clamps, causal;
  const rush_gpu_quantized *quantized;
} form;

static void write_product(rush_text *t, const void *what) {
  const form *f = what;
  rush_text_add(t,
                "fn store(z0: u32, z1: u32, row: u32, col: u32, sum: f32) {\n"
                "var y = sum * number(21u);\n");
  if (f->adds || f->masks)
    rush_text_add(t,
                  "let c = word(16u) + z0 * word(19u) + z1 * word(20u) + row * word(17u) + "
                  "col * word(18u);\n");
  if (f->adds) rush_text_add(t, "y = fma(in2[c], number(22u), y);\n");
  if (f->masks)
    rush_text_add(t, "if (((in2[c >> 2u] >> ((c & 3u) * 8u)) & 0xffu) == 0u) { y = -inf(); }\n");
  if (f->causal) rush_text_add(t, "if (col > row) { y = -inf(); }\n");
  if (f->clamps)
    rush_text_add(t,
                  "y = select(y, number(23u), y < number(23u));\n"
                  "y = select(y, number(24u), y > number(24u));\n");
  rush_text_add(t,
                "out[word(25u) + z0 * word(28u) + z1 * word(29u) + row * word(26u) + col * "
                "word(27u)] = y;\n}\n");
  if (f->quantized)
    rush_gpu_write_quantized(t, f->quantized, f->few, f->adds ? 3 : 2);
  else
    rush_text_add(t, "%s", f->few ? few_rows : tile);
}

static void put(uint32_t *at, const rush_gpu_matrix *x) {
  at[0] = (uint32_t)x->offset;
  at[1] = (uint32_t)x->row;
  at[2] = (uint32_t)x->col;
  at[3] = (uint32_t)x->batch[0];
  at[4] = (uint32_t)x->batch[1];
}

static void put_number(uint32_t *at, float v) {
  memcpy(at, &v, sizeof v);
}

static void place(const rush_gpu_product *p, uint32_t columns, uint32_t lines, uint32_t *w) {
  w[0] = (uint32_t)p->m, w[1] = (uint32_t)p->n, w[2] = (uint32_t)p->k;
  w[3] = (uint32_t)p->batch[1];
  put(w + 4, &p->a);
  put(w + 9, &p->b);
  w[14] = (uint32_t)((p->n + columns - 1) / columns);
  w[15] = (uint32_t)((p->m + lines - 1) / lines);
  put(w + 16, &p->added);
  put_number(w + 21, p->alpha), put_number(w + 22, p->beta);
  put_number(w + 23, p->min), put_number(w + 24, p->max);
  put(w + 25, &p->out);
}

/* Binds the buffers of a product, and writes the types of their elements. */
static rush_status bind_all(rush_gpu_job *job, const rush_gpu_product *p, char *types) {
  const rush_gpu_quantized *q = p->quantized;
  const struct {
    const rush_tensor *t;
    char type;
  } buffers[] = {
      {p->a.t, 'f'},
      {p->b.t, q ? 'u' : rush_gpu_letter(p->b.t)},
      {p->added.t, p->masks ? 'u' : 'f'},
      {q ? q->scales : NULL, q ? rush_gpu_letter(q->scales) : 0},
      {q ? q->offsets : NULL, !q || q->kind != RUSH_GPU_MINIMA ? 'u' : rush_gpu_letter(q->offsets)},
      {p->out.t, 'f'}};
  for (size_t k = 0; k < sizeof buffers / sizeof *buffers; k++) {
    if (!buffers[k].t) continue;
    *types++ = buffers[k].type;
    RUSH_TRY(rush_gpu_bind(job, buffers[k].t));
  }
  *types = 0;
  return RUSH_OK;
}

rush_status rush_gpu_multiply(rush_gpu *g, rush_call *c, const rush_gpu_product *p) {
  rush_gpu_job job = {.g = g, .c = c};
  char types[RUSH_GPU_BUFFERS + 1];
  const rush_gpu_quantized *q = p->quantized;
  const form f = {.few = p->m <= 4,
                  .adds = p->added.t != NULL && !p->masks,
                  .masks = p->masks,
                  .clamps = p->min != -INFINITY || p->max != INFINITY,
                  .causal = p->causal,
                  .quantized = q};
  const uint32_t key[] = {'m',
                          f.few,
                          f.adds,
                          f.masks,
                          f.clamps,
                          f.causal,
                          q ? rush_gpu_key_quantized(q) : p->b.t->dtype == RUSH_FLOAT16};
  if (p->out.t->numel == 0) return RUSH_OK;
  RUSH_TRY(bind_all(&job, p, types));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 7, types, write_product, &f));
  place(p, f.few ? 8 : TILE, f.few ? 1 : TILE, job.params);
  if (q) rush_gpu_place_quantized(p, job.params);
  rush_gpu_dispatch(&job, (uint64_t)job.params[14] * job.params[15],
                    (uint32_t)(p->batch[0] * p->batch[1]));
  return RUSH_OK;
}

/* ---- Operands -------------------------------------------------------------------------------- */

bool rush_gpu_can_multiply(const rush_tensor *t) {
  return rush_gpu_can_read(t) && !rush_is_turned(t) && t->rank <= 4;
}

rush_gpu_matrix rush_gpu_matrix_of(const rush_tensor *t) {
  rush_gpu_matrix x = {.t = t, .offset = t->offset};
  x.row = t->rank > 1 ? t->strides[t->rank - 2] : 0;
  x.col = t->rank > 0 ? t->strides[t->rank - 1] : 0;
  return x;
}

/* Sets the strides of a matrix that broadcasts in up to two dimensions of a batch. */
static bool set_batch(rush_gpu_matrix *x, const int64_t batch[2]) {
  const rush_tensor *t = x->t;
  for (int b = 0; b < 2; b++) {
    const int d = t->rank - 4 + b;
    const int64_t size = d < 0 ? 1 : t->sizes[d];
    if (size != 1 && size != batch[b]) return false;
    x->batch[b] = size == 1 ? 0 : t->strides[d];
  }
  return true;
}

rush_gpu_product rush_gpu_plain_product(int64_t m, int64_t n, int64_t k) {
  return (rush_gpu_product){.m = m,
                            .n = n,
                            .k = k,
                            .batch = {1, 1},
                            .alpha = 1,
                            .beta = 1,
                            .min = -INFINITY,
                            .max = INFINITY};
}

void rush_gpu_set_out(rush_gpu_product *p, const rush_tensor *t) {
  p->out = (rush_gpu_matrix){.t = t, .offset = t->offset, .row = p->n, .col = 1};
  p->out.batch[1] = p->m * p->n;
  p->out.batch[0] = p->batch[1] * p->out.batch[1];
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Returns whether a term of this shape broadcasts to the result of linear. */
static bool is_bias(const rush_tensor *t, int64_t n) {
  return rush_gpu_can_multiply(t) && t->rank == 1 && t->sizes[0] == n;
}

rush_status rush_gpu_multiply_rows(rush_gpu *g, rush_call *c, rush_gpu_product *p) {
  const rush_tensor *x = rush_as_tensor(c->args);
  int64_t sizes[RUSH_MAX_RANK];
  memcpy(sizes, x->sizes, sizeof sizes);
  sizes[x->rank - 1] = p->n;
  RUSH_TRY(rush_gpu_result(g, c, x->rank, sizes, NULL));
  rush_gpu_set_out(p, rush_as_tensor(c->results));
  return rush_gpu_multiply(g, c, p);
}

static rush_status run_linear(rush_gpu *g, rush_call *c, rush_gpu_product *p, rush_tensor *x) {
  if (x->rank != 2) RUSH_TRY(rush_gpu_row_major(g, c, x, &x));
  p->a = rush_gpu_matrix_of(x);
  if (x->rank != 2) p->a.row = p->k; /* all dimensions but the last are rows */
  return rush_gpu_multiply_rows(g, c, p);
}

/* aten::linear and rush::linear, whose limits are arguments 3 and 4. */
bool rush_gpu_linear(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_tensor *x = arg_tensor(c, 0);
  const rush_tensor *w = arg_tensor(c, 1), *bias = arg_tensor(c, 2);
  if (!rush_gpu_can_multiply(x) || !rush_gpu_can_read_real(w) || rush_is_turned(w) ||
      w->rank != 2 || x->rank < 1 || x->numel == 0 || x->sizes[x->rank - 1] != w->sizes[1] ||
      (bias && !is_bias(bias, w->sizes[0])))
    return false;
  rush_gpu_product p = rush_gpu_plain_product(x->numel / w->sizes[1], w->sizes[0], w->sizes[1]);
  p.b = (rush_gpu_matrix){.t = w, .offset = w->offset, .row = w->strides[1], .col = w->strides[0]};
  if (bias) p.added = (rush_gpu_matrix){.t = bias, .offset = bias->offset, .col = bias->strides[0]};
  if (row->number) {
    p.min = (float)arg_float(c, 3);
    p.max = (float)arg_float(c, 4);
  }
  *st = run_linear(g, c, &p, x);
  return true;
}

/* mm, bmm and matmul of matrices with at most two dimensions of a batch. */
bool rush_gpu_matmul(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
  int64_t sizes[RUSH_MAX_RANK] = {0};
  if (!rush_gpu_can_multiply(a) || !rush_gpu_can_multiply(b) || a->rank < 2 || b->rank < 2)
    return false;
  if (row->number && (a->rank != row->number || b->rank != row->number)) return false;
  if (a->sizes[a->rank - 1] != b->sizes[b->rank - 2]) return false;
  rush_gpu_product p =
      rush_gpu_plain_product(a->sizes[a->rank - 2], b->sizes[b->rank - 1], a->sizes[a->rank - 1]);
  const int rank = a->rank > b->rank ? a->rank : b->rank;
  for (int d = 0; d < 2; d++) {
    const int64_t sa = a->rank - 4 + d < 0 ? 1 : a->sizes[a->rank - 4 + d];
    const int64_t sb = b->rank - 4 + d < 0 ? 1 : b->sizes[b->rank - 4 + d];
    p.batch[d] = sa == 1 ? sb : sa;
    if (rank - 4 + d >= 0) sizes[rank - 4 + d] = p.batch[d];
  }
  if (row->number == 3 && a->sizes[0] != b->sizes[0]) return false;
  sizes[rank - 2] = p.m, sizes[rank - 1] = p.n;
  p.a = rush_gpu_matrix_of(a), p.b = rush_gpu_matrix_of(b);
  if (!set_batch(&p.a, p.batch) || !set_batch(&p.b, p.batch)) return false;
  if (p.batch[0] * p.batch[1] > RUSH_GPU_GROUPS) return false;
  *st = rush_gpu_result(g, c, rank, sizes, NULL);
  if (*st != RUSH_OK) return true;
  rush_gpu_set_out(&p, rush_as_tensor(c->results));
  *st = rush_gpu_multiply(g, c, &p);
  return true;
}

/* addmm. A term with the factor zero is not read, as in PyTorch. */
bool rush_gpu_addmm(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *self = arg_tensor(c, 0), *a = arg_tensor(c, 1), *b = arg_tensor(c, 2);
  (void)row;
  if (!rush_gpu_can_multiply(self) || !rush_gpu_can_multiply(a) || !rush_gpu_can_multiply(b) ||
      a->rank != 2 || b->rank != 2 || self->rank > 2 || a->sizes[1] != b->sizes[0] ||
      c->args[3].kind == RUSH_KIND_COMPLEX || c->args[4].kind == RUSH_KIND_COMPLEX)
    return false;
  rush_gpu_product p = rush_gpu_plain_product(a->sizes[0], b->sizes[1], a->sizes[1]);
  const int64_t sizes[2] = {p.m, p.n};
  for (int d = 0; d < self->rank; d++) {
    const int64_t size = self->sizes[self->rank - 1 - d];
    if (size != 1 && size != sizes[1 - d]) return false;
  }
  p.a = rush_gpu_matrix_of(a), p.b = rush_gpu_matrix_of(b);
  p.beta = (float)arg_scalar_double(c, 3), p.alpha = (float)arg_scalar_double(c, 4);
  if (p.beta != 0) {
    p.added = rush_gpu_matrix_of(self);
    if (self->rank < 2 || self->sizes[0] == 1) p.added.row = 0;
    if (self->rank < 1 || self->sizes[self->rank - 1] == 1) p.added.col = 0;
  }
  *st = rush_gpu_result(g, c, 2, sizes, NULL);
  if (*st != RUSH_OK) return true;
  rush_gpu_set_out(&p, rush_as_tensor(c->results));
  *st = rush_gpu_multiply(g, c, &p);
  return true;
}
