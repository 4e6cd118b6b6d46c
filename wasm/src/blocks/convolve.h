/* Every kind of convolution as one function: PyTorch's checks, its messages, and the way to the
 * kernels. */
#ifndef RUSH_CONVOLVE_H
#define RUSH_CONVOLVE_H

#include "blocks/packed.h"

/* Lists hold one number per spatial dimension, of which the weight has rank - 2. */
typedef struct rush_conv_args {
  rush_tensor *input;
  const rush_tensor *weight, *bias;                      /* bias may be NULL */
  int n_stride, n_padding, n_dilation, n_output_padding; /* as given: one stands for all */
  int64_t stride[RUSH_MAX_RANK], dilation[RUSH_MAX_RANK], output_padding[RUSH_MAX_RANK];
  int64_t padding[2 * RUSH_MAX_RANK]; /* in front; with `two_sided` in front and behind alternate */
  bool two_sided, transposed;
  int64_t groups;
  int weight_format; /* which the weight's strides suggest in PyTorch; -1: the strides tell */
  float min, max;
  const float *packed; /* weights packed for this run; NULL: c->packed, or the weight's */
} rush_conv_args;

/* Sets result 0 of c. With c->packed the weight's and bias's data are not touched. */
rush_status rush_convolve(rush_call *c, rush_conv_args *a);

/* Packs a constant weight and bias; does nothing where some of what it needs is not constant.
 * Arguments by position: transposed -1 for never, -2 for always. */
typedef struct rush_conv_positions {
  int weight, bias, stride, dilation, groups, transposed;
} rush_conv_positions;
rush_status rush_conv_prepare(rush_prepare *p, const rush_conv_positions *at);

#endif
