/* Kernels that only some models need. `npx rushlight slim` sets those that its files cannot reach
 * (js/bin/slim-rules.js) to NULL in the compiled binary. The compiler must therefore not see their
 * values where they are called, so optional.c defines them. */
#ifndef RUSH_OPTIONAL_H
#define RUSH_OPTIONAL_H

#include "kernels/conv_any.h"
#include "kernels/gemm_any.h"

/* Without these two, dtypes other than float32 are refused. */
extern rush_conv_any_fn *const rush_optional_conv_any;
extern rush_gemm_any_fn *const rush_optional_gemm_any;
/* Without this one, a 5x5 depthwise convolution uses the general path. */
extern rush_dwconv_strip_fn *const rush_optional_dwconv_5x5;
/* Without this one, a 3x3 convolution uses the direct form. */
extern rush_winograd_fn *const rush_optional_winograd;

#endif
