#ifndef RUSH_LGAMMA_H
#define RUSH_LGAMMA_H

/* C's lgamma without `signgam`, which libc shares between threads. */
double rush_lgamma(double x);
float rush_lgamma_f32(float x);

#endif
