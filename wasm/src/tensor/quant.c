#include "tensor/quant.h"

#include "kernels/pooling.h"
#include "kernels/quantize_affine.h"

rush_status rush_quant_new(rush_heap *heap, rush_tensor *t, int axis, size_t n, rush_quant **out) {
  size_t bytes;
  *out = NULL;
  RUSH_CHECK(heap->ctx,
             rush_mul(n, sizeof(double) + sizeof(int64_t), &bytes) &&
                 rush_add(bytes, sizeof **out, &bytes),
             RUSH_ERR_NO_MEMORY, "out of memory: too many scales");
  rush_quant *q;
  RUSH_TRY(rush_heap_alloc(heap, bytes, (void **)&q));
  q->axis = axis;
  q->n = n;
  q->scales = (double *)(q + 1);
  q->zero_points = (int64_t *)(q->scales + n);
  rush_heap_free(heap, t->storage->quant);
  t->storage->quant = *out = q;
  return RUSH_OK;
}

rush_status rush_quant_copy(rush_heap *heap, rush_tensor *t, const rush_tensor *like) {
  const rush_quant *from = rush_quant_of(like);
  rush_quant *q;
  if (t->storage == like->storage) return RUSH_OK;
  RUSH_TRY(rush_quant_new(heap, t, from->axis, from->n, &q));
  /* The zero points lie behind the scales: rush_quant_new. */
  return rush_copy_bytes(heap->ctx, q->scales, from->scales,
                         q->n * (sizeof *q->scales + sizeof *q->zero_points));
}

void rush_quant_enable_pools(rush_heap *heap) {
  heap->quantized.max_pool = rush_max_pool_quantized;
  heap->quantized.avg_pool = rush_avg_pool_quantized;
}

/* Runs of elements that share a scale. A tensor with an axis must be contiguous. */
typedef struct runs {
  size_t n, each;
} runs;

static runs runs_of(const rush_tensor *t, const rush_quant *q) {
  runs r = {t->numel > 0, (size_t)t->numel};
  if (q->axis < 0 || t->numel == 0) return r;
  r.each = 1;
  for (int d = q->axis + 1; d < t->rank; d++) r.each *= (size_t)t->sizes[d];
  r.n = (size_t)t->numel / r.each;
  return r;
}

rush_status rush_quant_quantize(rush_heap *heap, rush_tensor *x, bool in_steps, rush_tensor *out) {
  const rush_quant *q = rush_quant_of(out);
  rush_tensor *dense = rush_tensor_retain(x);
  if (!rush_same_strides(x, out)) {
    rush_tensor_drop(heap, dense);
    RUSH_TRY(rush_tensor_contiguous(heap, x, &dense));
  }
  assert(rush_same_strides(dense, out));
  const runs r = runs_of(out, q);
  const float *from = rush_data(dense);
  char *to = rush_data(out);
  for (size_t i = 0; i < r.n && !heap->ctx->stopped; i++)
    for (size_t at = i * r.each, end = at + r.each, some;
         rush_next_piece(heap->ctx, end, 1, at, &some); at += some)
      rush_quantize(out->dtype, in_steps ? 1 : q->scales[i % q->n], q->zero_points[i % q->n], some,
                    from + at, to + at * rush_itemsize(out));
  rush_tensor_drop(heap, dense);
  return rush_take_stop(heap->ctx);
}

rush_status rush_quant_dequantize(rush_heap *heap, rush_tensor *x, bool in_steps,
                                  rush_tensor **out) {
  const rush_quant *q = rush_quant_of(x);
  rush_tensor *dense = rush_tensor_retain(x);
  *out = NULL;
  if (!rush_is_dense(x) || (q->axis >= 0 && !rush_is_contiguous(x))) {
    rush_tensor_drop(heap, dense);
    RUSH_TRY(rush_tensor_contiguous(heap, x, &dense));
  }
  rush_status st = rush_tensor_new_like(heap, dense, RUSH_FLOAT32, out);
  if (st == RUSH_OK) {
    const runs r = runs_of(x, q);
    const char *from = rush_data(dense);
    float *to = rush_data(*out);
    for (size_t i = 0; i < r.n && !heap->ctx->stopped; i++)
      for (size_t at = i * r.each, end = at + r.each, some;
           rush_next_piece(heap->ctx, end, 1, at, &some); at += some)
        rush_dequantize(x->dtype, in_steps ? 1 : q->scales[i % q->n], q->zero_points[i % q->n],
                        some, from + at * rush_itemsize(x), to + at);
    st = rush_take_stop(heap->ctx);
  }
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, *out);
    *out = NULL;
  }
  rush_tensor_drop(heap, dense);
  return st;
}
