/* Convolutions of 8-bit integers that end in 8-bit integers, channels last. Sums are exact in 32
 * bits (and wrap beyond them), on every machine. */
#ifndef RUSH_INT8_CONV_H
#define RUSH_INT8_CONV_H

#include "kernels/int8_conv_types.h"

/* Bytes of packed weights; false where that overflows. */
bool rush_int8_conv_packed(size_t groups, size_t channels, size_t outs, size_t taps, size_t *bytes);
/* Packs w[groups * outs][channels][taps], with a zero each of groups * outs, into zeroed memory, as
 * this machine wants it (or as rush_int8_kernel says). */
void rush_int8_conv_pack(size_t groups, size_t channels, size_t outs, size_t taps, const int8_t *w,
                         const int32_t *zeros, void *packed);
void rush_int8_conv_pack_as(bool by_pairs, size_t groups, size_t channels, size_t outs, size_t taps,
                            const int8_t *w, const int32_t *zeros, void *packed);
/* What the zero of x adds to each output channel's sums on this machine, to be taken from them:
 * zeros[groups * outs]. */
void rush_int8_conv_zeros(const rush_int8_conv *v, int32_t *zeros);

/* Bytes of memory that a convolution takes, beside; false where that overflows. */
bool rush_int8_conv_scratch(struct rush_ctx *ctx, const rush_int8_conv *v, size_t *bytes);
/* On all threads of the context. The host may stop it: rush_parallel. scratch is aligned to 16. */
void rush_int8_convolve(struct rush_ctx *ctx, const rush_int8_conv *v, void *scratch);

#endif
