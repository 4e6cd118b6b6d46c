/* Matrix factorizations for torch.linalg (see front/operators/linalg.py). All are computed in
 * double precision and rounded once. Factors are column-major, like LAPACK's. */
#include <stdio.h>

#include "call/define.h"
#include "kernels/factorization.h"
#include "tensor/layout.h"

#define BY_DTYPE(name, t, ...) \
  (rush_is_complex((t)->dtype) ? name##_c128(__VA_ARGS__) : name##_f64(__VA_ARGS__))

static rush_status need_matrices(rush_call *c, const rush_tensor *t, const char *name,
                                 const char *kernel) {
  const bool half = rush_is_half(c->narrow);
  const rush_dtype given = half ? c->narrow : t->dtype;
  RUSH_CHECK_ARG(t->rank >= 2, "%s: input must have at least 2 dimensions.", name);
  RUSH_CHECK_ARG(!half, "\"%s\" not implemented for '%s'", kernel, rush_dtype_torch_name(given));
  RUSH_CHECK_ARG(rush_is_float(given) || rush_is_complex(given),
                 "%s: Expected a floating point or complex tensor as input. Got %s", name,
                 rush_dtype_torch_name(given));
  return RUSH_OK;
}

static rush_status need_square(rush_call *c, const rush_tensor *t, const char *name) {
  const int64_t *last = t->sizes + t->rank - 2;
  RUSH_CHECK_ARG(last[0] == last[1],
                 "%s: A must be batches of square matrices, but they are %lld by %lld matrices",
                 name, (long long)last[0], (long long)last[1]);
  return RUSH_OK;
}

/* Returns the number of matrices, or 0 if they have no elements. */
static int64_t count_of(const rush_tensor *t) {
  int64_t n = t->numel > 0;
  for (int d = 0; d < t->rank - 2; d++) n *= t->sizes[d];
  return n;
}

static void swap_last(int rank, int64_t *of) {
  const int64_t kept = of[rank - 1];
  of[rank - 1] = of[rank - 2];
  of[rank - 2] = kept;
}

static rush_status new_wide(rush_call *c, const rush_tensor *like, int rank, const int64_t *sizes,
                            rush_tensor **out) {
  return tmp_new(c, rush_is_complex(like->dtype) ? RUSH_COMPLEX128 : RUSH_FLOAT64, rank, sizes,
                 out);
}

/* Converts t to double precision, broadcasts it to batch[rank - 2], and stores each matrix
 * column-major. With `rows`, each matrix is stored row-major, which is its transpose in
 * column-major order. */
static rush_status wide_columns(rush_call *c, const rush_tensor *t, int rank, const int64_t *batch,
                                bool rows, rush_tensor **out) {
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK], all[RUSH_MAX_RANK];
  rush_tensor *turned;
  memcpy(sizes, t->sizes, sizeof sizes);
  memcpy(strides, t->strides, sizeof strides);
  if (!rows) {
    swap_last(t->rank, sizes);
    swap_last(t->rank, strides);
  }
  RUSH_TRY(tmp_view(c, t, t->rank, sizes, strides, t->offset, &turned));
  memcpy(all, batch, sizeof *all * (size_t)(rank - 2));
  memcpy(all + rank - 2, sizes + t->rank - 2, 2 * sizeof *all);
  RUSH_TRY(new_wide(c, t, rank, all, out));
  return rush_tensor_copy(c->heap, *out, turned);
}

static rush_status columns_of(rush_call *c, const rush_tensor *t, rush_tensor **out) {
  return wide_columns(c, t, t->rank, t->sizes, false, out);
}

/* Returns the column-major matrices of `wide` as result i. */
static rush_status return_columns(rush_call *c, uint32_t i, rush_dtype dtype, rush_tensor *wide) {
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  rush_tensor *base;
  RUSH_TRY(rush_take_stop(c->ctx));
  RUSH_TRY(tmp_to(c, wide, dtype, &base));
  memcpy(sizes, base->sizes, sizeof sizes);
  memcpy(strides, base->strides, sizeof strides);
  swap_last(base->rank, sizes);
  swap_last(base->rank, strides);
  return rush_result_view(c, i, base, base->rank, sizes, strides, base->offset);
}

/* Returns the contiguous tensor `wide`, converted to dtype, as result i. */
static rush_status return_dense(rush_call *c, uint32_t i, rush_dtype dtype, rush_tensor *wide) {
  rush_tensor *out;
  RUSH_TRY(tmp_to(c, wide, dtype, &out));
  ret_tensor(c, i, rush_tensor_retain(out));
  return RUSH_OK;
}

static rush_status return_empty(rush_call *c, uint32_t i, rush_dtype dtype) {
  rush_tensor *out;
  return rush_result(c, i, dtype, 1, (const int64_t[]){0}, &out);
}

/* Returns a pointer to matrix k of `t`, where each matrix has `item` elements. */
static void *matrix(const rush_tensor *t, int64_t item, int64_t k) {
  return (char *)rush_data(t) + (size_t)(k * item) * rush_itemsize(t);
}

static rush_status new_info(rush_call *c, uint32_t i, const rush_tensor *t, int32_t **data) {
  rush_tensor *info;
  RUSH_TRY(rush_result(c, i, RUSH_INT32, t->rank - 2, t->sizes, &info));
  *data = rush_data(info);
  return rush_set_bytes(c->ctx, *data, 0, (size_t)info->numel * sizeof **data);
}

/* Raises the error of the first matrix whose info is not 0, if argument `check` is true. */
static rush_status check_info(rush_call *c, uint32_t check, const rush_tensor *t,
                              const int32_t *info, bool lu) {
  char where[48] = "";
  RUSH_TRY(rush_take_stop(c->ctx));
  for (int64_t k = 0; arg_bool(c, check) && k < count_of(t); k++) {
    RUSH_TRY(rush_charge_steps(c->ctx, k, count_of(t)));
    if (info[k] == 0) continue;
    if (t->rank > 2) snprintf(where, sizeof where, "(Batch element %lld): ", (long long)k);
    RUSH_CHECK_ARG(
        !lu,
        "torch.linalg.lu_factor_ex: %sU[%d,%d] is zero and using it on lu_solve would result "
        "in a division by zero. If you still want to perform the factorization, consider "
        "calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
        where, info[k], info[k]);
    RUSH_CHECK_ARG(
        lu,
        "linalg.cholesky_ex: %sThe factorization could not be completed because the input is "
        "not positive-definite (the leading minor of order %d is not positive-definite).",
        where, info[k]);
  }
  return RUSH_OK;
}

/* A, pivot, check_errors */
RUSH_OP(linalg_lu_factor_ex) {
  rush_tensor *self = arg_tensor(c, 0), *a, *pivots;
  int64_t sizes[RUSH_MAX_RANK];
  int32_t *info;
  RUSH_TRY(need_matrices(c, self, "torch.lu_factor", "lu_cpu"));
  RUSH_CHECK_ARG(arg_bool(c, 1),
                 "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  const int64_t m = self->sizes[self->rank - 2], n = self->sizes[self->rank - 1];
  memcpy(sizes, self->sizes, sizeof sizes);
  sizes[self->rank - 2] = m < n ? m : n;
  RUSH_TRY(columns_of(c, self, &a));
  RUSH_TRY(rush_result(c, 1, RUSH_INT32, self->rank - 1, sizes, &pivots));
  RUSH_TRY(new_info(c, 2, self, &info));
  for (int64_t k = 0; k < count_of(a) && !rush_should_stop(c->ctx, 16); k++)
    info[k] = BY_DTYPE(rush_lu, a, c->ctx, m, n, matrix(a, m * n, k),
                       (int32_t *)rush_data(pivots) + k * (m < n ? m : n));
  RUSH_TRY(check_info(c, 2, a, info, true));
  return return_columns(c, 0, self->dtype, a);
}

/* self, upper, check_errors. The other triangle is not read. */
RUSH_OP(linalg_cholesky_ex) {
  rush_tensor *self = arg_tensor(c, 0), *a;
  const bool upper = arg_bool(c, 1);
  int32_t *info;
  RUSH_TRY(need_matrices(c, self, "linalg.cholesky", "cholesky_cpu"));
  RUSH_TRY(need_square(c, self, "linalg.cholesky"));
  const int64_t n = self->sizes[self->rank - 1];
  /* U^H U = A is equivalent to L L^H = A^T with L = U^T. */
  RUSH_TRY(wide_columns(c, self, self->rank, self->sizes, upper, &a));
  RUSH_TRY(new_info(c, 1, self, &info));
  for (int64_t k = 0; k < count_of(a) && !rush_should_stop(c->ctx, 16); k++)
    info[k] = BY_DTYPE(rush_cholesky, a, c->ctx, n, matrix(a, n * n, k));
  RUSH_TRY(check_info(c, 2, a, info, false));
  /* Both forms are column-major in PyTorch. */
  if (upper) RUSH_TRY(columns_of(c, a, &a));
  return return_columns(c, 0, self->dtype, a);
}

/* self, B, upper, left, unitriangular */
RUSH_OP(linalg_solve_triangular) {
  rush_tensor *self = arg_tensor(c, 0), *right = arg_tensor(c, 1), *a, *b;
  const bool upper = arg_bool(c, 2), left = arg_bool(c, 3);
  int64_t batch[RUSH_MAX_RANK];
  int rank;
  RUSH_TRY(need_matrices(c, self, "linalg.solve_triangular", "triangular_solve_cpu"));
  RUSH_TRY(need_matrices(c, right, "linalg.solve_triangular", "triangular_solve_cpu"));
  RUSH_TRY(need_square(c, self, "linalg.solve_triangular"));
  RUSH_CHECK_ARG(
      self->dtype == right->dtype,
      "linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type "
      "%s and B of type %s instead",
      rush_dtype_torch_name(self->dtype), rush_dtype_torch_name(right->dtype));
  const int64_t n = self->sizes[self->rank - 1];
  const int64_t *last = right->sizes + right->rank - 2;
  RUSH_CHECK_ARG(n == last[left ? 0 : 1],
                 "linalg.solve_triangular: Incompatible shapes of A and B for the equation %s "
                 "(%lldx%lld and %lldx%lld)",
                 left ? "AX = B" : "XA = B", (long long)n, (long long)n, (long long)last[0],
                 (long long)last[1]);
  RUSH_CHECK_ARG(
      rush_broadcast(self->rank - 2, self->sizes, right->rank - 2, right->sizes, &rank, batch),
      "The batch dimensions of A and B must be broadcastable");
  rank += 2;
  RUSH_TRY(wide_columns(c, self, rank, batch, !left, &a));
  RUSH_TRY(wide_columns(c, right, rank, batch, !left, &b));
  const int64_t columns = last[left ? 1 : 0];
  for (int64_t k = 0; k < count_of(b) && !rush_should_stop(c->ctx, 16); k++)
    BY_DTYPE(rush_solve_triangle, a, c->ctx, n, columns, matrix(a, n * n, k), upper == left,
             arg_bool(c, 4), matrix(b, n * columns, k));
  if (!left) RUSH_TRY(columns_of(c, b, &b));
  return return_columns(c, 0, self->dtype, b);
}

/* self */
RUSH_OP(geqrf) {
  rush_tensor *self = arg_tensor(c, 0), *a, *tau;
  int64_t sizes[RUSH_MAX_RANK];
  RUSH_TRY(need_matrices(c, self, "torch.geqrf", "geqrf_cpu"));
  const int64_t m = self->sizes[self->rank - 2], n = self->sizes[self->rank - 1];
  const int64_t short_side = m < n ? m : n;
  memcpy(sizes, self->sizes, sizeof sizes);
  sizes[self->rank - 2] = short_side;
  RUSH_TRY(columns_of(c, self, &a));
  RUSH_TRY(new_wide(c, self, self->rank - 1, sizes, &tau));
  for (int64_t k = 0; k < count_of(a) && !rush_should_stop(c->ctx, 16); k++)
    BY_DTYPE(rush_qr, a, c->ctx, m, n, matrix(a, m * n, k), matrix(tau, short_side, k));
  RUSH_TRY(return_dense(c, 1, self->dtype, tau));
  return return_columns(c, 0, self->dtype, a);
}

static void conjugate(rush_ctx *ctx, rush_tensor *t) {
  double complex *numbers = rush_data(t);
  for (int64_t k = 0; rush_is_complex(t->dtype) && k < t->numel && !rush_stops_at_step(ctx, k); k++)
    numbers[k] = conj(numbers[k]);
}

/* self, input2, input3, left, transpose */
RUSH_OP(ormqr) {
  rush_tensor *self = arg_tensor(c, 0), *scales = arg_tensor(c, 1), *other = arg_tensor(c, 2);
  rush_tensor *a, *tau, *b;
  const bool left = arg_bool(c, 3), adjoint = arg_bool(c, 4) == left;
  RUSH_TRY(need_matrices(c, self, "torch.ormqr", "ormqr_cpu"));
  RUSH_TRY(need_matrices(c, other, "torch.ormqr", "ormqr_cpu"));
  const int64_t m = self->sizes[self->rank - 2], *last = other->sizes + other->rank - 2;
  const int64_t n = self->sizes[self->rank - 1], columns = last[left ? 1 : 0];
  RUSH_CHECK_ARG(
      scales->rank == self->rank - 1 && other->rank == self->rank,
      "torch.ormqr: Expected tau to have one dimension less than input, and other as many");
  const int64_t k = scales->sizes[scales->rank - 1];
  RUSH_CHECK_ARG(
      last[left ? 0 : 1] == m && k <= n && k <= m,
      "torch.ormqr: other.shape[%d] must be equal to input.shape[-2], and tau.shape[-1] at "
      "most as large as input.shape",
      left ? -2 : -1);
  for (int d = 0; d < self->rank - 2; d++)
    RUSH_CHECK_ARG(
        self->sizes[d] == scales->sizes[d] && self->sizes[d] == other->sizes[d],
        "torch.ormqr: Expected batch dimensions of tau and other to be equal to those of input");
  RUSH_CHECK_ARG(self->dtype == scales->dtype && self->dtype == other->dtype,
                 "torch.ormqr: Expected input, tau and other to have the same dtype");
  RUSH_TRY(columns_of(c, self, &a));
  RUSH_TRY(new_wide(c, self, scales->rank, scales->sizes, &tau));
  RUSH_TRY(rush_tensor_copy(c->heap, tau, scales));
  RUSH_TRY(wide_columns(c, other, other->rank, other->sizes, !left, &b));
  if (!left) { /* C Q is the transpose of Q^T C^T, and Q^T is Q^H of the conjugates. */
    conjugate(c->ctx, a);
    conjugate(c->ctx, tau);
  }
  for (int64_t i = 0; i < count_of(b) && !rush_should_stop(c->ctx, 16); i++)
    BY_DTYPE(rush_reflect, a, c->ctx, m, k, matrix(a, m * n, i), matrix(tau, k, i), adjoint,
             columns, matrix(b, m * columns, i));
  if (!left) RUSH_TRY(columns_of(c, b, &b));
  return return_columns(c, 0, self->dtype, b);
}

/* Overwrites the other triangle of each matrix a[n][n], so that the matrix is Hermitian. */
static void mirror(rush_ctx *ctx, rush_tensor *a, int64_t n, bool upper) {
  const size_t item = rush_itemsize(a);
  char *data = rush_data(a);
  for (int64_t k = 0; k < count_of(a); k++, data += (size_t)(n * n) * item)
    for (int64_t j = 0; j < n && !rush_should_stop(ctx, 4 * (uint64_t)n); j++)
      for (int64_t i = 0; i <= j; i++) {
        char *above = data + (size_t)(i + j * n) * item, *below = data + (size_t)(j + i * n) * item;
        memcpy(upper ? below : above, upper ? above : below, item);
        if (!rush_is_complex(a->dtype)) continue;
        double *imaginary = (double *)(void *)(upper ? below : above) + 1;
        *imaginary = i == j ? 0 : -*imaginary;
      }
}

/* A, UPLO, compute_v */
RUSH_OP(linalg_eigh) {
  rush_tensor *self = arg_tensor(c, 0), *a, *v = NULL, *values;
  const char *side = arg_str(c, 1)->bytes;
  const bool upper = side[0] == 'U' || side[0] == 'u';
  RUSH_TRY(need_matrices(c, self, "linalg.eigh", "linalg_eigh_cpu"));
  RUSH_TRY(need_square(c, self, "linalg.eigh"));
  RUSH_CHECK_ARG((upper || side[0] == 'L' || side[0] == 'l') && side[1] == 0,
                 "Expected UPLO argument to be 'L' or 'U', but got %s", side);
  const int64_t n = self->sizes[self->rank - 1];
  RUSH_TRY(columns_of(c, self, &a));
  RUSH_TRY(tmp_new(c, RUSH_FLOAT64, self->rank - 1, self->sizes, &values));
  if (arg_bool(c, 2)) RUSH_TRY(new_wide(c, a, a->rank, a->sizes, &v));
  mirror(c->ctx, a, n, upper);
  for (int64_t k = 0; k < count_of(a) && !rush_should_stop(c->ctx, 16); k++)
    BY_DTYPE(rush_eigh, a, c->ctx, n, matrix(a, n * n, k), matrix(values, n, k),
             v ? matrix(v, n * n, k) : NULL);
  RUSH_TRY(return_dense(c, 0, rush_real_dtype(self->dtype), values));
  if (!v) return return_empty(c, 1, self->dtype);
  return return_columns(c, 1, self->dtype, v);
}

static bool is_finite(rush_ctx *ctx, const rush_tensor *t) {
  const double *data = rush_data(t);
  const int64_t n = t->numel * (rush_is_complex(t->dtype) ? 2 : 1);
  for (int64_t k = 0; k < n && !rush_stops_at_step(ctx, k); k++)
    if (data[k] - data[k] != 0) return false;
  return true;
}

/* Returns the number of matrices. Those without elements still have factors U and V. */
static int64_t matrices_of(const rush_tensor *t) {
  int64_t count = 1;
  for (int d = 0; d < t->rank - 2; d++) count *= t->sizes[d];
  return count;
}

static rush_status return_factors(rush_call *c, rush_tensor *left, rush_tensor *right) {
  /* The rows of Vh are the conjugates of V's columns. PyTorch returns Vh column-major. */
  rush_tensor *turned;
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  conjugate(c->ctx, right);
  RUSH_TRY(wide_columns(c, right, right->rank, right->sizes, false, &turned));
  RUSH_TRY(return_columns(c, 0, dtype, left));
  return return_columns(c, 2, dtype, turned);
}

/* A, full_matrices, compute_uv, driver */
RUSH_OP(linalg_svd) {
  rush_tensor *self = arg_tensor(c, 0), *a, *u = NULL, *v = NULL, *values, *work = NULL;
  const bool all = arg_bool(c, 1);
  RUSH_TRY(need_matrices(c, self, "linalg.svd", "svd_cpu"));
  RUSH_CHECK_ARG(
      arg_is_none(c, 3),
      "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
      "cuSOLVER backend.");
  int64_t sizes[RUSH_MAX_RANK];
  const int rank = self->rank;
  const bool wide = self->sizes[rank - 2] < self->sizes[rank - 1];
  /* A wide matrix is factored through A^H, which swaps the roles of U and V. */
  RUSH_TRY(wide_columns(c, self, rank, self->sizes, wide, &a));
  if (wide) conjugate(c->ctx, a);
  RUSH_CHECK_ARG(is_finite(c->ctx, a),
                 "linalg.svd: The algorithm failed to converge because the input matrix contained "
                 "non-finite values.");
  const int64_t m = a->sizes[rank - 1], n = a->sizes[rank - 2], n_u = all ? m : n;
  memcpy(sizes, a->sizes, sizeof sizes);
  RUSH_TRY(tmp_new(c, RUSH_FLOAT64, rank - 1, sizes, &values));
  if (arg_bool(c, 2)) {
    sizes[rank - 2] = n_u;
    RUSH_TRY(new_wide(c, a, rank, sizes, &u));
    sizes[rank - 2] = sizes[rank - 1] = n;
    RUSH_TRY(new_wide(c, a, rank, sizes, &v));
    RUSH_TRY(new_wide(c, a, 2, (const int64_t[]){n + 1, m}, &work));
  }
  const int64_t count = matrices_of(a);
  for (int64_t k = 0; k < count && !rush_should_stop(c->ctx, 64); k++)
    BY_DTYPE(rush_svd, a, c->ctx, m, n, all, matrix(a, m * n, k), matrix(values, n, k),
             u ? matrix(u, m * n_u, k) : NULL, v ? matrix(v, n * n, k) : NULL,
             work ? rush_data(work) : NULL);
  RUSH_TRY(return_dense(c, 1, rush_real_dtype(self->dtype), values));
  if (!u) {
    RUSH_TRY(return_empty(c, 0, self->dtype));
    return return_empty(c, 2, self->dtype);
  }
  return return_factors(c, wide ? v : u, wide ? u : v);
}

/* self. Eigenvectors are computed if there is a second result. */
RUSH_OP(linalg_eig) {
  rush_tensor *self = arg_tensor(c, 0), *wide, *a, *values, *v = NULL, *work = NULL;
  const rush_dtype dtype = rush_promote(self->dtype, RUSH_COMPLEX64);
  RUSH_TRY(need_matrices(c, self, "linalg.eig", "linalg_eig_out_cpu"));
  RUSH_TRY(need_square(c, self, "linalg.eig"));
  const int64_t n = self->sizes[self->rank - 1];
  RUSH_TRY(tmp_to(c, self, RUSH_COMPLEX128, &wide));
  RUSH_TRY(columns_of(c, wide, &a));
  RUSH_CHECK_ARG(is_finite(c->ctx, a),
                 "torch.linalg.eig: input tensor should not contain infs or NaNs.");
  RUSH_TRY(tmp_new(c, RUSH_COMPLEX128, self->rank - 1, self->sizes, &values));
  if (c->n_results == 2) {
    RUSH_TRY(new_wide(c, a, a->rank, a->sizes, &v));
    RUSH_TRY(new_wide(c, a, 2, (const int64_t[]){n + 1, n}, &work));
  }
  for (int64_t k = 0; k < count_of(a) && !rush_should_stop(c->ctx, 16); k++) {
    const bool found = rush_eig(c->ctx, n, matrix(a, n * n, k), matrix(values, n, k),
                                v ? matrix(v, n * n, k) : NULL, v ? rush_data(work) : NULL);
    RUSH_TRY(rush_take_stop(c->ctx));
    RUSH_CHECK_ARG(
        found,
        "linalg.eig: (Batch element %lld): The algorithm failed to converge because the input "
        "matrix is ill-conditioned or has too many repeated eigenvalues.",
        (long long)k);
  }
  RUSH_TRY(return_dense(c, 0, dtype, values));
  return v ? return_columns(c, 1, dtype, v) : RUSH_OK;
}

/* self, hermitian, check_errors. The upper triangle is not read. */
RUSH_OP(linalg_ldl_factor_ex) {
  rush_tensor *self = arg_tensor(c, 0), *a, *pivots;
  int32_t *info;
  RUSH_TRY(need_matrices(c, self, "torch.linalg.ldl_factor_ex", "ldl_factor_kernel_cpu"));
  RUSH_TRY(need_square(c, self, "torch.linalg.ldl_factor_ex"));
  const int64_t n = self->sizes[self->rank - 1];
  RUSH_TRY(columns_of(c, self, &a));
  RUSH_TRY(rush_result(c, 1, RUSH_INT32, self->rank - 1, self->sizes, &pivots));
  RUSH_TRY(new_info(c, 2, self, &info));
  for (int64_t k = 0; k < count_of(a) && !rush_should_stop(c->ctx, 16); k++) {
    for (int64_t i = 0; i < n; i++) /* the upper triangle is 0 */
      RUSH_TRY(rush_set_bytes(c->ctx, matrix(a, n, k * n + i), 0, (size_t)i * rush_itemsize(a)));
    info[k] = BY_DTYPE(rush_ldl, a, c->ctx, n, arg_bool(c, 1), matrix(a, n * n, k),
                       (int32_t *)rush_data(pivots) + k * n);
    RUSH_CHECK_ARG(!arg_bool(c, 2) || info[k] == 0,
                   "torch.linalg.ldl_factor_ex: (Batch element %lld): D[%d,%d] is zero",
                   (long long)k, info[k], info[k]);
  }
  return return_columns(c, 0, self->dtype, a);
}

/* LD, pivots, B, hermitian */
RUSH_OP(linalg_ldl_solve) {
  rush_tensor *self = arg_tensor(c, 0), *given = arg_tensor(c, 1), *right = arg_tensor(c, 2);
  rush_tensor *a, *pivots, *b;
  int64_t batch[RUSH_MAX_RANK];
  int rank;
  RUSH_TRY(need_matrices(c, self, "torch.linalg.ldl_solve", "ldl_solve_kernel_cpu"));
  RUSH_TRY(need_square(c, self, "torch.linalg.ldl_solve"));
  RUSH_CHECK_ARG(right->rank >= 2,
                 "torch.linalg.ldl_solve: Expected B to have at least 2 dimensions");
  RUSH_CHECK_ARG(given->dtype == RUSH_INT32 || given->dtype == RUSH_INT64,
                 "torch.linalg.ldl_solve: Expected pivots to be integers. Got %s",
                 rush_dtype_torch_name(given->dtype));
  RUSH_CHECK_ARG(self->dtype == right->dtype,
                 "torch.linalg.ldl_solve: LD dtype %s does not match b dtype %s",
                 rush_dtype_torch_name(self->dtype), rush_dtype_torch_name(right->dtype));
  const int64_t n = self->sizes[self->rank - 1], *last = right->sizes + right->rank - 2;
  RUSH_CHECK_ARG(
      given->rank == self->rank - 1 &&
          memcmp(given->sizes, self->sizes, (size_t)given->rank * sizeof *given->sizes) == 0,
      "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same");
  RUSH_CHECK_ARG(last[0] == n && rush_broadcast(self->rank - 2, self->sizes, right->rank - 2,
                                                right->sizes, &rank, batch),
                 "torch.linalg.ldl_solve: Incompatible shapes of LD and B");
  rank += 2;
  RUSH_TRY(wide_columns(c, self, rank, batch, false, &a));
  RUSH_TRY(wide_columns(c, right, rank, batch, false, &b));
  batch[rank - 2] = n;
  RUSH_TRY(tmp_new(c, RUSH_INT32, rank - 1, batch, &pivots));
  RUSH_TRY(rush_tensor_copy(c->heap, pivots, given));
  const int32_t *data = rush_data(pivots);
  for (int64_t k = 0; k < pivots->numel; k++) {
    RUSH_TRY(rush_charge_steps(c->ctx, k, pivots->numel));
    RUSH_CHECK_ARG(data[k] != 0 && data[k] <= n && data[k] >= -n,
                   "a pivot must name one of %lld rows, got %d", (long long)n, data[k]);
  }
  for (int64_t k = 0; k < count_of(b) && !rush_should_stop(c->ctx, 16); k++)
    BY_DTYPE(rush_ldl_solve, a, c->ctx, n, arg_bool(c, 3), matrix(a, n * n, k), data + k * n,
             last[1], matrix(b, n * last[1], k));
  return return_columns(c, 0, right->dtype, b);
}
