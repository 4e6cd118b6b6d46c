/* A session's random numbers: those of torch 2.6 on the CPU, number for number
 * (CPUGeneratorImpl.cpp, MT19937RNGEngine.h, TransformationHelper.h, DistributionsHelper.h). */
#ifndef RUSH_MT19937_H
#define RUSH_MT19937_H

#include <rushlight/generator.h>

#include "base/base.h"

/* As torch.manual_seed: the twister takes the lower 32 bits. */
void rush_random_seed(rush_random *random, uint64_t seed);
/* Different each time: see rush_ctx_set_entropy. */
void rush_random_seed_freshly(rush_ctx *ctx, rush_random *random);

uint32_t rush_random_32(rush_random *random);
uint64_t rush_random_64(rush_random *random); /* two of the others, the upper half first */
/* Uniform in [0, 1), of 24 and of 53 bits. */
float rush_random_float(rush_random *random);
double rush_random_double(rush_random *random);
/* Normal, mean 0 and deviation 1, in pairs (Box and Muller). */
double rush_random_normal(rush_random *random);

#endif
