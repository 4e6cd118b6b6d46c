#include "tensor/turned.h"

#include "tensor/device_interface.h"

static bool same_order(int rank, const int64_t *sizes, const int64_t *a, const int64_t *b) {
  for (int d = 0; d < rank; d++)
    if (sizes[d] > 1 && a[d] != b[d]) return false;
  return true;
}

rush_status rush_tensor_new_turned(rush_heap *heap, rush_dtype dtype, int rank,
                                   const int64_t *sizes, const int64_t *strides,
                                   const int64_t *nominal, rush_tensor **out) {
  RUSH_TRY(rush_tensor_new(heap, dtype, rank, sizes, out));
  rush_tensor *t = *out;
  const size_t n = (size_t)rank * sizeof *strides;
  memcpy(t->strides, nominal, n);
  if (t->numel <= 1 || same_order(rank, sizes, strides, nominal)) return RUSH_OK;
  struct rush_turned *turned;
  rush_status st = rush_heap_alloc(heap, sizeof *turned, (void **)&turned);
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, t);
    *out = NULL;
    return st;
  }
  *turned = (struct rush_turned){.dtype = dtype, .rank = rank};
  memcpy(turned->sizes, sizes, n);
  memcpy(turned->strides, strides, n);
  memcpy(turned->nominal, nominal, n);
  memcpy(t->strides, strides, n);
  memcpy(t->nominal, nominal, n);
  t->nominal_offset = 0;
  t->storage->turned = turned;
  rush_turned_join(t);
  return RUSH_OK;
}

rush_status rush_tensor_new_like(rush_heap *heap, const rush_tensor *like, rush_dtype dtype,
                                 rush_tensor **out) {
  int64_t strides[RUSH_MAX_RANK], nominal[RUSH_MAX_RANK];
  rush_strides_of_copy(like, strides);
  if (rush_is_turned(like)) {
    const rush_tensor seen = rush_nominal_header(like);
    rush_strides_of_copy(&seen, nominal);
    return rush_tensor_new_turned(heap, dtype, like->rank, like->sizes, strides, nominal, out);
  }
  RUSH_TRY(rush_tensor_new(heap, dtype, like->rank, like->sizes, out));
  memcpy((*out)->strides, strides, like->rank * sizeof *strides);
  return RUSH_OK;
}

rush_status rush_tensor_new_part(rush_heap *heap, const rush_tensor *base, const int64_t *sizes,
                                 int64_t offset, rush_tensor **out) {
  RUSH_TRY(rush_tensor_new_view(heap, base, base->rank, sizes, base->strides, offset, out));
  if (rush_is_turned(base)) memcpy((*out)->nominal, base->nominal, sizeof base->nominal);
  return RUSH_OK;
}

/* Returns the tensor of all the storage's elements. */
static rush_tensor whole(const struct rush_turned *turned, const int64_t *strides,
                         rush_storage *storage) {
  rush_tensor t = {
      .dtype = turned->dtype, .rank = (uint8_t)turned->rank, .numel = 1, .storage = storage};
  memcpy(t.sizes, turned->sizes, sizeof t.sizes);
  memcpy(t.strides, strides, sizeof t.strides);
  for (int d = 0; d < turned->rank; d++) t.numel *= t.sizes[d];
  return t;
}

rush_status rush_turn_back(rush_heap *heap, rush_storage *storage) {
  struct rush_turned *turned = storage->turned;
  if (RUSH_UNLIKELY(storage->on_device)) RUSH_TRY(heap->ctx->device->fetch_storage(heap, storage));
  if (!turned) return RUSH_OK;
  rush_storage ordered = {.refs = 1};
  rush_tensor to = whole(turned, turned->nominal, &ordered);
  const rush_tensor from = whole(turned, turned->strides, storage);
  ordered.bytes = (size_t)to.numel * rush_itemsize(&to);
  RUSH_TRY(rush_heap_alloc(heap, ordered.bytes, &ordered.data));
  rush_status st = rush_tensor_copy(heap, &to, &from);
  if (st != RUSH_OK) {
    rush_heap_free(heap, ordered.data);
    return st;
  }
  rush_storage_free_bytes(heap, storage);
  storage->data = ordered.data;
  storage->bytes = ordered.bytes;
  storage->turned = NULL;
  storage->was_growable |= storage->growable != NULL;
  storage->growable = NULL;
  for (rush_tensor *t = turned->first; t; t = t->next_turned) {
    memcpy(t->strides, t->nominal, t->rank * sizeof *t->strides);
    t->offset = t->nominal_offset;
  }
  rush_heap_free(heap, turned);
  return RUSH_OK;
}

rush_status rush_turn_back_value(rush_heap *heap, const rush_value *v) {
  if (v->kind == RUSH_KIND_TENSOR) return rush_turn_back(heap, rush_as_tensor(v)->storage);
  if (v->kind != RUSH_KIND_LIST) return RUSH_OK;
  const rush_list *list = rush_as_list(v);
  for (size_t k = 0; k < list->n; k++) {
    RUSH_TRY(rush_charge(heap->ctx, 1));
    if (list->items[k].kind == RUSH_KIND_TENSOR)
      RUSH_TRY(rush_turn_back(heap, rush_as_tensor(&list->items[k])->storage));
  }
  return RUSH_OK;
}
