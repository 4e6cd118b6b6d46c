#include "kernels/halves.h"

#include <stdbool.h>

#include "kernels/simd.h"

#ifdef RUSH_WIDE_MATH
#define NAMED(name) rush_##name##_4
#else
#define NAMED(name) rush_##name
#endif

enum { AT_ONCE = 2 * RUSH_LANES };
typedef int16_t s8 __attribute__((vector_size(16)));

/* ---- Widening ---------------------------------------------------------------------------------- */

/* Elements 0 to 3 of eight (or 4 to 7), each behind 16 bits of zeros. */
RUSH_INLINE i4 behind_zeros(s8 v, int upper) {
  const s8 zero = {0};
  return upper ? (i4)__builtin_shufflevector(zero, v, 4, 12, 5, 13, 6, 14, 7, 15)
               : (i4)__builtin_shufflevector(zero, v, 0, 8, 1, 9, 2, 10, 3, 11);
}
/* Exponent and fraction go where a float has them, which is the number times 2^-112, of numbers below
 * the least normal one, too. */
RUSH_INLINE f4 of_float16(i4 v) {
  return (f4)((v >> 3) & i4_set((int32_t)0x8fffe000)) * f4_set(0x1p112f);
}
/* Infinities and NaN, too. */
RUSH_INLINE f4 of_any_float16(i4 v) {
  const i4 greatest = i4_set(0x7c000000);
  return (f4)((i4)of_float16(v) | (((v & greatest) == greatest) & i4_set(0x7f800000)));
}

typedef void widen_fn(size_t n, const char *from, float *to);
static void widen_any_float16(size_t n, const char *from, float *to) {
  for (size_t i = 0; i < n; i += AT_ONCE) {
    s8 v;
    memcpy(&v, from + 2 * i, sizeof v);
    f4_store(to + i, of_any_float16(behind_zeros(v, 0)));
    f4_store(to + i + RUSH_LANES, of_any_float16(behind_zeros(v, 1)));
  }
}
/* Whether one of them is not finite, which it took all to be. */
static bool widen_finite_float16(size_t n, const char *from, float *to) {
  const s8 greatest = (s8)i4_set(0x7c007c00);
  s8 strange = {0};
  for (size_t i = 0; i < n; i += AT_ONCE) {
    s8 v;
    memcpy(&v, from + 2 * i, sizeof v);
    strange |= (v & greatest) == greatest;
    f4_store(to + i, of_float16(behind_zeros(v, 0)));
    f4_store(to + i + RUSH_LANES, of_float16(behind_zeros(v, 1)));
  }
  return i4_any((i4)strange);
}
static void widen_float16(size_t n, const char *from, float *to) {
  enum { CHUNK = 256 };
  for (size_t i = 0; i < n; i += CHUNK) {
    const size_t m = n - i < CHUNK ? n - i : CHUNK;
    if (widen_finite_float16(m, from + 2 * i, to + i)) widen_any_float16(m, from + 2 * i, to + i);
  }
}
static void widen_bfloat16(size_t n, const char *from, float *to) {
  for (size_t i = 0; i < n; i += AT_ONCE) {
    s8 v;
    memcpy(&v, from + 2 * i, sizeof v);
    f4_store(to + i, (f4)behind_zeros(v, 0));
    f4_store(to + i + RUSH_LANES, (f4)behind_zeros(v, 1));
  }
}

void NAMED(widen_halves)(rush_dtype dtype, size_t n, const void *from, void *to) {
  const size_t left = n % AT_ONCE, whole = n - left;
  widen_fn *run = dtype == RUSH_FLOAT16 ? widen_float16 : widen_bfloat16;
  run(whole, from, to);
  if (left == 0) return;
  uint16_t halves[AT_ONCE] = {0};
  float floats[AT_ONCE];
  memcpy(halves, (const uint16_t *)from + whole, left * sizeof *halves);
  run(AT_ONCE, (const char *)halves, floats);
  memcpy((float *)to + whole, floats, left * sizeof *floats);
}

/* ---- Rounding ---------------------------------------------------------------------------------- */

/* The lower 16 bits of each element. */
RUSH_INLINE void store_lower(char *to, i4 a, i4 b) {
  const s8 v = __builtin_shufflevector((s8)a, (s8)b, 0, 2, 4, 6, 8, 10, 12, 14);
  memcpy(to, &v, sizeof v);
}
/* 2^15 times the number's power of two is added (the least normal one's, below that), so that the sum is
 * rounded where a half ends; the first product makes an infinity of what is too large. */
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

typedef void narrow_fn(size_t n, const float *from, char *to);
static void narrow_to_float16(size_t n, const float *from, char *to) {
  for (size_t i = 0; i < n; i += AT_ONCE)
    store_lower(to + 2 * i, to_float16(f4_load(from + i)),
                to_float16(f4_load(from + i + RUSH_LANES)));
}
static void narrow_to_bfloat16(size_t n, const float *from, char *to) {
  for (size_t i = 0; i < n; i += AT_ONCE)
    store_lower(to + 2 * i, to_bfloat16(f4_load(from + i)),
                to_bfloat16(f4_load(from + i + RUSH_LANES)));
}

void NAMED(narrow_floats)(rush_dtype dtype, size_t n, const void *from, void *to) {
  const size_t left = n % AT_ONCE, whole = n - left;
  narrow_fn *run = dtype == RUSH_FLOAT16 ? narrow_to_float16 : narrow_to_bfloat16;
  run(whole, from, to);
  if (left == 0) return;
  float floats[AT_ONCE] = {0};
  uint16_t halves[AT_ONCE];
  memcpy(floats, (const float *)from + whole, left * sizeof *floats);
  run(AT_ONCE, floats, (char *)halves);
  memcpy((uint16_t *)to + whole, halves, left * sizeof *halves);
}

#ifdef RUSH_WIDE_MATH
void rush_widen_halves(rush_dtype dtype, size_t n, const void *from, void *to) {
  (__builtin_cpu_supports("avx2") ? rush_widen_halves_8 : rush_widen_halves_4)(dtype, n, from, to);
}
void rush_narrow_floats(rush_dtype dtype, size_t n, const void *from, void *to) {
  (__builtin_cpu_supports("avx2") ? rush_narrow_floats_8 : rush_narrow_floats_4)(dtype, n, from,
                                                                                 to);
}
#endif
