/* Eight float16 or bfloat16 numbers in a 16-byte vector, for fp16.c and gemm_half.c. */
#ifndef RUSH_FP16_LANES_H
#define RUSH_FP16_LANES_H

#include "kernels/simd.h"

typedef int16_t h8 __attribute__((vector_size(16)));

RUSH_INLINE h8 h8_load(const char *from) {
  h8 v;
  memcpy(&v, from, sizeof v);
  return v;
}
/* Elements 0 to 3 (or 4 to 7) in the upper 16 bits of each lane, which converts bfloat16 to
 * float32. */
RUSH_INLINE i4 h8_behind_zeros(h8 v, int upper) {
  const h8 zero = {0};
  return upper ? (i4)__builtin_shufflevector(zero, v, 4, 12, 5, 13, 6, 14, 7, 15)
               : (i4)__builtin_shufflevector(zero, v, 0, 8, 1, 9, 2, 10, 3, 11);
}
/* Moves exponent and fraction of a float16 in the upper bits to their place in a float32. The
 * result is 2^-112 times the number, if it is finite. */
RUSH_INLINE f4 h8_float16(i4 behind_zeros) {
  return (f4)((behind_zeros >> 3) & i4_set((int32_t)0x8fffe000));
}

#endif
