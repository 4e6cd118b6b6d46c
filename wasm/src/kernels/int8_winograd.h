/* 3x3 convolutions of bytes, of stride 1, in 4/9 of the products: tiles of 2x2 outputs, whose 4x4
 * pixels and weights are transformed to 16-bit integers first (Winograd). The sums are four times
 * those of the direct form, and as exact. */
#ifndef RUSH_INT8_WINOGRAD_H
#define RUSH_INT8_WINOGRAD_H

#include "kernels/int8_conv_types.h"
#include "kernels/int8_tile.h"

/* Whether v is such a one, with symmetric weights, and large enough to gain by it. The machine is
 * one whose kernel has `words`. */
bool rush_int8_winograd_fits(const rush_int8_conv *v);

/* Bytes of memory that it takes, beside; false where that overflows. */
bool rush_int8_winograd_scratch(struct rush_ctx *ctx, const rush_int8_conv *v, size_t *bytes);

/* As rush_int8_convolve. block_bytes: from one block of packed weights to the next. */
void rush_int8_winograd(struct rush_ctx *ctx, const rush_int8_conv *v, size_t block_bytes,
                        const rush_int8_kernel *kernel, void *scratch);

#endif
