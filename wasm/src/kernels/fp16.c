#include "kernels/fp16.h"

#include <stdbool.h>

#include "kernels/fp16_lanes.h"

#ifdef RUSH_WIDE_VECTORS
#define NAMED(name) rush_##name##_4
#else
#define NAMED(name) rush_##name
#endif

enum {
  AT_ONCE = 2 * RUSH_LANES,
  HALF = sizeof(uint16_t),
  FLOAT = sizeof(float) /* sizes in bytes */
};

/* Converts n elements, where n is a multiple of AT_ONCE. */
typedef void some_fn(size_t n, const void *from, void *to);
/* Converts any number of elements. The remaining elements are padded with zeros. */
static void run_all(some_fn *run, size_t n, const void *from, size_t item, void *to, size_t made) {
  const size_t left = n % AT_ONCE, whole = n - left;
  run(whole, from, to);
  if (left == 0) return;
  float in[AT_ONCE] = {0}, out[AT_ONCE];
  memcpy(in, (const char *)from + whole * item, left * item);
  run(AT_ONCE, in, out);
  memcpy((char *)to + whole * made, out, left * made);
}

/* ---- Widening -------------------------------------------------------------------------------- */

/* Widens finite numbers, including subnormal ones. */
RUSH_INLINE f4 of_float16(i4 v) {
  return h8_float16(v) * f4_set(0x1p112f);
}
/* Also widens infinities and NaN. */
RUSH_INLINE f4 of_any_float16(i4 v) {
  const i4 greatest = i4_set(0x7c000000);
  return (f4)((i4)of_float16(v) | (((v & greatest) == greatest) & i4_set(0x7f800000)));
}

static void widen_any_float16(size_t n, const void *from, void *to) {
  const char *x = from;
  float *y = to;
  for (size_t i = 0; i < n; i += AT_ONCE) {
    const h8 v = h8_load(x + HALF * i);
    f4_store(y + i, of_any_float16(h8_behind_zeros(v, 0)));
    f4_store(y + i + RUSH_LANES, of_any_float16(h8_behind_zeros(v, 1)));
  }
}
/* Widens as if all numbers were finite, and returns whether one is not. */
static bool widen_finite_float16(size_t n, const char *from, float *to) {
  const h8 greatest = (h8)i4_set(0x7c007c00);
  h8 strange = {0};
  for (size_t i = 0; i < n; i += AT_ONCE) {
    const h8 v = h8_load(from + HALF * i);
    strange |= (v & greatest) == greatest;
    f4_store(to + i, of_float16(h8_behind_zeros(v, 0)));
    f4_store(to + i + RUSH_LANES, of_float16(h8_behind_zeros(v, 1)));
  }
  return i4_any((i4)strange);
}
static void widen_float16(size_t n, const void *from, void *to) {
  enum { CHUNK = 256 };
  const char *x = from;
  float *y = to;
  for (size_t i = 0; i < n; i += CHUNK) {
    const size_t m = n - i < CHUNK ? n - i : CHUNK;
    if (widen_finite_float16(m, x + HALF * i, y + i)) widen_any_float16(m, x + HALF * i, y + i);
  }
}
static void widen_bfloat16(size_t n, const void *from, void *to) {
  const char *x = from;
  float *y = to;
  for (size_t i = 0; i < n; i += AT_ONCE) {
    const h8 v = h8_load(x + HALF * i);
    f4_store(y + i, (f4)h8_behind_zeros(v, 0));
    f4_store(y + i + RUSH_LANES, (f4)h8_behind_zeros(v, 1));
  }
}

void NAMED(widen_halves)(rush_dtype dtype, size_t n, const void *from, void *to) {
  run_all(dtype == RUSH_FLOAT16 ? widen_float16 : widen_bfloat16, n, from, HALF, to, FLOAT);
}

/* ---- Rounding -------------------------------------------------------------------------------- */

/* Stores the lower 16 bits of each element. */
RUSH_INLINE void store_lower(char *to, i4 a, i4 b) {
  const h8 v = __builtin_shufflevector((h8)a, (h8)b, 0, 2, 4, 6, 8, 10, 12, 14);
  memcpy(to, &v, sizeof v);
}
/* Adds 2^15 times the number's power of two (for small numbers, that of the least normal one). The
 * sum is thereby rounded where a float16 ends. The first product turns a number that is too large
 * into infinity. */
RUSH_INLINE i4 to_float16(f4 x) {
  const i4 power = (i4)x & i4_set(0x7f800000), least = i4_set(0x38800000);
  const i4 larger = power > least;
  const i4 up = i4_add((power & larger) | (least & ~larger), i4_set(0x07800000));
  const i4 sum = (i4)(f4_abs(x) * f4_set(0x1p112f) * f4_set(0x1p-110f) + (f4)up);
  const i4 half = i4_add((sum >> 13) & i4_set(0x7c00), sum & i4_set(0xfff));
  return (((i4)x >> 16) & i4_set(0x8000)) | (i4)f4_select(x == x, (f4)half, (f4)i4_set(0x7e00));
}
RUSH_INLINE i4 to_bfloat16(f4 x) {
  const i4 v = (i4)x, half = i4_add(v, i4_add(i4_set(0x7fff), (v >> 16) & i4_set(1))) >> 16;
  return (i4)f4_select(x == x, (f4)half, (f4)i4_set(0x7fc0));
}

static void narrow_to_float16(size_t n, const void *from, void *to) {
  const float *x = from;
  char *y = to;
  for (size_t i = 0; i < n; i += AT_ONCE)
    store_lower(y + HALF * i, to_float16(f4_load(x + i)), to_float16(f4_load(x + i + RUSH_LANES)));
}
static void narrow_to_bfloat16(size_t n, const void *from, void *to) {
  const float *x = from;
  char *y = to;
  for (size_t i = 0; i < n; i += AT_ONCE)
    store_lower(y + HALF * i, to_bfloat16(f4_load(x + i)),
                to_bfloat16(f4_load(x + i + RUSH_LANES)));
}

void NAMED(narrow_floats)(rush_dtype dtype, size_t n, const void *from, void *to) {
  run_all(dtype == RUSH_FLOAT16 ? narrow_to_float16 : narrow_to_bfloat16, n, from, FLOAT, to, HALF);
}

#ifdef RUSH_WIDE_VECTORS
void rush_widen_halves(rush_dtype dtype, size_t n, const void *from, void *to) {
  (__builtin_cpu_supports("avx2") ? rush_widen_halves_8 : rush_widen_halves_4)(dtype, n, from, to);
}
void rush_narrow_floats(rush_dtype dtype, size_t n, const void *from, void *to) {
  (__builtin_cpu_supports("avx2") ? rush_narrow_floats_8 : rush_narrow_floats_4)(dtype, n, from,
                                                                                 to);
}
#endif
