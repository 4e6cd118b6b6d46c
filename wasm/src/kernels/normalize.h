/* Softmax and the parts of normalisations. Everywhere out may be x. */
#ifndef RUSH_KERNELS_NORMALIZE_H
#define RUSH_KERNELS_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>

/* softmax, or its logarithm, of n elements. */
void rush_softmax_row_f32(size_t n, float *out, const float *x, bool logarithm);
void rush_softmax_row_f64(size_t n, double *out, const double *x, bool logarithm);
/* Of each of `cols` columns of n elements; rows are `stride` elements apart, in x and in out. */
void rush_softmax_columns_f32(size_t n, size_t cols, size_t stride, float *out, const float *x,
                              bool logarithm);
void rush_softmax_columns_f64(size_t n, size_t cols, size_t stride, double *out, const double *x,
                              bool logarithm);

/* (x - mean) / sqrt(variance + eps) * w + b over one row; w and b may be NULL. Gives mean and 1 /
 * sqrt(...). */
void rush_layer_norm_f32(size_t n, float *out, const float *x, const float *w, const float *b,
                         double eps, float *mean, float *rstd);
void rush_layer_norm_f64(size_t n, double *out, const double *x, const double *w, const double *b,
                         double eps, double *mean, double *rstd);
/* x / sqrt(mean of squares + eps) * w over one row. */
void rush_rms_norm_f32(size_t n, float *out, const float *x, const float *w, double eps);
void rush_rms_norm_f64(size_t n, double *out, const double *x, const double *w, double eps);

/* x * scale + shift, of n elements; and of rows of `cols` adjoining elements, each column with its
 * own. */
void rush_affine_f32(size_t n, float *out, const float *x, float scale, float shift);
void rush_affine_f64(size_t n, double *out, const double *x, double scale, double shift);
void rush_affine_columns_f32(size_t rows, size_t cols, float *out, const float *x,
                             const float *scale, const float *shift);
void rush_affine_columns_f64(size_t rows, size_t cols, double *out, const double *x,
                             const double *scale, const double *shift);

/* total[j] += sum over rows of x[i * cols + j], and of (x[i * cols + j] - centre[j])^2. */
void rush_add_columns_f32(size_t rows, size_t cols, const float *x, double *total);
void rush_add_columns_f64(size_t rows, size_t cols, const double *x, double *total);
void rush_add_square_columns_f32(size_t rows, size_t cols, const float *x, const float *centre,
                                 double *total);
void rush_add_square_columns_f64(size_t rows, size_t cols, const double *x, const double *centre,
                                 double *total);

#endif
