#define RUSH_LANES 8
#define RUSH_NAMED(name) rush_##name##_8
#include "kernels/dwconv_lanes.h"
