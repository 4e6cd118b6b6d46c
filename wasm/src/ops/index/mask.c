/* Operators on masks: nonzero, where(condition), masked_select and masked_scatter. */
#include "blocks/gather_scatter.h"
#include "blocks/nonzero.h"
#include "call/define.h"
#include "tensor/layout.h"

enum { LOOK = 4096 }; /* elements between two checks for a stop request */

/* Returns [n, rank], transposed in memory like the result of PyTorch's CPU kernel. */
RUSH_OP(nonzero) {
  const rush_tensor *t = arg_tensor(c, 0);
  rush_tensor *rows;
  RUSH_TRY(rush_nonzero(c->heap, t, &rows));
  const int64_t n = tmp_take(c, rows)->sizes[1];
  return rush_result_view(c, 0, rows, 2, (int64_t[]){n, t->rank}, (int64_t[]){1, n}, 0);
}

/* nonzero_numpy and where(condition) return one tensor per dimension. */
RUSH_OP(nonzero_list) {
  const rush_tensor *t = arg_tensor(c, 0);
  rush_tensor *rows;
  RUSH_TRY(rush_nonzero(c->heap, t, &rows));
  const int64_t n = tmp_take(c, rows)->sizes[1];
  RUSH_TRY(rush_new_list(c->heap, RUSH_KIND_LIST, c->result_types ? c->result_types[0] : RUSH_NONE,
                         NULL, 0, &c->results[0]));
  for (int64_t d = 0; d < rows->sizes[0]; d++) {
    rush_tensor *row;
    RUSH_TRY(tmp_view(c, rows, 1, &n, (int64_t[]){1}, d * n, &row));
    RUSH_TRY(rush_list_push(c->heap, rush_as_list(&c->results[0]), rush_of_tensor(row)));
  }
  return RUSH_OK;
}

static rush_status common_shape(rush_call *c, const rush_tensor *t, const rush_tensor *mask,
                                int *rank, int64_t *sizes) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(
      rush_broadcast(t->rank, t->sizes, mask->rank, mask->sizes, rank, sizes),
      "The size of tensor a must match the size of tensor b at each non-singleton dimension: "
      "%s and %s",
      rush_shape_text(t->rank, t->sizes, a), rush_shape_text(mask->rank, mask->sizes, b));
  return RUSH_OK;
}

/* Selects n items whose byte in `mask` is not 0. Every item is copied, and the next one overwrites
 * an item that is not selected. */
static void select_items(rush_ctx *ctx, size_t item, char *to, const char *from, const char *mask,
                         int64_t n) {
#define SELECT(BYTES)                                        \
  for (int64_t i = 0; n > 0; i++, mask++, from += (BYTES)) { \
    const bool taken = *mask != 0;                           \
    if (rush_stops_at_step(ctx, i)) return;                  \
    memcpy(to, from, (BYTES));                               \
    to += taken ? (BYTES) : 0;                               \
    n -= taken;                                              \
  }
  switch (item) {
    case 4:
      SELECT(4) return;
    case 8:
      SELECT(8) return;
    default:
      SELECT(item)
  }
}

static int64_t count_true(rush_ctx *ctx, const char *mask, int64_t n) {
  int64_t count = 0;
  for (size_t at = 0, some; rush_next_piece(ctx, (size_t)n, 1, at, &some); at += some)
    for (size_t i = at; i < at + some; i++) count += mask[i] != 0;
  return count;
}

/* Handles a tensor and a mask of the same shape that are both contiguous. */
static rush_status select_dense(rush_call *c, const rush_tensor *t, const rush_tensor *mask) {
  rush_tensor *out;
  const int64_t n = count_true(c->ctx, rush_data(mask), mask->numel);
  RUSH_TRY(rush_take_stop(c->ctx));
  RUSH_TRY(rush_result(c, 0, t->dtype, 1, &n, &out));
  select_items(c->ctx, rush_itemsize(t), rush_data(out), rush_data(t), rush_data(mask), n);
  return RUSH_OK;
}

RUSH_OP(masked_select) {
  const rush_tensor *t = arg_tensor(c, 0), *mask = arg_tensor(c, 1);
  int64_t sizes[RUSH_MAX_RANK], total, n = 0;
  int rank;
  rush_tensor *out;
  RUSH_CHECK_ARG(mask->dtype == RUSH_BOOL, "masked_select: expected BoolTensor for mask");
  if (rush_same_sizes(t, mask) && rush_is_contiguous(t) && rush_is_contiguous(mask))
    return select_dense(c, t, mask);
  RUSH_TRY(common_shape(c, t, mask, &rank, sizes));
  RUSH_CHECK(c->ctx, rush_numel(rank, sizes, &total), RUSH_ERR_NO_MEMORY,
             "out of memory: too many elements for masked_select");
  rush_row_major from, m;
  rush_row_major_init(&m, mask, rank, sizes);
  for (int64_t i = 0; i < total; i++, rush_row_major_next(&m)) {
    if (i % LOOK == 0) RUSH_TRY(rush_charge(c->ctx, 4 * LOOK));
    n += *m.at != 0;
  }
  RUSH_TRY(rush_result(c, 0, t->dtype, 1, &n, &out));
  size_t item = rush_itemsize(t);
  char *to = rush_data(out);
  rush_row_major_init(&m, mask, rank, sizes);
  rush_row_major_init(&from, t, rank, sizes);
  for (int64_t i = 0; i < total && n > 0;
       i++, rush_row_major_next(&m), rush_row_major_next(&from)) {
    if (i % LOOK == 0) RUSH_TRY(rush_charge(c->ctx, 8 * LOOK));
    if (*m.at == 0) continue;
    memcpy(to, from.at, item);
    to += item;
    n--;
  }
  return RUSH_OK;
}

/* Iterates over n items of `to`. An item whose byte in `mask` is not 0 takes the next item of
 * `from`. */
static void scatter_items(rush_ctx *ctx, size_t item, char *to, const char *from, const char *mask,
                          int64_t n) {
#define SCATTER(BYTES)                                  \
  for (; n > 0; n--, mask++, to += (BYTES)) {           \
    const bool taken = *mask != 0;                      \
    if (rush_stops_at_step(ctx, n)) return;             \
    memcpy(to, taken ? from : (const char *)to, BYTES); \
    from += taken ? (BYTES) : 0;                        \
  }
  switch (item) {
    case 4:
      SCATTER(4) return;
    case 8:
      SCATTER(8) return;
    default:
      for (; n > 0 && !rush_stops_at_step(ctx, n); n--, mask++, to += item) {
        if (*mask == 0) continue;
        memcpy(to, from, item);
        from += item;
      }
  }
#undef SCATTER
}

/* Copies the elements of source, in order, to the places in `out` where `mask` is true. */
static rush_status fill_masked(rush_call *c, rush_tensor *out, const rush_tensor *mask,
                               rush_tensor *source) {
  rush_tensor *row;
  RUSH_TRY(tmp_contiguous(c, source, &row));
  size_t item = rush_itemsize(out);
  const char *from = rush_data(row);
  int64_t left = row->numel;
  if (rush_same_sizes(out, mask) && rush_is_contiguous(out) && rush_is_contiguous(mask) &&
      count_true(c->ctx, rush_data(mask), mask->numel) <= left) {
    RUSH_TRY(rush_take_stop(c->ctx));
    scatter_items(c->ctx, item, rush_data(out), from, rush_data(mask), out->numel);
    return RUSH_OK;
  }
  rush_row_major to, m;
  rush_row_major_init(&m, mask, out->rank, out->sizes);
  rush_row_major_init(&to, out, out->rank, out->sizes);
  for (int64_t i = 0; i < out->numel; i++, rush_row_major_next(&m), rush_row_major_next(&to)) {
    if (i % LOOK == 0) RUSH_TRY(rush_charge(c->ctx, 8 * LOOK));
    if (*m.at == 0) continue;
    RUSH_CHECK_ARG(
        left-- > 0,
        "masked_scatter: the number of elements of source must be at least the number of "
        "ones in the mask");
    memcpy((char *)(uintptr_t)to.at, from, item);
    from += item;
  }
  return RUSH_OK;
}

/* self and mask broadcast against each other. In place, only the mask broadcasts. */
RUSH_OP(masked_scatter) {
  rush_tensor *t = arg_tensor(c, 0), *mask = arg_tensor(c, 1), *source = arg_tensor(c, 2), *out;
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(t->dtype == source->dtype,
                 "masked_scatter: expected self and source to have same dtypes but got %s and %s",
                 rush_dtype_torch_name(t->dtype), rush_dtype_torch_name(source->dtype));
  RUSH_CHECK_ARG(mask->dtype == RUSH_BOOL,
                 "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                 rush_dtype_torch_name(mask->dtype));
  RUSH_TRY(common_shape(c, t, mask, &rank, sizes));
  bool same =
      rank == t->rank && (rank == 0 || memcmp(sizes, t->sizes, (size_t)rank * sizeof *sizes) == 0);
  if (c->inplace == NULL && !same) {
    RUSH_TRY(rush_result(c, 0, t->dtype, rank, sizes, &out));
    RUSH_TRY(rush_tensor_copy(c->heap, out, t));
  } else {
    RUSH_CHECK_ARG(same, "output with shape %s doesn't match the broadcast shape %s",
                   rush_shape_text(t->rank, t->sizes, a), rush_shape_text(rank, sizes, b));
    RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_CONTIGUOUS, &out));
  }
  return fill_masked(c, out, mask, source);
}
