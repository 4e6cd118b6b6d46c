#include "blocks/nonzero.h"

#include "tensor/iter.h"

enum { LOOK = 4096 }; /* elements between two checks for a stop request */

void rush_row_major_init(rush_row_major *o, const rush_tensor *t, int rank, const int64_t *sizes) {
  o->rank = rank;
  o->at = rush_data(t);
  for (int d = 0; d < rank; d++) {
    int e = d - (rank - t->rank);
    o->sizes[d] = sizes[d];
    o->index[d] = 0;
    o->strides[d] = e < 0 || t->sizes[e] == 1 ? 0 : t->strides[e] * (int64_t)rush_itemsize(t);
  }
}

static bool is_set(rush_dtype dtype, const char *at) {
  if (rush_dtype_size(dtype) == 1) return *at != 0;
  if (rush_is_integral(dtype)) return rush_load_int(dtype, at) != 0;
  if (rush_load_double(dtype, at) != 0) return true;
  const rush_dtype part = rush_real_dtype(dtype);
  return part != dtype && rush_load_double(part, at + rush_dtype_size(part)) != 0;
}

static int64_t count_nonzero(rush_ctx *ctx, const rush_tensor *t) {
  int64_t n = 0;
  rush_iter it;
  rush_iter_init(&it, t->rank, t->sizes, 1, &t);
  do {
    for (int64_t k = 0; k < it.size[0]; k++) {
      if (k % LOOK == 0 && rush_should_stop(ctx, 2 * LOOK)) return n;
      n += is_set(t->dtype, it.at[0] + k * it.stride[0][0]);
    }
  } while (rush_iter_next(&it));
  return n;
}

rush_status rush_nonzero(rush_heap *heap, const rush_tensor *t, rush_tensor **out) {
  int64_t n = count_nonzero(heap->ctx, t), k = 0;
  RUSH_TRY(rush_take_stop(heap->ctx));
  RUSH_TRY(rush_tensor_new(heap, RUSH_INT64, 2, (int64_t[]){t->rank > 0 ? t->rank : 1, n}, out));
  int64_t *to = rush_data(*out);
  rush_row_major o;
  rush_row_major_init(&o, t, t->rank, t->sizes);
  for (int64_t i = 0; i < t->numel && k < n; i++, rush_row_major_next(&o)) {
    if (i % LOOK == 0 && rush_should_stop(heap->ctx, 4 * LOOK)) break;
    if (!is_set(t->dtype, o.at)) continue;
    for (int d = 0; d < t->rank; d++) to[d * n + k] = o.index[d];
    if (t->rank == 0) to[k] = 0;
    k++;
  }
  rush_status st = rush_take_stop(heap->ctx);
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, *out);
    *out = NULL;
  }
  return st;
}
