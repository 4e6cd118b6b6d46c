/* Sampling of images and volumes at given positions (grid_sample). */
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
  int dims;                 /* 2 or 3; must be 2 for cubic interpolation */
  int64_t size[3], step[3]; /* sizes of x: width, height, depth; strides in elements */
  int64_t channels, channel_step;
  /* Rounds each step of the coordinates to half precision, as PyTorch does in 3-d. NULL for other
   * dtypes. */
  float (*rounded)(float);
  struct rush_ctx *ctx; /* asked whether to stop, see rush_should_stop */
} rush_grid;

/* Samples x (strides as in g) at at[n][dims] into y[channels][n]. Coordinates are in the order of
 * g->size and range from -1 to 1. */
void rush_grid_sample_f32(const rush_grid *g, size_t n, const float *at, const float *x, float *y);
void rush_grid_sample_f64(const rush_grid *g, size_t n, const double *at, const double *x,
                          double *y);

#endif
