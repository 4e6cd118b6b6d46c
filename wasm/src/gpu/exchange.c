/* Inputs and results that the host copies on the device, from its own buffers and to them. */
#include "gpu/device.h"

void rush_gpu_keep_results(rush_gpu *g, bool keeps) {
  g->keeps_results = keeps;
}

rush_status rush_gpu_make_input(rush_gpu *g, rush_session *session, rush_dtype dtype, int rank,
                                const int64_t *sizes, rush_value *out, uint32_t *buffer) {
  rush_tensor *t;
  rush_gpu_submit(g);
  RUSH_TRY(rush_gpu_tensor(g, rush_session_heap(session), dtype, rank, sizes, NULL, &t));
  *out = rush_of_tensor(t);
  *buffer = t->storage->on_device->buffer->number;
  return RUSH_OK;
}

static size_t bytes_before(const rush_tensor *t) {
  return (size_t)t->offset * rush_dtype_size(t->dtype);
}

bool rush_gpu_can_place(const rush_tensor *t) {
  const struct rush_on_device *d = t->storage->on_device;
  if (!d || !d->buffer || rush_is_turned(t)) return false;
  if (rush_is_contiguous(t)) return bytes_before(t) % sizeof(uint32_t) == 0;
  return t->numel > 0 && rush_gpu_can_rearrange(t);
}

/* Replaces a tensor by a copy in row-major order. */
static rush_status lay_in_order(rush_gpu *g, rush_heap *heap, rush_value *v) {
  rush_call c = {.ctx = g->ctx, .heap = heap};
  const rush_tensor *from = rush_as_tensor(v);
  rush_tensor *to;
  RUSH_TRY(rush_gpu_tensor(g, heap, from->dtype, from->rank, from->sizes, NULL, &to));
  const rush_status st = rush_gpu_copy(g, &c, to, from);
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, to);
    return st;
  }
  rush_drop(heap, v);
  *v = rush_of_tensor(to);
  return RUSH_OK;
}

rush_status rush_gpu_place_result(rush_gpu *g, rush_session *session, rush_value *tensor,
                                  rush_gpu_region *region) {
  *region = (rush_gpu_region){0};
  if (!rush_gpu_can_place(rush_as_tensor(tensor))) return RUSH_OK;
  if (!rush_is_contiguous(rush_as_tensor(tensor)))
    RUSH_TRY(lay_in_order(g, rush_session_heap(session), tensor));
  const rush_tensor *t = rush_as_tensor(tensor);
  region->buffer = t->storage->on_device->buffer->number;
  region->dtype = t->dtype;
  region->rank = t->rank;
  region->offset = (uint32_t)bytes_before(t);
  for (int d = 0; d < t->rank; d++) region->sizes[d] = t->sizes[d];
  return RUSH_OK;
}
