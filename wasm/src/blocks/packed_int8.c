#include "blocks/packed_int8.h"

#include "tensor/layout.h"

const rush_tensor *rush_constant_of(const rush_prepare *p, uint32_t arg, rush_dtype dtype,
                                    int rank) {
  const rush_value *v = p->args[arg];
  if (v == NULL || v->kind != RUSH_KIND_TENSOR || p->placing != NULL) return NULL;
  const rush_tensor *t = rush_as_tensor(v);
  return t->dtype == dtype && t->rank == rank && rush_is_contiguous(t) &&
                 (t->numel == 0 || t->storage->data != NULL)
             ? t
             : NULL;
}

rush_status rush_int8_prepare(rush_prepare *p, size_t n, size_t k, const int8_t *w,
                              const float *scales, const int32_t *zeros, const float *bias) {
  size_t bytes;
  rush_packed_floats *packed;
  if (!rush_int8_packed(n, k, &bytes)) return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_packed_new(p, bytes / sizeof(float), &packed));
  rush_int8_pack(n, k, w, scales, zeros, bias, packed->data);
  return RUSH_OK;
}

rush_status rush_int8_pack_call(rush_call *c, size_t n, size_t k, const int8_t *w,
                                const float *scales, const int32_t *zeros, const float *bias,
                                const void **packed) {
  size_t bytes;
  void *to;
  if (!rush_int8_packed(n, k, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &to));
  rush_int8_pack(n, k, w, scales, zeros, bias, to);
  *packed = to;
  return rush_work(c->ctx, (uint64_t)n * k);
}

rush_status rush_int8_rows_new(rush_call *c, int64_t m, int64_t k, rush_int8_rows *rows) {
  *rows = (rush_int8_rows){.m = (size_t)m, .k = (size_t)k};
  RUSH_TRY(tmp_items(c, m, rush_int8_row(rows->k), &rows->data));
  RUSH_TRY(tmp_items(c, m, sizeof *rows->zeros, (void **)&rows->zeros));
  RUSH_TRY(tmp_items(c, m, sizeof *rows->sums, (void **)&rows->sums));
  return tmp_items(c, m, sizeof *rows->scales, (void **)&rows->scales);
}
