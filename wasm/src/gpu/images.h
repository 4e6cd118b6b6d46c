/* The shared part of kernels in which a thread computes one pixel of one channel. */
#ifndef RUSH_GPU_IMAGES_H
#define RUSH_GPU_IMAGES_H

#include "gpu/device.h"

/* Returns whether a kernel can read images [batch, channels, (height,) width] of any strides. */
bool rush_gpu_can_read_images(const rush_tensor *x);
/* Returns whether PyTorch takes the images as channels-last. */
bool rush_gpu_is_channels_last(const rush_tensor *x);
/* Returns whether kernels can write images of these sizes: fewer than 2^31 elements. */
bool rush_gpu_fits_images(int rank, const int64_t *sizes);
/* Reads a list with a number for each dimension, or one for all. A missing list has `otherwise`.
 * out[1] is that of the width. Returns false if a number is not from 0 to 2^24 - 1. */
bool rush_gpu_read_list(rush_call *c, uint32_t arg, int dims, const int64_t *otherwise,
                        int64_t out[2]);
/* Returns how many windows of pooling or a convolution lie along n elements with padding before and
 * after them; 0 if one does not fit. `reach`: elements from the first to the last of a window. */
int64_t rush_gpu_count_windows(int64_t n, int64_t before, int64_t after, int64_t reach,
                               int64_t stride, bool ceils);
/* Makes result 0 with these sizes: channels-last, or contiguous. */
rush_status rush_gpu_new_images(rush_gpu *g, rush_call *c, int rank, const int64_t *sizes,
                                bool last);
/* Begins a kernel whose thread i has element i of the result: pixel ow of row oh, channel oc, and
 * image b. Its words are 0 elements, 1 channels, 2 height, 3 width of the result; 4 offset, 5-8
 * strides, 9 height and 10 width of the input. */
void rush_gpu_write_images(rush_text *t, bool last);
void rush_gpu_place_images(const rush_tensor *x, const rush_tensor *out, uint32_t *words);

#endif
