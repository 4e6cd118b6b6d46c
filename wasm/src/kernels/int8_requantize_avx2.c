#define RUSH_LANES 8
#define RUSH_NAMED(name) rush_##name##_8
#include "kernels/int8_requantize_lanes.h"
