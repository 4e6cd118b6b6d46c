#include "kernels/xnn_config.h"

/* XNNPACK chooses by the machine; the first call does so, under pthread_once where there are
 * threads. */
rush_xnn_kernels rush_xnn_gemm(void) {
  const struct xnn_gemm_config *x = xnn_init_f32_gemm_config();
  rush_xnn_kernels out = {x->mr, x->nr, x->mr, {{NULL}}, {{NULL}}};
  for (int clamped = 0; clamped < 2; clamped++) {
    for (int many = 0; many < 2; many++) {
      const int row = many ? x->mr - 1 : 0;
      const struct gemm_fused_ukernels *set = clamped ? &x->minmax : &x->linear;
      if (set->gemm[row].function[XNN_UARCH_DEFAULT] == NULL) set = &x->minmax;
      out.gemm[clamped][many] = (rush_xnn_gemm_fn)set->gemm[row].function[XNN_UARCH_DEFAULT];
      set = clamped ? &x->minmax : &x->linear;
      if (set->igemm[row].function[XNN_UARCH_DEFAULT] == NULL) set = &x->minmax;
      out.igemm[clamped][many] = (rush_xnn_igemm_fn)set->igemm[row].function[XNN_UARCH_DEFAULT];
    }
  }
#if defined(__wasm_relaxed_simd__)
  out.gemm_mr = RUSH_GEMM_MR;
  out.gemm[0][1] = out.gemm[1][1] = rush_gemm_6x8;
#endif
  return out;
}
