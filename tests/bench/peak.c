// Measures the peak of one core in wasm, as peak.js builds and runs it: the twelve sums of a 6 x 8
// tile in registers, and reads of memory beyond all caches. A tile with its loads reaches 90 to
// 100 % of the peak, depending on how the engine assigns registers.

#include <wasm_simd128.h>

enum { SUMS = 12, STEPS = 256, BYTES = 256 << 20 };

static _Alignas(16) unsigned char data[BYTES];

void fill(void) {
  for (int i = 0; i < BYTES; i++) data[i] = 1;
}

// Computes times * STEPS * SUMS * 4 products and as many sums in float32.
float madds(int times) {
  v128_t sum[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; i++) sum[i] = wasm_v128_load(data + 16 * i);
  const v128_t x = wasm_v128_load(data + 512), y = wasm_v128_load(data + 528);
  for (int k = 0; k < times * STEPS; k++) {
#pragma unroll
    for (int i = 0; i < SUMS; i++) sum[i] = wasm_f32x4_relaxed_madd(x, y, sum[i]);
  }
#pragma unroll
  for (int i = 1; i < SUMS; i++) sum[0] = wasm_f32x4_add(sum[0], sum[i]);
  return wasm_f32x4_extract_lane(sum[0], 0);
}

// Computes times * STEPS * SUMS * 16 products of int8 and as many sums in int32.
int dots(int times) {
  v128_t sum[SUMS];
#pragma unroll
  for (int i = 0; i < SUMS; i++) sum[i] = wasm_v128_load(data + 16 * i);
  const v128_t x = wasm_v128_load(data + 512), y = wasm_v128_load(data + 528);
  for (int k = 0; k < times * STEPS; k++) {
#pragma unroll
    for (int i = 0; i < SUMS; i++) sum[i] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, y, sum[i]);
  }
#pragma unroll
  for (int i = 1; i < SUMS; i++) sum[0] = wasm_i32x4_add(sum[0], sum[i]);
  return wasm_i32x4_extract_lane(sum[0], 0);
}

// Reads BYTES.
int read_all(void) {
  v128_t sum[8] = {wasm_i32x4_const_splat(0)};
  for (const unsigned char *at = data; at < data + BYTES; at += 128) {
#pragma unroll
    for (int i = 0; i < 8; i++) sum[i] = wasm_i32x4_add(sum[i], wasm_v128_load(at + 16 * i));
  }
#pragma unroll
  for (int i = 1; i < 8; i++) sum[0] = wasm_i32x4_add(sum[0], sum[i]);
  return wasm_i32x4_extract_lane(sum[0], 0);
}
