/* A convolution in its direct form at work, and that form of some of its outputs: for
 * winograd.c. */
#ifndef RUSH_XNN_CONV_H
#define RUSH_XNN_CONV_H

#include "kernels/conv.h"
#include "kernels/xnn_config.h"

/* One dimension of one phase: output out0 + j * out_step, j < count, reads input j * in_step + off0
 * + t * off_step times kernel position k0 + t * k_step, t < taps. */
typedef struct rush_conv_axis {
  size_t taps, count, out0, out_step, in_step;
  ptrdiff_t off0, off_step, k0, k_step;
} rush_conv_axis;

typedef struct rush_conv_job {
  const rush_conv *s;
  rush_conv_axis a[3];
  size_t depth, one;          /* rows of the matrix; floats of one packed group */
  size_t in_pixel, out_pixel; /* floats */
  const float *x, *packed;    /* of all images; of this phase */
  float *y;
  char *scratch; /* taps * mr addresses for each thread */
  size_t each;
  const float *zeros; /* a pixel, and four more */
  /* An item is a tile of pixels and a block of columns. A line is what a tile may go over: a row of
   * the output, or where that has no gaps a whole image. */
  size_t line, tiles, lines, columns; /* pixels; tiles in one; how many of all images; of an item */
  size_t some; /* groups that are computed between two checks for a stop request */
  rush_xnn_igemm_fn kernel;
  size_t mr, nr;
  union xnn_f32_minmax_params params;
} rush_conv_job;

/* `n` outputs in a row, from (h, w) of an image on, of columns [first, first + columns); `who` as a
 * task has it. */
void rush_conv_run_pixels(const rush_conv_job *j, size_t image, size_t h, size_t w, size_t n,
                          size_t first, size_t columns, unsigned who);

#endif
