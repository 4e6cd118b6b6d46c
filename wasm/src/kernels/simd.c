#include "kernels/simd.h"

#if defined(__wasm__)
const float rush_unknown_1 = 1;
const int32_t rush_unknown_0 = 0;
#endif
