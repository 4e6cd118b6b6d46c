#define RUSH_LANES 16
#define RUSH_WITH_LANES(name) rush_##name##_16
#include "kernels/dwconv_lanes.h"
