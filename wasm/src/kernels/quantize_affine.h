/* Integers that stand for numbers: number = (integer - zero point) * scale. */
#ifndef RUSH_QUANTIZE_AFFINE_H
#define RUSH_QUANTIZE_AFFINE_H

#include <rushlight/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n dense elements; dtype: QINT8, QUINT8 or QINT32. Halves go to the even integer; what the dtype
 * does not hold becomes its nearest, NaN its least. */
void rush_quantize(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const float *x,
                   void *out);
void rush_dequantize(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const void *x,
                     float *out);

/* What two tensors of bytes become: their sum, or their product, which is rounded before the zero point
 * comes to it: scales that are alike make many halves. */
typedef struct rush_quantized_params {
  double scale;
  int64_t zero_point;
} rush_quantized_params;
typedef struct rush_quantized_binary {
  rush_dtype dtype; /* of all three: QINT8 or QUINT8 */
  rush_quantized_params a, b;
  bool product, relu; /* whether numbers below 0 become that */
  bool fixed;         /* a sum of QUINT8, as qnnpack has it: in integers, halves away from 0 */
  double scale;
  int64_t zero_point;
} rush_quantized_binary;
/* y[n]; it may be a or b. */
void rush_quantized_combine(const rush_quantized_binary *q, size_t n, const uint8_t *a,
                            const uint8_t *b, uint8_t *y);

/* y[n] = table[256] of x, each taken as one from 0 to 255. */
void rush_lookup(size_t n, const uint8_t *table, const uint8_t *x, uint8_t *y);

#endif
