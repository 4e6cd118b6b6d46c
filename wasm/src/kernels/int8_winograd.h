/* 3x3 convolutions of bytes, of stride 1, in 4/9 of the products: tiles of 2x2 outputs, whose 4x4
 * pixels and weights are transformed to 16-bit integers first (Winograd). The sums are four times
 * those of the direct form, and as exact. */
#ifndef RUSH_INT8_WINOGRAD_H
#define RUSH_INT8_WINOGRAD_H

#include "kernels/int8_conv_types.h"
#include "kernels/int8_tile.h"

/* Returns whether v is such a convolution with symmetric weights, and large enough to become
 * faster. The machine's kernel must have `words`. */
bool rush_int8_winograd_fits(const rush_int8_conv *v);

/* Stores the number of bytes of scratch memory. Returns false if it overflows. */
bool rush_int8_winograd_scratch(struct rush_ctx *ctx, const rush_int8_conv *v, size_t *bytes);

/* Does the same as rush_int8_convolve. block_bytes is the distance between blocks of packed
 * weights. */
void rush_int8_winograd(struct rush_ctx *ctx, const rush_int8_conv *v, size_t block_bytes,
                        const rush_int8_kernel *kernel, void *scratch);

#endif
