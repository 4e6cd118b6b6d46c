#include "blocks/concatenate.h"

#include "base/threads.h"
#include "tensor/growable.h"
#include "tensor/layout.h"

enum { PIECE = 1 << 14 }; /* bytes per work item */

/* In old versions of PyTorch, every empty tensor had shape [0]. cat still ignores such tensors. */
static bool is_skipped(const rush_tensor *t) {
  return t->rank == 1 && t->sizes[0] == 0;
}

static rush_status check_shapes(rush_ctx *ctx, size_t n, const rush_tensor *const *tensors,
                                const rush_tensor *first, int dim) {
  for (size_t k = 0; k < n; k++) {
    const rush_tensor *t = tensors[k];
    RUSH_TRY(rush_charge(ctx, 16));
    if (is_skipped(t)) continue;
    RUSH_CHECK(ctx, t->rank == first->rank, RUSH_ERR_BAD_ARGUMENT,
               "Tensors must have same number of dimensions: got %d and %d", first->rank, t->rank);
    for (int d = 0; d < t->rank; d++) {
      RUSH_CHECK(ctx, d == dim || t->sizes[d] == first->sizes[d], RUSH_ERR_BAD_ARGUMENT,
                 "Sizes of tensors must match except in dimension %d. Expected size %lld but got "
                 "size %lld for tensor "
                 "number %zu in the list.",
                 dim, (long long)first->sizes[d], (long long)t->sizes[d], k);
    }
  }
  return RUSH_OK;
}

static int common_format(rush_ctx *ctx, size_t n, const rush_tensor *const *tensors) {
  int format = rush_suggest_format(tensors[0]);
  for (size_t k = 1; k < n && !rush_should_stop(ctx, 16); k++)
    if (rush_suggest_format(tensors[k]) != format) return RUSH_FORMAT_CONTIGUOUS;
  return format;
}

/* Lists the dimensions in memory order, the outermost first. */
static void memory_order(const rush_tensor *t, int *order) {
  for (int d = 0; d < t->rank; d++) {
    int i = d;
    for (; i > 0 && t->strides[order[i - 1]] < t->strides[d]; i--) order[i] = order[i - 1];
    order[i] = d;
  }
}
/* Returns whether t is dense with this order of dimensions. */
static bool is_dense_in_order(const rush_tensor *t, const int *order) {
  int64_t stride = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    const int64_t size = t->sizes[order[i]];
    if (size != 1 && t->strides[order[i]] != stride) return false;
    stride *= size;
  }
  return true;
}

typedef struct rows {
  /* each: bytes per index of dim; whole: bytes per row of the result */
  size_t n, each, whole, bytes;
  const rush_tensor *const *tensors;
  int dim;
  char *to;
} rows;

/* Copies a short run, such as the channels of one pixel, without calling memcpy. */
static inline void copy_run(char *to, const char *from, size_t bytes) {
  enum { VECTOR = 16, LONG = 256 };
  size_t i = 0;
  for (; bytes < LONG && i + VECTOR <= bytes; i += VECTOR) memcpy(to + i, from + i, VECTOR);
  if (i < bytes) memcpy(to + i, from + i, bytes - i);
}

/* Copies a range of pieces. A work item is one piece of the result's bytes. */
static void copy_pieces(const void *arg, size_t begin, size_t end, unsigned who) {
  const rows *r = arg;
  const size_t last = r->bytes / PIECE < end ? r->bytes : end * PIECE;
  size_t at = begin * PIECE, in = at % r->whole;
  (void)who;
  for (size_t row = at / r->whole; at < last; row++) {
    for (size_t k = 0; k < r->n && at < last; k++) {
      const rush_tensor *t = r->tensors[k];
      const size_t run = t->numel == 0 ? 0 : (size_t)t->sizes[r->dim] * r->each;
      if (in >= run) {
        in -= run;
        continue;
      }
      const size_t some = run - in < last - at ? run - in : last - at;
      copy_run(r->to + at, (const char *)rush_data(t) + row * run + in, some);
      at += some;
      in = 0;
    }
  }
}

/* Copies tensors whose rows are contiguous, all in the same order. */
static void copy_rows(rush_ctx *ctx, size_t n, const rush_tensor *const *tensors, int dim,
                      const int *order, rush_tensor *out) {
  size_t each = rush_itemsize(out);
  for (int i = out->rank - 1; order[i] != dim; i--) each *= (size_t)out->sizes[order[i]];
  const size_t whole = (size_t)out->sizes[dim] * each;
  const size_t bytes = (size_t)out->numel * rush_itemsize(out);
  const rows r = {n, each, whole, bytes, tensors, dim, rush_data(out)};
  rush_parallel(ctx, (bytes - 1) / PIECE + 1, PIECE / 8 + 4 * n * (PIECE / whole + 1), copy_pieces,
                &r);
}

static rush_status copy_parts(rush_heap *heap, size_t n, const rush_tensor *const *tensors, int dim,
                              rush_tensor *out) {
  int order[RUSH_MAX_RANK];
  memory_order(out, order);
  bool plain = is_dense_in_order(out, order);
  for (size_t k = 0; k < n && plain && !rush_should_stop(heap->ctx, 16); k++)
    plain = tensors[k]->dtype == out->dtype &&
            (tensors[k]->numel == 0 || is_dense_in_order(tensors[k], order));
  if (plain) {
    copy_rows(heap->ctx, n, tensors, dim, order, out);
    return RUSH_OK;
  }
  rush_tensor part = *out;
  for (size_t k = 0; k < n; k++) {
    if (is_skipped(tensors[k])) continue;
    part.sizes[dim] = tensors[k]->sizes[dim];
    part.numel = tensors[k]->numel;
    RUSH_TRY(rush_tensor_copy(heap, &part, tensors[k]));
    part.offset += part.sizes[dim] * part.strides[dim];
  }
  return RUSH_OK;
}

/* The dimension, sizes and memory format of the result. */
typedef struct plan {
  int rank, dim;
  int64_t sizes[RUSH_MAX_RANK]; /* result's sizes */
  int format;
} plan;

static rush_status make_plan(rush_ctx *ctx, size_t n, const rush_tensor *const *tensors,
                             int64_t dim, plan *p) {
  const rush_tensor *first = NULL;
  int64_t total = 0;
  for (size_t k = 0; k < n; k++) {
    RUSH_CHECK(ctx, tensors[k]->rank > 0, RUSH_ERR_BAD_ARGUMENT,
               "zero-dimensional tensor (at position %zu) cannot be concatenated", k);
    if (first == NULL && !is_skipped(tensors[k])) first = tensors[k];
  }
  *p = (plan){.rank = first != NULL ? first->rank : 1};
  RUSH_CHECK(ctx, dim >= -p->rank && dim < p->rank, RUSH_ERR_BAD_ARGUMENT,
             "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -p->rank,
             p->rank - 1, (long long)dim);
  p->dim = (int)(dim < 0 ? dim + p->rank : dim);
  if (first == NULL) return RUSH_OK;
  RUSH_TRY(check_shapes(ctx, n, tensors, first, p->dim));
  memcpy(p->sizes, first->sizes, (size_t)p->rank * sizeof *p->sizes);
  for (size_t k = 0; k < n; k++)
    if (!is_skipped(tensors[k]))
      RUSH_CHECK(ctx, rush_add64(total, tensors[k]->sizes[p->dim], &total), RUSH_ERR_NO_MEMORY,
                 "the result is too large");
  p->sizes[p->dim] = total;
  p->format = common_format(ctx, n, tensors);
  return RUSH_OK;
}

static rush_status new_joined(rush_heap *heap, const plan *p, size_t n,
                              const rush_tensor *const *tensors, rush_dtype dtype,
                              rush_tensor **out) {
  bool last = p->format != RUSH_FORMAT_CONTIGUOUS;
  for (size_t k = 0; k < n && !last; k++)
    last = rush_is_turned(tensors[k]) && rush_is_channels_last(tensors[k]);
  return rush_new_in_layout(heap, dtype, p->rank, p->sizes, last, p->format, out);
}

/* Copies the tensors into `*out`, which is released on failure. */
static rush_status fill(rush_heap *heap, size_t n, const rush_tensor *const *tensors, int dim,
                        rush_tensor *into, rush_tensor **out) {
  rush_status st = into->numel > 0 ? copy_parts(heap, n, tensors, dim, into) : RUSH_OK;
  if (st == RUSH_OK) return RUSH_OK;
  rush_tensor_drop(heap, *out);
  *out = NULL;
  return st;
}

rush_status rush_cat(rush_heap *heap, size_t n, const rush_tensor *const *tensors, int64_t dim,
                     rush_dtype dtype, rush_tensor **out) {
  plan p;
  *out = NULL;
  RUSH_TRY(make_plan(heap->ctx, n, tensors, dim, &p));
  RUSH_TRY(new_joined(heap, &p, n, tensors, dtype, out));
  return fill(heap, n, tensors, p.dim, *out, out);
}

rush_status rush_cat_growing(rush_heap *heap, size_t n, const rush_tensor *const *tensors,
                             int64_t dim, rush_dtype dtype, rush_tensor **out) {
  plan p;
  *out = NULL;
  RUSH_TRY(make_plan(heap->ctx, n, tensors, dim, &p));
  const rush_tensor *const first = tensors[0];
  const int64_t total = p.sizes[p.dim];
  if (p.format != RUSH_FORMAT_CONTIGUOUS || first->storage->was_growable) {
    RUSH_TRY(new_joined(heap, &p, n, tensors, dtype, out));
    (*out)->storage->was_growable = first->storage->was_growable;
    return fill(heap, n, tensors, p.dim, *out, out);
  }
  if (!is_skipped(first) && dtype == first->dtype &&
      rush_can_grow(first, p.dim, total - first->sizes[p.dim])) {
    const int64_t had = first->sizes[p.dim];
    RUSH_TRY(rush_tensor_grown(heap, first, total - had, out));
    rush_tensor behind = **out;
    behind.offset = had * behind.strides[p.dim];
    behind.sizes[p.dim] = total - had;
    behind.numel = 1;
    for (int d = 0; d < behind.rank; d++) behind.numel *= behind.sizes[d];
    return fill(heap, n - 1, tensors + 1, p.dim, &behind, out);
  }
  RUSH_TRY(
      rush_tensor_new_growable(heap, dtype, p.rank, p.sizes, p.dim, total + total / 2 + 1, out));
  return fill(heap, n, tensors, p.dim, *out, out);
}
