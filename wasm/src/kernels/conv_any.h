/* Convolution of every dtype in plain C, with any strides. float32 has its own (conv.h). Integers
 * wrap. */
#ifndef RUSH_CONV_ANY_H
#define RUSH_CONV_ANY_H

#include <rushlight/format.h>

#include "kernels/conv.h"

/* Strides in elements: x [batch][channel][d][h][w], w as rush_conv_pack has it, bias of one per
 * output channel. y is dense [batch][out..][channels]. bias may be NULL. */
typedef void rush_conv_any_fn(rush_dtype dtype, const rush_conv *s, const void *x,
                              const ptrdiff_t x_strides[5], const void *w,
                              const ptrdiff_t w_strides[5], const void *bias, ptrdiff_t bias_stride,
                              void *y);
rush_conv_any_fn rush_conv_any;

#endif
