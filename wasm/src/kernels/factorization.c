/* One implementation serves real and complex matrices. */
#include "kernels/factorization.h"

#include <float.h>
#include <math.h>

#include "base/base.h"

enum {
  MAX_SWEEPS = 60, /* of Jacobi rotations; ten is already unusual */
  MAX_STEPS = 40,  /* QR steps per eigenvalue; three is already unusual */
};

enum { WORK = 8 }; /* of one vector, besides its elements */

/* Elements r of x[n] in pieces, between which the host may stop the run: PIECES(n) EACH(r) x[r] */
#define PIECES(n) \
  for (size_t at = 0, some; rush_next_piece(ctx, (size_t)(n), 1, at, &some); at += some)
#define EACH(r) for (size_t r = at; r < at + some; r++)

#define NUM double
#define NAME(name) name##_f64
#define CONJ(x) (x)
#define REAL(x) (x)
#define SIZE(x) fabs(x)
#define PIVOT_SIZE(x) fabs(x)
#include "kernels/factorization_impl.h"
#undef NUM
#undef NAME
#undef CONJ
#undef REAL
#undef SIZE
#undef PIVOT_SIZE

#define NUM double complex
#define NAME(name) name##_c128
#define CONJ(x) conj(x)
#define REAL(x) creal(x)
#define SIZE(x) cabs(x)
#define PIVOT_SIZE(x) (fabs(creal(x)) + fabs(cimag(x))) /* as in LAPACK */
#include "kernels/factorization_impl.h"

/* ---- Eigenvalues of a general matrix: Schur form a = u t u^H by QR steps --------------------- */

/* Applies the rotation that makes y zero, for x and y in one column of rows p and q of a[n][n]. It
 * is also applied to the columns of a and of u[n][n] (or NULL), so that the eigenvalues do not
 * change. */
static void turn(struct rush_ctx *ctx, int64_t n, double complex *a, double complex *u, int64_t p,
                 int64_t q, double complex x, double complex y) {
  const double size_x = cabs(x), size_y = cabs(y), size = hypot(size_x, size_y);
  if (size_y == 0) return;
  const double c = size_x / size, s = size_y / size;
  const double complex by = size_x == 0 ? 1 : -(x / size_x) * conj(y / size_y);
  rotate_c128(ctx, n, n, c, s, by, a + p, a + q);
  rotate_c128(ctx, n, 1, c, s, conj(by), a + p * n, a + q * n);
  if (u) rotate_c128(ctx, n, 1, c, s, conj(by), u + p * n, u + q * n);
}

/* Returns the eigenvalue of the trailing 2x2 block at `last` that is closer to its last element
 * (Wilkinson shift). */
static double complex shift_of(int64_t n, const double complex *a, int64_t last) {
  const double complex p = a[(last - 1) * (n + 1)], q = a[last * (n + 1)];
  const double complex half = (p - q) / 2;
  const double complex root =
      csqrt(half * half + a[last - 1 + last * n] * a[last + (last - 1) * n]);
  const double complex one = half + root, other = half - root;
  return q + (cabs(one) < cabs(other) ? one : other);
}

/* Performs one QR step on rows `first` to `last`. */
static void qr_step(struct rush_ctx *ctx, int64_t n, double complex *a, double complex *u,
                    int64_t first, int64_t last, double complex shift) {
  turn(ctx, n, a, u, first, first + 1, a[first * (n + 1)] - shift, a[first + 1 + first * n]);
  /* Chases the bulge below the subdiagonal downwards. */
  for (int64_t k = first; k + 2 <= last; k++) {
    if (rush_should_stop(ctx, WORK)) return;
    turn(ctx, n, a, u, k + 1, k + 2, a[k + 1 + k * n], a[k + 2 + k * n]);
    a[k + 2 + k * n] = 0;
  }
}

static bool schur(struct rush_ctx *ctx, int64_t n, double complex *a, double complex *u) {
  int steps = 0;
  for (int64_t k = 0; k < n; k++)
    for (int64_t r = n - 1; r > k + 1; r--) {
      if (rush_should_stop(ctx, (uint64_t)n)) return false;
      turn(ctx, n, a, u, r - 1, r, a[r - 1 + k * n], a[r + k * n]);
      a[r + k * n] = 0;
    }
  for (int64_t last = n - 1; last > 0; steps++) {
    int64_t first = last;
    for (; first > 0 && !rush_should_stop(ctx, WORK); first--) {
      double complex *below = &a[first + (first - 1) * n];
      const double beside = cabs(a[first * (n + 1)]) + cabs(a[(first - 1) * (n + 1)]);
      if (cabs(*below) > DBL_EPSILON * beside) continue;
      *below = 0;
      break;
    }
    if (first == last) {
      last--;
      steps = -1;
      continue;
    }
    if (steps == MAX_STEPS || ctx->stopped) return false;
    const double complex shift =
        steps % 10 == 9 ? a[last * (n + 1)] + cabs(a[last + (last - 1) * n]) : shift_of(n, a, last);
    qr_step(ctx, n, a, u, first, last, shift);
  }
  return true;
}

/* Computes the eigenvector v of eigenvalue k from the Schur form t and u. x[n] is scratch. */
static void take_vector(struct rush_ctx *ctx, int64_t n, const double complex *t,
                        const double complex *u, int64_t k, double least, double complex *x,
                        double complex *v) {
  double complex most = 0;
  for (int64_t i = k; i >= 0; i--) {
    double complex sum = i == k;
    if (rush_should_stop(ctx, (uint64_t)n)) return;
    for (int64_t j = i + 1; j <= k; j++) sum -= t[i + j * n] * x[j];
    const double complex apart = t[i * (n + 1)] - t[k * (n + 1)];
    x[i] = i == k ? 1 : sum / (cabs(apart) < least ? least : apart);
  }
  for (int64_t r = 0; r < n; r++) {
    if (rush_should_stop(ctx, (uint64_t)n)) return;
    v[r] = 0;
    for (int64_t j = 0; j <= k; j++) v[r] += u[r + j * n] * x[j];
    if (cabs(v[r]) > cabs(most)) most = v[r];
  }
  for (int64_t r = 0; r < n; r++) v[r] *= conj(most) / cabs(most);
  const double size = sqrt(square_of_c128(ctx, n, v));
  for (int64_t r = 0; r < n; r++) v[r] = creal(v[r]) / size + I * (cimag(v[r]) / size);
}

bool rush_eig(struct rush_ctx *ctx, int64_t n, double complex *a, double complex *values,
              double complex *v, double complex *work) {
  const double least = sqrt(square_of_c128(ctx, n * n, a)) * DBL_EPSILON;
  double complex *u = v ? work : NULL;
  if (v) set_unit_c128(ctx, n, u);
  if (!schur(ctx, n, a, u)) return false;
  for (int64_t k = 0; k < n; k++) {
    values[k] = a[k * (n + 1)];
    if (v) take_vector(ctx, n, a, u, k, fmax(least, DBL_MIN), work + n * n, v + k * n);
    if (ctx->stopped) return false;
  }
  return true;
}
