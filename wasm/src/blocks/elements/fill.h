/* Fills a tensor with one number. */
#ifndef RUSH_FILL_H
#define RUSH_FILL_H

#include "tensor/tensor.h"

/* `value` is an INT, FLOAT, BOOL or COMPLEX and is converted to t's dtype. t may have any strides.
 * Stops early on a stop request (rush_should_stop). */
void rush_fill(rush_ctx *ctx, rush_tensor *t, const rush_value *value);
void rush_fill_zero(rush_ctx *ctx, rush_tensor *t);

#endif
