/* embedding gathers rows of a table. padding_idx and the flags after it only affect gradients. */
#include "blocks/packed.h"
#include "call/define.h"
#include "kernels/gemm.h"
#include "tensor/layout.h"

static int64_t index_at(const rush_tensor *indices, int64_t i) {
  const void *at = rush_data(indices);
  return indices->dtype == RUSH_INT64 ? ((const int64_t *)at)[i] : ((const int32_t *)at)[i];
}

static rush_status check_indices(rush_call *c, const rush_tensor *indices, int64_t rows) {
  for (int64_t i = 0; i < indices->numel; i++) {
    const int64_t row = index_at(indices, i);
    if (i % 4096 == 0) RUSH_TRY(rush_charge(c->ctx, 4096));
    RUSH_CHECK_ARG(row >= 0 && row < rows,
                   "index out of range in self: the index must be below %lld, got %lld",
                   (long long)rows, (long long)row);
  }
  return RUSH_OK;
}

/* Copies a row of the weight, which may be packed for a linear layer that shares it. */
static rush_status copy_row(const rush_call *c, const rush_tensor *w, int64_t row, char *to) {
  const size_t item = rush_itemsize(w), n = (size_t)w->sizes[1];
  const float *packed = rush_packed_data(c->packed);
  if (packed != NULL) {
    rush_gemm_packed_row(c->ctx, item, n, packed, (size_t)row, to);
    return RUSH_OK;
  }
  const char *from = (const char *)rush_data(w) + row * w->strides[0] * (int64_t)item;
  if (w->strides[1] == 1 || n == 1) return rush_copy_bytes(c->ctx, to, from, n * item);
  for (size_t j = 0; j < n; j++, from += w->strides[1] * (int64_t)item, to += item) {
    RUSH_TRY(rush_charge_steps(c->ctx, (int64_t)j, w->sizes[1]));
    memcpy(to, from, item);
  }
  return RUSH_OK;
}

RUSH_OP(embedding) {
  const rush_tensor *w = arg_tensor(c, 0);
  rush_tensor *given = arg_tensor(c, 1), *indices, *out;
  RUSH_CHECK_ARG(w->rank == 2, "'weight' must be 2-D");
  RUSH_CHECK_ARG(
      given->dtype == RUSH_INT64 || given->dtype == RUSH_INT32,
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
      "Long, Int; but got "
      "torch.%sTensor instead (while checking arguments for embedding)",
      rush_dtype_torch_name(given->dtype));
  int64_t sizes[RUSH_MAX_RANK];
  RUSH_CHECK(c->ctx, given->rank < RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "the result must have at most %d dimensions, got %d", RUSH_MAX_RANK, given->rank + 1);
  memcpy(sizes, given->sizes, (size_t)given->rank * sizeof *sizes);
  sizes[given->rank] = w->sizes[1];
  RUSH_TRY(tmp_contiguous(c, given, &indices));
  RUSH_TRY(check_indices(c, indices, w->sizes[0]));
  RUSH_TRY(rush_result(c, 0, w->dtype, given->rank + 1, sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  const size_t row = (size_t)w->sizes[1] * rush_itemsize(w);
  char *to = rush_data(out);
  for (int64_t i = 0; i < indices->numel; i++, to += row) {
    RUSH_TRY(rush_charge(c->ctx, 8));
    RUSH_TRY(copy_row(c, w, index_at(indices, i), to));
  }
  return RUSH_OK;
}
