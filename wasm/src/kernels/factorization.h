/* Matrix factorizations in double and complex double (_f64, _c128). Matrices are column-major:
 * element (r, k) of a matrix with m rows is at r + k * m. All functions stop early on a stop
 * request; their output is then meaningless. */
#ifndef RUSH_FACTORIZATION_H
#define RUSH_FACTORIZATION_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

struct rush_ctx;

#define RUSH_FACTORIZATIONS(NUM, S)                                                               \
  /* Factors a[m][n] into L (unit diagonal) and U in place. pivots[min(m, n)] is one-based: */    \
  /* row k was swapped with pivots[k]. Returns the first one-based k with U[k][k] = 0, or 0. */   \
  int32_t rush_lu_##S(struct rush_ctx *ctx, int64_t m, int64_t n, NUM *a, int32_t *pivots);       \
  /* Replaces the lower triangle of a[n][n] by L with L L^H = a, and zeros the other. Returns */  \
  /* the first one-based k whose leading minor is not positive, or 0. */                          \
  int32_t rush_cholesky_##S(struct rush_ctx *ctx, int64_t n, NUM *a);                             \
  /* Replaces b[n][columns] by a^-1 b. `unit`: the diagonal counts as 1. */                       \
  void rush_solve_triangle_##S(struct rush_ctx *ctx, int64_t n, int64_t columns, const NUM *a,    \
                               bool upper, bool unit, NUM *b);                                    \
  /* Replaces a[m][n] by R and, below the diagonal, Householder vectors; tau[min(m, n)]. */       \
  void rush_qr_##S(struct rush_ctx *ctx, int64_t m, int64_t n, NUM *a, NUM *tau);                 \
  /* Replaces b[m][columns] by Q b, or Q^H b, where Q has k of those vectors. */                  \
  void rush_reflect_##S(struct rush_ctx *ctx, int64_t m, int64_t k, const NUM *a, const NUM *tau, \
                        bool adjoint, int64_t columns, NUM *b);                                   \
  /* Factors a[n][n], symmetric or Hermitian, with L D L^T = a (Bunch-Kaufman pivoting). Only */  \
  /* the lower triangle is read; it receives L and the blocks of D. If pivots[k] > 0 */           \
  /* (one-based), row k was swapped with it. If pivots[k] = pivots[k + 1] < 0, the block has */   \
  /* two rows, and row k + 1 was swapped with -pivots[k]. Returns the first one-based k with */   \
  /* D[k][k] = 0, or 0. */                                                                        \
  int32_t rush_ldl_##S(struct rush_ctx *ctx, int64_t n, bool hermitian, NUM *a, int32_t *pivots); \
  /* Replaces b[n][columns] by a^-1 b. Every pivot must be in -n..n and not 0. */                 \
  void rush_ldl_solve_##S(struct rush_ctx *ctx, int64_t n, bool hermitian, const NUM *a,          \
                          const int32_t *pivots, int64_t columns, NUM *b);                        \
  /* Computes the ascending eigenvalues of a Hermitian a[n][n], and their vectors v[n][n], */     \
  /* which may be NULL. Destroys a. */                                                            \
  void rush_eigh_##S(struct rush_ctx *ctx, int64_t n, NUM *a, double *values, NUM *v);            \
  /* Computes the descending singular values of a[m][n], m >= n. If v[n][n] is not NULL, also */  \
  /* computes u[m][all ? m : n] and v: a = u diag(values) v^H. work[m + n * m]. Destroys a. */    \
  void rush_svd_##S(struct rush_ctx *ctx, int64_t m, int64_t n, bool all, NUM *a, double *values, \
                    NUM *u, NUM *v, NUM *work);
RUSH_FACTORIZATIONS(double, f64)
RUSH_FACTORIZATIONS(double complex, c128)

/* Computes the eigenvalues of a[n][n]. If v[n][n] is not NULL, also computes eigenvectors of length
 * 1 whose largest element is real. work[n * (n + 1)]. Destroys a. Returns false if it does not
 * converge. */
bool rush_eig(struct rush_ctx *ctx, int64_t n, double complex *a, double complex *values,
              double complex *v, double complex *work);

#endif
