/* float16 and bfloat16 as float32 and back, many at a time, as base/half.h has it for one: widened
 * exactly, rounded to the nearest, of two as near the even one. */
#ifndef RUSH_FP16_H
#define RUSH_FP16_H

#include <rushlight/format.h>
#include <stddef.h>

/* `from` and `to` may lie anywhere and do not overlap; `dtype`, FLOAT16 or BFLOAT16, is that of the
 * halves. */
typedef void rush_half_rows_fn(rush_dtype dtype, size_t n, const void *from, void *to);
/* Halves to floats, and floats to halves. */
rush_half_rows_fn rush_widen_halves, rush_narrow_floats;
/* The same for each width of vectors that x86-64 may have. */
rush_half_rows_fn rush_widen_halves_4, rush_narrow_floats_4, rush_widen_halves_8,
    rush_narrow_floats_8;

#endif
