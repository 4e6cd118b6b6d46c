/* The functions of elementary.h for each vector width of x86-64: rush_NAME_LANES.
 * elementary_dispatch.c takes the widest one, so native results can differ in the last digits
 * between processors. */
#ifndef RUSH_ELEMENTARY_WIDE_H
#define RUSH_ELEMENTARY_WIDE_H

#include "kernels/elementary.h"

#define RUSH_DECLARE_4(name, reference) void rush_##name##_4(size_t n, float *out, const float *in);
#define RUSH_DECLARE_8(name, reference) void rush_##name##_8(size_t n, float *out, const float *in);
#define RUSH_DECLARE_16(name, reference) \
  void rush_##name##_16(size_t n, float *out, const float *in);
#define RUSH_DECLARE_ELEMENTARY(lanes)                                                            \
  RUSH_ELEMENTARY_F32(RUSH_DECLARE_##lanes)                                                       \
  void rush_softplus_##lanes(size_t n, float *out, const float *in, float beta, float threshold); \
  void rush_elu_##lanes(size_t n, float *out, const float *in, float in_scale, float negative,    \
                        float positive);                                                          \
  void rush_atan2_##lanes(size_t n, float *out, const float *y, const float *x);                  \
  double rush_exp_sum_##lanes(size_t n, float *out, const float *in, float shift);
RUSH_DECLARE_ELEMENTARY(4)
RUSH_DECLARE_ELEMENTARY(8)
RUSH_DECLARE_ELEMENTARY(16)

#endif
