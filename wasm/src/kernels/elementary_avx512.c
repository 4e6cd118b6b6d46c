#define RUSH_LANES 16
#include "kernels/elementary_wide.h"
#define RUSH_WITH_LANES(name) rush_##name##_16
#include "kernels/elementary_lanes.h"
