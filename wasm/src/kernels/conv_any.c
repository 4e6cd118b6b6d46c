#include "kernels/conv_any.h"

#include "base/base.h"

/* Returns the input position for output position o and kernel position k, or -1. */
static ptrdiff_t input_position(const rush_conv *s, int d, size_t o, size_t k) {
  ptrdiff_t i;
  if (s->transposed) {
    i = (ptrdiff_t)o + s->padding[d] - (ptrdiff_t)(k * s->dilation[d]);
    if (i < 0 || i % (ptrdiff_t)s->stride[d] != 0) return -1;
    i /= (ptrdiff_t)s->stride[d];
  } else {
    i = (ptrdiff_t)(o * s->stride[d] + k * s->dilation[d]) - s->padding[d];
  }
  return i >= 0 && i < (ptrdiff_t)s->in[d] ? i : -1;
}

/* out, in: the indices of the weight's strides for outputs and inputs. */
#define CONV(name, type, sum_type)                                                                 \
  static sum_type name##_one(const rush_conv *s, const type *x, const ptrdiff_t *xs,               \
                             const type *w, const ptrdiff_t *ws, ptrdiff_t in, const size_t *o) {  \
    sum_type sum = 0;                                                                              \
    for (size_t d = 0; d < s->kernel[0]; d++) {                                                    \
      const ptrdiff_t id = input_position(s, 0, o[0], d);                                          \
      for (size_t h = 0; id >= 0 && h < s->kernel[1] && !rush_should_stop(s->ctx, 4); h++) {       \
        const ptrdiff_t ih = input_position(s, 1, o[1], h);                                        \
        for (size_t k = 0; ih >= 0 && k < s->kernel[2]; k++) {                                     \
          const ptrdiff_t iw = input_position(s, 2, o[2], k);                                      \
          if (rush_should_stop(s->ctx, iw < 0 ? 4 : 4 * s->in_c + 4)) return sum;                  \
          if (iw < 0) continue;                                                                    \
          const type *xp = x + id * xs[2] + ih * xs[3] + iw * xs[4];                               \
          const type *wp = w + (ptrdiff_t)d * ws[2] + (ptrdiff_t)h * ws[3] + (ptrdiff_t)k * ws[4]; \
          for (size_t c = 0; c < s->in_c && !rush_stops_at_step(s->ctx, (int64_t)c); c++)          \
            sum += (sum_type)xp[(ptrdiff_t)c * xs[1]] * (sum_type)wp[(ptrdiff_t)c * in];           \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    return sum;                                                                                    \
  }                                                                                                \
  static void name(const rush_conv *s, const type *x, const ptrdiff_t *xs, const type *w,          \
                   const ptrdiff_t *ws, const type *bias, ptrdiff_t bias_stride, type *y) {        \
    const ptrdiff_t out = ws[s->transposed ? 1 : 0], in = ws[s->transposed ? 0 : 1];               \
    const ptrdiff_t group = ws[0] * (ptrdiff_t)(s->transposed ? s->in_c : s->out_c);               \
    for (size_t b = 0; b < s->batch; b++, x += xs[0]) {                                            \
      for (size_t p = 0; p < s->out[0] * s->out[1] * s->out[2]; p++) {                             \
        const size_t o[3] = {p / s->out[2] / s->out[1], p / s->out[2] % s->out[1], p % s->out[2]}; \
        for (size_t g = 0; g < s->groups; g++) {                                                   \
          const type *xg = x + (ptrdiff_t)(g * s->in_c) * xs[1], *wg = w + (ptrdiff_t)g * group;   \
          for (size_t c = 0; c < s->out_c; c++, y++) {                                             \
            if (rush_should_stop(s->ctx, 16)) return;                                              \
            sum_type sum = bias ? (sum_type)bias[(ptrdiff_t)(g * s->out_c + c) * bias_stride] : 0; \
            sum += name##_one(s, xg, xs, wg + (ptrdiff_t)c * out, ws, in, o);                      \
            *y = (type)sum;                                                                        \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }
CONV(conv_f32, float, double)
CONV(conv_f64, double, double)
CONV(conv_u8, uint8_t, uint32_t)
CONV(conv_u32, uint32_t, uint32_t)
CONV(conv_u64, uint64_t, uint64_t)

void rush_conv_any(rush_dtype dtype, const rush_conv *s, const void *x,
                   const ptrdiff_t x_strides[5], const void *w, const ptrdiff_t w_strides[5],
                   const void *bias, ptrdiff_t bias_stride, void *y) {
  switch (dtype) {
    case RUSH_FLOAT32:
      conv_f32(s, x, x_strides, w, w_strides, bias, bias_stride, y);
      break;
    case RUSH_FLOAT64:
      conv_f64(s, x, x_strides, w, w_strides, bias, bias_stride, y);
      break;
    case RUSH_UINT8:
      conv_u8(s, x, x_strides, w, w_strides, bias, bias_stride, y);
      break;
    case RUSH_INT32:
      conv_u32(s, x, x_strides, w, w_strides, bias, bias_stride, y);
      break;
    default:
      conv_u64(s, x, x_strides, w, w_strides, bias, bias_stride, y);
      break;
  }
}
