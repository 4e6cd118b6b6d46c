/* Winograd's convolution: a 3x3 kernel of stride 1 on tiles of 2x2 or 4x4 outputs, in 16 or 36
 * products where the direct form has 36 or 144.
 *
 * Both forms read the same packed weights; these are transformed at each run, block by block: so no
 * weight is kept twice, the form is chosen by the size of the image, and loading takes no longer. */
#ifndef RUSH_WINOGRAD_H
#define RUSH_WINOGRAD_H

#include "kernels/conv.h"

struct rush_conv_job;

/* Bytes of scratch memory that it needs, behind the direct form's; 0 where that one is faster, or
 * four times as exact. Runs the convolution, if `direct` is not NULL and the answer not 0. */
typedef size_t rush_winograd_fn(const rush_conv *s, const struct rush_conv_job *direct);
rush_winograd_fn rush_winograd;

#endif
