/* What integers of a quantized tensor stand for (rush_quant). It belongs to the storage, so that views
 * share it. */
#ifndef RUSH_QUANT_H
#define RUSH_QUANT_H

#include "tensor/tensor.h"

static inline const rush_quant *rush_quant_of(const rush_tensor *t) {
  assert(rush_is_quantized(t->dtype));
  return t->storage->quant;
}
/* Room for n scales and zero points, which the caller sets, in t's storage; what is there goes. */
rush_status rush_quant_new(rush_heap *heap, rush_tensor *t, int axis, size_t n, rush_quant **out);
/* t's integers stand for what those of `like` stand for. */
rush_status rush_quant_copy(rush_heap *heap, rush_tensor *t, const rush_tensor *like);
/* x (float32) in `out`, of the same sizes, row-major or dense in the same order: by out's rush_quant;
 * and back. In steps: as if all scales were 1. */
rush_status rush_quant_quantize(rush_heap *heap, rush_tensor *x, bool in_steps, rush_tensor *out);
rush_status rush_quant_dequantize(rush_heap *heap, rush_tensor *x, bool in_steps,
                                  rush_tensor **out);
/* For rush_enable_quantized: how the heap's tensors are pooled. */
void rush_quant_enable_pools(rush_heap *heap);

#endif
