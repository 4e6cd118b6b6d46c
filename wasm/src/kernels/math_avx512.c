#define RUSH_LANES 16
#include "kernels/math_wide.h"
#define RUSH_NAMED(name) rush_##name##_16
#include "kernels/math_lanes.h"
