/* Integers that stand for numbers: number = (integer - zero point) * scale. */
#ifndef RUSH_QUANTISE_H
#define RUSH_QUANTISE_H

#include <rushlight/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n dense elements; dtype: QINT8, QUINT8 or QINT32. Halves go to the even integer; what the dtype
 * does not hold becomes its nearest, NaN its least. */
void rush_quantise(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const float *x,
                   void *out);
void rush_dequantise(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const void *x,
                     float *out);

#endif
