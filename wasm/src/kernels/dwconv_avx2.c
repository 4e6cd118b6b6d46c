#define RUSH_LANES 8
#define RUSH_WITH_LANES(name) rush_##name##_8
#include "kernels/dwconv_lanes.h"
