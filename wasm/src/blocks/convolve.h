/* All convolutions in one function: PyTorch's checks and messages, and the choice of a kernel. */
#ifndef RUSH_CONVOLVE_H
#define RUSH_CONVOLVE_H

#include "blocks/packed.h"

/* Each array has one number per spatial dimension. The weight has rank - 2 of them. */
typedef struct rush_conv_args {
  rush_tensor *input;
  const rush_tensor *weight, *bias;                      /* bias may be NULL */
  int n_stride, n_padding, n_dilation, n_output_padding; /* as given: 1 means all dimensions */
  int64_t stride[RUSH_MAX_RANK], dilation[RUSH_MAX_RANK], output_padding[RUSH_MAX_RANK];
  /* One per dimension; with `two_sided`, pairs of (before, after) */
  int64_t padding[2 * RUSH_MAX_RANK];
  bool two_sided, transposed;
  int64_t groups;
  int weight_format; /* memory format that the weight has in PyTorch, or -1 to use its strides */
  float min, max;
  const float *packed; /* weight packed for this run; if NULL, c->packed or the weight applies */
} rush_conv_args;

/* Computes result 0 of c. With c->packed, the data of weight and bias is not read. */
rush_status rush_convolve(rush_call *c, rush_conv_args *a);

/* Packs a constant weight and bias, or does nothing if something it needs is not constant. The
 * fields are argument positions. transposed is -1 for never and -2 for always. */
typedef struct rush_conv_positions {
  int weight, bias, stride, dilation, groups, transposed;
} rush_conv_positions;
rush_status rush_conv_prepare(rush_prepare *p, const rush_conv_positions *at);

#endif
