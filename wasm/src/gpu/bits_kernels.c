/* How kernels read weights with 8 and 4 bits, and how one for few rows multiplies them: by
 * integers, which are numbers of float32. Sums of 32 weights of 4 bits, or of 4 of 8 bits, are
 * below 2^24, and therefore exact. */
#include "gpu/product_kernels.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* The words are those of quantized_weights.c. */
static const char any_bits[] = WGSL(
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
fn four_of(w: u32) -> vec4<i32> {
  return vec4<i32>(vec4<u32>(w, w >> 4u, w >> 8u, w >> 12u) & vec4<u32>(15u));
}
);
static const char eight_bits[] = WGSL(
fn raw(col: u32, j: u32) -> u32 { return bits_of(word(30u) + col * word(31u) + j); }
fn four_of(w: u32) -> vec4<i32> {
  return vec4<i32>(vec4<u32>(w << 24u, w << 16u, w << 8u, w)) >> vec4<u32>(24u);
}
);
static const char scales_of_a_step[] = WGSL(
fn place_of(c: u32, j: u32) -> u32 { return c * word(33u) + j / word(32u); }
fn scale_of_row(r: u32, j: u32) -> f32 {
  let piece = j / word(32u) * word(37u) + j % word(32u) / word(38u);
  return at0(word(39u) + r * word(36u) + piece);
}
);
/* clang-format on */

void rush_gpu_write_bits(rush_text *t, int bits) {
  rush_text_add(t, "%s%s", any_bits, bits == 4 ? four_bits : eight_bits);
}

/* Writes what a weight is: (bits - zero) * scale, and a minimum. */
static void write_numbers(rush_text *t, const rush_gpu_quantized *q, unsigned scales) {
  rush_text_add(t, "fn scale_of(at: u32) -> f32 { return at%u(word(34u) + at); }\n", scales);
  if (q->kind == RUSH_GPU_ZERO_POINTS)
    rush_text_add(t,
                  "fn zero_of(at: u32) -> f32 { let b = word(35u) + at; "
                  "return f32((in%u[b >> 2u] >> ((b & 3u) * 8u)) & 15u); }\n",
                  scales + 1);
  else
    rush_text_add(t, "fn zero_of(at: u32) -> f32 { return %s; }\n",
                  q->bits == 4 && q->kind == RUSH_GPU_NO_OFFSETS ? "8.0" : "0.0");
  if (q->kind == RUSH_GPU_MINIMA)
    rush_text_add(t, "fn low_of(at: u32) -> f32 { return at%u(word(35u) + at); }\n", scales + 1);
}

/* Writes the products of the four weights `b`, at `k`, with all rows. */
static void write_four(rush_text *t, bool minima, uint32_t rows) {
  for (unsigned r = 0; r < rows; r++) {
    rush_text_add(t, "x = four_a(%uu, k); all.%c += dot(b, x);", r, "xyzw"[r]);
    rush_text_add(t, minima ? " ones.%c += dot(x, vec4<f32>(1.0));\n" : "\n", "xyzw"[r]);
  }
}

void rush_gpu_write_bits_step(rush_text *t, const rush_gpu_quantized *q, uint32_t rows,
                              unsigned scales) {
  const bool four = q->bits == 4, minima = q->kind == RUSH_GPU_MINIMA;
  rush_gpu_write_bits(t, q->bits);
  rush_text_add(t, "%s", scales_of_a_step);
  write_numbers(t, q, scales);
  rush_text_add(t,
                "const STEP = %uu;\n"
                "fn add_product(y: vec4<f32>, col: u32, j: u32) -> vec4<f32> {\n"
                "let at = place_of(col, j); let zero = zero_of(at);\n"
                "var all = vec4<f32>(); var ones = vec4<f32>(); var x: vec4<f32>;\n"
                "for (var k = j; k < j + STEP; k += 4u) {\n"
                "let w = raw(col, k); var b = vec4<f32>(four_of(w)) - zero;\n",
                q->in_fours ? 32
                : four      ? 8
                            : 4);
  write_four(t, minima, rows);
  if (four) {
    rush_text_add(t, "k += 4u; b = vec4<f32>(four_of(w >> 16u)) - zero;\n");
    write_four(t, minima, rows);
  }
  rush_text_add(t, "}\nvar s = vec4<f32>();\n");
  for (unsigned r = 0; r < rows; r++)
    rush_text_add(t, "s.%c = scale_of_row(%uu, j);\n", "xyzw"[r], r);
  rush_text_add(t, "return y + all * (s * scale_of(at))%s;\n}\n",
                minima ? " + ones * (s * low_of(at))" : "");
}
