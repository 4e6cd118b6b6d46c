/* A convolution of 8-bit integers as int8_conv.c and int8_winograd.c take it, and requantization:
 * the step from its 32-bit sums to 8-bit integers. */
#ifndef RUSH_INT8_CONV_TYPES_H
#define RUSH_INT8_CONV_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

/* The function that a number passes before it becomes an integer again. */
typedef enum rush_int8_activation {
  RUSH_INT8_PLAIN,
  RUSH_INT8_HARDSWISH,
  RUSH_INT8_SILU,
  RUSH_INT8_HARDSIGMOID,
  RUSH_INT8_SIGMOID,
  RUSH_INT8_ACTIVATIONS
} rush_int8_activation;

/* SiLU and sigmoid are looked up in a table with that many entries, by the nearest position. */
enum { RUSH_INT8_TABLE_SIZE = 2048 };
static inline bool rush_int8_by_table(rush_int8_activation activation) {
  return activation == RUSH_INT8_SILU || activation == RUSH_INT8_SIGMOID;
}

/* The conversion of sums to integers by one of PyTorch's two rules, for each channel. Arrays have 8
 * numbers more than there are channels. */
typedef struct rush_int8_requantization {
  const int32_t *offsets; /* added to the sums */
  const float *factors, *bias;
  float inverse; /* of the result's scale; ignored, as bias and activation, where `rounds_first` */
  int32_t zero_point, least;
  bool is_signed;    /* results */
  bool rounds_first; /* round(sum * factor) + zero_point, else
                        round(activation(sum * factor + bias) * inverse + zero_point) */
  rush_int8_activation activation;
  const uint8_t *table; /* of an activation by table: rush_int8_fill_table */
  float place_0, per_place;
} rush_int8_requantization;

/* Sets to->table to table[RUSH_INT8_TABLE_SIZE], filled for the activation, the scale and the
 * bounds. */
void rush_int8_fill_table(rush_int8_requantization *to, uint8_t *table);

/* Requantizes sums to y[rows][n], with the row stride ldy, for channels from c on. NaN becomes
 * `least`. Sums of eight channels lie together, also if fewer exist: the next row is lds numbers
 * further, and the next eight channels are `step` numbers further. */
typedef void rush_int8_requantizer(const rush_int8_requantization *to, size_t rows, size_t c,
                                   size_t n, const int32_t *sums, size_t lds, size_t step,
                                   uint8_t *y, size_t ldy);
rush_int8_requantizer rush_int8_requantize;
rush_int8_requantizer rush_int8_requantize_8; /* where there is AVX2 */

/* Which pixels of an image each output sees: output (i, j, l) at tap (a, b, e) sees pixel
 * places[0][i * kernel[0] + a] + places[1][j * kernel[1] + b] + places[2][l * kernel[2] + e], or
 * none (zeros) where one of the three is negative. */
typedef struct rush_int8_window {
  size_t out[3], kernel[3];
  const ptrdiff_t *places[3];
} rush_int8_window;

typedef struct rush_int8_conv {
  rush_int8_window window;
  size_t images, pixels;         /* how many, and input pixels of each */
  size_t groups, channels, outs; /* input and output channels of each group */
  const void *x;                 /* [images][pixels][groups * channels], bytes */
  bool is_signed;
  int32_t zero; /* of x: one of its values */
  bool direct;  /* pixel i of the output sees pixel i of the input alone */
  /* The stride, 1 or 2, of rows of outputs that see 3x3 neighbouring pixels; 0 for other
   * windows. */
  size_t stride;
  ptrdiff_t first;    /* the column that the first of a row begins with */
  size_t width;       /* of the input */
  const void *packed; /* rush_int8_conv_pack */
  const rush_int8_requantization *to;
  uint8_t *y; /* [images][outputs][groups * outs] */
} rush_int8_conv;

#endif
