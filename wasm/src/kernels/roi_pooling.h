/* Pooling of image regions to a fixed size, and the columns of deformable convolution. */
#ifndef RUSH_ROI_POOLING_H
#define RUSH_ROI_POOLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rush_rois {
  struct rush_ctx *ctx;                                 /* see rush_should_stop */
  int64_t channels, height, width;                      /* sizes of x */
  int64_t batch_step, channel_step, row_step, col_step; /* strides of x, in elements */
  int64_t n;                                            /* number of regions */
  int64_t pooled_height, pooled_width;                  /* sizes of the result, not 0 */
  bool by_place;    /* each bin reads its own channel, so that the result has fewer channels */
  double scale;     /* scale from coordinates to pixels */
  int64_t sampling; /* align: samples per bin and dimension; < 1: by the region's size */
  bool aligned;     /* align: pixel centres are at 0.5; implied by by_place */
} rush_rois;

/* Returns the number of channels of the result. */
static inline int64_t rush_roi_channels(const rush_rois *r) {
  return r->by_place ? r->channels / (r->pooled_height * r->pooled_width) : r->channels;
}

/* regions[n][5] are image index (checked by the caller), x1, y1, x2, y2. Computes
 * y[n][channels][pooled_height][pooled_width]. align averages bilinear samples. pool takes the
 * maximum of the pixels or, with by_place, their mean. `from`, with y's sizes, is the position of
 * the maximum, row * width + column, or -1. It is unused with by_place. */
void rush_roi_align_f32(const rush_rois *r, const float *regions, const float *x, float *y);
void rush_roi_align_f64(const rush_rois *r, const double *regions, const double *x, double *y);
void rush_roi_pool_f32(const rush_rois *r, const float *regions, const float *x, float *y,
                       int32_t *from);
void rush_roi_pool_f64(const rush_rois *r, const double *regions, const double *x, double *y,
                       int32_t *from);

typedef struct rush_deform {
  struct rush_ctx *ctx;
  int64_t channels, height, width;                               /* sizes of x */
  int64_t channel_step, row_step, col_step;                      /* strides of x, in elements */
  int64_t kernel[2], stride[2], padding[2], dilation[2], out[2]; /* rows, columns */
  int64_t groups; /* groups of channels with their own offsets */
} rush_deform;

/* Gathers one image into columns[channels][kernel][out]. Each pixel is shifted by
 * offset[groups][kernel][2][out] and multiplied by mask[groups][kernel][out], where NULL
 * means 1. */
void rush_deform_columns_f32(const rush_deform *d, const float *x, const float *offset,
                             const float *mask, float *columns);
void rush_deform_columns_f64(const rush_deform *d, const double *x, const double *offset,
                             const double *mask, double *columns);

#endif
