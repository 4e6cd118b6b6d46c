/* How the kernels of product_kernels.c read weights with 8 and 4 bits: as numbers. */
#include "gpu/product_kernels.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* The words are those of quantized_weights.c. */
static const char any_place[] = WGSL(
fn bits_at(byte: u32) -> u32 { return in1[byte >> 2u] >> ((byte & 3u) * 8u); }
fn place_of(c: u32, j: u32) -> u32 { return c * word(33u) + j / word(32u); }
);
static const char four_bits[] = WGSL(
fn raw(c: u32, j: u32) -> u32 {
  return bits_at(word(30u) + c * word(31u) + (j >> 1u)) >> ((j & 1u) * 4u);
}
fn four_of(w: u32) -> vec4<f32> {
  return vec4<f32>(vec4<u32>(w, w >> 4u, w >> 8u, w >> 12u) & vec4<u32>(15u));
}
);
static const char eight_bits[] = WGSL(
fn raw(c: u32, j: u32) -> u32 { return bits_at(word(30u) + c * word(31u) + j); }
fn four_of(w: u32) -> vec4<f32> {
  return vec4<f32>(vec4<i32>(vec4<u32>(w << 24u, w << 16u, w << 8u, w)) >> vec4<u32>(24u));
}
);
static const char in_words[] = WGSL(
fn four_b(c: u32, j: u32) -> vec4<f32> {
  if (c >= word(1u) || j >= word(2u)) { return vec4<f32>(); }
  let at = place_of(c, j);
  return (four_of(raw(c, j)) - zero_of(at)) * scale_of(at) + low_of(at);
}
);
static const char anywhere[] = WGSL(
fn weight_of(c: u32, j: u32) -> f32 {
  if (j >= word(2u)) { return 0.0; }
  let at = place_of(c, j);
  return (four_of(raw(c, j)).x - zero_of(at)) * scale_of(at) + low_of(at);
}
fn four_b(c: u32, j: u32) -> vec4<f32> {
  if (c >= word(1u)) { return vec4<f32>(); }
  return vec4<f32>(weight_of(c, j), weight_of(c, j + 1u), weight_of(c, j + 2u),
                   weight_of(c, j + 3u));
}
);
/* clang-format on */

/* Writes what a weight is: (bits - zero) * scale + low. */
static void write_numbers(rush_text *t, const rush_gpu_quantized *q, unsigned scales) {
  const bool zeros = q->kind == RUSH_GPU_ZERO_POINTS, minima = q->kind == RUSH_GPU_MINIMA;
  rush_text_add(t, "fn scale_of(at: u32) -> f32 { return at%u(word(34u) + at); }\n", scales);
  rush_text_add(t, "fn zero_of(at: u32) -> f32 { ");
  if (zeros)
    rush_text_add(t,
                  "let b = word(35u) + at; return f32((in%u[b >> 2u] >> ((b & 3u) * 8u)) & 15u); ",
                  scales + 1);
  else
    rush_text_add(t, "return %s; ", q->bits == 4 && !minima ? "8.0" : "0.0");
  rush_text_add(t, "}\nfn low_of(at: u32) -> f32 { return ");
  if (minima)
    rush_text_add(t, "at%u(word(35u) + at)", scales + 1);
  else
    rush_text_add(t, "0.0");
  rush_text_add(t, "; }\n");
}

void rush_gpu_write_bits(rush_text *t, const rush_gpu_quantized *q, unsigned scales) {
  rush_text_add(t, "%s%s", any_place, q->bits == 4 ? four_bits : eight_bits);
  write_numbers(t, q, scales);
  rush_text_add(t, "%s", q->in_words ? in_words : anywhere);
}

void rush_gpu_write_bits_step(rush_text *t, const rush_gpu_quantized *q, uint32_t rows) {
  const bool eight = q->in_words && q->bits == 4, minima = q->kind == RUSH_GPU_MINIMA;
  rush_text_add(t,
                "const STEP = %uu;\n"
                "fn add_product(y: vec4<f32>, col: u32, j: u32) -> vec4<f32> {\nvar sum = y;\n",
                eight ? 8 : 4);
  if (eight)
    rush_text_add(t,
                  "let at = place_of(col, j); let w = raw(col, j);\n"
                  "let b = four_of(w) - zero_of(at); let more = four_of(w >> 16u) - zero_of(at);\n"
                  "let s = scale_of(at);\n");
  else
    rush_text_add(t, "let b = four_b(col, j);\n");
  for (unsigned r = 0; r < rows; r++) {
    rush_text_add(t, "let x%u = four_a(%uu, j);\n", r, r);
    if (!eight) {
      rush_text_add(t, "sum.%c += dot(b, x%u);\n", "xyzw"[r], r);
      continue;
    }
    rush_text_add(t, "let y%u = four_a(%uu, j + 4u);\nsum.%c += s * (dot(b, x%u) + dot(more, y%u))",
                  r, r, "xyzw"[r], r, r);
    if (minima) rush_text_add(t, " + low_of(at) * dot(x%u + y%u, vec4<f32>(1.0))", r, r);
    rush_text_add(t, ";\n");
  }
  rush_text_add(t, "return sum;\n}\n");
}
