/* The random numbers of a session. They equal those of torch 2.6 on the CPU. Follows
 * CPUGeneratorImpl.cpp, MT19937RNGEngine.h, TransformationHelper.h and DistributionsHelper.h. */
#ifndef RUSH_MT19937_H
#define RUSH_MT19937_H

#include <rushlight/generator.h>

#include "base/base.h"

/* Seeds like torch.manual_seed: the Mersenne Twister takes the lower 32 bits. */
void rush_random_seed(rush_random *random, uint64_t seed);
/* Seeds from entropy: see rush_ctx_set_entropy. */
void rush_random_seed_freshly(rush_ctx *ctx, rush_random *random);

uint32_t rush_random_32(rush_random *random);
uint64_t rush_random_64(rush_random *random); /* made of two 32-bit numbers, upper half first */
/* Return uniform numbers in [0, 1) with 24 and with 53 random bits. */
float rush_random_float(rush_random *random);
double rush_random_double(rush_random *random);
/* Returns a number from the standard normal distribution. Numbers are made in pairs
 * (Box-Muller). */
double rush_random_normal(rush_random *random);

#endif
