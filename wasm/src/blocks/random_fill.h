/* Fills tensors with random numbers. Draws one number per element, in memory order, like PyTorch's
 * TensorIterator. All functions stop early on a stop request (rush_should_stop). */
#ifndef RUSH_RANDOM_FILL_H
#define RUSH_RANDOM_FILL_H

#include "base/mt19937.h"
#include "call/call.h"

/* Stores the next number as an element of `dtype`. a and b are the parameters of the
 * distribution. */
typedef void (*rush_random_fn)(rush_random *random, double a, double b, rush_dtype dtype, void *at);
void rush_random_fill(rush_call *c, rush_tensor *t, rush_random_fn draw, double a, double b);

/* Draws 1 with probability p in [0, 1], otherwise 0. Any dtype. */
void rush_random_fill_bernoulli(rush_call *c, rush_tensor *t, double p);
/* Draws -log1p(-u) / lambda, as exponential_ does. Floating-point dtypes only. */
void rush_random_fill_exponential(rush_call *c, rush_tensor *t, double lambda);

#endif
