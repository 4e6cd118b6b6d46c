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

/* y[i * row + j * col] = sum over k of x[i][k] * (w[j][k] - zeros[j]), wrapping. x: differences of
 * 8-bit integers; zeros: 8-bit integers. `scratch` holds k. */
void rush_int8_product(size_t m, size_t n, size_t k, const int16_t *x, const int8_t *w,
                       const int32_t *zeros, int32_t *y, size_t row, size_t col, int16_t *scratch);

#endif
