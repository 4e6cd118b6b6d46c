/* Elementwise functions on quantized bytes from 0 to 255. Results are rounded half to even and
 * clamped to 0..255. NaN becomes 0. */
#ifndef RUSH_INT8_POINTWISE_H
#define RUSH_INT8_POINTWISE_H

#include <stddef.h>
#include <stdint.h>

/* Computes y[n] = a * of_a + b * of_b + shift. y may equal a or b. */
void rush_int8_add(size_t n, const uint8_t *a, float of_a, const uint8_t *b, float of_b,
                   float shift, uint8_t *y);

/* Computes y[rows][channels] = (x - zero) * factors[channel] + shift. y may equal x. */
void rush_int8_scale(size_t rows, size_t channels, const uint8_t *x, float zero,
                     const float *factors, float shift, uint8_t *y);

/* Adds x[rows][channels] to sums[channels], which wrap. */
void rush_int8_sum(size_t rows, size_t channels, const uint8_t *x, uint32_t *sums);

#endif
