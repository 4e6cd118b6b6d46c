/* Regions of images, pooled to one size each, and the columns of deformable convolution. */
#ifndef RUSH_ROI_POOLING_H
#define RUSH_ROI_POOLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rush_rois {
  struct rush_ctx *ctx;                                 /* see rush_should_stop */
  int64_t channels, height, width;                      /* of x */
  int64_t batch_step, channel_step, row_step, col_step; /* of x, in elements */
  int64_t n;                                            /* regions */
  int64_t pooled_height, pooled_width;                  /* of the result; not 0 */
  bool by_place;    /* each bin reads a channel of its own, so that there are fewer in the result */
  double scale;     /* from the regions' coordinates to pixels */
  int64_t sampling; /* align: samples of a bin in each dimension; by the region's size where < 1 */
  bool aligned;     /* align: pixel centres are at halves; by_place always */
} rush_rois;

/* The channels of the result. */
static inline int64_t rush_roi_channels(const rush_rois *r) {
  return r->by_place ? r->channels / (r->pooled_height * r->pooled_width) : r->channels;
}

/* regions[n][5]: index of the image (checked by the caller), x1, y1, x2, y2. To
 * y[n][channels][pooled_height][pooled_width]: the mean of samples between pixels (align); the
 * greatest pixel, or by_place the mean of the pixels (pool). `from`, of y's sizes, is where the
 * greatest was found, row * width + column, or -1; not used by_place. */
void rush_roi_align_f32(const rush_rois *r, const float *regions, const float *x, float *y);
void rush_roi_align_f64(const rush_rois *r, const double *regions, const double *x, double *y);
void rush_roi_pool_f32(const rush_rois *r, const float *regions, const float *x, float *y,
                       int32_t *from);
void rush_roi_pool_f64(const rush_rois *r, const double *regions, const double *x, double *y,
                       int32_t *from);

typedef struct rush_deform {
  struct rush_ctx *ctx;
  int64_t channels, height, width;                               /* of x */
  int64_t channel_step, row_step, col_step;                      /* of x, in elements */
  int64_t kernel[2], stride[2], padding[2], dilation[2], out[2]; /* rows, columns */
  int64_t groups; /* of channels with offsets of their own */
} rush_deform;

/* One image: columns[channels][kernel][out] of x, each pixel taken `offset` further, of
 * offset[groups][kernel][2][out], times mask[groups][kernel][out] (NULL: 1). */
void rush_deform_columns_f32(const rush_deform *d, const float *x, const float *offset,
                             const float *mask, float *columns);
void rush_deform_columns_f64(const rush_deform *d, const double *x, const double *offset,
                             const double *mask, double *columns);

#endif
