/* Conversion between float32 and float16 or bfloat16, vectorized. Results equal those of
 * base/half.h: widening is exact, and narrowing rounds to nearest, half to even. */
#ifndef RUSH_FP16_H
#define RUSH_FP16_H

#include <rushlight/format.h>
#include <stddef.h>

/* `from` and `to` need no alignment and must not overlap. `dtype` is the half-precision dtype,
 * FLOAT16 or BFLOAT16. */
typedef void rush_half_rows_fn(rush_dtype dtype, size_t n, const void *from, void *to);
/* Widen half-precision numbers to floats, and narrow floats to half precision. */
rush_half_rows_fn rush_widen_halves, rush_narrow_floats;
/* The same functions for each vector width of x86-64. */
rush_half_rows_fn rush_widen_halves_4, rush_narrow_floats_4, rush_widen_halves_8,
    rush_narrow_floats_8;

#endif
