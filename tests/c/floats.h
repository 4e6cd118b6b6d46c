/* Shared by the tests of kernels: reproducible pseudorandom numbers, and a guard value after the
 * end of an output. */
#ifndef RUSH_TESTS_FLOATS_H
#define RUSH_TESTS_FLOATS_H

#include <stdint.h>

enum { GUARD = 8 };
static const float guard = -123456.0f;

/* Returns a number in [-1, 1). */
static inline float noise(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) * (2.0f / 16777216.0f) - 1.0f;
}

#endif
