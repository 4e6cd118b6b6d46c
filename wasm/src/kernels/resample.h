/* Resampling of channels-last images. In each dimension, an output position is a weighted sum of a
 * few input positions, its taps: one for nearest, two for linear, four for cubic. Dimensions are
 * independent. All functions check for a stop request (rush_should_stop). */
#ifndef RUSH_RESAMPLE_H
#define RUSH_RESAMPLE_H

#include "base/base.h"

/* The taps of one dimension, with n = 1, 2 or 4. Output o has index[o * n ...] and weight[o * n
 * ...]. */
typedef struct rush_resample_axis {
  size_t in, out;
  int n;
  int32_t *index;
  double *weight;
} rush_resample_axis;

/* Computes y[batch][out...][channels] from x[batch][in...][channels]. Axes 0, 1, 2 are depth,
 * height, width. With one tap per axis, elements of `size` bytes are copied. Otherwise dtype must
 * be float32 or float64, and `scratch` must have rush_resample_scratch() bytes for each of
 * rush_threads(ctx). */
void rush_resample(rush_ctx *ctx, rush_dtype dtype, size_t size, size_t batch, size_t channels,
                   const rush_resample_axis axes[3], const void *x, void *y, void *scratch);
/* Returns false on overflow. */
bool rush_resample_scratch(size_t size, size_t channels, const rush_resample_axis axes[3],
                           size_t *bytes);

/* The input positions of one dimension for each output position: count[o] positions from first[o]
 * on, with weights weight[o * n ...]. Weights for uint8 are integers in units of 2^-precision. */
typedef struct rush_resample_spans {
  size_t in, out, n;
  int32_t *first, *count;
  double *weight;
  int precision;
} rush_resample_spans;

/* Computes y[rows][out][channels] from x[rows][in][channels]. dtype is float32, float64 or
 * uint8. */
void rush_resample_rows(rush_ctx *ctx, rush_dtype dtype, size_t rows, size_t channels,
                        const rush_resample_spans *spans, const void *x, void *y);

#endif
