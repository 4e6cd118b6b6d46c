#define RUSH_LANES 8
#include "kernels/elementary_wide.h"
#define RUSH_WITH_LANES(name) rush_##name##_8
#include "kernels/elementary_lanes.h"
