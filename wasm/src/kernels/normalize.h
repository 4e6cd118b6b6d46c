/* Softmax and the parts of normalization layers. out may equal x in all functions. */
#ifndef RUSH_KERNELS_NORMALIZE_H
#define RUSH_KERNELS_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>

/* A context lets the host stop within a long row, which is then incomplete; it may be NULL. */
struct rush_ctx;

/* Computes softmax, or log_softmax, of n elements. */
void rush_softmax_row_f32(struct rush_ctx *ctx, size_t n, float *out, const float *x,
                          bool logarithm);
void rush_softmax_row_f64(struct rush_ctx *ctx, size_t n, double *out, const double *x,
                          bool logarithm);
/* Does the same for each of `cols` columns of n elements. Rows are `stride` elements apart in x and
 * in out. */
void rush_softmax_columns_f32(struct rush_ctx *ctx, size_t n, size_t cols, size_t stride,
                              float *out, const float *x, bool logarithm);
void rush_softmax_columns_f64(struct rush_ctx *ctx, size_t n, size_t cols, size_t stride,
                              double *out, const double *x, bool logarithm);

/* Computes (x - mean) / sqrt(variance + eps) * w + b over one row. w and b may be NULL. Also
 * returns mean and 1 / sqrt(...). */
void rush_layer_norm_f32(struct rush_ctx *ctx, size_t n, float *out, const float *x, const float *w,
                         const float *b, double eps, float *mean, float *rstd);
void rush_layer_norm_f64(struct rush_ctx *ctx, size_t n, double *out, const double *x,
                         const double *w, const double *b, double eps, double *mean, double *rstd);
/* Computes x / sqrt(mean of squares + eps) * w over one row. */
void rush_rms_norm_f32(struct rush_ctx *ctx, size_t n, float *out, const float *x, const float *w,
                       double eps);
void rush_rms_norm_f64(struct rush_ctx *ctx, size_t n, double *out, const double *x,
                       const double *w, double eps);

/* Computes x * scale + shift for n elements, or for rows of `cols` adjacent elements with one scale
 * and shift per column. */
void rush_affine_f32(size_t n, float *out, const float *x, float scale, float shift);
void rush_affine_f64(size_t n, double *out, const double *x, double scale, double shift);
void rush_affine_columns_f32(size_t rows, size_t cols, float *out, const float *x,
                             const float *scale, const float *shift);
void rush_affine_columns_f64(size_t rows, size_t cols, double *out, const double *x,
                             const double *scale, const double *shift);

/* Adds to total[j] the sum over rows of x[i * cols + j], or of (x[i * cols + j] - centre[j])^2. */
void rush_add_columns_f32(size_t rows, size_t cols, const float *x, double *total);
void rush_add_columns_f64(size_t rows, size_t cols, const double *x, double *total);
void rush_add_square_columns_f32(size_t rows, size_t cols, const float *x, const float *centre,
                                 double *total);
void rush_add_square_columns_f64(size_t rows, size_t cols, const double *x, const double *centre,
                                 double *total);

#endif
