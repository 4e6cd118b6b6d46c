#ifndef RUSH_LGAMMA_H
#define RUSH_LGAMMA_H

/* Computes C's lgamma without `signgam`, a global variable that threads would share. */
double rush_lgamma(double x);
float rush_lgamma_f32(float x);

#endif
