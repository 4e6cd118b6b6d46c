/* Convolutions of every dtype in plain C, with arbitrary strides. float32 has a faster version
 * (conv.h). Integers wrap. */
#ifndef RUSH_CONV_ANY_H
#define RUSH_CONV_ANY_H

#include <rushlight/format.h>

#include "kernels/conv.h"

/* Strides are in elements: x [batch][channel][d][h][w], w as in rush_conv_pack, bias [output
 * channel] or NULL. y is a dense [batch][out...][channels]. */
typedef void rush_conv_any_fn(rush_dtype dtype, const rush_conv *s, const void *x,
                              const ptrdiff_t x_strides[5], const void *w,
                              const ptrdiff_t w_strides[5], const void *bias, ptrdiff_t bias_stride,
                              void *y);
rush_conv_any_fn rush_conv_any;

#endif
