/* flip, roll and rot90, which permute elements along dimensions. */
#include "blocks/concatenate.h"
#include "call/define.h"
#include "kernels/transpose.h"
#include "tensor/layout.h"

/* Copies t to dst with the dimensions of `mask` reversed. Negative strides exist only here. */
static rush_status flip_into(rush_call *c, rush_tensor *dst, const rush_tensor *t, uint32_t mask) {
  rush_tensor turned = *t;
  if (t->numel == 0) return RUSH_OK;
  for (int d = 0; d < t->rank; d++) {
    if ((mask >> d & 1) == 0) continue;
    turned.offset += (t->sizes[d] - 1) * t->strides[d];
    turned.strides[d] = -t->strides[d];
  }
  const rush_tensor *operands[] = {dst, &turned};
  rush_iter it;
  rush_iter_init(&it, dst->rank, dst->sizes, 2, operands);
  if (rush_itemsize(t) != 4 || it.stride[0][0] != 4 || it.stride[1][0] != -4)
    return rush_tensor_copy(c->heap, dst, &turned);
  do {
    const size_t n = (size_t)it.size[0];
    for (size_t i = 0, some; rush_next_piece(c->ctx, n, 1, i, &some); i += some)
      rush_reverse_4(some, it.at[0] + 4 * i, it.at[1] - 4 * (int64_t)(i + some - 1));
    RUSH_TRY(rush_take_stop(c->ctx));
  } while (rush_iter_next(&it));
  return RUSH_OK;
}

static rush_status ret_flipped(rush_call *c, uint32_t mask) {
  const rush_tensor *t = arg_tensor(c, 0);
  rush_tensor *out;
  RUSH_TRY(rush_result_like(c, 0, t, t->dtype, &out));
  return flip_into(c, out, t, mask);
}

RUSH_OP(flip) {
  uint32_t mask;
  RUSH_TRY(arg_dims_mask(c, 1, arg_tensor(c, 0)->rank, &mask));
  return ret_flipped(c, c->args[1].kind == RUSH_KIND_LIST && arg_list(c, 1)->n == 0 ? 0 : mask);
}

RUSH_OP(fliplr) {
  RUSH_CHECK_ARG(arg_tensor(c, 0)->rank >= 2, "Input must be >= 2-d.");
  return ret_flipped(c, 2);
}

RUSH_OP(flipud) {
  RUSH_CHECK_ARG(arg_tensor(c, 0)->rank >= 1, "Input must be >= 1-d.");
  return ret_flipped(c, 1);
}

RUSH_OP(rot90) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t dims[2 * RUSH_MAX_RANK];
  int n, rank = t->rank;
  RUSH_TRY(arg_ints(c, 2, 2 * RUSH_MAX_RANK, dims, &n));
  RUSH_CHECK_ARG(n == 2, "expected total rotation dims == 2, but got dims = %d", n);
  RUSH_CHECK_ARG(rank >= 2, "expected total dims >= 2, but got total dims = %d", rank);
  for (int k = 0; k < 2; k++)
    RUSH_CHECK_ARG(dims[k] >= -rank && dims[k] < rank, "Rotation dim%d out of range, dim = %lld", k,
                   (long long)dims[k]);
  int a = (int)(dims[0] < 0 ? dims[0] + rank : dims[0]),
      b = (int)(dims[1] < 0 ? dims[1] + rank : dims[1]);
  RUSH_CHECK_ARG(a != b,
                 "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld",
                 (long long)dims[0], (long long)dims[1]);
  int64_t k = (arg_int(c, 1) % 4 + 4) % 4;
  uint32_t mask = k == 1 ? 1u << b : k == 2 ? 1u << a | 1u << b : k == 3 ? 1u << a : 0;
  if (k == 0) {
    rush_tensor *copy;
    RUSH_TRY(rush_clone(c->heap, t, RUSH_FORMAT_CONTIGUOUS, &copy));
    ret_tensor(c, 0, copy);
    return RUSH_OK;
  }
  RUSH_TRY(ret_flipped(c, mask));
  if (k == 2) return RUSH_OK;
  rush_tensor *out = rush_as_tensor(&c->results[0]);
  int64_t size = out->sizes[a], stride = out->strides[a];
  out->sizes[a] = out->sizes[b], out->strides[a] = out->strides[b];
  out->sizes[b] = size, out->strides[b] = stride;
  return RUSH_OK;
}

/* Rolls along one dimension: the two parts swap places. */
static rush_status roll_one(rush_call *c, const rush_tensor *t, int64_t dim, int64_t shift,
                            rush_tensor **out) {
  *out = NULL;
  if (t->numel == 0) return rush_clone(c->heap, t, RUSH_FORMAT_PRESERVE, out);
  RUSH_CHECK_ARG(dim >= -t->rank && dim < t->rank,
                 "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                 -t->rank, t->rank - 1, (long long)dim);
  if (dim < 0) dim += t->rank;
  int64_t size = t->sizes[dim], start = (size - shift % size) % size;
  rush_tensor first = *t, second = *t;
  first.sizes[dim] = size - start;
  first.offset += start * t->strides[dim];
  first.numel = t->numel / size * (size - start);
  second.sizes[dim] = start;
  second.numel = t->numel / size * start;
  const rush_tensor *parts[] = {&first, &second};
  return rush_cat(c->heap, 2, parts, dim, t->dtype, out);
}

static rush_status roll_flat(rush_call *c, int64_t shift) {
  rush_tensor *t = arg_tensor(c, 0), *in, *out;
  RUSH_TRY(tmp_contiguous(c, t, &in));
  rush_tensor flat = *in;
  flat.rank = 1;
  flat.sizes[0] = in->numel;
  flat.strides[0] = 1;
  RUSH_TRY(roll_one(c, &flat, 0, shift, &out));
  ret_tensor(c, 0, out);
  out->rank = t->rank;
  memcpy(out->sizes, t->sizes, sizeof out->sizes);
  rush_strides_contiguous(t->rank, t->sizes, out->strides);
  return RUSH_OK;
}

RUSH_OP(roll) {
  int64_t shifts[2 * RUSH_MAX_RANK], dims[2 * RUSH_MAX_RANK];
  int n, m;
  RUSH_TRY(arg_ints(c, 1, 2 * RUSH_MAX_RANK, shifts, &n));
  RUSH_TRY(arg_ints(c, 2, 2 * RUSH_MAX_RANK, dims, &m));
  RUSH_CHECK_ARG(n > 0, "`shifts` required");
  if (m == 0 && n == 1) return roll_flat(c, shifts[0]);
  RUSH_CHECK_ARG(n == m, "shifts and dimensions must align. shifts: %d, dims:%d", n, m);
  rush_tensor *at = arg_tensor(c, 0);
  for (int k = 0; k < n; k++) {
    RUSH_TRY(roll_one(c, at, dims[k], shifts[k], &at));
    tmp_take(c, at);
  }
  ret_tensor(c, 0, rush_tensor_retain(at));
  return RUSH_OK;
}
