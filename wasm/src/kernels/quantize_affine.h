/* Affine quantization: number = (integer - zero point) * scale. */
#ifndef RUSH_QUANTIZE_AFFINE_H
#define RUSH_QUANTIZE_AFFINE_H

#include <rushlight/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Quantizes n dense elements. dtype: QINT8, QUINT8 or QINT32. Rounds half to even. Out-of-range
 * values become the nearest value, and NaN the least. */
void rush_quantize(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const float *x,
                   void *out);
void rush_dequantize(rush_dtype dtype, double scale, int64_t zero_point, size_t n, const void *x,
                     float *out);

/* Parameters for the sum or product of two quantized tensors. A product is rounded before the zero
 * point is added, because similar scales often produce ties. */
typedef struct rush_quantized_params {
  double scale;
  int64_t zero_point;
} rush_quantized_params;
typedef struct rush_quantized_binary {
  rush_dtype dtype; /* of both operands and the result: QINT8 or QUINT8 */
  rush_quantized_params a, b;
  bool product, relu; /* relu: negative values become 0 */
  bool fixed;         /* a sum of QUINT8 like QNNPACK's: in integers, half away from 0 */
  double scale;
  int64_t zero_point;
} rush_quantized_binary;
/* Computes y[n]. y may equal a or b. */
void rush_quantized_combine(const rush_quantized_binary *q, size_t n, const uint8_t *a,
                            const uint8_t *b, uint8_t *y);

/* Computes y[n] = table[x] with a table of 256 bytes. Bytes are taken as unsigned. */
void rush_lookup(size_t n, const uint8_t *table, const uint8_t *x, uint8_t *y);

#endif
