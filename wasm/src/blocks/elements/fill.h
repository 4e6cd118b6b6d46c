/* Setting every element of a tensor to one number. */
#ifndef RUSH_FILL_H
#define RUSH_FILL_H

#include "tensor/tensor.h"

/* `value` is an INT, FLOAT or BOOL, converted to t's dtype. Any strides. */
void rush_fill(rush_tensor *t, const rush_value *value);
void rush_fill_zero(rush_tensor *t);

#endif
