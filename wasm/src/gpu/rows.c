/* The rows that run on the device, by the names of ops.def. */
#include "gpu/device.h"

#define POINTWISE(name, text) {name, rush_gpu_pointwise, text, 0},
#define CHOOSES(name, text, how) {name, rush_gpu_pointwise, text, how},
#define ROW(name, body, number) {name, body, NULL, number},
/* The row runs in memory and reads no elements. */
#define HEADER(name) {name, NULL, NULL, 0},

const rush_gpu_row rush_gpu_rows[] = {
#include "gpu/rows.def"
    {NULL, NULL, NULL, 0},
};
