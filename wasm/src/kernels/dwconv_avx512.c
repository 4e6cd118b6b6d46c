#define RUSH_LANES 16
#define RUSH_NAMED(name) rush_##name##_16
#include "kernels/dwconv_lanes.h"
