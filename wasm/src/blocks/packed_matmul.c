#include "blocks/packed_matmul.h"

#include <math.h>

#include "blocks/batched_matmul.h"
#include "kernels/gemm.h"

const rush_tensor *rush_constant_matrix(const rush_prepare *p, uint32_t arg) {
  const rush_tensor *t = rush_constant_tensor(p, arg);
  return t != NULL && t->rank == 2 &&
                 (t->dtype == RUSH_FLOAT32 ||
                  (rush_is_half(t->dtype) && rush_optional_halves != NULL))
             ? t
             : NULL;
}

/* If the rows are the whole storage, places them at the end of the packed matrix, so that packing
 * can run in place from its front. */
static rush_status place(rush_prepare *p, const rush_tensor *weight, size_t floats, int64_t n,
                         int64_t k, int64_t stride_n, int64_t stride_k) {
  rush_packed_floats *packed;
  const size_t bytes = weight->storage->bytes;
  if (weight->storage != p->placing || weight->offset != 0 || stride_k != 1 || stride_n != k ||
      n * k != weight->numel || (size_t)weight->numel * rush_itemsize(weight) != bytes)
    return RUSH_OK;
  RUSH_TRY(rush_packed_new(p, floats, &packed));
  p->place = (char *)(packed->data + floats) - bytes;
  return RUSH_OK;
}

rush_status rush_linear_pack(rush_prepare *p, const rush_tensor *weight, int64_t n, int64_t k,
                             int64_t stride_n, int64_t stride_k, const float *bias) {
  const size_t item = rush_itemsize(weight), depth = (size_t)k, columns = (size_t)n;
  size_t floats;
  if (!rush_gemm_packed(rush_gemm_rows(item, depth), columns, &floats))
    return rush_fail_memory(p->ctx, SIZE_MAX);
  if (p->placing != NULL) return place(p, weight, floats, n, k, stride_n, stride_k);
  rush_packed_floats *packed = (rush_packed_floats *)p->packed;
  const bool placed = packed != NULL;
  if (!placed) RUSH_TRY(rush_packed_new(p, floats, &packed));
  if (item != sizeof(float)) rush_optional_halves(packed, weight);
  if (!placed) {
    rush_gemm_pack_items(p->ctx, item, depth, columns, rush_data(weight), (ptrdiff_t)stride_k,
                         (ptrdiff_t)stride_n, bias, packed->data);
    return RUSH_OK;
  }
  void *scratch;
  size_t bytes;
  if (!rush_mul(rush_gemm_nr(), depth, &bytes) || !rush_mul(bytes, item, &bytes))
    return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_alloc(p->ctx, bytes, &scratch));
  rush_gemm_pack_placed(p->ctx, item, depth, columns, bias, scratch, packed->data);
  rush_release(p->ctx, scratch, bytes);
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

rush_status rush_linear_in_floats(rush_call *c, rush_linear_fn *compute) {
  rush_tensor *x = arg_tensor(c, 0), *wide, *rounded;
  if (!rush_is_half(x->dtype)) return compute(c, x);
  RUSH_TRY(tmp_to(c, x, RUSH_FLOAT32, &wide));
  RUSH_TRY(compute(c, wide));
  RUSH_TRY(rush_tensor_to(c->heap, rush_as_tensor(c->results), x->dtype, &rounded));
  rush_drop(c->heap, c->results);
  ret_tensor(c, 0, rounded);
  return RUSH_OK;
}

rush_status rush_linear_run(rush_call *c, rush_tensor *x, int64_t n, int64_t k, float min,
                            float max) {
  rush_linear_rows r;
  const rush_packed_floats *packed = (const rush_packed_floats *)c->packed;
  const size_t columns = (size_t)n, depth = (size_t)k;
  RUSH_TRY(rush_linear_begin(c, x, n, &r));
  if (r.y == NULL) return RUSH_OK;
  if (packed->halves != NULL) return packed->halves(c, &r, columns, depth, min, max);
  rush_gemm_parallel(c->ctx, r.m, columns, depth, r.x, r.stride, packed->data, r.y, columns, min,
                     max);
  return RUSH_OK;
}

/* Limits that a file gives in the wrong order have the meaning of torch.clamp: all is `max`. */
void rush_clamp(rush_ctx *ctx, rush_tensor *out, float min, float max) {
  if (out->dtype != RUSH_FLOAT32 || (min == -INFINITY && max == INFINITY)) return;
  float *v = rush_data(out);
  for (size_t at = 0, some; rush_next_piece(ctx, (size_t)out->numel, 1, at, &some); at += some)
    for (size_t i = at; i < at + some; i++) {
      const float y = v[i] < min ? min : v[i];
      v[i] = y > max ? max : y;
    }
}
