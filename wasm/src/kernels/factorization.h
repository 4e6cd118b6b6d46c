/* Factors of matrices, in double and complex double (_f64, _c128). A matrix of m rows lies column by
 * column: element (r, k) is at r + k * m. All leave off where the host wants to stop; what they have
 * written then means nothing. */
#ifndef RUSH_FACTORIZATION_H
#define RUSH_FACTORIZATION_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

struct rush_ctx;

#define RUSH_FACTORIZATIONS(NUM, S)                                                                         \
  /* a[m][n] becomes L (whose diagonal is 1) and U; pivots[min(m, n)], from 1: row k was swapped   \
   * with pivots[k]. Gives the first k, from 1, with U[k][k] = 0, or 0. */        \
  int32_t rush_lu_##S(struct rush_ctx *ctx, int64_t m, int64_t n, NUM *a, int32_t *pivots);                 \
  /* The lower triangle of a[n][n] becomes L with L L^H = a, the other 0. Gives the first k, from 1, \
   * whose leading minor is not positive, or 0. */      \
  int32_t rush_cholesky_##S(struct rush_ctx *ctx, int64_t n, NUM *a);                                       \
  /* b[n][columns] becomes a^-1 b; `unit`: the diagonal counts as 1. */                                     \
  void rush_solve_triangle_##S(struct rush_ctx *ctx, int64_t n, int64_t columns, const NUM *a,              \
                               bool upper, bool unit, NUM *b);                                              \
  /* a[m][n] becomes R and, below the diagonal, Householder's vectors; tau[min(m, n)]. */                   \
  void rush_qr_##S(struct rush_ctx *ctx, int64_t m, int64_t n, NUM *a, NUM *tau);                           \
  /* b[m][columns] becomes Q b, or Q^H b, of k of those vectors. */                                         \
  void rush_reflect_##S(struct rush_ctx *ctx, int64_t m, int64_t k, const NUM *a, const NUM *tau,           \
                        bool adjoint, int64_t columns, NUM *b);                                             \
  /* The lower triangle of a[n][n], symmetric or, if `hermitian`, so, becomes L and the blocks of D with  \
   * L D L^T = a, as Bunch and Kaufman pivot: where pivots[k] > 0 (from 1) row k was swapped with it; \
   * where pivots[k] = pivots[k + 1] < 0 the block has two rows, and k + 1 was swapped with -pivots[k]. \
   * Gives the first k, from 1, with D[k][k] = 0, or 0. */ \
  int32_t rush_ldl_##S(struct rush_ctx *ctx, int64_t n, bool hermitian, NUM *a, int32_t *pivots);           \
  /* b[n][columns] becomes a^-1 b; every pivot is in -n..n, and not 0. */                                   \
  void rush_ldl_solve_##S(struct rush_ctx *ctx, int64_t n, bool hermitian, const NUM *a,                    \
                          const int32_t *pivots, int64_t columns, NUM *b);                                  \
  /* Eigenvalues of a Hermitian a[n][n], rising, and their vectors, v[n][n] or NULL. Destroys a. */         \
  void rush_eigh_##S(struct rush_ctx *ctx, int64_t n, NUM *a, double *values, NUM *v);                      \
  /* Singular values of a[m][n], m >= n, falling; where v[n][n] is not NULL, u[m][all ? m : n] and v \
   * of a = u diag(values) v^H; work[m + n * m]. Destroys a. */      \
  void rush_svd_##S(struct rush_ctx *ctx, int64_t m, int64_t n, bool all, NUM *a, double *values,           \
                    NUM *u, NUM *v, NUM *work);
RUSH_FACTORIZATIONS(double, f64)
RUSH_FACTORIZATIONS(double complex, c128)

/* Eigenvalues of a[n][n] and, where v[n][n] is not NULL, their vectors, of length 1 and real where they
 * are largest; work[n * (n + 1)]. Destroys a. False where they are not found. */
bool rush_eig(struct rush_ctx *ctx, int64_t n, double complex *a, double complex *values,
              double complex *v, double complex *work);

#endif
