#define _DEFAULT_SOURCE /* lgamma_r */
#include "base/lgamma.h"

#include <math.h>

double rush_lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

float rush_lgamma_f32(float x) {
  int sign;
  return lgammaf_r(x, &sign);
}
