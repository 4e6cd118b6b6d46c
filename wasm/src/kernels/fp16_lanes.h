/* Eight float16 or bfloat16 in a vector of 16 bytes: what fp16.c and gemm_half.c begin with. */
#ifndef RUSH_FP16_LANES_H
#define RUSH_FP16_LANES_H

#include "kernels/simd.h"

typedef int16_t h8 __attribute__((vector_size(16)));

RUSH_INLINE h8 h8_load(const char *from) {
  h8 v;
  memcpy(&v, from, sizeof v);
  return v;
}
/* Elements 0 to 3 (or 4 to 7), each behind 16 bits of zeros: bfloat16 as floats. */
RUSH_INLINE i4 h8_behind_zeros(h8 v, int upper) {
  const h8 zero = {0};
  return upper ? (i4)__builtin_shufflevector(zero, v, 4, 12, 5, 13, 6, 14, 7, 15)
               : (i4)__builtin_shufflevector(zero, v, 0, 8, 1, 9, 2, 10, 3, 11);
}
/* Of float16 behind zeros, exponent and fraction where a float has them: 2^-112 times the number, if that
 * is finite. */
RUSH_INLINE f4 h8_float16(i4 behind_zeros) {
  return (f4)((behind_zeros >> 3) & i4_set((int32_t)0x8fffe000));
}

#endif
