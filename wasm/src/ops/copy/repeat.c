/* repeat, tile and repeat_interleave. */
#include "call/define.h"
#include "tensor/layout.h"

/* Fills a row-major tensor by copying its first block along each dimension, starting with the
 * innermost. `sizes` are the sizes of the first block. */
static rush_status spread(rush_ctx *ctx, rush_tensor *out, const int64_t *sizes) {
  char *data = rush_data(out);
  int64_t item = (int64_t)rush_itemsize(out);
  for (int d = out->rank - 1; d >= 0; d--) {
    if (sizes[d] == out->sizes[d]) continue;
    size_t block = (size_t)(sizes[d] * out->strides[d] * item);
    int64_t copies = out->sizes[d] / sizes[d], index[RUSH_MAX_RANK] = {0};
    char *at = data;
    for (bool more = true; more;) {
      for (int64_t k = 1; k < copies; k++)
        RUSH_TRY(rush_copy_bytes(ctx, at + (size_t)k * block, at, block));
      more = false;
      for (int e = d - 1; e >= 0 && !more; e--) { /* the next filled position outside dimension d */
        at += out->strides[e] * item;
        more = ++index[e] < sizes[e];
        if (!more) at -= sizes[e] * out->strides[e] * item, index[e] = 0;
      }
    }
  }
  return RUSH_OK;
}

static rush_status repeated(rush_call *c, const rush_tensor *t, int rank, const int64_t *repeats) {
  int64_t padded[RUSH_MAX_RANK], sizes[RUSH_MAX_RANK];
  for (int d = 0; d < rank; d++) {
    int e = d - (rank - t->rank);
    padded[d] = e < 0 ? 1 : t->sizes[e];
    RUSH_CHECK_ARG(repeats[d] >= 0, "Trying to create tensor with negative dimension %lld",
                   (long long)repeats[d]);
    RUSH_CHECK(c->ctx, rush_mul64(padded[d], repeats[d], &sizes[d]), RUSH_ERR_NO_MEMORY,
               "the result is too large");
  }
  rush_tensor *out;
  RUSH_TRY(rush_result(c, 0, t->dtype, rank, sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  rush_tensor block = *out;
  block.numel = t->numel;
  memcpy(block.sizes, padded, sizeof padded);
  RUSH_TRY(rush_tensor_copy(c->heap, &block, t));
  return spread(c->ctx, out, padded);
}

RUSH_OP(repeat) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t repeats[RUSH_MAX_RANK];
  int n;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, repeats, &n));
  RUSH_CHECK_ARG(
      n >= t->rank,
      "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  return repeated(c, t, n, repeats);
}

RUSH_OP(tile) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t given[RUSH_MAX_RANK], repeats[RUSH_MAX_RANK];
  int n;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, given, &n));
  int rank = n > t->rank ? n : t->rank;
  for (int d = 0; d < rank; d++) repeats[d] = d < rank - n ? 1 : given[d - (rank - n)];
  return repeated(c, t, rank, repeats);
}

/* ---- repeat_interleave ----------------------------------------------------------------------- */

/* The number of repeats of each element: one number for all elements, or one number per element. */
typedef struct counts {
  const rush_tensor *each; /* int32 or int64, 1-d or 0-d; NULL if `all` applies */
  int64_t all;
} counts;

static int64_t count_at(const counts *n, int64_t i) {
  if (n->each == NULL) return n->all;
  int64_t step = n->each->rank == 0 || n->each->numel == 1 ? 0 : n->each->strides[0];
  const char *at = (const char *)rush_data(n->each) + (size_t)(i * step) * rush_itemsize(n->each);
  return rush_load_int(n->each->dtype, at);
}

static rush_status count_total(rush_call *c, const counts *n, int64_t size, int64_t *total) {
  *total = 0;
  for (int64_t i = 0; i < size; i++) {
    if (i % 4096 == 0) RUSH_TRY(rush_charge(c->ctx, 8 * 4096));
    int64_t k = count_at(n, i);
    RUSH_CHECK_ARG(k >= 0, "repeats can not be negative");
    RUSH_CHECK(c->ctx, rush_add64(*total, k, total), RUSH_ERR_NO_MEMORY, "the result is too large");
  }
  return RUSH_OK;
}

static rush_status check_counts(rush_call *c, const rush_tensor *each) {
  RUSH_CHECK_ARG(each->dtype == RUSH_INT32 || each->dtype == RUSH_INT64,
                 "repeats has to be Long or Int tensor");
  return RUSH_OK;
}

static rush_status check_output_size(rush_call *c, uint32_t arg, int64_t total) {
  RUSH_CHECK_ARG(arg_is_none(c, arg) || arg_int(c, arg) == total,
                 "allocated size does not match required size");
  return RUSH_OK;
}

/* repeat_interleave(repeats): returns the source index of each repeated element. */
RUSH_OP(repeat_interleave_index) {
  const rush_tensor *each = arg_tensor(c, 0);
  counts n = {each, 0};
  int64_t total;
  rush_tensor *out;
  RUSH_CHECK_ARG(each->rank == 1, "repeat_interleave only accept 1D vector as repeat");
  RUSH_TRY(check_counts(c, each));
  RUSH_TRY(count_total(c, &n, each->numel, &total));
  RUSH_TRY(check_output_size(c, 1, total));
  RUSH_TRY(rush_result(c, 0, each->dtype, 1, &total, &out));
  char *at = rush_data(out);
  for (int64_t i = 0; i < each->numel; i++) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    for (int64_t k = count_at(&n, i); k > 0; k--, at += rush_itemsize(out)) {
      RUSH_TRY(rush_charge(c->ctx, 4));
      rush_store_int(out->dtype, at, i);
    }
  }
  return RUSH_OK;
}

static rush_status interleave(rush_call *c, const rush_tensor *t, int dim, const counts *n,
                              int64_t total) {
  int64_t sizes[RUSH_MAX_RANK], outer = 1;
  rush_tensor *out, *in;
  int rank = t->rank > 0 ? t->rank : 1;
  for (int d = 0; d < t->rank; d++) sizes[d] = t->sizes[d];
  int64_t size = t->rank > 0 ? t->sizes[dim] : 1;
  sizes[dim] = total;
  RUSH_TRY(rush_result(c, 0, t->dtype, rank, sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  RUSH_TRY(tmp_contiguous(c, (rush_tensor *)(uintptr_t)t, &in));
  for (int d = 0; d < dim; d++) outer *= sizes[d];
  size_t row = (size_t)out->strides[dim] * rush_itemsize(out);
  const char *from = rush_data(in);
  char *to = rush_data(out);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < size; i++, from += row) {
      const int64_t times = count_at(n, i);
      RUSH_TRY(rush_charge(c->ctx, 4));
      for (int64_t k = 0; k < times; k++, to += row)
        RUSH_TRY(rush_copy_bytes(c->ctx, to, from, row));
    }
  return RUSH_OK;
}

/* self, repeats (int or Tensor), dim, output_size */
RUSH_OP(repeat_interleave) {
  rush_tensor *t = arg_tensor(c, 0);
  int dim = 0;
  counts n = {NULL, 0};
  if (!arg_is_none(c, 2)) RUSH_TRY(arg_dim(c, 2, t->rank, &dim));
  int64_t size = arg_is_none(c, 2) ? t->numel : t->rank > 0 ? t->sizes[dim] : 1, total;
  if (c->args[1].kind == RUSH_KIND_TENSOR) {
    n.each = arg_tensor(c, 1);
    RUSH_CHECK_ARG(n.each->rank <= 1, "repeats must be 0-dim or 1-dim tensor");
    RUSH_CHECK_ARG(
        n.each->numel == 1 || n.each->numel == size,
        "repeats must have the same size as input along dim, but got repeats.size(0) = %lld and "
        "input.size(%d) = %lld",
        (long long)n.each->numel, dim, (long long)size);
    RUSH_TRY(check_counts(c, n.each));
    RUSH_TRY(count_total(c, &n, size, &total));
  } else {
    n.all = arg_int(c, 1);
    RUSH_CHECK_ARG(n.all >= 0, "Repeats must be non-negative");
    RUSH_CHECK(c->ctx, rush_mul64(n.all, size, &total), RUSH_ERR_NO_MEMORY,
               "the result is too large");
  }
  RUSH_TRY(check_output_size(c, 3, total));
  if (!arg_is_none(c, 2)) return interleave(c, t, dim, &n, total);
  rush_tensor *in;
  RUSH_TRY(tmp_contiguous(c, t, &in));
  rush_tensor flat = *in;
  flat.rank = 1;
  flat.sizes[0] = in->numel;
  flat.strides[0] = 1;
  return interleave(c, &flat, 0, &n, total);
}
