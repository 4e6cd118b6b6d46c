#define RUSH_LANES 8
#define RUSH_WITH_LANES(name) rush_##name##_8
#include "kernels/int8_requantize_lanes.h"
