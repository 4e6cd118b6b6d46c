/* Resampling of channels-last pixels. Each output position of a dimension takes a few input
 * positions, its taps, with weights: one for nearest, two for linear, four for cubic. Dimensions
 * are independent. The context is asked whether to stop, see rush_should_stop. */
#ifndef RUSH_RESAMPLE_H
#define RUSH_RESAMPLE_H

#include "base/base.h"

/* The taps of one dimension, 1, 2 or 4: those of output o are index[o * n ..] and weight[o * n ..]. */
typedef struct rush_resample_axis {
  size_t in, out;
  int n;
  int32_t *index;
  double *weight;
} rush_resample_axis;

/* y[batch][out..][channels] of x[batch][in..][channels], axes 0, 1, 2 being depth, height, width.
 * With one tap per axis elements of `size` bytes are copied; otherwise dtype is float32 or float64,
 * and `scratch` has rush_resample_scratch() bytes for each of rush_threads(ctx). */
void rush_resample(rush_ctx *ctx, rush_dtype dtype, size_t size, size_t batch, size_t channels,
                   const rush_resample_axis axes[3], const void *x, void *y, void *scratch);
/* False where there are more than a size can be. */
bool rush_resample_scratch(size_t size, size_t channels, const rush_resample_axis axes[3],
                           size_t *bytes);

/* The input positions of one dimension that each output position takes: count[o] from first[o] on,
 * with weights weight[o * n ..]. Those of uint8 are whole numbers of 2^-precision. */
typedef struct rush_resample_spans {
  size_t in, out, n;
  int32_t *first, *count;
  double *weight;
  int precision;
} rush_resample_spans;

/* y[rows][out][channels] of x[rows][in][channels]; dtype is float32, float64 or uint8. */
void rush_resample_rows(rush_ctx *ctx, rush_dtype dtype, size_t rows, size_t channels,
                        const rush_resample_spans *spans, const void *x, void *y);

#endif
