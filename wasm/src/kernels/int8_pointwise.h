/* Bytes from 0 to 255, each of which stands for a number, element by element. Results are rounded to
 * the nearest, half to even, and bounded by 0 and 255; what is no number is 0. */
#ifndef RUSH_INT8_POINTWISE_H
#define RUSH_INT8_POINTWISE_H

#include <stddef.h>
#include <stdint.h>

/* y[n] = a * of_a + b * of_b + shift; y may be a or b. */
void rush_int8_add(size_t n, const uint8_t *a, float of_a, const uint8_t *b, float of_b,
                   float shift, uint8_t *y);

/* y[rows][channels] = (x - zero) * factors[channel] + shift; y may be x. */
void rush_int8_scale(size_t rows, size_t channels, const uint8_t *x, float zero,
                     const float *factors, float shift, uint8_t *y);

/* sums[channels] of x[rows][channels]; wraps. */
void rush_int8_sum(size_t rows, size_t channels, const uint8_t *x, uint32_t *sums);

#endif
