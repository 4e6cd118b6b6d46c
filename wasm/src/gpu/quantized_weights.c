/* linear with a weight of 8 or 4 bits, which is multiplied as it is: kernels/int4_gemm.h and
 * ops/quantized/linear_int8.c have its meaning. A first kernel rounds the rows to integers, as the
 * CPU does. Sums of a piece are exact. */
#include "gpu/product.h"
#include "tensor/layout.h"

enum { PIECE = 256 /* elements of a row that share a scale, at most */ };

/* ---- The product ----------------------------------------------------------------------------- */

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Words: 30 first byte, 31 bytes of a column, 32 columns of a group, 33 groups, 34 and 35 offsets
 * of the scales and of the zero points or minima; 36 pieces of a row, 37 of a group, 38 columns of
 * a piece, 39 and 40 where rows have the scales and the sums of their pieces. */
static const char common[] = WGSL(
fn begin_of(p: u32) -> u32 { return p / word(37u) * word(32u) + p % word(37u) * word(38u); }
fn end_of(p: u32) -> u32 {
  return min(min(begin_of(p) + word(38u), (p / word(37u) + 1u) * word(32u)), word(2u));
}
fn row_four(i: u32) -> vec4<i32> {
  return vec4<i32>(vec4<f32>(in0[i], in0[i + 1u], in0[i + 2u], in0[i + 3u]));
}
);
/* For few rows: a workgroup computes eight elements of a row. WIDTH weights are in one word, and in
 * one piece. A thread has whole pieces, or a part of a row that is one piece. */
static const char few_rows[] = WGSL(
var<workgroup> part: array<f32, 64>;
var<workgroup> more: array<f32, 64>;
var<workgroup> whole: array<i32, 64>;
fn dot_of(a: u32, col: u32, begin: u32, end: u32, step: u32) -> i32 {
  var sum = 0;
  for (var j = begin; j < end; j += step) {
    let w = raw(col, j);
    if (WIDTH == 1u) { sum += four_of(w).x * i32(in0[a + j]); continue; }
    sum += dot(four_of(w), row_four(a + j));
    if (WIDTH == 8u) { sum += dot(four_of(w >> 16u), row_four(a + j + 4u)); }
  }
  return sum;
}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let id = group_of(g, ng);
  if (id >= word(14u) * word(15u)) { return; }
  let row = id / word(14u); let col = id % word(14u) * 8u + l / 8u;
  let a = word(4u) + row * word(5u); let lane = l % 8u;
  let inside = col < word(1u);
  var sum = 0.0;
  if (word(36u) == 1u) {
    if (inside) { whole[l] = dot_of(a, col, lane * WIDTH, word(2u), 8u * WIDTH); }
    workgroupBarrier();
    if (lane == 0u && inside) {
      var all = 0;
      for (var i = 0u; i < 8u; i++) { all += whole[l + i]; }
      let y = finish(row, col, 0u, all);
      sum = y.x + y.y;
    }
  }
  for (var first = 0u; first < word(36u) && word(36u) > 1u; first += 8u) {
    let p = first + lane;
    var y = vec2<f32>(0.0);
    if (inside && p < word(36u)) {
      y = finish(row, col, p, dot_of(a, col, begin_of(p), end_of(p), WIDTH));
    }
    part[l] = y.x;
    more[l] = y.y;
    workgroupBarrier();
    if (lane == 0u) {
      for (var i = 0u; i < 8u; i++) { sum = (sum + part[l + i]) + more[l + i]; }
    }
    workgroupBarrier();
  }
  if (lane == 0u && inside) { store(0u, 0u, row, col, sum); }
}
);
static const char tile[] = WGSL(
var<workgroup> sa: array<i32, 544>;
var<workgroup> sb: array<i32, 528>;
fn put(at: u32, v: vec4<i32>) {
  sb[at] = v.x;
  if (WIDTH != 1u) {
    sb[at + 33u] = v.y;
    sb[at + 66u] = v.z;
    sb[at + 99u] = v.w;
  }
}
fn load_both(l: u32, m0: u32, n0: u32, k0: u32, end: u32) {
  for (var e = l; e < 512u; e += 64u) {
    let r = m0 + e / 16u; let j = k0 + e % 16u;
    var v = 0;
    if (r < word(0u) && j < end) { v = i32(in0[word(4u) + r * word(5u) + j]); }
    sa[e / 16u * 17u + e % 16u] = v;
  }
  let c = l % 32u; let col = n0 + c;
  for (var j = l / 32u * WIDTH; j < 16u; j += 2u * WIDTH) {
    if (col < word(1u) && k0 + j < end) {
      let w = raw(col, k0 + j);
      put(j * 33u + c, four_of(w));
      if (WIDTH == 8u) { put(j * 33u + c + 132u, four_of(w >> 16u)); }
    }
  }
}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let id = group_of(g, ng);
  if (id >= word(14u) * word(15u)) { return; }
  let m0 = id / word(14u) * 32u; let n0 = id % word(14u) * 32u;
  let r0 = l / 8u * 4u; let c0 = l % 8u * 4u;
  var sum: array<vec4<f32>, 4>;
  for (var p = 0u; p < word(36u); p++) {
    let end = end_of(p);
    var all = array<vec4<i32>, 4>();
    for (var k0 = begin_of(p); k0 < end; k0 += 16u) {
      load_both(l, m0, n0, k0, end);
      workgroupBarrier();
      let depth = min(16u, end - k0);
      for (var j = 0u; j < depth; j++) {
        let at = j * 33u + c0;
        let b = vec4<i32>(sb[at], sb[at + 1u], sb[at + 2u], sb[at + 3u]);
        for (var r = 0u; r < 4u; r++) { all[r] += sa[(r0 + r) * 17u + j] * b; }
      }
      workgroupBarrier();
    }
    for (var r = 0u; r < 4u; r++) {
      for (var c = 0u; c < 4u; c++) {
        if (m0 + r0 + r < word(0u) && n0 + c0 + c < word(1u)) {
          let y = finish(m0 + r0 + r, n0 + c0 + c, p, all[r][c]);
          sum[r][c] = (sum[r][c] + y.x) + y.y;
        }
      }
    }
  }
  for (var r = 0u; r < 4u; r++) {
    for (var c = 0u; c < 4u; c++) {
      let row = m0 + r0 + r; let col = n0 + c0 + c;
      if (row < word(0u) && col < word(1u)) { store(0u, 0u, row, col, sum[r][c]); }
    }
  }
}
);
/* clang-format on */

/* Returns how many weights of a column a kernel for rounded rows reads at a time. */
static int width_of(const rush_gpu_quantized *q) {
  const int most = 32 / q->bits;
  return q->k % most == 0 && q->group % most == 0 ? most : 1;
}

uint32_t rush_gpu_key_quantized(const rush_gpu_product *p) {
  const rush_gpu_quantized *q = p->quantized;
  const bool minima = q->kind == RUSH_GPU_MINIMA;
  return 2u + 4096u * q->in_words + 8192u * q->in_fours + (uint32_t)q->bits +
         16u * (uint32_t)width_of(q) + 256u * (uint32_t)q->kind +
         1024u * (rush_gpu_letter(q->scales) == 'h') +
         2048u * (minima && rush_gpu_letter(q->offsets) == 'h');
}

/* Writes a function that makes floats of the exact sum of piece p. The second one is for minima. */
static void write_finish(rush_text *t, const rush_gpu_quantized *q, unsigned scales) {
  rush_text_add(t,
                "fn finish(row: u32, col: u32, p: u32, all: i32) -> vec2<f32> {\n"
                "let at = col * word(33u) + p / word(37u);\n"
                "let x = row * word(36u) + p;\n"
                "let s = in0[word(39u) + x];\n"
                "let ones = in0[word(40u) + x];\n"
                "var sum = all;\n");
  if (q->kind == RUSH_GPU_ZERO_POINTS)
    rush_text_add(t,
                  "let b = word(35u) + at;\n"
                  "sum -= i32(ones) * i32((in%u[b >> 2u] >> ((b & 3u) * 8u)) & 15u);\n",
                  scales + 1);
  else if (q->kind == RUSH_GPU_NO_OFFSETS && q->bits == 4)
    rush_text_add(t, "sum -= i32(ones) * 8;\n");
  rush_text_add(t, "var more = 0.0;\n");
  if (q->kind == RUSH_GPU_MINIMA)
    rush_text_add(t, "more = ones * (s * at%u(word(35u) + at));\n", scales + 1);
  rush_text_add(t, "return vec2<f32>(f32(sum) * (s * at%u(word(34u) + at)), more);\n}\n", scales);
}

void rush_gpu_write_quantized(rush_text *t, const rush_gpu_quantized *q, bool few,
                              unsigned scales) {
  rush_text_add(t, "const WIDTH = %du;\n%s", width_of(q), common);
  rush_gpu_write_bits(t, q->bits);
  write_finish(t, q, scales);
  rush_text_add(t, "%s", few ? few_rows : tile);
}

void rush_gpu_place_quantized(const rush_gpu_product *p, uint32_t *w) {
  const rush_gpu_quantized *q = p->quantized;
  w[30] = (uint32_t)p->b.offset;
  w[31] = (uint32_t)p->b.t->sizes[1];
  w[32] = (uint32_t)q->group;
  w[33] = (uint32_t)(q->k / q->group + (q->k % q->group != 0));
  w[34] = (uint32_t)q->scales->offset;
  w[35] = q->offsets ? (uint32_t)q->offsets->offset : 0;
  w[36] = (uint32_t)q->pieces, w[37] = (uint32_t)q->of_group, w[38] = (uint32_t)q->piece;
  w[39] = (uint32_t)(p->m * q->k), w[40] = (uint32_t)(p->m * (q->k + q->pieces));
}

/* ---- Rows that are quantized ----------------------------------------------------------------- */

/* clang-format off */
/* The range of a piece, in the kernel below. */
static const char symmetric[] = WGSL(
  let most = number(8u); let least = -most;
  var scale = div_(max(-low[0], high[0]), most);
  let inverse = select(0.0, div_(1.0, scale), scale >= 1e-37);
);
static const char whole_range[] = WGSL(
  var scale = div_(high[0], 255.0) + div_(-low[0], 255.0);
  let inverse = select(0.0, div_(1.0, scale), scale >= 1e-37);
  let least = -round(-low[0] * inverse); let most = 255.0 + least;
);
/* A workgroup rounds a piece of a row as the kernels of the CPU do. Words: 0 pieces in all, 1 of a
 * row, 2 columns, 3 columns of a group, 4 pieces of a group, 5 columns of a piece, 6 offset and 7
 * row stride of the input, 8 the greatest integer of symmetric rows; 9 and 10 where the scales and
 * the sums of pieces go. */
static const char pieces[] = WGSL(
var<workgroup> low: array<f32, 64>;
var<workgroup> high: array<f32, 64>;
var<workgroup> odd: array<u32, 64>;
var<workgroup> total: array<i32, 64>;
fn gather_range(l: u32) {
  for (var h = 32u; h > 0u; h = h / 2u) {
    workgroupBarrier();
    if (l < h) {
      low[l] = min(low[l], low[l + h]);
      high[l] = max(high[l], high[l + h]);
      odd[l] = odd[l] | odd[l + h];
    }
  }
  workgroupBarrier();
}
fn end_piece(l: u32, id: u32, sum: i32, scale: f32) {
  total[l] = sum;
  workgroupBarrier();
  if (l == 0u) {
    var all = 0;
    for (var i = 0u; i < 64u; i++) { all += total[i]; }
    out[word(9u) + id] = select(scale, nan(), odd[0] != 0u);
    out[word(10u) + id] = f32(all);
  }
}
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let id = group_of(g, ng);
  if (id >= word(0u)) { return; }
  let row = id / word(1u); let piece = id % word(1u);
  let group = piece / word(4u);
  let begin = group * word(3u) + piece % word(4u) * word(5u);
  let end = min(min(begin + word(5u), (group + 1u) * word(3u)), word(2u));
  let x = word(6u) + row * word(7u);
  var lo = 0.0; var hi = 0.0; var bad = 0u;
  for (var j = begin + l; j < end; j += 64u) {
    let v = in0[x + j];
    if ((bitcast<u32>(v) & 0x7f800000u) == 0x7f800000u) {
      bad = 1u;
    } else {
      lo = min(lo, v);
      hi = max(hi, v);
    }
  }
  low[l] = lo; high[l] = hi; odd[l] = bad;
  gather_range(l);
);
static const char pieces_end[] = WGSL(
  if (inverse == 0.0) { scale = 0.0; }
  var sum = 0;
  for (var j = begin + l; j < end; j += 64u) {
    let y = select(round(clamp(in0[x + j] * inverse, least, most)), 0.0, odd[0] != 0u);
    out[row * word(2u) + j] = y;
    sum += i32(y);
  }
  end_piece(l, id, sum, scale);
}
);
/* clang-format on */

static void write_pieces(rush_text *t, const void *what) {
  const char *range = what;
  rush_gpu_functions(t, &range, 1);
  rush_text_add(t, "%s%s%s", pieces, range, pieces_end);
}

/* Rounds rows to integers, as floats, which are followed by the scales of all pieces and by the
 * sums of their integers. With `top`, integers are at most that; without, 256 levels span each
 * row. */
static rush_status round_rows(rush_gpu *g, rush_call *c, const rush_gpu_quantized *q, int64_t top,
                              rush_tensor *x, rush_tensor **out) {
  rush_gpu_job job = {.g = g, .c = c};
  const int64_t m = x->numel / q->k, size = m * (q->k + 2 * q->pieces);
  const uint32_t key[] = {'q', top != 0};
  const float most = (float)top;
  RUSH_TRY(rush_gpu_row_major(g, c, x, &x));
  RUSH_TRY(rush_gpu_temporary(g, c, 1, &size, out));
  RUSH_TRY(rush_gpu_bind(&job, x));
  RUSH_TRY(rush_gpu_bind(&job, *out));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 2, "ff", write_pieces, top ? symmetric : whole_range));
  const int64_t words[] = {
      m * q->pieces, q->pieces, q->k, q->group, q->of_group,           q->piece,
      x->offset,     q->k,      0,    m * q->k, m * (q->k + q->pieces)};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) job.params[i] = (uint32_t)words[i];
  memcpy(job.params + 8, &most, sizeof most);
  return rush_gpu_dispatch(&job, job.params[0], 1,
                           rush_gpu_work_of_lines(job.params[0], (uint64_t)q->piece));
}

/* ---- Rows of the table ----------------------------------------------------------------------- */

/* Returns whether a tensor is in memory or on the device as PyTorch lays out a new one. */
static bool is_dense(const rush_tensor *t) {
  return rush_is_contiguous(t) && !rush_is_turned(t) && rush_gpu_can_read_bytes(t);
}

static bool is_by_group(const rush_tensor *t, int64_t n, int64_t groups, bool real) {
  return is_dense(t) && t->rank == 2 && t->sizes[0] == n && t->sizes[1] == groups &&
         (real ? rush_gpu_can_read_real(t) : t->dtype == RUSH_UINT8);
}

static bool set_kind(rush_gpu_quantized *q, int64_t n, int64_t groups) {
  const rush_tensor *offsets = q->offsets;
  if (!offsets) return true;
  const bool zeros = offsets->dtype == RUSH_UINT8;
  q->kind = zeros ? RUSH_GPU_ZERO_POINTS : RUSH_GPU_MINIMA;
  return is_by_group(offsets, n, groups, !zeros) && !(zeros && q->bits != 4);
}

/* Returns whether a weight [n, ...] has its bytes, and x and the bias fit to it. */
static bool fits(const rush_gpu_quantized *q, const rush_tensor *x, const rush_tensor *w,
                 const rush_tensor *bias) {
  const bool eight = q->bits == 8;
  if (!rush_gpu_can_multiply(x) || x->rank < 1 || x->numel == 0 || q->k < 1 ||
      x->sizes[x->rank - 1] != q->k)
    return false;
  if (!is_dense(w) || w->rank != 2 || w->dtype != (eight ? RUSH_INT8 : RUSH_UINT8) ||
      w->sizes[1] != (eight ? q->k : q->k / 2 + q->k % 2))
    return false;
  return !bias || (is_dense(bias) && rush_gpu_can_read(bias) && bias->rank == 1 &&
                   bias->sizes[0] == w->sizes[0]);
}

/* Sets the pieces of a row. */
static void cut(rush_gpu_quantized *q, int64_t most) {
  q->piece = q->group < most ? q->group : most;
  q->of_group = (q->group - 1) / q->piece + 1;
  q->pieces = q->k / q->group * q->of_group + (q->k % q->group + q->piece - 1) / q->piece;
}

static rush_status run(rush_gpu *g, rush_call *c, const rush_gpu_quantized *q, int64_t top,
                       rush_gpu_product *p) {
  rush_tensor *rows;
  RUSH_TRY(round_rows(g, c, q, top, rush_as_tensor(c->args), &rows));
  p->a = (rush_gpu_matrix){.t = rows, .row = q->k, .col = 1};
  return rush_gpu_multiply_rows(g, c, p);
}

static rush_gpu_product product_of(const rush_call *c, const rush_gpu_quantized *q, uint32_t bias,
                                   uint32_t limits) {
  const rush_tensor *w = arg_tensor(c, 1);
  rush_gpu_product p = rush_gpu_plain_product(arg_tensor(c, 0)->numel / q->k, w->sizes[0], q->k);
  const rush_tensor *added = arg_tensor(c, bias);
  if (added) p.added = (rush_gpu_matrix){.t = added, .offset = added->offset, .col = 1};
  p.quantized = q;
  p.b = (rush_gpu_matrix){.t = w, .offset = w->offset};
  p.min = (float)arg_float(c, limits);
  p.max = (float)arg_float(c, limits + 1);
  return p;
}

bool rush_gpu_linear_weights(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const int64_t bits = arg_int(c, 5), k = arg_int(c, 6), input_bits = arg_int(c, 10);
  rush_gpu_quantized q = {.bits = bits == 4 ? 4 : 8,
                          .scales = arg_tensor(c, 2),
                          .offsets = arg_tensor(c, 3),
                          .k = k,
                          .group = arg_int(c, 7)};
  (void)row;
  if ((bits != 4 && bits != 8) || !(input_bits == 16 || (input_bits == 8 && bits == 4)) || k < 1 ||
      q.group < 1 || !fits(&q, arg_tensor(c, 0), arg_tensor(c, 1), arg_tensor(c, 4)))
    return false;
  if (q.group > k) q.group = k;
  const int64_t n = arg_tensor(c, 1)->sizes[0], groups = (k - 1) / q.group + 1;
  if (!is_by_group(q.scales, n, groups, true) || !set_kind(&q, n, groups)) return false;
  cut(&q, PIECE);
  q.in_words = (k | q.group) % (32 / q.bits) == 0 && arg_tensor(c, 1)->offset % 4 == 0;
  q.in_fours = q.in_words && bits == 4 && (k | q.group) % 32 == 0;
  rush_gpu_product p = product_of(c, &q, 4, 8);
  *st = run(g, c, &q, input_bits == 8 ? 127 : 32767, &p);
  return true;
}

bool rush_gpu_linear_int8(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  enum { LONGEST = 1 << 16 }; /* of the row in memory, which refuses more */
  const rush_tensor *w = arg_tensor(c, 1), *scales = arg_tensor(c, 2);
  const int64_t k = w->rank == 2 ? w->sizes[1] : 0;
  rush_gpu_quantized q = {.bits = 8, .scales = scales, .k = k, .group = k};
  (void)row;
  if (k > LONGEST || !fits(&q, arg_tensor(c, 0), w, arg_tensor(c, 3)) || !is_dense(scales) ||
      !rush_gpu_can_read(scales) || scales->rank != 1 || scales->sizes[0] != w->sizes[0])
    return false;
  cut(&q, k);
  rush_gpu_product p = product_of(c, &q, 3, 4);
  *st = run(g, c, &q, 0, &p);
  return true;
}
