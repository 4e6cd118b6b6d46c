/* float32 convolutions in one to three dimensions, plain and transposed, on channels-last images.
 *
 * Packed weights are plain read-only memory, aligned to 64 bytes, that all sessions share. Nothing
 * here keeps state. */
#ifndef RUSH_CONV_H
#define RUSH_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

/* Dimensions 0, 1, 2 are depth, height, width. A convolution with fewer dimensions uses the last
 * ones; the others have size 1 (kernel 1, stride 1, dilation 1, padding 0). */
typedef struct rush_conv {
  size_t batch, groups, in_c, out_c; /* in_c, out_c: channels per group */
  size_t in[3], out[3], kernel[3], stride[3], dilation[3];
  ptrdiff_t padding[3]; /* leading padding; trailing padding follows from `out` */
  bool transposed;
  struct rush_ctx *ctx; /* polled while running and packing (rush_should_stop); or NULL */
} rush_conv;

/* Returns whether the depthwise fast path applies: one input and one output channel per group. */
static inline bool rush_conv_is_depthwise(const rush_conv *s) {
  return s->in_c == 1 && s->out_c == 1 && s->groups > 1 && !s->transposed;
}

/* Computes the number of floats of the packed weights. Only channels, groups, kernel, stride,
 * dilation and transposed must be set. Returns false on overflow. */
bool rush_conv_packed(const rush_conv *s, size_t *floats);

/* Packs w[o * strides[0] + i * strides[1] + d * strides[2] + h * strides[3] + w * strides[4]],
 * where o counts the outputs of all groups and i the inputs of one group. If transposed, i counts
 * the inputs of all groups with strides[0], and o the outputs of one group with strides[1], as in
 * PyTorch. bias may be NULL. */
void rush_conv_pack(const rush_conv *s, const float *w, const ptrdiff_t strides[5],
                    const float *bias, float *packed);

/* Computes the bytes of scratch memory that a run needs on all threads of s->ctx. Returns false on
 * overflow. */
bool rush_conv_scratch(const rush_conv *s, size_t *bytes);

/* Computes y[batch][out...][groups * out_c] = clamp(conv(x[batch][in...][groups * in_c]), min,
 * max). Both are dense. 16 bytes behind x must be readable. */
void rush_conv_run(const rush_conv *s, const float *x, const float *packed, float *y, float min,
                   float max, void *scratch);

/* Packs the weights of a depthwise convolution, for which rush_conv_is_depthwise is true. */
void rush_dwconv_pack(const rush_conv *s, const float *w, const ptrdiff_t strides[5],
                      const float *bias, float *packed);
void rush_dwconv_run(const rush_conv *s, const float *x, const float *packed, float *y, float min,
                     float max);

/* Computes a whole row of output pixels with a depthwise kernel. Private to dwconv.c. */
struct rush_dw_job;
struct rush_dw_strip;
typedef void rush_dwconv_strip_fn(const struct rush_dw_job *job, const struct rush_dw_strip *strip,
                                  const float *w, float *y, size_t stride);
rush_dwconv_strip_fn rush_dwconv_5x5;

/* Winograd's convolution: a 3x3 kernel of stride 1 on tiles of 2x2 or 4x4 outputs, in 16 or 36
 * products where the direct form needs 36 or 144. Both forms read the same packed weights, which
 * each run transforms block by block. So no weight is kept twice, the form can follow the size of
 * the image, and loading takes no longer.
 *
 * Returns the bytes of scratch memory that it needs behind the direct form's. The result is 0 where
 * the direct form is faster, or four times as exact. Runs the convolution if `direct`, the same one
 * in its direct form (xnn_conv.h), is not NULL and the result is not 0. */
struct rush_conv_job;
typedef size_t rush_winograd_fn(const rush_conv *s, const struct rush_conv_job *direct);
rush_winograd_fn rush_winograd;

#endif
