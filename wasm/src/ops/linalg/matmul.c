/* mm, bmm, matmul and their variants with an added term: addmm, baddbmm, addbmm, addmv and
 * others. */
#include <math.h>

#include "blocks/batched_matmul.h"
#include "blocks/packed_matmul.h"
#include "call/define.h"
#include "tensor/layout.h"

static rush_status same_dtype(rush_call *c, const rush_tensor *a, const rush_tensor *b,
                              const char *kernel) {
  RUSH_CHECK_ARG(a->dtype == b->dtype,
                 "expected m1 and m2 to have the same dtype, but got: %s != %s",
                 rush_dtype_name(a->dtype), rush_dtype_name(b->dtype));
  RUSH_CHECK_ARG(a->dtype != RUSH_BOOL, "\"%s\" not implemented for 'Bool'", kernel);
  return RUSH_OK;
}

/* Returns a new tensor a * b with `rank` batch dimensions. With drop_row or drop_col, the result
 * lacks that dimension. */
static rush_status product(rush_call *c, rush_dtype dtype, int64_t m, int64_t n, int64_t k,
                           int rank, const int64_t *batch, rush_matrices a, rush_matrices b,
                           bool drop_row, bool drop_col, rush_tensor **out) {
  int64_t sizes[RUSH_MAX_RANK + 2];
  int r = rank;
  for (int d = 0; d < rank; d++) sizes[d] = batch[d];
  if (!drop_row) sizes[r++] = m;
  if (!drop_col) sizes[r++] = n;
  RUSH_TRY(rush_result(c, 0, dtype, r, sizes, out));
  rush_matrices to = {rush_data(*out), n, 1, {0}};
  int64_t step = m * n;
  for (int d = rank - 1; d >= 0; step *= batch[d], d--) to.batch[d] = step;
  return rush_matmul_run(c->heap, dtype, m, n, k, rank, batch, a, b, to);
}

/* Packs a constant second matrix [k][n]. */
static rush_status prepare_second(rush_prepare *p, uint32_t arg, const float *bias) {
  const rush_tensor *b = rush_constant_matrix(p, arg);
  if (b == NULL) return RUSH_OK;
  p->consumed |= 1u << arg;
  return rush_linear_pack(p, b, b->sizes[1], b->sizes[0], b->strides[1], b->strides[0], bias);
}

RUSH_PREPARE(mm) {
  return prepare_second(p, 1, NULL);
}
RUSH_PREPARE(matmul) {
  return prepare_second(p, 1, NULL);
}
RUSH_PREPARE(addmm) {
  const rush_tensor *b = rush_constant_matrix(p, 2);
  const float *bias;
  if (b == NULL || !rush_constant_bias(p, 0, b->sizes[1], &bias) || bias == NULL ||
      !rush_constant_is(p, 3, 1) || !rush_constant_is(p, 4, 1))
    return RUSH_OK;
  p->consumed = 1u << 0;
  return prepare_second(p, 2, bias);
}

static rush_status check_mm(rush_call *c, const rush_tensor *a, const rush_tensor *b) {
  RUSH_CHECK_ARG(b->rank == 2, "mat2 must be a matrix");
  RUSH_CHECK_ARG(a->sizes[1] == b->sizes[0],
                 "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                 (long long)a->sizes[0], (long long)a->sizes[1], (long long)b->sizes[0],
                 (long long)b->sizes[1]);
  return same_dtype(c, a, b, "addmm_impl_cpu_");
}

static rush_status mm(rush_call *c, const rush_tensor *a, const rush_tensor *b, rush_tensor **out) {
  return product(c, a->dtype, a->sizes[0], b->sizes[1], a->sizes[1], 0, NULL,
                 rush_matrices_of(a, 0), rush_matrices_of(b, 0), false, false, out);
}

RUSH_OP(mm) {
  rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1), *out;
  RUSH_CHECK_ARG(a->rank == 2, "self must be a matrix");
  RUSH_TRY(check_mm(c, a, b));
  if (c->packed != NULL)
    return rush_linear_run(c, a, b->sizes[1], b->sizes[0], -INFINITY, INFINITY);
  return mm(c, a, b, &out);
}

/* Computes beta * self + alpha * product, where the product is result 0. */
static rush_status add_self(rush_call *c, const rush_tensor *self, const rush_tensor *out,
                            uint32_t beta) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  int rank;
  int64_t sizes[RUSH_MAX_RANK];
  for (uint32_t i = beta; i < beta + 2; i++) RUSH_TRY(arg_check_number(c, i, out->dtype));
  RUSH_CHECK_ARG(self->rank <= out->rank &&
                     rush_broadcast(self->rank, self->sizes, out->rank, out->sizes, &rank, sizes) &&
                     memcmp(sizes, out->sizes, out->rank * sizeof *sizes) == 0,
                 "The expanded size of the tensor must match the existing size. Target sizes: %s.  "
                 "Tensor sizes: %s",
                 rush_shape_text(out->rank, out->sizes, a),
                 rush_shape_text(self->rank, self->sizes, b));
  rush_add_scaled(c->ctx, rush_as_tensor(&c->results[0]), self, &c->args[beta], &c->args[beta + 1]);
  return RUSH_OK;
}

RUSH_OP(addmm) {
  rush_tensor *self = arg_tensor(c, 0), *a = arg_tensor(c, 1), *b = arg_tensor(c, 2), *out;
  RUSH_CHECK_ARG(a->rank == 2, "mat1 must be a matrix, got %d-D tensor", a->rank);
  RUSH_CHECK_ARG(b->rank == 2, "mat2 must be a matrix, got %d-D tensor", b->rank);
  RUSH_CHECK_ARG(self->dtype == b->dtype,
                 "self and mat2 must have the same dtype, but got %s and %s",
                 rush_dtype_torch_name(self->dtype), rush_dtype_torch_name(b->dtype));
  RUSH_CHECK_ARG(a->dtype == b->dtype, "self and mat2 must have the same dtype, but got %s and %s",
                 rush_dtype_torch_name(a->dtype), rush_dtype_torch_name(b->dtype));
  RUSH_TRY(check_mm(c, a, b));
  if (c->packed != NULL)
    return rush_linear_run(c, a, b->sizes[1], b->sizes[0], -INFINITY, INFINITY);
  RUSH_TRY(mm(c, a, b, &out));
  return add_self(c, self, out, 3);
}

static rush_status check_bmm(rush_call *c, const rush_tensor *a, const rush_tensor *b,
                             const char *kernel) {
  RUSH_CHECK_ARG(a->rank == 3, "batch1 must be a 3D tensor");
  RUSH_CHECK_ARG(b->rank == 3, "batch2 must be a 3D tensor");
  RUSH_CHECK_ARG(
      b->sizes[0] == a->sizes[0] && b->sizes[1] == a->sizes[2],
      "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: "
      "[%lld, %lld].",
      (long long)a->sizes[0], (long long)a->sizes[2], (long long)b->sizes[0],
      (long long)b->sizes[1]);
  return same_dtype(c, a, b, kernel);
}

static rush_status bmm(rush_call *c, const rush_tensor *a, const rush_tensor *b,
                       rush_tensor **out) {
  return product(c, a->dtype, a->sizes[1], b->sizes[2], a->sizes[2], 1, a->sizes,
                 rush_matrices_of(a, 1), rush_matrices_of(b, 1), false, false, out);
}

RUSH_OP(bmm) {
  rush_tensor *out;
  RUSH_TRY(check_bmm(c, arg_tensor(c, 0), arg_tensor(c, 1), "bmm"));
  return bmm(c, arg_tensor(c, 0), arg_tensor(c, 1), &out);
}

RUSH_OP(baddbmm) {
  rush_tensor *self = arg_tensor(c, 0), *a = arg_tensor(c, 1), *b = arg_tensor(c, 2), *out;
  RUSH_TRY(check_bmm(c, a, b, "baddbmm"));
  RUSH_CHECK_ARG(self->dtype == a->dtype,
                 "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
                 rush_dtype_name(self->dtype), rush_dtype_name(a->dtype),
                 rush_dtype_name(b->dtype));
  RUSH_TRY(bmm(c, a, b, &out));
  return add_self(c, self, out, 3);
}

/* The sum of a[i] * b[i] over the batch is a single product whose inner dimension is batch * k. */
RUSH_OP(addbmm) {
  rush_tensor *self = arg_tensor(c, 0), *a = arg_tensor(c, 1), *b = arg_tensor(c, 2), *wide, *tall,
              *out;
  RUSH_TRY(check_bmm(c, a, b, "addbmm"));
  RUSH_CHECK_ARG(self->dtype == a->dtype,
                 "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
                 rush_dtype_name(self->dtype), rush_dtype_name(a->dtype),
                 rush_dtype_name(b->dtype));
  const int64_t n = a->sizes[0], m = a->sizes[1], k = a->sizes[2];
  rush_tensor *view;
  RUSH_TRY(tmp_view(c, a, 3, (int64_t[]){m, n, k},
                    (int64_t[]){a->strides[1], a->strides[0], a->strides[2]}, a->offset, &view));
  RUSH_TRY(tmp_contiguous(c, view, &wide));
  RUSH_TRY(tmp_contiguous(c, b, &tall));
  const rush_matrices left = {rush_data(wide), n * k, 1, {0}},
                      right = {rush_data(tall), b->sizes[2], 1, {0}};
  RUSH_TRY(product(c, a->dtype, m, b->sizes[2], n * k, 0, NULL, left, right, false, false, &out));
  return add_self(c, self, out, 3);
}

static rush_matrices as_column(const rush_tensor *v) {
  return (rush_matrices){rush_data(v), v->strides[0], 1, {0}};
}
static rush_matrices as_row(const rush_tensor *v) {
  return (rush_matrices){rush_data(v), v->sizes[0], v->strides[0], {0}};
}

static rush_status check_mv(rush_call *c, const rush_tensor *a, const rush_tensor *v) {
  RUSH_CHECK_ARG(a->sizes[1] == v->sizes[0],
                 "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                 (long long)a->sizes[0], (long long)a->sizes[0], (long long)a->sizes[1],
                 (long long)v->sizes[0]);
  RUSH_CHECK_ARG(a->dtype == v->dtype, "expected scalar type %s but found %s",
                 rush_dtype_torch_name(a->dtype), rush_dtype_torch_name(v->dtype));
  return same_dtype(c, a, v, "addmv_impl_cpu");
}

/* Computes a matrix-vector product as the row vector times the transposed matrix, whose columns are
 * contiguous. */
static rush_status mv(rush_call *c, const rush_tensor *a, const rush_tensor *v, rush_tensor **out) {
  const rush_matrices t = {rush_data(a), a->strides[1], a->strides[0], {0}};
  return product(c, a->dtype, 1, a->sizes[0], a->sizes[1], 0, NULL, as_row(v), t, true, false, out);
}

RUSH_OP(mv) {
  rush_tensor *a = arg_tensor(c, 0), *v = arg_tensor(c, 1), *out;
  RUSH_CHECK_ARG(a->rank == 2 && v->rank == 1, "vector + matrix @ vector expected, got 1, %d, %d",
                 a->rank, v->rank);
  RUSH_TRY(check_mv(c, a, v));
  return mv(c, a, v, &out);
}

RUSH_OP(addmv) {
  rush_tensor *self = arg_tensor(c, 0), *a = arg_tensor(c, 1), *v = arg_tensor(c, 2), *out;
  RUSH_CHECK_ARG(a->rank == 2 && v->rank == 1 && self->rank <= 1,
                 "vector + matrix @ vector expected, got %d, %d, %d", self->rank, a->rank, v->rank);
  RUSH_TRY(check_mv(c, a, v));
  RUSH_CHECK_ARG(self->dtype == a->dtype, "expected scalar type %s but found %s",
                 rush_dtype_torch_name(a->dtype), rush_dtype_torch_name(self->dtype));
  RUSH_TRY(mv(c, a, v, &out));
  return add_self(c, self, out, 3);
}

static rush_status dot(rush_call *c, const rush_tensor *a, const rush_tensor *b) {
  rush_tensor *out;
  RUSH_CHECK_ARG(a->dtype == b->dtype,
                 "dot : expected both vectors to have same dtype, but found %s and %s",
                 rush_dtype_torch_name(a->dtype), rush_dtype_torch_name(b->dtype));
  RUSH_CHECK_ARG(a->sizes[0] == b->sizes[0],
                 "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same "
                 "number of elements, but "
                 "got %lld and %lld elements respectively",
                 (long long)a->sizes[0], (long long)b->sizes[0], (long long)a->sizes[0],
                 (long long)b->sizes[0]);
  RUSH_TRY(same_dtype(c, a, b, "dot"));
  return product(c, a->dtype, 1, 1, a->sizes[0], 0, NULL, as_row(a), as_column(b), true, true,
                 &out);
}

RUSH_OP(dot) {
  rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
  RUSH_CHECK_ARG(a->rank == 1 && b->rank == 1, "1D tensors expected, but got %dD and %dD tensors",
                 a->rank, b->rank);
  return dot(c, a, b);
}

/* ---- matmul ---------------------------------------------------------------------------------- */

static rush_status check_matmul(rush_call *c, const rush_tensor *a, const rush_tensor *b) {
  RUSH_CHECK_ARG(a->rank > 0 && b->rank > 0,
                 "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                 a->rank, b->rank);
  if (a->rank == 2 && b->rank == 1) return check_mv(c, a, b);
  const int64_t k = a->sizes[a->rank - 1];
  const int64_t other = b->sizes[b->rank > 1 ? b->rank - 2 : 0];
  if (a->rank > 2 && b->rank > 2) {
    RUSH_CHECK_ARG(
        k == other,
        "Expected size for first two dimensions of batch2 tensor to be: [.., %lld] but got: "
        "[.., %lld].",
        (long long)k, (long long)other);
  } else {
    RUSH_CHECK_ARG(k == other,
                   "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                   (long long)(k > 0 ? a->numel / k : 0), (long long)k, (long long)other,
                   (long long)(other > 0 ? b->numel / other : 0));
  }
  return same_dtype(c, a, b, "addmm_impl_cpu_");
}

/* Handles all other cases, with broadcast batch dimensions. A vector becomes a matrix with one row
 * (left operand) or one column (right operand). */
static rush_status matmul(rush_call *c, const rush_tensor *a, const rush_tensor *b) {
  const int ra = a->rank > 2 ? a->rank - 2 : 0, rb = b->rank > 2 ? b->rank - 2 : 0;
  char ta[RUSH_SHAPE_TEXT], tb[RUSH_SHAPE_TEXT];
  int64_t batch[RUSH_MAX_RANK];
  int rank;
  RUSH_CHECK_ARG(
      rush_broadcast(ra, a->sizes, rb, b->sizes, &rank, batch),
      "The size of tensor a %s must match the size of tensor b %s at non-singleton dimensions",
      rush_shape_text(ra, a->sizes, ta), rush_shape_text(rb, b->sizes, tb));
  const rush_matrices left = a->rank > 1 ? rush_matrices_of(a, rank) : as_row(a);
  const rush_matrices right = b->rank > 1 ? rush_matrices_of(b, rank) : as_column(b);
  rush_tensor *out;
  return product(c, a->dtype, a->rank > 1 ? a->sizes[a->rank - 2] : 1,
                 b->rank > 1 ? b->sizes[b->rank - 1] : 1, a->sizes[a->rank - 1], rank, batch, left,
                 right, a->rank == 1, b->rank == 1, &out);
}

RUSH_OP(matmul) {
  rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1), *out;
  if (a->rank == 1 && b->rank == 1) return dot(c, a, b);
  RUSH_TRY(check_matmul(c, a, b));
  if (c->packed != NULL)
    return rush_linear_run(c, a, b->sizes[1], b->sizes[0], -INFINITY, INFINITY);
  if (a->rank == 2 && b->rank == 1) return mv(c, a, b, &out);
  return matmul(c, a, b);
}

/* ---- Outer products -------------------------------------------------------------------------- */

static rush_status outer(rush_call *c, const rush_tensor *a, const rush_tensor *b, rush_dtype dtype,
                         rush_tensor **out) {
  rush_tensor *x, *y;
  RUSH_TRY(tmp_to(c, (rush_tensor *)a, dtype, &x));
  RUSH_TRY(tmp_to(c, (rush_tensor *)b, dtype, &y));
  return product(c, dtype, x->sizes[0], y->sizes[0], 1, 0, NULL, as_column(x), as_row(y), false,
                 false, out);
}

RUSH_OP(outer) {
  rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1), *out;
  RUSH_CHECK_ARG(a->rank == 1, "outer: Expected 1-D argument self, but got %d-D", a->rank);
  RUSH_CHECK_ARG(b->rank == 1, "outer: Expected 1-D argument vec2, but got %d-D", b->rank);
  const rush_dtype dtype = rush_promote(a->dtype, b->dtype);
  if (dtype != RUSH_BOOL) return outer(c, a, b, dtype, &out);
  RUSH_TRY(rush_result(c, 0, RUSH_BOOL, 2, (int64_t[]){a->sizes[0], b->sizes[0]}, &out));
  const uint8_t *x = rush_data(a), *y = rush_data(b);
  uint8_t *to = rush_data(out);
  for (int64_t i = 0; i < a->sizes[0]; i++) {
    RUSH_TRY(rush_charge(c->ctx, 4));
    for (int64_t j = 0; j < b->sizes[0]; j++) {
      if (j % 16 == 0) RUSH_TRY(rush_charge(c->ctx, 16));
      *to++ = x[i * a->strides[0]] && y[j * b->strides[0]];
    }
  }
  return RUSH_OK;
}
