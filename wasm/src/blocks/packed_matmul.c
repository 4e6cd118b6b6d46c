#include "blocks/packed_matmul.h"

#include "blocks/matrices.h"
#include "kernels/gemm.h"

/* Rows that are the whole storage go to the end of the packed matrix, to be packed from its front.
 */
static rush_status place(rush_prepare *p, const rush_tensor *weight, size_t floats, int64_t n,
                         int64_t k, int64_t stride_n, int64_t stride_k) {
  rush_packed_floats *packed;
  const size_t rows = (size_t)weight->numel;
  if (weight->storage != p->placing || weight->offset != 0 || stride_k != 1 || stride_n != k ||
      n * k != weight->numel || rows * sizeof(float) != weight->storage->bytes)
    return RUSH_OK;
  RUSH_TRY(rush_packed_new(p, floats, &packed));
  p->place = packed->data + (floats - rows);
  return RUSH_OK;
}

static rush_status pack_placed(rush_prepare *p, int64_t n, int64_t k, const float *bias) {
  float *scratch, *packed = ((rush_packed_floats *)p->packed)->data;
  const size_t bytes = rush_gemm_nr() * (size_t)k * sizeof *scratch; /* less than a packed matrix */
  RUSH_TRY(rush_alloc(p->ctx, bytes, (void **)&scratch));
  rush_gemm_pack_placed((size_t)k, (size_t)n, bias, scratch, packed);
  rush_release(p->ctx, scratch, bytes);
  return RUSH_OK;
}

rush_status rush_linear_pack(rush_prepare *p, const rush_tensor *weight, int64_t n, int64_t k,
                             int64_t stride_n, int64_t stride_k, const float *bias) {
  size_t floats;
  rush_packed_floats *packed;
  if (!rush_gemm_packed((size_t)k, (size_t)n, &floats)) return rush_fail_memory(p->ctx, SIZE_MAX);
  if (p->placing != NULL) return place(p, weight, floats, n, k, stride_n, stride_k);
  if (p->packed != NULL) return pack_placed(p, n, k, bias);
  RUSH_TRY(rush_packed_new(p, floats, &packed));
  rush_gemm_pack((size_t)k, (size_t)n, rush_data(weight), (ptrdiff_t)stride_k, (ptrdiff_t)stride_n,
                 bias, packed->data);
  return RUSH_OK;
}

rush_status rush_linear_begin(rush_call *c, rush_tensor *x, int64_t n, rush_linear_rows *rows) {
  rush_tensor *out, *dense = x;
  int64_t sizes[RUSH_MAX_RANK], m, stride;
  const int last = x->rank - 1;
  const int64_t k = x->sizes[last];
  memcpy(sizes, x->sizes, (size_t)last * sizeof *sizes);
  sizes[last] = n;
  if (!rush_as_rows(x, &m, &stride)) {
    RUSH_TRY(tmp_contiguous(c, x, &dense));
    stride = k;
  }
  RUSH_TRY(rush_result(c, 0, RUSH_FLOAT32, x->rank, sizes, &out));
  *rows = (rush_linear_rows){.stride = (size_t)stride};
  if (out->numel == 0) return RUSH_OK;
  rows->m = (size_t)(out->numel / n);
  if (k > 0) rows->x = rush_data(dense);
  rows->y = rush_data(out);
  return RUSH_OK;
}

rush_status rush_linear_run(rush_call *c, rush_tensor *x, int64_t n, int64_t k, const float *packed,
                            float min, float max) {
  rush_linear_rows r;
  RUSH_TRY(rush_linear_begin(c, x, n, &r));
  if (r.y != NULL)
    rush_gemm_long(c->ctx, r.m, (size_t)n, (size_t)k, r.x, r.stride, packed, r.y, (size_t)n, min,
                   max);
  return RUSH_OK;
}
