/* Convolutions of float32 in one to three dimensions, plain and transposed, on channels-last
 * pixels.
 *
 * A plan says where each kernel position reads. Packed weights are plain memory, aligned to 64
 * bytes, that is only read; they are shared by all sessions, and nothing here keeps state. */
#ifndef RUSH_CONV_H
#define RUSH_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rush_ctx;

/* Dimensions 0, 1, 2 are depth, height, width; fewer dimensions are the last ones, the others being
 * 1 (kernel 1, stride 1, dilation 1, padding 0). */
typedef struct rush_conv {
  size_t batch, groups, in_c, out_c; /* channels of one group */
  size_t in[3], out[3], kernel[3], stride[3], dilation[3];
  ptrdiff_t padding[3]; /* in front; what is behind follows from `out` */
  bool transposed;
  struct rush_ctx
      *ctx; /* whom a run and packing ask whether to stop, see rush_should_stop; or NULL */
} rush_conv;

/* Whether the fast path for one input channel per group and as many outputs is taken. */
static inline bool rush_conv_is_depthwise(const rush_conv *s) {
  return s->in_c == 1 && s->out_c == 1 && s->groups > 1 && !s->transposed;
}

/* Floats of the packed weights; needs no more than channels, groups, kernel, stride, dilation and
 * transposed. False where it overflows. */
bool rush_conv_packed(const rush_conv *s, size_t *floats);

/* Packs w[o * strides[0] + i * strides[1] + d * strides[2] + h * strides[3] + w * strides[4]],
 * where o counts the outputs of all groups and i the inputs of one (transposed: i counts the inputs
 * of all groups in strides[0], and o the outputs of one in strides[1], as PyTorch has it); bias may
 * be NULL. */
void rush_conv_pack(const rush_conv *s, const float *w, const ptrdiff_t strides[5],
                    const float *bias, float *packed);

/* Bytes of scratch memory that a run needs, on all threads of s->ctx; false where it overflows. */
bool rush_conv_scratch(const rush_conv *s, size_t *bytes);

/* y[batch][out..][groups * out_c] = clamp(conv(x[batch][in..][groups * in_c]), min, max), both
 * dense. 16 bytes behind x may be read. */
void rush_conv_run(const rush_conv *s, const float *x, const float *packed, float *y, float min,
                   float max, void *scratch);

/* The part of the above where rush_conv_is_depthwise holds. */
void rush_dwconv_pack(const rush_conv *s, const float *w, const ptrdiff_t strides[5],
                      const float *bias, float *packed);
void rush_dwconv_run(const rush_conv *s, const float *x, const float *packed, float *y, float min,
                     float max);

/* A row of output pixels of a depthwise kernel, whole: of dwconv.c, for itself. */
struct rush_dw_job;
struct rush_dw_strip;
typedef void rush_dwconv_strip_fn(const struct rush_dw_job *job, const struct rush_dw_strip *strip,
                                  const float *w, float *y, size_t stride);
rush_dwconv_strip_fn rush_dwconv_5x5;

#endif
