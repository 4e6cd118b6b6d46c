/* Reductions of n contiguous elements to one number, and of columns of a row-major block. */
#ifndef RUSH_REDUCTION_H
#define RUSH_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums. Blocks of 256 are added in float32, 16 apart, and the blocks in float64: the relative error
 * stays that of a pairwise sum, whatever n is. */
double rush_sum_f32(size_t n, const float *x);
double rush_sum_f64(size_t n, const double *x);
/* of (x - shift)^2 and |x - shift| */
double rush_sum_squares_f32(size_t n, const float *x, float shift);
double rush_sum_squares_f64(size_t n, const double *x, double shift);
double rush_sum_abs_f32(size_t n, const float *x);

/* The greatest and the least; a NaN wins. n > 0. */
float rush_max_f32(size_t n, const float *x);
float rush_min_f32(size_t n, const float *x);

/* acc[j] += sum over i of x[i * stride + j], j < cols <= 64; rows up to 64. stride in elements. */
void rush_sum_columns_f32(size_t rows, size_t cols, const float *x, size_t stride, float *acc);
/* acc[j] = the greater (the less) of acc[j] and column j; a NaN wins. */
void rush_max_columns_f32(size_t rows, size_t cols, const float *x, size_t stride, float *acc);
void rush_min_columns_f32(size_t rows, size_t cols, const float *x, size_t stride, float *acc);

#endif
