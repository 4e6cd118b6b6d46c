#include "blocks/packed_int8.h"

#include <math.h>

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

rush_status rush_check_int8_sum(rush_ctx *ctx, size_t n, size_t most) {
  RUSH_CHECK(ctx, n <= most, RUSH_ERR_UNSUPPORTED, "int8 sums must have at most %zu terms, got %zu",
             most, n);
  return RUSH_OK;
}

rush_status rush_int8_prepare(rush_prepare *p, size_t n, size_t k, const int8_t *w,
                              const float *scales, const int32_t *zeros, const float *bias) {
  size_t bytes;
  rush_packed_floats *packed;
  if (!rush_int8_packed(n, k, &bytes)) return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_packed_new(p, bytes / sizeof(float), &packed));
  rush_int8_pack(p->ctx, n, k, w, scales, zeros, bias, packed->data);
  return rush_take_stop(p->ctx);
}

rush_status rush_int8_pack_call(rush_call *c, size_t n, size_t k, const int8_t *w,
                                const float *scales, const int32_t *zeros, const float *bias,
                                const void **packed) {
  size_t bytes;
  void *to;
  if (!rush_int8_packed(n, k, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &to));
  rush_int8_pack(c->ctx, n, k, w, scales, zeros, bias, to);
  *packed = to;
  return rush_take_stop(c->ctx);
}

rush_status rush_int8_rows_new(rush_call *c, int64_t m, int64_t k, rush_int8_rows *rows) {
  *rows = (rush_int8_rows){.m = (size_t)m, .k = (size_t)k};
  RUSH_TRY(tmp_items(c, m, rush_int8_row(rows->k), &rows->data));
  RUSH_TRY(tmp_items(c, m, sizeof *rows->zeros, (void **)&rows->zeros));
  RUSH_TRY(tmp_items(c, m, sizeof *rows->sums, (void **)&rows->sums));
  return tmp_items(c, m, sizeof *rows->scales, (void **)&rows->scales);
}

/* Chooses scale and zero point for a range as fbgemm and QNNPACK do: QuantUtils.h. */
static float choose(double low, double high, int64_t levels, int32_t *zero_point) {
  static const double MIN_SCALE = 6.1000000685453415e-05;
  const double most = (double)levels;
  if (low > 0) low = 0;
  if (high < 0) high = 0;
  double scale = (high - low) / most;
  if (isinf(1.0f / (float)scale)) scale = 0.1;
  if (scale < MIN_SCALE) {
    const double grown = (double)(1.0f / (float)scale * (float)MIN_SCALE), from = low;
    low = high == 0 ? -MIN_SCALE * most : (double)(float)(low * grown);
    high = from == 0 ? MIN_SCALE * most : (double)(float)(high * grown);
    scale = MIN_SCALE;
  }
  const bool by_low = -fabs(low / scale) < most - fabs(high / scale);
  double zero = by_low ? -low / scale : most - high / scale;
  zero = zero > 0 ? zero < most ? zero : most : 0;
  *zero_point = (int32_t)rint(zero);
  return (float)scale;
}

rush_status rush_int8_dynamic(rush_ctx *ctx, int64_t levels, const float *x, size_t ldx,
                              const rush_int8_rows *rows, size_t n, const void *packed, float *y) {
  float low = 0, high = 0;
  RUSH_TRY(rush_check_int8_sum(ctx, rows->k, RUSH_INT8_LONGEST));
  for (size_t i = 0; i < rows->m; i++) {
    float most;
    RUSH_TRY(rush_charge(ctx, 4 + rows->k / 4));
    const float least = rush_int8_range(rows->k, x + i * ldx, &most);
    low = least < low ? least : low;
    high = most > high ? most : high;
  }
  int32_t zero;
  const float scale = choose((double)low, (double)high, levels, &zero);
  rush_int8_rows_scaled(ctx, x, ldx, scale, zero, rows);
  rush_int8_gemm(ctx, rows, n, packed, y, n, -INFINITY, INFINITY);
  return RUSH_OK;
}
