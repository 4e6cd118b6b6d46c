/* Elements of tensors with any strides, in the order of a result's memory. */
#ifndef RUSH_GPU_WALK_H
#define RUSH_GPU_WALK_H

#include "gpu/device.h"

enum { RUSH_GPU_DIMS = 6, RUSH_GPU_OPERANDS = 5 };

/* Dimensions are from the outermost. Dimensions that are consecutive in all operands are merged. */
typedef struct rush_gpu_walk {
  int rank, n; /* dimensions, operands */
  uint32_t numel;
  uint32_t sizes[RUSH_GPU_DIMS];
  uint32_t strides[RUSH_GPU_OPERANDS][RUSH_GPU_DIMS], offsets[RUSH_GPU_OPERANDS];
} rush_gpu_walk;

/* Plans the walk over a result with these sizes and dense strides. Operands broadcast to it.
 * Returns false if there are too many dimensions or elements. */
bool rush_gpu_plan_walk(rush_gpu_walk *w, int rank, const int64_t *sizes, const int64_t *strides,
                        int n, const rush_tensor *const *operands);
/* The words of a walk begin here among the parameters, and these are its first two kinds. */
enum { RUSH_GPU_WALK = 16, RUSH_GPU_WALK_SIZES = RUSH_GPU_WALK + RUSH_GPU_OPERANDS };
void rush_gpu_place_walk(const rush_gpu_walk *w, uint32_t *params);
/* Writes WGSL that sets a0, a1, ... to the places of element i in the operands. */
void rush_gpu_write_walk(rush_text *t, const rush_gpu_walk *w);
/* Returns the part of a pipeline's key on which that text depends. */
uint32_t rush_gpu_key_walk(const rush_gpu_walk *w);

#endif
