#include "tensor/growable.h"

/* Another size along one dimension; the strides stay. There must be memory for so many. */
static void set_size(rush_tensor *t, int dim, int64_t n) {
  t->sizes[dim] = n;
  t->numel = 1;
  for (int d = 0; d < t->rank; d++) t->numel *= t->sizes[d];
}

/* Says of a new tensor's storage that its elements are the tensor's, by its strides, and that
 * PyTorch has them row-major. */
static rush_status turn(rush_heap *heap, rush_tensor *t) {
  struct rush_turned *turned;
  RUSH_TRY(rush_heap_alloc(heap, sizeof *turned, (void **)&turned));
  *turned = (struct rush_turned){.dtype = t->dtype, .rank = t->rank};
  const size_t n = t->rank * sizeof *t->sizes;
  memcpy(turned->sizes, t->sizes, n);
  memcpy(turned->strides, t->strides, n);
  rush_strides_contiguous(t->rank, t->sizes, turned->nominal);
  memcpy(t->nominal, turned->nominal, n);
  t->nominal_offset = 0;
  t->storage->turned = turned;
  rush_turned_join(t);
  return RUSH_OK;
}

rush_status rush_tensor_new_growable(rush_heap *heap, rush_dtype dtype, int rank,
                                     const int64_t *sizes, int dim, int64_t capacity,
                                     rush_tensor **out) {
  int64_t wide[RUSH_MAX_RANK];
  rush_tensor *t;
  struct rush_growable *growable;
  *out = NULL;
  memcpy(wide, sizes, (size_t)rank * sizeof *sizes);
  wide[dim] = capacity;
  RUSH_TRY(rush_tensor_new(heap, dtype, rank, wide, &t));
  set_size(t, dim, sizes[dim]);
  rush_status st = rush_heap_alloc(heap, sizeof *growable, (void **)&growable);
  if (st == RUSH_OK) {
    *growable =
        (struct rush_growable){.refs = 1, .dim = dim, .used = sizes[dim], .capacity = capacity};
    t->storage->growable = growable;
    st = turn(heap, t);
  }
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, t);
    return st;
  }
  *out = t;
  return RUSH_OK;
}

bool rush_can_grow(const rush_tensor *t, int dim, int64_t n) {
  const struct rush_growable *growable = t->storage->growable;
  if (!growable || growable->dim != dim || growable->used != t->sizes[dim] ||
      n > growable->capacity - growable->used)
    return false;
  const struct rush_turned *all = t->storage->turned;
  if (t->dtype != all->dtype || t->rank != all->rank || t->offset != 0) return false;
  for (int d = 0; d < t->rank; d++)
    if (t->sizes[d] != all->sizes[d] || t->strides[d] != all->strides[d] ||
        t->nominal[d] != all->nominal[d])
      return false;
  return true;
}

rush_status rush_tensor_grown(rush_heap *heap, const rush_tensor *t, int64_t n, rush_tensor **out) {
  struct rush_growable *growable = t->storage->growable;
  const int dim = growable->dim;
  int64_t none[RUSH_MAX_RANK];
  rush_tensor *grown;
  *out = NULL;
  memcpy(none, t->sizes, t->rank * sizeof *none);
  none[dim] = 0;
  RUSH_TRY(rush_tensor_new(heap, t->dtype, t->rank, none, &grown));
  set_size(grown, dim, t->sizes[dim] + n);
  memcpy(grown->strides, t->strides, t->rank * sizeof *t->strides);
  rush_status st = turn(heap, grown);
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, grown);
    return st;
  }
  rush_storage *storage = grown->storage;
  rush_heap_free(heap, storage->data);
  storage->data = t->storage->data;
  storage->bytes = t->storage->bytes;
  storage->growable = growable;
  growable->refs++;
  growable->used += n;
  *out = grown;
  return RUSH_OK;
}
