/* Functional forms of writes into a view (slice_scatter, select_scatter, diagonal_scatter), and
 * matrices made from diagonals. */
#include "blocks/gather_scatter.h"
#include "blocks/subtensor.h"
#include "call/define.h"
#include "tensor/layout.h"

/* Copies src into the view `part`. Their sizes must be equal. */
static rush_status fill_part(rush_call *c, rush_tensor *part, const rush_tensor *src,
                             const char *what) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(rush_same_sizes(part, src),
                 "expected src to have a size equal to the %s of self. src size = %s, %s size = %s",
                 what, rush_shape_text(src->rank, src->sizes, a), what,
                 rush_shape_text(part->rank, part->sizes, b));
  return rush_tensor_copy(c->heap, part, src);
}

/* self, src, dim, start, end, step */
RUSH_OP(slice_scatter) {
  rush_tensor *out, part;
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_ALL, &out));
  RUSH_TRY(rush_subtensor_slice(c, 2, out, &part));
  return fill_part(c, &part, arg_tensor(c, 1), "slice");
}

/* self, src, dim, index */
RUSH_OP(select_scatter) {
  rush_tensor *out, part;
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_ALL, &out));
  RUSH_TRY(rush_subtensor_select(c, 2, out, &part));
  return fill_part(c, &part, arg_tensor(c, 1), "slice");
}

/* self, src, offset, dim1, dim2 */
RUSH_OP(diagonal_scatter) {
  rush_tensor *out, part;
  RUSH_TRY(rush_result_or_inplace(c, RUSH_COPY_ALL, &out));
  RUSH_TRY(rush_subtensor_diagonal(c, 2, out, &part));
  return fill_part(c, &part, arg_tensor(c, 1), "slice");
}

/* ---- Copies of diagonals --------------------------------------------------------------------- */

static rush_status zeroed(rush_call *c, rush_dtype dtype, int rank, const int64_t *sizes,
                          rush_tensor **out) {
  RUSH_TRY(rush_result(c, 0, dtype, rank, sizes, out));
  return rush_set_bytes(c->ctx, rush_data(*out), 0, (size_t)(*out)->numel * rush_itemsize(*out));
}

/* Turns the last dimension of t into the diagonal of dimensions dim1 and dim2. */
static rush_status embed(rush_call *c, const rush_tensor *t, int64_t by, int64_t dim1,
                         int64_t dim2) {
  int64_t sizes[RUSH_MAX_RANK];
  int rank = t->rank + 1;
  RUSH_CHECK_ARG(rank <= RUSH_MAX_RANK, "the result must have at most %d dimensions, got %d",
                 RUSH_MAX_RANK, rank);
  for (int k = 0; k < 2; k++) {
    int64_t d = k == 0 ? dim1 : dim2;
    RUSH_CHECK_ARG(d >= -rank && d < rank,
                   "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                   -rank, rank - 1, (long long)d);
  }
  int a = (int)(dim1 < 0 ? dim1 + rank : dim1), b = (int)(dim2 < 0 ? dim2 + rank : dim2);
  RUSH_CHECK_ARG(a != b, "diagonal dimensions cannot be identical %lld, %lld", (long long)dim1,
                 (long long)dim2);
  int64_t n = t->sizes[t->rank - 1], side, away = by < 0 ? -by : by;
  RUSH_CHECK(c->ctx, by != INT64_MIN && rush_add64(n, away, &side), RUSH_ERR_NO_MEMORY,
             "the result is too large");
  for (int d = 0, k = 0; d < rank; d++) sizes[d] = d == a || d == b ? side : t->sizes[k++];
  rush_tensor *out;
  RUSH_TRY(zeroed(c, t->dtype, rank, sizes, &out));
  rush_tensor part = *out;
  if (t->numel == 0) return RUSH_OK;
  part.offset += by >= 0 ? by * out->strides[b] : -by * out->strides[a];
  part.rank = t->rank;
  part.numel = t->numel;
  int k = 0;
  for (int d = 0; d < rank; d++) {
    if (d == a || d == b) continue;
    part.sizes[k] = out->sizes[d];
    part.strides[k++] = out->strides[d];
  }
  part.sizes[k] = n;
  part.strides[k] = out->strides[a] + out->strides[b];
  return rush_tensor_copy(c->heap, &part, t);
}

/* self, offset, dim1, dim2 */
RUSH_OP(diag_embed) {
  RUSH_CHECK_ARG(arg_tensor(c, 0)->rank > 0, "diag_embed() cannot be applied to a 0-dim tensor.");
  return embed(c, arg_tensor(c, 0), arg_int(c, 1), arg_int(c, 2), arg_int(c, 3));
}

/* Returns a matrix with the vector as its diagonal, or a copy of the diagonal of a matrix. */
RUSH_OP(diag) {
  const rush_tensor *t = arg_tensor(c, 0);
  RUSH_CHECK_ARG(t->rank == 1 || t->rank == 2, "diag(): Supports 1D or 2D tensors. Got %dD",
                 t->rank);
  if (t->rank == 1) return embed(c, t, arg_int(c, 1), 0, 1);
  const rush_value args[] = {c->args[0], c->args[1], rush_int(0), rush_int(1)};
  rush_call of_matrix = *c;
  of_matrix.args = args;
  of_matrix.n_args = 4;
  rush_tensor part, *out;
  RUSH_TRY(rush_subtensor_diagonal(&of_matrix, 1, t, &part));
  RUSH_TRY(rush_clone(c->heap, &part, RUSH_FORMAT_CONTIGUOUS, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

/* Returns one matrix with the given matrices along its diagonal. */
RUSH_OP(block_diag) {
  const rush_list *list = arg_list(c, 0);
  int64_t sizes[2] = {0, 0}, at[2] = {0, 0};
  rush_tensor *out;
  for (size_t k = 0; k < list->n; k++) {
    const rush_tensor *t = rush_as_tensor(&list->items[k]);
    RUSH_CHECK_ARG(
        t->rank <= 2,
        "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %zu has %d "
        "dimensions",
        k, t->rank);
    RUSH_CHECK(c->ctx,
               rush_add64(sizes[0], t->rank == 2 ? t->sizes[0] : 1, &sizes[0]) &&
                   rush_add64(sizes[1], t->rank == 0 ? 1 : t->sizes[t->rank - 1], &sizes[1]),
               RUSH_ERR_NO_MEMORY, "out of memory: too many rows for torch.block_diag");
  }
  RUSH_TRY(zeroed(c, arg_result_type(c, 1), 2, sizes, &out));
  for (size_t k = 0; k < list->n; k++) {
    const rush_tensor *t = rush_as_tensor(&list->items[k]);
    const int64_t own[2] = {t->rank == 2 ? t->sizes[0] : 1,
                            t->rank == 0 ? 1 : t->sizes[t->rank - 1]};
    if (t->numel > 0) {
      rush_tensor *part;
      RUSH_TRY(tmp_view(c, out, 2, own, out->strides,
                        at[0] * out->strides[0] + at[1] * out->strides[1], &part));
      RUSH_TRY(rush_tensor_copy(c->heap, part, t));
    }
    at[0] += own[0];
    at[1] += own[1];
  }
  return RUSH_OK;
}
