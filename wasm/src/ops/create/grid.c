/* meshgrid, tril_indices and triu_indices. */
#include "blocks/shape.h"
#include "call/define.h"

/* Adds one output of meshgrid: the 1-d tensor t along dimension `at`, broadcast along the
 * others. */
static rush_status add_grid(rush_call *c, const rush_tensor *t, int at, int rank,
                            const int64_t *sizes) {
  int64_t shape[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  rush_tensor *out;
  for (int d = 0; d < rank; d++) shape[d] = d == at ? t->numel : 1;
  (void)rush_view_strides(t, rank, shape, strides); /* a view of one dimension cannot fail */
  rush_tensor line = *t;
  line.rank = (uint8_t)rank;
  memcpy(line.sizes, shape, sizeof shape);
  memcpy(line.strides, strides, sizeof strides);
  RUSH_TRY(rush_expand(c->heap, &line, rank, sizes, &out));
  return rush_list_push(c->heap, rush_as_list(&c->results[0]), rush_of_tensor(tmp_take(c, out)));
}

RUSH_OP(meshgrid) {
  const rush_list *list = arg_list(c, 0);
  int64_t sizes[RUSH_MAX_RANK];
  bool xy = false;
  if (c->n_args > 1) {
    const char *indexing = arg_str(c, 1)->bytes;
    xy = strcmp(indexing, "xy") == 0;
    RUSH_CHECK_ARG(xy || strcmp(indexing, "ij") == 0,
                   "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s",
                   indexing);
  }
  RUSH_CHECK_ARG(list->n > 0, "meshgrid expects a non-empty TensorList");
  RUSH_CHECK_ARG(list->n <= RUSH_MAX_RANK, "meshgrid: there must be at most %d tensors",
                 RUSH_MAX_RANK);
  int rank = (int)list->n;
  xy = xy && rank >= 2;
  for (int k = 0; k < rank; k++) {
    const rush_tensor *t = rush_as_tensor(&list->items[k]);
    RUSH_CHECK_ARG(
        t->rank <= 1,
        "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got %d dimensions",
        t->rank);
    RUSH_CHECK_ARG(t->dtype == rush_as_tensor(&list->items[0])->dtype,
                   "torch.meshgrid expects all tensors to have the same dtype");
    sizes[xy && k < 2 ? 1 - k : k] = t->numel;
  }
  RUSH_TRY(rush_new_list(c->heap, RUSH_KIND_LIST, list->type, NULL, 0, &c->results[0]));
  for (int k = 0; k < rank; k++)
    RUSH_TRY(add_grid(c, rush_as_tensor(&list->items[k]), xy && k < 2 ? 1 - k : k, rank, sizes));
  return RUSH_OK;
}

/* Computes the range of columns in row i of a triangle: on and below the diagonal, or on and above
 * it. */
static void triangle_row(int64_t i, int64_t columns, int64_t offset, bool lower, int64_t *from,
                         int64_t *to) {
  int64_t edge = i + offset + (lower ? 1 : 0);
  edge = edge < 0 ? 0 : edge > columns ? columns : edge;
  *from = lower ? 0 : edge;
  *to = lower ? edge : columns;
}

static rush_status triangle(rush_call *c, bool lower) {
  int64_t rows = arg_int(c, 0), columns = arg_int(c, 1), offset = arg_int(c, 2), n = 0, from, to;
  rush_dtype dtype;
  rush_tensor *out;
  RUSH_TRY(arg_dtype(c, 3, RUSH_INT64, &dtype));
  RUSH_CHECK_ARG(rows >= 0, "row must be non-negative, got%lld", (long long)rows);
  RUSH_CHECK_ARG(columns >= 0, "col must be non-negative, got%lld", (long long)columns);
  RUSH_CHECK(c->ctx, rows <= RUSH_MAX_NUMEL && columns <= RUSH_MAX_NUMEL, RUSH_ERR_NO_MEMORY,
             "out of memory: too many rows or columns");
  if (offset > columns) offset = columns; /* keeps the sums below from overflowing */
  if (offset < -rows) offset = -rows;
  for (int64_t i = 0; i < rows; i++) {
    if (i % 4096 == 0) RUSH_TRY(rush_charge(c->ctx, 4 * 4096));
    triangle_row(i, columns, offset, lower, &from, &to);
    RUSH_CHECK(c->ctx, rush_add64(n, to - from, &n), RUSH_ERR_NO_MEMORY,
               "out of memory: too many indices");
  }
  RUSH_TRY(rush_result(c, 0, dtype, 2, (int64_t[]){2, n}, &out));
  size_t item = rush_itemsize(out);
  char *row_at = rush_data(out), *column_at = row_at + (size_t)n * item;
  for (int64_t i = 0; i < rows; i++) {
    triangle_row(i, columns, offset, lower, &from, &to);
    RUSH_TRY(rush_charge(c->ctx, 4));
    for (int64_t j = from; j < to; j++, row_at += item, column_at += item) {
      RUSH_TRY(rush_charge(c->ctx, 8));
      rush_store_int(dtype, row_at, i);
      rush_store_int(dtype, column_at, j);
    }
  }
  return RUSH_OK;
}

RUSH_OP(tril_indices) {
  return triangle(c, true);
}
RUSH_OP(triu_indices) {
  return triangle(c, false);
}
