#include "kernels/optional.h"

rush_conv_any_fn *const rush_optional_conv_any = rush_conv_any;
rush_gemm_any_fn *const rush_optional_gemm_any = rush_gemm_any;
rush_dwconv_strip_fn *const rush_optional_dwconv_5x5 = rush_dwconv_5x5;
rush_winograd_fn *const rush_optional_winograd = rush_winograd;
