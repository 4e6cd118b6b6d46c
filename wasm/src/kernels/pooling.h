/* Max and average pooling on channels-last images. Contiguous (NCHW) images are treated as batch *
 * channels images with one channel. */
#ifndef RUSH_POOLING_H
#define RUSH_POOLING_H

#include <rushlight/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

/* Dimensions 0, 1, 2 are depth, height, width. Unused dimensions have size 1. */
typedef struct rush_pool {
  size_t batch, channels, in[3], out[3];
  bool adaptive; /* windows follow from in and out; the other fields are unused */
  size_t kernel[3], stride[3], dilation[3];
  ptrdiff_t padding[3];
  bool count_padding;   /* for averages: the divisor includes padding */
  int64_t divisor;      /* overrides the divisor if not 0 */
  struct rush_ctx *ctx; /* checked for a stop request (rush_should_stop); or NULL */
} rush_pool;

/* Computes y[batch][out...][channels] from x[batch][in...][channels]. If the window has a NaN, the
 * result is NaN with the index of the last one. `indices`, unless NULL, receives positions in the
 * input's image. dtype: floating-point or integer. */
void rush_max_pool(rush_dtype dtype, const rush_pool *s, const void *x, void *y, int64_t *indices);

/* dtype: float32, float64 or int64 (which rounds towards 0). */
void rush_avg_pool(rush_dtype dtype, const rush_pool *s, const void *x, void *y);

/* Does the same for QINT8, QUINT8 and QINT32. Averages are computed from integers minus `zero` and
 * rounded half to even. */
void rush_max_pool_quantized(rush_dtype dtype, const rush_pool *s, const void *x, void *y);
void rush_avg_pool_quantized(rush_dtype dtype, const rush_pool *s, int64_t zero, const void *x,
                             void *y);

#endif
