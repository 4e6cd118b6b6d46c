/* Programs of pointwise rows, of which a kernel computes all for each element. */
#ifndef RUSH_GPU_POINTWISE_PROGRAM_H
#define RUSH_GPU_POINTWISE_PROGRAM_H

#include "blocks/elements/pointwise.h"
#include "gpu/walk.h"

enum {
  RUSH_GPU_STEPS = 16,
  RUSH_GPU_NUMBERS = 22, /* parameters of a program */
  /* Where an operand comes from: a step, or below these a tensor or a number. */
  RUSH_GPU_OUTSIDE = RUSH_GPU_STEPS,
  RUSH_GPU_NUMBER = RUSH_GPU_OUTSIDE + RUSH_GPU_OPERANDS,
};

typedef struct rush_gpu_step {
  const char *text;
  uint8_t n, in[RUSH_PW_OPERANDS];
  uint8_t params[3]; /* the numbers s, t and u; 0 if the text does not name one */
  uint8_t n_outside; /* tensors of this step, and of those before it */
  bool tests;        /* whether its result is bool, and otherwise float32 */
} rush_gpu_step;

typedef struct rush_gpu_program {
  int n, n_outside, n_numbers, rank;
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK]; /* of all results */
  rush_gpu_step steps[RUSH_GPU_STEPS];
  const rush_tensor *outside[RUSH_GPU_OPERANDS];
  char types[RUSH_GPU_OPERANDS]; /* u: bool, f: float32, i: int64 */
  float numbers[RUSH_GPU_NUMBERS];
  rush_gpu_walk walk;
  const rush_tensor *stand_ins; /* for the results of steps; NULL if there are none */
  rush_storage none;            /* of the stand-ins */
} rush_gpu_program;

#endif
