/* Temporaries of a call. */
#include "call/call.h"

rush_tensor *tmp_take(rush_call *c, rush_tensor *t) {
  assert(t->object.refs > 0);
  if (t->object.refs > 1)
    t->object.refs--;
  else
    rush_heap_push(&c->tensors, t);
  return t;
}

rush_status tmp_new(rush_call *c, rush_dtype dtype, int rank, const int64_t *sizes,
                    rush_tensor **out) {
  RUSH_TRY(rush_tensor_new(c->heap, dtype, rank, sizes, out));
  tmp_take(c, *out);
  return RUSH_OK;
}

rush_status tmp_view(rush_call *c, const rush_tensor *base, int rank, const int64_t *sizes,
                     const int64_t *strides, int64_t offset, rush_tensor **out) {
  RUSH_TRY(rush_tensor_new_view(c->heap, base, rank, sizes, strides, offset, out));
  tmp_take(c, *out);
  return RUSH_OK;
}

rush_status tmp_contiguous(rush_call *c, rush_tensor *t, rush_tensor **out) {
  RUSH_TRY(rush_tensor_contiguous(c->heap, t, out));
  tmp_take(c, *out);
  return RUSH_OK;
}

rush_status tmp_to(rush_call *c, rush_tensor *t, rush_dtype dtype, rush_tensor **out) {
  RUSH_TRY(rush_tensor_to(c->heap, t, dtype, out));
  tmp_take(c, *out);
  return RUSH_OK;
}

rush_status tmp_rounded(rush_call *c, rush_tensor *t, uint32_t dtype, rush_tensor **out) {
  *out = t;
  return arg_is_none(c, dtype) || !rush_is_half(c->narrow) ? RUSH_OK : tmp_to(c, t, c->narrow, out);
}

rush_status tmp_channels_last(rush_call *c, rush_tensor *t, rush_tensor **out) {
  if (t->rank == 2) return tmp_contiguous(c, t, out);
  if (rush_is_channels_last(t)) {
    *out = tmp_take(c, rush_tensor_retain(t));
    return RUSH_OK;
  }
  RUSH_TRY(rush_tensor_new_channels_last(c->heap, t->dtype, t->rank, t->sizes, out));
  return rush_tensor_copy(c->heap, tmp_take(c, *out), t);
}

rush_status tmp_bytes(rush_call *c, size_t bytes, void **out) {
  RUSH_TRY(rush_heap_alloc(c->heap, bytes, out));
  rush_heap_push(&c->blocks, *out);
  return RUSH_OK;
}

rush_status tmp_items(rush_call *c, int64_t n, size_t item, void **out) {
  size_t bytes;
  *out = NULL;
  if (n < 0 || (uint64_t)n > SIZE_MAX || !rush_mul((size_t)n, item, &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  return tmp_bytes(c, bytes, out);
}

void rush_call_release(rush_call *c) {
  void *ptr;
  while ((ptr = rush_heap_pop(&c->tensors)) != NULL) rush_tensor_drop(c->heap, ptr);
  while ((ptr = rush_heap_pop(&c->blocks)) != NULL) rush_heap_free(c->heap, ptr);
}
