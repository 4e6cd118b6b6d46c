/* Scales and zero points of a quantized tensor (rush_quant). They belong to the storage, so views
 * share them. */
#ifndef RUSH_QUANT_H
#define RUSH_QUANT_H

#include "tensor/turned.h"

static inline const rush_quant *rush_quant_of(const rush_tensor *t) {
  assert(rush_is_quantized(t->dtype));
  return t->storage->quant;
}
/* Allocates n uninitialized scales and zero points for t's storage, and replaces existing ones. */
rush_status rush_quant_new(rush_heap *heap, rush_tensor *t, int axis, size_t n, rush_quant **out);
/* Copies the scales and zero points of `like` to t. */
rush_status rush_quant_copy(rush_heap *heap, rush_tensor *t, const rush_tensor *like);
/* Quantize x (float32) into `out` with out's rush_quant, and dequantize it. The sizes must be
 * equal, and both tensors contiguous, or dense with the same order. in_steps: all scales count as
 * 1. */
rush_status rush_quant_quantize(rush_heap *heap, rush_tensor *x, bool in_steps, rush_tensor *out);
rush_status rush_quant_dequantize(rush_heap *heap, rush_tensor *x, bool in_steps,
                                  rush_tensor **out);
/* Sets the pooling hooks of the heap, for rush_enable_quantized. */
void rush_quant_enable_pools(rush_heap *heap);

#endif
