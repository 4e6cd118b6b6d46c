#define RUSH_LANES 16
#include "kernels/elementary_wide.h"
#define RUSH_NAMED(name) rush_##name##_16
#include "kernels/elementary_lanes.h"
