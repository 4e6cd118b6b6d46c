#include "blocks/packed_matmul.h"
#include "kernels/gemm_half.h"

static rush_status run(rush_call *c, const rush_linear_rows *rows, size_t n, size_t k, float min,
                       float max) {
  const rush_packed_floats *packed = (const rush_packed_floats *)c->packed;
  const rush_half_product p = {.dtype = packed->dtype,
                               .finite = packed->finite,
                               .m = rows->m,
                               .n = n,
                               .k = k,
                               .lda = rows->stride,
                               .ldc = n,
                               .a = rows->x,
                               .packed = packed->data,
                               .c = rows->y,
                               .min = min,
                               .max = max};
  size_t floats, bytes;
  void *scratch;
  if (!rush_half_scratch(c->ctx, &p, &floats) || !rush_mul(floats, sizeof(float), &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &scratch));
  rush_half_gemm(c->ctx, &p, scratch);
  return RUSH_OK;
}

static void pack(rush_packed_floats *packed, const rush_tensor *weight) {
  packed->halves = run;
  packed->dtype = weight->dtype;
  packed->finite = rush_half_is_finite(weight->dtype, weight->storage->bytes / sizeof(uint16_t),
                                       weight->storage->data);
}
rush_pack_halves_fn *const rush_optional_halves = pack;
