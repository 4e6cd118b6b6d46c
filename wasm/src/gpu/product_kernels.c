/* The text of matrix products. Tiles go through the memory of a workgroup, transposed in blocks of
 * 4x4; for few rows, several threads share a column. */
#include "gpu/product_kernels.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"

/* Columns are pixels of the result, and rows are elements of a window. Words: 30, 31 height and
 * width of the input, 32 channels or elements and 33 width of a window, 34-39 stride, padding,
 * dilation, 40 width of the result, 41-43 strides of channels, rows and columns of the input. */
static const char channels_first[] = WGSL(
fn element_of(j: u32) -> vec2<u32> { return vec2<u32>(j % word(32u), j / word(32u)); }
);
static const char channels_last[] = WGSL(
fn element_of(j: u32) -> vec2<u32> { return vec2<u32>(j / word(32u), j % word(32u)); }
);
static const char pixels[] = WGSL(
var<private> tops: vec4<i32>;
var<private> lefts: vec4<i32>;
fn find_pixels(c: u32) {
  let p = vec4<u32>(c, c + 1u, c + 2u, c + 3u);
  let h = vec4<i32>((p / word(40u)) * word(34u)) - i32(word(36u));
  tops = select(h, vec4<i32>(-0x40000000), p >= vec4<u32>(word(1u)));
  lefts = vec4<i32>((p % word(40u)) * word(35u)) - i32(word(37u));
}
fn four_b(c: u32, j: u32) -> vec4<f32> {
  var x = vec4<f32>();
  if (j >= word(2u)) { return x; }
  let place = element_of(j);
  let e = place.x;
  let h = tops + i32(e / word(33u) * word(38u));
  let w = lefts + i32(e % word(33u) * word(39u));
  let inside = (h >= vec4<i32>()) & (h < vec4<i32>(i32(word(30u)))) &
               (w >= vec4<i32>()) & (w < vec4<i32>(i32(word(31u))));
  let at = b0 + place.y * word(41u) + vec4<u32>(h) * word(42u) + vec4<u32>(w) * word(43u);
  if (inside.x) { x.x = at1(at.x); }
  if (inside.y) { x.y = at1(at.y); }
  if (inside.z) { x.z = at1(at.z); }
  if (inside.w) { x.w = at1(at.w); }
  return x;
}
);

/* ---- Kernels --------------------------------------------------------------------------------- */

static const char begin[] = WGSL(
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let id = group_of(g, ng);
  if (id >= word(14u) * word(15u)) { return; }
  let z0 = g.z / word(3u); let z1 = g.z % word(3u);
  a0 = word(4u) + z0 * word(7u) + z1 * word(8u);
  b0 = word(9u) + z0 * word(12u) + z1 / word(63u) * word(13u);
);

/* LANES threads share a column. */
static const char few_rows[] = WGSL(
  let lane = l % LANES; let col = id * (64u / LANES) + l / LANES;
  var sum = vec4<f32>();
  if (col < word(1u)) {
    for (var j = lane * STEP; j < word(2u); j += LANES * STEP) { sum = add_product(sum, col, j); }
  }
  part[l] = sum;
  workgroupBarrier();
  if (lane % 8u == 0u) {
    sum = vec4<f32>();
    for (var i = 0u; i < 8u; i++) { sum += part[l + i]; }
    part[l] = sum;
  }
  workgroupBarrier();
  if (lane != 0u || col >= word(1u)) { return; }
  sum = vec4<f32>();
  for (var i = 0u; i < LANES; i += 8u) { sum += part[l + i]; }
  for (var r = 0u; r < word(0u); r++) { store(z0, z1, r, col, sum[r]); }
}
);

/* The same for rows of b: a thread has four columns and a sixteenth of the rows. */
static const char few_rows_along[] = WGSL(
  let lane = l / 4u; let col = id * 16u + l % 4u * 4u;
  var sum = array<vec4<f32>, ROWS>();
  for (var j = lane; j < word(2u); j += 16u) {
    let b = four_b(col, j);
    for (var r = 0u; r < ROWS; r++) {
      sum[r] = fma(vec4<f32>(at0(a0 + r * word(5u) + j * word(6u))), b, sum[r]);
    }
  }
  for (var r = 0u; r < ROWS; r++) { part[r * 64u + l] = sum[r]; }
  for (var h = 8u; h > 0u; h = h / 2u) {
    workgroupBarrier();
    for (var r = 0u; r < ROWS; r++) {
      if (lane < h) { part[r * 64u + l] += part[r * 64u + l + h * 4u]; }
    }
  }
  if (lane != 0u) { return; }
  for (var r = 0u; r < ROWS; r++) { store_four(z0, z1, r, col, part[r * 64u + l]); }
}
);
static const char four_of_a_row[] = WGSL(
fn store_four(z0: u32, z1: u32, row: u32, col: u32, y: vec4<f32>) {
  for (var i = 0u; i < 4u; i++) {
    if (row < word(0u) && col + i < word(1u)) { store(z0, z1, row, col + i, y[i]); }
  }
}
);
/* clang-format on */

bool rush_gpu_has_fast_step(const rush_gpu_form *f) {
  return f->rows > 0 && f->quantized->in_words && f->wide_a;
}

rush_gpu_tile rush_gpu_tile_of(bool large) {
  return large ? (rush_gpu_tile){64, 64, 16, 8, 4} : (rush_gpu_tile){32, 64, 32, 4, 4};
}

static uint32_t threads_of(const rush_gpu_tile *s) {
  return s->m / s->each_m * (s->n / s->each_n);
}

/* Writes how a tile of an operand gets into the memory of a workgroup: four elements of `along` are
 * a vector, and rows and columns change places. */
static void write_turned(rush_text *t, const rush_gpu_tile *s, char name, uint32_t along) {
  rush_text_add(
      t,
      "for (var e = l; e < %uu; e += %uu) {\n"
      "let j = e %% %uu * 4u; let at = e / %uu;\n"
      "let x = mat4x4<f32>(four_%c(%c0 + at * 4u, k0 + j), four_%c(%c0 + at * 4u + 1u, k0 + j),"
      " four_%c(%c0 + at * 4u + 2u, k0 + j), four_%c(%c0 + at * 4u + 3u, k0 + j));\n",
      along / 4 * (s->k / 4), threads_of(s), s->k / 4, s->k / 4, name, name == 'a' ? 'm' : 'n',
      name, name == 'a' ? 'm' : 'n', name, name == 'a' ? 'm' : 'n', name, name == 'a' ? 'm' : 'n');
  for (unsigned i = 0; i < 4; i++)
    rush_text_add(
        t, "s%c[(j + %uu) * %uu + at] = vec4<f32>(x[0][%u], x[1][%u], x[2][%u], x[3][%u]);\n", name,
        i, along / 4, i, i, i, i);
  rush_text_add(t, "}\n");
}

/* Does the same for four elements of a row of b. */
static void write_straight(rush_text *t, const rush_gpu_tile *s) {
  rush_text_add(t,
                "for (var e = l; e < %uu; e += %uu) {\n"
                "sb[e] = four_b(n0 + e %% %uu * 4u, k0 + e / %uu);\n}\n",
                s->n / 4 * s->k, threads_of(s), s->n / 4, s->n / 4);
}

/* Writes the sums of the elements of a thread, which has rows of four that are far apart. */
static void write_sums(rush_text *t, const rush_gpu_tile *s) {
  const uint32_t rows = s->m / s->each_m;
  rush_text_add(t, "for (var j = 0u; j < %uu; j++) {\nlet b = sb[j * %uu + tc];\n", s->k, s->n / 4);
  for (unsigned i = 0; i < s->each_m / 4; i++) {
    rush_text_add(t, "let a%u = sa[j * %uu + tr + %uu];\n", i, s->m / 4, i * rows);
    for (unsigned r = 0; r < 4; r++)
      rush_text_add(t, "s%u = fma(vec4<f32>(a%u[%u]), b, s%u);\n", 4 * i + r, i, r, 4 * i + r);
  }
  rush_text_add(t, "}\n");
}

static void write_end(rush_text *t, const rush_gpu_tile *s) {
  const uint32_t rows = s->m / s->each_m;
  for (unsigned i = 0; i < s->each_m; i++)
    rush_text_add(t, "store_four(z0, z1, m0 + (tr + %uu) * 4u + %uu, n0 + tc * 4u, s%u);\n",
                  i / 4 * rows, i % 4, i);
  rush_text_add(t, "}\n");
}

static void write_tile(rush_text *t, const rush_gpu_form *f) {
  const rush_gpu_tile s = rush_gpu_tile_of(f->large);
  const bool straight = f->second == RUSH_GPU_ALONG_N || f->second == RUSH_GPU_PIXELS;
  rush_text_add(
      t,
      "%svar<workgroup> sa: array<vec4<f32>, %u>;\nvar<workgroup> sb: array<vec4<f32>, %u>;\n"
      "@compute @workgroup_size(%u)\n%s",
      four_of_a_row, s.m / 4 * s.k, s.n / 4 * s.k, threads_of(&s), begin);
  rush_text_add(t,
                "let m0 = id / word(14u) * %uu; let n0 = id %% word(14u) * %uu;\n"
                "let tr = l / %uu; let tc = l %% %uu;\n",
                s.m, s.n, s.n / 4, s.n / 4);
  for (unsigned i = 0; i < s.each_m; i++) rush_text_add(t, "var s%u = vec4<f32>();\n", i);
  if (f->second == RUSH_GPU_PIXELS) rush_text_add(t, "find_pixels(n0 + l %% %uu * 4u);\n", s.n / 4);
  rush_text_add(t, "for (var k0 = 0u; k0 < word(2u); k0 += %uu) {\n", s.k);
  write_turned(t, &s, 'a', s.m);
  if (straight)
    write_straight(t, &s);
  else
    write_turned(t, &s, 'b', s.n);
  rush_text_add(t, "workgroupBarrier();\n");
  write_sums(t, &s);
  rush_text_add(t, "workgroupBarrier();\n}\n");
  write_end(t, &s);
}

static void write_few_rows(rush_text *t, const rush_gpu_form *f) {
  if (f->second == RUSH_GPU_ALONG_N) {
    rush_text_add(t,
                  "const ROWS = %uu;\nvar<workgroup> part: array<vec4<f32>, %u>;\n%s"
                  "@compute @workgroup_size(64)\n%s%s",
                  f->rows, f->rows * 64, four_of_a_row, begin, few_rows_along);
    return;
  }
  rush_text_add(t, "const LANES = %uu;\nvar<workgroup> part: array<vec4<f32>, 64>;\n", f->lanes);
  if (f->quantized) {
    rush_gpu_write_bits_step(t, f->quantized, f->rows, f->adds ? 3 : 2);
  } else {
    rush_text_add(t,
                  "const STEP = 4u;\n"
                  "fn add_product(y: vec4<f32>, col: u32, j: u32) -> vec4<f32> {\n"
                  "var sum = y;\nlet b = four_b(col, j);\n");
    for (unsigned r = 0; r < f->rows; r++)
      rush_text_add(t, "sum.%c += dot(b, four_a(%uu, j));\n", "xyzw"[r], r);
    rush_text_add(t, "return sum;\n}\n");
  }
  rush_text_add(t, "@compute @workgroup_size(64)\n%s%s", begin, few_rows);
}

static void write_store(rush_text *t, const rush_gpu_form *f) {
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
  if (f->clamps) rush_text_add(t, "y = limit(y, number(23u), number(24u));\n");
  rush_text_add(t,
                "out[word(25u) + z0 * word(28u) + z1 * word(29u) + row * word(26u) + col * "
                "word(27u)] = y;\n}\n");
}

/* An operand in the text: which of them, the names of the index that four elements share and of the
 * one along which they follow each other, and the words with the sizes and strides of both. */
typedef struct operand {
  char name, shared, along;
  unsigned shared_size, along_size, shared_stride, along_stride;
} operand;
static const operand first = {'a', 'r', 'j', 0, 2, 5, 6};
static const operand column = {'b', 'c', 'j', 1, 2, 11, 10};
static const operand row = {'b', 'j', 'c', 2, 1, 10, 11};

/* Writes four_a(row, k) or four_b(column, k): four elements, which are 0 outside. */
static void write_four(rush_text *t, const operand *o, bool wide) {
  const char s = o->shared, a = o->along;
  rush_text_add(t,
                "fn four_%c(%c: u32, j: u32) -> vec4<f32> {\nvar x = vec4<f32>();\n"
                "if (%c >= word(%uu)) { return x; }\nlet at = %c0 + %c * word(%uu) + %c",
                o->name, o->name == 'a' ? 'r' : 'c', s, o->shared_size, o->name, s,
                o->shared_stride, a);
  if (wide)
    rush_text_add(t, ";\nif (%c < word(%uu)) { x = wide%u(at); }\n", a, o->along_size,
                  o->name == 'a' ? 0 : 1);
  else
    rush_text_add(t, " * word(%uu);\n", o->along_stride);
  for (unsigned i = 0; !wide && i < 4; i++)
    rush_text_add(t, "if (%c + %uu < word(%uu)) { x[%u] = at%u(at + %uu * word(%uu)); }\n", a, i,
                  o->along_size, i, o->name == 'a' ? 0 : 1, i, o->along_stride);
  rush_text_add(t, "return x;\n}\n");
}

/* Writes a function that reads four elements from a multiple of four on. */
static void write_wide(rush_text *t, unsigned n, bool wide, char letter) {
  if (!wide) return;
  if (letter == 'h')
    rush_text_add(
        t,
        "fn wide%u(i: u32) -> vec4<f32> { let a = in%u[i >> 1u]; let b = in%u[(i >> 1u) + "
        "1u]; return vec4<f32>(half_of(a, 0u), half_of(a, 1u), half_of(b, 0u), "
        "half_of(b, 1u)); }\n",
        n, n, n);
  else
    rush_text_add(t, "fn wide%u(i: u32) -> vec4<f32> { return in%u[i >> 2u]; }\n", n, n);
}

void rush_gpu_write_product(rush_text *t, const void *what) {
  const rush_gpu_form *f = what;
  write_store(t, f);
  if (f->quantized && !rush_gpu_has_fast_step(f)) {
    rush_gpu_write_quantized(t, f->quantized, f->rows > 0, f->adds ? 3 : 2);
    return;
  }
  rush_text_add(t, "var<private> a0: u32;\nvar<private> b0: u32;\n");
  write_wide(t, 0, f->wide_a, f->letter_a);
  write_wide(t, 1, f->wide_b, f->letter_b);
  write_four(t, &first, f->wide_a);
  switch (f->second) {
    case RUSH_GPU_ALONG_K:
      write_four(t, &column, f->wide_b);
      break;
    case RUSH_GPU_ALONG_N:
      write_four(t, &row, f->wide_b);
      break;
    case RUSH_GPU_PIXELS:
      rush_text_add(t, "%s%s", f->channels_last ? channels_last : channels_first, pixels);
      break;
    case RUSH_GPU_BITS:
      break;
  }
  if (f->rows > 0)
    write_few_rows(t, f);
  else
    write_tile(t, f);
}
