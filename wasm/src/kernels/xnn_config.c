/* The tiles that XNNPACK's own configuration selects. That configuration is not used, because it
 * would link all kernels. cmake/xnnpack/kernels.cmake lists their files. */
#include "kernels/xnn_config.h"

#include <math.h>

#include "xnnpack/igemm.h"

#define GEMM(tile) (rush_xnn_gemm_fn) xnn_f32_gemm_##tile
#define IGEMM(tile) (rush_xnn_igemm_fn) xnn_f32_igemm_##tile
/* Uses one kernel for both [plain] and [clamping]: with infinite bounds, clamping has no effect. */
#define BOTH(one, many) \
  {                     \
    {one, many}, {      \
      one, many         \
    }                   \
  }

#if defined(__wasm_relaxed_simd__)
static const rush_xnn_kernels x86 = {
    .mr = RUSH_GEMM_MR,
    .nr = 8,
    .gemm = BOTH(NULL, rush_gemm_6x8),
    .igemm = BOTH(IGEMM(minmax_ukernel_1x8__wasmrelaxedsimd_fma_loadsplat), rush_igemm_6x8),
};
static const rush_xnn_kernels arm = {
    .mr = 6,
    .nr = 8,
    .gemm = {{NULL, GEMM(ukernel_6x8__wasmrelaxedsimd_fma_splat)},
             {NULL, GEMM(minmax_ukernel_6x8__wasmrelaxedsimd_fma_splat)}},
    .igemm = {{IGEMM(ukernel_1x8__wasmrelaxedsimd_fma_splat),
               IGEMM(ukernel_6x8__wasmrelaxedsimd_fma_splat)},
              {IGEMM(minmax_ukernel_1x8__wasmrelaxedsimd_fma_splat),
               IGEMM(minmax_ukernel_6x8__wasmrelaxedsimd_fma_splat)}},
};
#elif defined(__wasm__)
static const rush_xnn_kernels x86 = {
    .mr = 4,
    .nr = 8,
    .gemm = {{NULL, GEMM(ukernel_4x8__wasmsimd_loadsplat)},
             {NULL, GEMM(minmax_ukernel_4x8__wasmsimd_x86_loadsplat)}},
    .igemm = {{IGEMM(ukernel_1x8__wasmsimd_loadsplat), IGEMM(ukernel_4x8__wasmsimd_loadsplat)},
              {IGEMM(minmax_ukernel_1x8__wasmsimd_x86_loadsplat),
               IGEMM(minmax_ukernel_4x8__wasmsimd_x86_loadsplat)}},
};
static const rush_xnn_kernels arm = {
    .mr = 5,
    .nr = 8,
    .gemm = {{NULL, GEMM(ukernel_5x8__wasmsimd_splat)},
             {NULL, GEMM(minmax_ukernel_5x8__wasmsimd_arm_splat)}},
    .igemm = {{IGEMM(ukernel_1x8__wasmsimd_splat), IGEMM(ukernel_5x8__wasmsimd_splat)},
              {IGEMM(minmax_ukernel_1x8__wasmsimd_arm_splat),
               IGEMM(minmax_ukernel_5x8__wasmsimd_arm_splat)}},
};
#elif defined(RUSH_XNN_X86)
static const rush_xnn_kernels with_fma = {
    .mr = 5,
    .nr = 16,
    .gemm =
        BOTH(GEMM(minmax_ukernel_1x16__fma3_broadcast), GEMM(minmax_ukernel_5x16__fma3_broadcast)),
    .igemm = BOTH(IGEMM(minmax_ukernel_1x16__fma3_broadcast),
                  IGEMM(minmax_ukernel_5x16__fma3_broadcast_prfm)),
};
static const rush_xnn_kernels with_avx = {
    .mr = 5,
    .nr = 16,
    .gemm =
        BOTH(GEMM(minmax_ukernel_1x16__avx_broadcast), GEMM(minmax_ukernel_5x16__avx_broadcast)),
    .igemm =
        BOTH(IGEMM(minmax_ukernel_1x16__avx_broadcast), IGEMM(minmax_ukernel_5x16__avx_broadcast)),
};
static const rush_xnn_kernels with_sse = {
    .mr = 4,
    .nr = 8,
    .gemm = BOTH(NULL, GEMM(minmax_ukernel_4x8__sse_load1)),
    .igemm = BOTH(IGEMM(minmax_ukernel_1x8__sse_load1), IGEMM(minmax_ukernel_4x8__sse_load1)),
};
#else
static const rush_xnn_kernels scalar = {
    .mr = 4,
    .nr = 4,
    .gemm = {{GEMM(ukernel_1x4__scalar), GEMM(ukernel_4x4__scalar)},
             {GEMM(minmax_ukernel_1x4__scalar), GEMM(minmax_ukernel_4x4__scalar)}},
    .igemm = {{IGEMM(ukernel_1x4__scalar), IGEMM(ukernel_4x4__scalar)},
              {IGEMM(minmax_ukernel_1x4__scalar), IGEMM(minmax_ukernel_4x4__scalar)}},
};
#endif

const rush_xnn_kernels *rush_xnn_gemm(void) {
#if defined(__wasm__)
  /* Infinity minus infinity has its sign bit set on x86 but not on ARM. */
  const volatile float infinity = INFINITY;
  return signbit(infinity - infinity) ? &x86 : &arm;
#elif defined(RUSH_XNN_X86)
  return __builtin_cpu_supports("fma")   ? &with_fma
         : __builtin_cpu_supports("avx") ? &with_avx
                                         : &with_sse;
#else
  return &scalar;
#endif
}
