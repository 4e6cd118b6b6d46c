/* Kernels that only some files need of those which have an operator: `npx rushlight slim` sets to
 * NULL what its files cannot reach (js/bin/parts.js says when) in the compiled binary, so the
 * compiler of who calls them may not know what they are: optional.c does, on its own. */
#ifndef RUSH_OPTIONAL_H
#define RUSH_OPTIONAL_H

#include "kernels/conv_any.h"
#include "kernels/gemm_any.h"
#include "kernels/winograd.h"

/* Without these two a dtype other than float32 is refused. */
extern rush_conv_any_fn *const rush_optional_conv_any;
extern rush_gemm_any_fn *const rush_optional_gemm_any;
/* Without this one a depthwise 5x5 takes the way of all other sizes. */
extern rush_dwconv_strip_fn *const rush_optional_dwconv_5x5;
/* Without this one a 3x3 convolution is the direct form's. */
extern rush_winograd_fn *const rush_optional_winograd;

#endif
