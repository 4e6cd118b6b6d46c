/* linear with a weight of 8 or 4 bits, which is multiplied as it is: kernels/int4_gemm.h and
 * ops/quantized/linear_int8.c have its meaning. */
#include "gpu/product.h"
#include "tensor/layout.h"

enum { PIECE = 256 /* elements of a row that share a scale, at most */ };

/* ---- The product ----------------------------------------------------------------------------- */

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Words: 30 first byte, 31 bytes of a column, 32 columns of a group, 33 groups, 34 and 35 offsets
 * of the scales and of the zero points or minima. All results of a row with an infinity are NaN. */
static const char common[] = WGSL(
fn a_at(i: u32) -> f32 {
  let v = in0[i];
  return select(v, nan(), (bitcast<u32>(v) & 0x7f800000u) == 0x7f800000u);
}
fn a_four(i: u32) -> vec4<f32> {
  return vec4<f32>(a_at(i), a_at(i + 1u), a_at(i + 2u), a_at(i + 3u));
}
fn bits_of(byte: u32) -> u32 {
  let s = (byte & 3u) * 8u; let w = in1[byte >> 2u];
  if (s == 0u) { return w; }
  return (w >> s) | (in1[(byte >> 2u) + 1u] << (32u - s));
}
);
static const char four_bits[] = WGSL(
fn raw(col: u32, j: u32) -> u32 {
  return bits_of(word(30u) + col * word(31u) + (j >> 1u)) >> ((j & 1u) * 4u);
}
fn four_of(w: u32) -> vec4<f32> {
  return vec4<f32>(vec4<u32>(w, w >> 4u, w >> 8u, w >> 12u) & vec4<u32>(15u));
}
);
static const char eight_bits[] = WGSL(
fn raw(col: u32, j: u32) -> u32 { return bits_of(word(30u) + col * word(31u) + j); }
fn four_of(w: u32) -> vec4<f32> {
  return vec4<f32>(vec4<i32>(vec4<u32>(w << 24u, w << 16u, w << 8u, w)) >> vec4<u32>(24u));
}
);
/* WIDTH elements are in one word, and in one group. */
static const char uses[] = WGSL(
fn dot_of(lane: u32, a: u32, b: u32, col: u32) -> f32 {
  var sum = 0.0;
  for (var j = lane * WIDTH; j < word(2u); j += 8u * WIDTH) {
    let w = raw(col, j);
    let v = weights(four_of(w), col, j);
    if (WIDTH == 1u) {
      sum = fma(v.x, a_at(a + j), sum);
    } else {
      sum += dot(v, a_four(a + j));
    }
    if (WIDTH == 8u) { sum += dot(weights(four_of(w >> 16u), col, j), a_four(a + j + 4u)); }
  }
  return sum;
}
);
static const char tile_uses[] = WGSL(
fn put(at: u32, v: vec4<f32>) {
  sb[at] = v.x;
  if (WIDTH != 1u) {
    sb[at + 33u] = v.y;
    sb[at + 66u] = v.z;
    sb[at + 99u] = v.w;
  }
}
fn load_b(l: u32, at: u32, n0: u32, k0: u32) {
  let c = l % 32u; let col = n0 + c;
  for (var j = l / 32u * WIDTH; j < 16u; j += 2u * WIDTH) {
    if (col < word(1u) && k0 + j < word(2u)) {
      let w = raw(col, k0 + j);
      put(j * 33u + c, weights(four_of(w), col, k0 + j));
      if (WIDTH == 8u) { put(j * 33u + c + 132u, weights(four_of(w >> 16u), col, k0 + j)); }
    }
  }
}
);
/* clang-format on */

/* Returns how many elements of a column are read at a time. */
static int width_of(const rush_gpu_quantized *q) {
  const int most = 32 / q->bits;
  return q->k % most == 0 && q->group % most == 0 ? most : 1;
}

uint32_t rush_gpu_key_quantized(const rush_gpu_quantized *q) {
  const bool minima = q->kind == RUSH_GPU_MINIMA;
  return 2u + (uint32_t)q->bits + 16u * (uint32_t)width_of(q) + 256u * (uint32_t)q->kind +
         1024u * (rush_gpu_letter(q->scales) == 'h') +
         2048u * (minima && rush_gpu_letter(q->offsets) == 'h');
}

/* Writes a function that makes weights of the integers `q` at column `col` and row j. */
static void write_weights(rush_text *t, const rush_gpu_quantized *q, unsigned scales) {
  rush_text_add(t,
                "fn weights(q: vec4<f32>, col: u32, j: u32) -> vec4<f32> {\n"
                "let at = col * word(33u) + j / word(32u);\n"
                "let s = at%u(word(34u) + at);\n",
                scales);
  if (q->kind == RUSH_GPU_MINIMA)
    rush_text_add(t, "return fma(q, vec4<f32>(s), vec4<f32>(at%u(word(35u) + at)));\n}\n",
                  scales + 1);
  else if (q->kind == RUSH_GPU_ZERO_POINTS)
    rush_text_add(t,
                  "let b = word(35u) + at;\n"
                  "return (q - f32((in%u[b >> 2u] >> ((b & 3u) * 8u)) & 15u)) * s;\n}\n",
                  scales + 1);
  else
    rush_text_add(t, "return (q - %d.0) * s;\n}\n", q->bits == 4 ? 8 : 0);
}

void rush_gpu_write_quantized(rush_text *t, const rush_gpu_quantized *q, bool few,
                              unsigned scales) {
  rush_text_add(t, "const WIDTH = %du;\n%s%s", width_of(q), common,
                q->bits == 4 ? four_bits : eight_bits);
  write_weights(t, q, scales);
  rush_text_add(t, "%s", few ? uses : tile_uses);
}

void rush_gpu_place_quantized(const rush_gpu_product *p, uint32_t *w) {
  const rush_gpu_quantized *q = p->quantized;
  w[30] = (uint32_t)p->b.offset;
  w[31] = (uint32_t)p->b.t->sizes[1];
  w[32] = (uint32_t)q->group;
  w[33] = (uint32_t)(q->k / q->group + (q->k % q->group != 0));
  w[34] = (uint32_t)q->scales->offset;
  w[35] = q->offsets ? (uint32_t)q->offsets->offset : 0;
}

/* ---- Rows that are quantized ----------------------------------------------------------------- */

/* clang-format off */
/* A workgroup rounds a piece of a row as the kernels of the CPU do. Words: 0 pieces in all, 1 of a
 * row, 2 columns, 3 columns of a group, 4 pieces of a group, 5 columns of a piece, 6 offset and 7
 * row stride of the input. */
static const char pieces[] = WGSL(
var<workgroup> low: array<f32, 64>;
var<workgroup> high: array<f32, 64>;
var<workgroup> odd: array<u32, 64>;
fn divide(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a) & 0x7fffffffu; let y = bitcast<u32>(b);
  if (x < 0x00800000u) { return 0.0; }
  let n = (y & 0x007fffffu) | 0x00800000u;
  var r = (x & 0x007fffffu) | 0x00800000u;
  var e = i32(x >> 23u) - i32(y >> 23u) + 127;
  if (r < n) { r = r << 1u; e -= 1; }
  var q = 0u;
  for (var i = 0; i < 24; i++) {
    q = q << 1u;
    if (r >= n) { r -= n; q |= 1u; }
    r = r << 1u;
  }
  if (r > n || (r == n && (q & 1u) == 1u)) { q += 1u; }
  return select(bitcast<f32>((u32(e) << 23u) + q - 0x00800000u), 0.0, e < 1);
}
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
static const char symmetric[] = WGSL(
  var scale = divide(max(-low[0], high[0]), 127.0);
  let inverse = select(0.0, divide(1.0, scale), scale >= 1e-37);
  let least = -127.0; let most = 127.0;
);
static const char whole_range[] = WGSL(
  var scale = divide(high[0], 255.0) + divide(-low[0], 255.0);
  let inverse = select(0.0, divide(1.0, scale), scale >= 1e-37);
  let least = -round(-low[0] * inverse); let most = 255.0 + least;
);
static const char pieces_end[] = WGSL(
  if (inverse == 0.0) { scale = 0.0; }
  for (var j = begin + l; j < end; j += 64u) {
    let y = round(clamp(in0[x + j] * inverse, least, most)) * scale;
    out[row * word(2u) + j] = select(y, nan(), odd[0] != 0u);
  }
}
);
/* clang-format on */

static void write_pieces(rush_text *t, const void *what) {
  rush_text_add(t, "%s%s%s", pieces, (const char *)what, pieces_end);
}

/* Returns x with the rounding of rows that are quantized: in pieces of groups, or as a whole with
 * 256 levels if `group` is 0. */
static rush_status round_rows(rush_gpu *g, rush_call *c, int64_t group, rush_tensor *x,
                              rush_tensor **out) {
  rush_gpu_job job = {.g = g, .c = c};
  const int64_t k = x->sizes[x->rank - 1];
  const uint32_t key[] = {'q', group != 0};
  const int64_t each = group == 0 ? k : group, piece = group == 0 || each < PIECE ? each : PIECE;
  const int64_t of_group = (each - 1) / piece + 1, rest = k % each;
  const int64_t of_row = k / each * of_group + (rest + piece - 1) / piece;
  RUSH_TRY(rush_gpu_row_major(g, c, x, &x));
  RUSH_TRY(rush_gpu_temporary(g, c, x->rank, x->sizes, out));
  RUSH_TRY(rush_gpu_bind(&job, x));
  RUSH_TRY(rush_gpu_bind(&job, *out));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 2, "ff", write_pieces,
                                  group == 0 ? whole_range : symmetric));
  const int64_t words[] = {x->numel / k * of_row, of_row, k, each, of_group, piece, x->offset, k};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) job.params[i] = (uint32_t)words[i];
  rush_gpu_dispatch(&job, job.params[0], 1);
  return RUSH_OK;
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

static rush_status run(rush_gpu *g, rush_call *c, const rush_gpu_quantized *q, bool rounds,
                       int64_t group, rush_gpu_product *p) {
  rush_tensor *x = arg_tensor(c, 0);
  const rush_tensor *bias = p->added.t;
  if (rounds) RUSH_TRY(round_rows(g, c, group, x, &x));
  if (bias) p->added = (rush_gpu_matrix){.t = bias, .offset = bias->offset, .col = 1};
  p->quantized = q;
  return rush_gpu_run_linear(g, c, p, x);
}

static rush_gpu_product product_of(const rush_call *c, const rush_gpu_quantized *q, uint32_t bias,
                                   uint32_t limits) {
  const rush_tensor *w = arg_tensor(c, 1);
  rush_gpu_product p = rush_gpu_plain_product(arg_tensor(c, 0)->numel / q->k, w->sizes[0], q->k);
  p.b = (rush_gpu_matrix){.t = w, .offset = w->offset};
  p.added.t = arg_tensor(c, bias);
  p.min = (float)arg_float(c, limits);
  p.max = (float)arg_float(c, limits + 1);
  return p;
}

bool rush_gpu_linear_weights(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const int64_t k = arg_int(c, 6), input_bits = arg_int(c, 10);
  rush_gpu_quantized q = {.bits = (int)arg_int(c, 5),
                          .scales = arg_tensor(c, 2),
                          .offsets = arg_tensor(c, 3),
                          .k = k,
                          .group = arg_int(c, 7)};
  (void)row;
  if ((q.bits != 4 && q.bits != 8) || !(input_bits == 16 || (input_bits == 8 && q.bits == 4)) ||
      k < 1 || q.group < 1 || !fits(&q, arg_tensor(c, 0), arg_tensor(c, 1), arg_tensor(c, 4)))
    return false;
  if (q.group > k) q.group = k;
  const int64_t n = arg_tensor(c, 1)->sizes[0], groups = (k - 1) / q.group + 1;
  if (!is_by_group(q.scales, n, groups, true) || !set_kind(&q, n, groups)) return false;
  rush_gpu_product p = product_of(c, &q, 4, 8);
  *st = run(g, c, &q, input_bits == 8, q.group, &p);
  return true;
}

bool rush_gpu_linear_int8(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  enum { LONGEST = 1 << 16 }; /* of the row in memory, which refuses more */
  const rush_tensor *w = arg_tensor(c, 1), *scales = arg_tensor(c, 2);
  const int64_t k = w->rank == 2 ? w->sizes[1] : 0;
  const rush_gpu_quantized q = {.bits = 8, .scales = scales, .k = k, .group = k};
  (void)row;
  if (k > LONGEST || !fits(&q, arg_tensor(c, 0), w, arg_tensor(c, 3)) || !is_dense(scales) ||
      !rush_gpu_can_read(scales) || scales->rank != 1 || scales->sizes[0] != w->sizes[0])
    return false;
  rush_gpu_product p = product_of(c, &q, 3, 4);
  *st = run(g, c, &q, true, 0, &p);
  return true;
}
