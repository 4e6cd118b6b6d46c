/* A row of output pixels of a depthwise convolution: of dwconv.c, for itself and for each width of
 * vectors that x86-64 may have. */
#ifndef RUSH_DWCONV_ROW_H
#define RUSH_DWCONV_ROW_H

#include <stddef.h>

typedef struct rush_dw_row {
  const float *x;    /* column 0 of the first input row that windows have inside */
  const float *w;    /* the weights of that row; from one position to the next, `row` floats */
  const float *bias; /* [row] */
  float *y;          /* [n][channels] */
  size_t channels, row;
  size_t n, stride, dilation;
  ptrdiff_t first, columns; /* of the first window's first position, may be outside; of the input */
  size_t d, h, width;       /* kernel positions: planes and rows that are inside, columns */
  ptrdiff_t x_d, x_h;       /* floats from one plane and row to the next in the input */
  size_t w_d, w_h;          /* and in the weights */
  float min, max;
} rush_dw_row;

/* Channels begin.. of the row, up to `end`, which is the last one or a multiple of the lanes behind
 * `begin`. 16 bytes behind a pixel may be read. */
typedef void rush_dw_row_fn(const rush_dw_row *r, size_t begin, size_t end);
rush_dw_row_fn rush_dw_row_4, rush_dw_row_8, rush_dw_row_16;

#endif
