/* Sampling of images and volumes at given positions. */
#ifndef RUSH_SAMPLE_GRID_H
#define RUSH_SAMPLE_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PyTorch's GridSamplerInterpolation and GridSamplerPadding. */
enum { RUSH_GRID_LINEAR, RUSH_GRID_NEAREST, RUSH_GRID_CUBIC };
enum { RUSH_GRID_ZEROS, RUSH_GRID_BORDER, RUSH_GRID_REFLECTION };

typedef struct rush_grid {
  int interpolation, padding;
  bool align_corners;
  int dims;                 /* 2 or 3; 2 where interpolation is cubic */
  int64_t size[3], step[3]; /* of x: width, height, depth; steps in elements */
  int64_t channels, channel_step;
  /* Of halves that are given as floats in 3-d, where PyTorch rounds each step to the place; else NULL. */
  float (*rounded)(float);
  struct rush_ctx *ctx; /* asked whether to stop, see rush_should_stop */
} rush_grid;

/* y[channels][n] of one sample x (strides as in g), at at[n][dims]: coordinates in the order of
 * g->size, of which -1 and 1 are the ends. */
void rush_grid_sample_f32(const rush_grid *g, size_t n, const float *at, const float *x, float *y);
void rush_grid_sample_f64(const rush_grid *g, size_t n, const double *at, const double *x,
                          double *y);

#endif
