# The files of XNNPACK that are compiled, by variant: one for each kernel that wasm/src/kernels names (xnn_config.c,
# gemm_6x8.c). A kernel without its file is a symbol that the linker does not find; a file that is not there stops CMake.
set(RUSH_XNNPACK_KERNELS_scalar
  f32-gemm-1x4-scalar f32-gemm-4x4-scalar f32-gemm-1x4-minmax-scalar f32-gemm-4x4-minmax-scalar
  f32-igemm-1x4-scalar f32-igemm-4x4-scalar f32-igemm-1x4-minmax-scalar f32-igemm-4x4-minmax-scalar)

set(RUSH_XNNPACK_KERNELS_native
  f32-gemm-4x8-minmax-sse-load1
  f32-igemm-1x8-minmax-sse-load1 f32-igemm-4x8-minmax-sse-load1
  f32-gemm-1x16-minmax-avx-broadcast f32-gemm-5x16-minmax-avx-broadcast
  f32-igemm-1x16-minmax-avx-broadcast f32-igemm-5x16-minmax-avx-broadcast
  f32-gemm-1x16-minmax-fma3-broadcast f32-gemm-5x16-minmax-fma3-broadcast
  f32-igemm-1x16-minmax-fma3-broadcast f32-igemm-5x16-minmax-fma3-broadcast-prfm)
# As upstream: compiled for their own instructions; xnn_config.c asks the CPU.
set(RUSH_XNNPACK_FLAGS_sse -msse)
set(RUSH_XNNPACK_FLAGS_avx -mavx)
set(RUSH_XNNPACK_FLAGS_fma3 -mfma)

# Engines on x86, then on ARM.
set(RUSH_XNNPACK_KERNELS_simd
  f32-gemm-4x8-wasmsimd-loadsplat
  f32-gemm-4x8-minmax-wasmsimd-x86-loadsplat
  f32-igemm-1x8-wasmsimd-loadsplat f32-igemm-4x8-wasmsimd-loadsplat
  f32-igemm-1x8-minmax-wasmsimd-x86-loadsplat f32-igemm-4x8-minmax-wasmsimd-x86-loadsplat
  f32-gemm-5x8-wasmsimd-splat
  f32-gemm-5x8-minmax-wasmsimd-arm-splat
  f32-igemm-1x8-wasmsimd-splat f32-igemm-5x8-wasmsimd-splat
  f32-igemm-1x8-minmax-wasmsimd-arm-splat f32-igemm-5x8-minmax-wasmsimd-arm-splat)

set(RUSH_XNNPACK_KERNELS_relaxed
  f32-gemm-4x8-minmax-wasmrelaxedsimd-fma-loadsplat
  f32-igemm-1x8-minmax-wasmrelaxedsimd-fma-loadsplat
  f32-gemm-6x8-wasmrelaxedsimd-fma-splat
  f32-gemm-6x8-minmax-wasmrelaxedsimd-fma-splat
  f32-igemm-1x8-wasmrelaxedsimd-fma-splat f32-igemm-6x8-wasmrelaxedsimd-fma-splat
  f32-igemm-1x8-minmax-wasmrelaxedsimd-fma-splat f32-igemm-6x8-minmax-wasmrelaxedsimd-fma-splat)
