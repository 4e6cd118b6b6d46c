/* Maxima and means over windows, on channels-last pixels. Row-major images are batch * channels
 * images of one channel. */
#ifndef RUSH_POOLING_H
#define RUSH_POOLING_H

#include <rushlight/format.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

/* Dimensions 0, 1, 2 are depth, height, width; those not used are 1 in and out. */
typedef struct rush_pool {
  size_t batch, channels, in[3], out[3];
  bool adaptive; /* windows follow from in and out, the rest is not used */
  size_t kernel[3], stride[3], dilation[3];
  ptrdiff_t padding[3];
  bool count_padding;   /* of means: what is divided by counts padding on both sides; */
  int64_t divisor;      /* or is this, where it is not 0 */
  struct rush_ctx *ctx; /* asked whether to stop, see rush_should_stop; or NULL */
} rush_pool;

/* y[batch][out..][channels] of x[batch][in..][channels]. A NaN in the window gives NaN, the last
 * one its index. `indices` (NULL: none) get the position in the input's image. dtype: floating or
 * integer. */
void rush_max_pool(rush_dtype dtype, const rush_pool *s, const void *x, void *y, int64_t *indices);

/* dtype: float32, float64 or int64 (which divides towards 0). */
void rush_avg_pool(rush_dtype dtype, const rush_pool *s, const void *x, void *y);

/* The same of QINT8, QUINT8 and QINT32. Means are of integers less `zero`, and rounded to the nearest, halves to the even one. */
void rush_max_pool_quantized(rush_dtype dtype, const rush_pool *s, const void *x, void *y);
void rush_avg_pool_quantized(rush_dtype dtype, const rush_pool *s, int64_t zero, const void *x,
                             void *y);

#endif
