/* A row of output pixels of a depthwise convolution, for dwconv.c and for each vector width of
 * x86-64. */
#ifndef RUSH_DWCONV_ROW_H
#define RUSH_DWCONV_ROW_H

#include <stddef.h>

typedef struct rush_dw_row {
  const float *x;    /* column 0 of the first input row that is inside */
  const float *w;    /* weights of that row; positions are `row` floats apart */
  const float *bias; /* [row] */
  float *y;          /* [n][channels] */
  size_t channels, row;
  size_t n, stride, dilation;
  /* first: input column of the first window, may be outside; columns: input width */
  ptrdiff_t first, columns;
  size_t d, h, width; /* kernel planes and rows that are inside, and kernel width */
  ptrdiff_t x_d, x_h; /* floats between planes and between rows of the input */
  size_t w_d, w_h;    /* the same in the weights */
  float min, max;
} rush_dw_row;

/* Computes channels [begin, end) of the row. end is the last channel, or end - begin is a multiple
 * of the lanes. 16 bytes after a pixel must be readable. */
typedef void rush_dw_row_fn(const rush_dw_row *r, size_t begin, size_t end);
rush_dw_row_fn rush_dw_row_4, rush_dw_row_8, rush_dw_row_16;

#endif
