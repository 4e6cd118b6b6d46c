/* Convolutions of 8-bit integers that end in 8-bit integers, channels last. Sums are exact in 32
 * bits (and wrap beyond them), on every machine. */
#ifndef RUSH_INT8_CONV_H
#define RUSH_INT8_CONV_H

#include "kernels/int8_conv_types.h"

/* Stores the number of bytes of packed weights. Returns false if it overflows. */
bool rush_int8_conv_packed(size_t groups, size_t channels, size_t outs, size_t taps, size_t *bytes);
/* Packs w[groups * outs][channels][taps], with a zero point for each of groups * outs, into zeroed
 * memory, for this machine (or for rush_int8_kernel). They are incomplete after a stop request. */
void rush_int8_conv_pack(struct rush_ctx *ctx, size_t groups, size_t channels, size_t outs,
                         size_t taps, const int8_t *w, const int32_t *zeros, void *packed);
void rush_int8_conv_pack_as(struct rush_ctx *ctx, bool by_pairs, size_t groups, size_t channels,
                            size_t outs, size_t taps, const int8_t *w, const int32_t *zeros,
                            void *packed);
/* Stores the amount that the zero point of x adds to each output channel's sums on this machine:
 * zeros[groups * outs]. The caller subtracts it. */
void rush_int8_conv_zeros(const rush_int8_conv *v, int32_t *zeros);

/* Stores the number of bytes of scratch memory. Returns false if it overflows. */
bool rush_int8_conv_scratch(struct rush_ctx *ctx, const rush_int8_conv *v, size_t *bytes);
/* Convolves on all threads of the context. The host may stop it (rush_parallel). scratch is aligned
 * to 16. */
void rush_int8_convolve(struct rush_ctx *ctx, const rush_int8_conv *v, void *scratch);

#endif
