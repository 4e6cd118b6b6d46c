/* Filling tensors with random numbers, one draw an element, in the order in which PyTorch's
 * TensorIterator visits them: that of the memory. All leave off where the host wants to stop
 * (rush_should_stop). */
#ifndef RUSH_RANDOM_FILL_H
#define RUSH_RANDOM_FILL_H

#include "base/mt19937.h"
#include "call/call.h"

/* Stores the next number as an element of `dtype`; a and b are the distribution's. */
typedef void (*rush_random_fn)(rush_random *random, double a, double b, rush_dtype dtype, void *at);
void rush_random_fill(rush_call *c, rush_tensor *t, rush_random_fn draw, double a, double b);

/* 1 with probability p in [0, 1], else 0; any dtype. */
void rush_random_fill_bernoulli(rush_call *c, rush_tensor *t, double p);
/* -log1p(-u) / lambda: what exponential_ gives. Floats. */
void rush_random_fill_exponential(rush_call *c, rush_tensor *t, double lambda);

#endif
