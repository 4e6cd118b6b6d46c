/* Reductions of n contiguous elements to one number, and of the columns of a row-major block. */
#ifndef RUSH_REDUCTION_H
#define RUSH_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums. Blocks of 256 are added in float32 with 16 partial sums, and the blocks in float64. The
 * relative error stays that of a pairwise sum for every n. */
double rush_sum_f32(size_t n, const float *data);
double rush_sum_f64(size_t n, const double *x);
/* sums of (x - shift)^2 and of |x - shift| */
double rush_sum_squares_f32(size_t n, const float *data, float shift);
double rush_sum_squares_f64(size_t n, const double *x, double shift);
double rush_sum_abs_f32(size_t n, const float *data);

/* Maximum and minimum for n > 0. NaN propagates. */
float rush_max_f32(size_t n, const float *x);
float rush_min_f32(size_t n, const float *x);

/* Adds to acc[j] the sum over i of x[i * stride + j], for j < cols <= 64 and at most 64 rows.
 * stride is in elements. */
void rush_sum_columns_f32(size_t rows, size_t cols, const float *x, size_t stride, float *acc);
/* Replaces acc[j] by the maximum (minimum) of acc[j] and column j. NaN propagates. */
void rush_max_columns_f32(size_t rows, size_t cols, const float *x, size_t stride, float *acc);
void rush_min_columns_f32(size_t rows, size_t cols, const float *x, size_t stride, float *acc);

#endif
