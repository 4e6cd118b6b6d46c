/* The implementation for factorization.c, with elements of type NUM. Results are incomplete after a
 * stop request. */

/* y[n] -= by x */
static void NAME(subtract)(struct rush_ctx *ctx, int64_t n, NUM by, const NUM *x, NUM *y) {
  PIECES(n) EACH(r) y[r] -= by * x[r];
}
static void NAME(divide)(struct rush_ctx *ctx, int64_t n, NUM by, NUM *x) {
  PIECES(n) EACH(r) x[r] /= by;
}
static void NAME(swap)(struct rush_ctx *ctx, int64_t n, NUM *x, NUM *y) {
  PIECES(n) EACH(r) {
    const NUM kept = x[r];
    x[r] = y[r];
    y[r] = kept;
  }
}
/* Returns the squared norm of x[n]. */
static double NAME(square_of)(struct rush_ctx *ctx, int64_t n, const NUM *x) {
  double sum = 0;
  PIECES(n) EACH(r) sum += REAL(x[r] * CONJ(x[r]));
  return sum;
}
/* Returns the index of the largest of n elements that are `step` apart. */
static int64_t NAME(largest)(struct rush_ctx *ctx, int64_t n, int64_t step, const NUM *x) {
  int64_t best = 0;
  for (int64_t k = 1; k < n && !rush_stops_at_step(ctx, k); k++)
    if (PIVOT_SIZE(x[k * step]) > PIVOT_SIZE(x[best * step])) best = k;
  return best;
}

int32_t NAME(rush_lu)(struct rush_ctx *ctx, int64_t m, int64_t n, NUM *a, int32_t *pivots) {
  int32_t info = 0;
  for (int64_t k = 0; k < m && k < n; k++) {
    NUM *column = a + k * m;
    const int64_t best = k + NAME(largest)(ctx, m - k, 1, column + k);
    pivots[k] = (int32_t)best + 1;
    if (column[best] == 0) {
      if (info == 0) info = (int32_t)k + 1;
      continue;
    }
    for (int64_t j = 0; best != k && j < n && !rush_stops_at_step(ctx, j); j++) {
      const NUM kept = a[k + j * m];
      a[k + j * m] = a[best + j * m];
      a[best + j * m] = kept;
    }
    NAME(divide)(ctx, m - k - 1, column[k], column + k + 1);
    for (int64_t j = k + 1; j < n; j++) {
      NUM *other = a + j * m;
      if (rush_should_stop(ctx, WORK)) return info;
      NAME(subtract)(ctx, m - k - 1, other[k], column + k + 1, other + k + 1);
    }
  }
  return info;
}

int32_t NAME(rush_cholesky)(struct rush_ctx *ctx, int64_t n, NUM *a) {
  for (int64_t k = 0; k < n; k++) {
    NUM *column = a + k * n;
    for (int64_t j = 0; j < k; j++) {
      const NUM *earlier = a + j * n;
      if (rush_should_stop(ctx, WORK)) return 0;
      NAME(subtract)(ctx, n - k, CONJ(earlier[k]), earlier + k, column + k);
    }
    const double square = REAL(column[k]);
    if (!(square > 0)) return (int32_t)k + 1;
    column[k] = sqrt(square);
    NAME(divide)(ctx, n - k - 1, column[k], column + k + 1);
    for (int64_t r = 0; r < k; r++) column[r] = 0;
  }
  return 0;
}

void NAME(rush_solve_triangle)(struct rush_ctx *ctx, int64_t n, int64_t columns, const NUM *a,
                               bool upper, bool unit, NUM *b) {
  for (int64_t j = 0; j < columns; j++, b += n) {
    for (int64_t i = 0; i < n; i++) {
      const int64_t k = upper ? n - 1 - i : i, first = upper ? 0 : k + 1;
      const NUM *column = a + k * n;
      if (rush_should_stop(ctx, WORK)) return;
      if (!unit) b[k] /= column[k];
      NAME(subtract)(ctx, (upper ? k : n) - first, b[k], column + first, b + first);
    }
  }
}

/* Computes x -= tau v v^H x for x[n], where v[0] counts as 1. */
static void NAME(reflect_one)(struct rush_ctx *ctx, int64_t n, const NUM *v, NUM tau, NUM *x) {
  NUM sum = *x++;
  v++, n--;
  PIECES(n) EACH(r) sum += CONJ(v[r]) * x[r];
  sum *= tau;
  x[-1] -= sum;
  NAME(subtract)(ctx, n, sum, v, x);
}

void NAME(rush_qr)(struct rush_ctx *ctx, int64_t m, int64_t n, NUM *a, NUM *tau) {
  for (int64_t k = 0; k < m && k < n; k++) {
    NUM *v = a + k + k * m;
    const double rest = NAME(square_of)(ctx, m - k - 1, v + 1), first = REAL(v[0]);
    tau[k] = 0;
    if (rest == 0 && v[0] == first) continue;
    const double beta = copysign(sqrt(rest + NAME(square_of)(ctx, 1, v)), -first);
    const NUM scale = v[0] - beta;
    tau[k] = -scale / beta;
    NAME(divide)(ctx, m - k - 1, scale, v + 1);
    for (int64_t j = k + 1; j < n && !rush_should_stop(ctx, WORK); j++)
      NAME(reflect_one)(ctx, m - k, v, CONJ(tau[k]), a + k + j * m);
    v[0] = beta;
  }
}

void NAME(rush_reflect)(struct rush_ctx *ctx, int64_t m, int64_t k, const NUM *a, const NUM *tau,
                        bool adjoint, int64_t columns, NUM *b) {
  for (int64_t j = 0; j < columns; j++, b += m) {
    for (int64_t i = 0; i < k; i++) {
      const int64_t at = adjoint ? i : k - 1 - i;
      if (rush_should_stop(ctx, WORK)) return;
      NAME(reflect_one)(ctx, m - at, a + at + at * m, adjoint ? CONJ(tau[at]) : tau[at], b + at);
    }
  }
}

/* ---- L D L^T --------------------------------------------------------------------------------- */

/* Swaps rows and columns p < q of the trailing matrix from p on, which only stores its lower
 * triangle. */
static void NAME(swap_both)(struct rush_ctx *ctx, int64_t n, bool hermitian, NUM *a, int64_t p,
                            int64_t q) {
  NUM *at_p = a + p * n, *at_q = a + q * n;
  NAME(swap)(ctx, n - q - 1, at_p + q + 1, at_q + q + 1);
  for (int64_t j = p + 1; j <= q; j++) { /* the corner element is conjugated in place */
    const NUM old = at_p[j], other = j == q ? old : a[q + j * n];
    at_p[j] = hermitian ? CONJ(other) : other;
    if (j < q) a[q + j * n] = hermitian ? CONJ(old) : old;
  }
  const NUM old = at_p[p];
  at_p[p] = at_q[q];
  at_q[q] = old;
}

/* Returns the row to swap with the next pivot row, and sets *pair if the pivot block is 2x2. */
static int64_t NAME(ldl_pivot)(struct rush_ctx *ctx, int64_t n, const NUM *a, int64_t k,
                               bool *pair) {
  const double alpha = (1 + sqrt(17)) / 8, here = PIVOT_SIZE(a[k + k * n]);
  *pair = false;
  if (k + 1 == n) return k;
  const int64_t best = k + 1 + NAME(largest)(ctx, n - k - 1, 1, a + k + 1 + k * n);
  const double column = PIVOT_SIZE(a[best + k * n]);
  if (here >= alpha * column) return k;
  double row = PIVOT_SIZE(a[best + (k + NAME(largest)(ctx, best - k, n, a + best + k * n)) * n]);
  if (best + 1 < n) {
    const NUM *below = a + best + 1 + best * n;
    row = fmax(row, PIVOT_SIZE(below[NAME(largest)(ctx, n - best - 1, 1, below)]));
  }
  if (here >= alpha * column * (column / row)) return k;
  *pair = PIVOT_SIZE(a[best + best * n]) < alpha * row;
  return best;
}

/* Solves the 2x2 system with the matrix [[p, c'], [c, q]] for (x, y) in place. c' is c2: c or its
 * conjugate. */
static void NAME(solve_pair)(NUM p, NUM c, NUM c2, NUM q, NUM *x, NUM *y) {
  const double size = SIZE(c);
  const NUM whole = (p / size) * (q / size) - (c / size) * (c2 / size), old = *x;
  *x = ((q / size) * old - (c2 / size) * *y) / whole / size;
  *y = ((p / size) * *y - (c / size) * old) / whole / size;
}

int32_t NAME(rush_ldl)(struct rush_ctx *ctx, int64_t n, bool hermitian, NUM *a, int32_t *pivots) {
  int32_t info = 0;
  for (int64_t k = 0, next; k < n; k = next) {
    bool pair;
    if (rush_should_stop(ctx, (uint64_t)(n - k))) return info;
    for (int64_t j = k; j < n && hermitian; j++) a[j + j * n] = REAL(a[j + j * n]);
    const int64_t with = NAME(ldl_pivot)(ctx, n, a, k, &pair);
    NUM *x = a + k * n, *y = x + n;
    next = k + 1 + pair;
    if (with > next - 1) NAME(swap_both)(ctx, n, hermitian, a, next - 1, with);
    if (pair && with > k + 1) NAME(swap)(ctx, 1, x + k + 1, x + with);
    pivots[k] = pivots[next - 1] = (int32_t)(pair ? -with - 1 : with + 1);
    if (!pair && x[k] == 0) {
      if (info == 0) info = (int32_t)k + 1;
      continue;
    }
    for (int64_t j = next; j < n; j++) { /* subtracts x D^-1 x^T from column j */
      NUM to_x = x[j], to_y = pair ? y[j] : 0;
      if (rush_should_stop(ctx, (uint64_t)(n - j))) return info;
      if (pair)
        NAME(solve_pair)(x[k], hermitian ? CONJ(x[k + 1]) : x[k + 1], x[k + 1], y[k + 1], &to_x,
                         &to_y);
      else
        to_x /= x[k];
      const NUM by_x = hermitian ? CONJ(to_x) : to_x, by_y = hermitian ? CONJ(to_y) : to_y;
      for (int64_t i = j; i < n; i++) a[i + j * n] -= x[i] * by_x + (pair ? y[i] * by_y : 0);
      x[j] = to_x;
      if (pair) y[j] = to_y;
    }
  }
  return info;
}

void NAME(rush_ldl_solve)(struct rush_ctx *ctx, int64_t n, bool hermitian, const NUM *a,
                          const int32_t *pivots, int64_t columns, NUM *b) {
  for (int64_t c = 0; c < columns; c++, b += n) {
    for (int64_t k = 0, next; k < n; k = next) {
      if (rush_should_stop(ctx, (uint64_t)n)) return;
      const bool pair = pivots[k] < 0 && k + 1 < n;
      const NUM *x = a + k * n, *y = x + n;
      next = k + 1 + pair;
      NAME(swap)(ctx, 1, b + next - 1, b + (pivots[k] < 0 ? -pivots[k] : pivots[k]) - 1);
      for (int64_t i = next; i < n; i++) b[i] -= x[i] * b[k] + (pair ? y[i] * b[k + 1] : 0);
      if (pair)
        NAME(solve_pair)(x[k], x[k + 1], hermitian ? CONJ(x[k + 1]) : x[k + 1], y[k + 1], b + k,
                         b + k + 1);
      else
        b[k] /= x[k];
    }
    for (int64_t k = n - 1, next; k >= 0; k = next) {
      if (rush_should_stop(ctx, (uint64_t)n)) return;
      next = k - 1 - (pivots[k] < 0 && k > 0);
      for (int64_t j = next + 1; j <= k; j++)
        for (int64_t i = k + 1; i < n; i++)
          b[j] -= (hermitian ? CONJ(a[i + j * n]) : a[i + j * n]) * b[i];
      NAME(swap)(ctx, 1, b + k, b + (pivots[k] < 0 ? -pivots[k] : pivots[k]) - 1);
    }
  }
}

/* ---- Jacobi rotations ------------------------------------------------------------------------ */

/* Replaces x[n] by c x - s y' and y[n] by s x + c y', where y' is y times `turn`. Elements are
 * `step` apart. */
static void NAME(rotate)(struct rush_ctx *ctx, int64_t n, int64_t step, double c, double s,
                         NUM turn, NUM *x, NUM *y) {
  PIECES(n) EACH(r) {
    NUM *p = x + (int64_t)r * step, *q = y + (int64_t)r * step;
    const NUM old = *p, other = *q * turn;
    *p = c * old - s * other;
    *q = s * old + c * other;
  }
}

/* Computes the rotation that diagonalizes [[p, size], [size, q]]: returns its tangent, and sets its
 * sine and cosine. */
static double NAME(angle_of)(double p, double q, double size, double *c, double *s) {
  const double theta = (q - p) / (2 * size);
  const double t = copysign(1 / (fabs(theta) + sqrt(theta * theta + 1)), theta);
  *c = 1 / sqrt(t * t + 1);
  *s = t * *c;
  return t;
}

static void NAME(set_unit)(struct rush_ctx *ctx, int64_t n, NUM *v) {
  for (int64_t k = 0; k < n * n && !rush_stops_at_step(ctx, k); k++) v[k] = k % (n + 1) == 0;
}

/* Sorts values[n] in ascending or descending order, with the columns of x[m] and y[n], which may be
 * NULL. */
static void NAME(sort)(struct rush_ctx *ctx, int64_t n, bool falling, double *values, int64_t m,
                       NUM *x, NUM *y) {
  for (int64_t k = 0; k < n && !rush_should_stop(ctx, (uint64_t)(n - k)); k++) {
    int64_t best = k;
    for (int64_t j = k + 1; j < n; j++)
      if (falling ? values[j] > values[best] : values[j] < values[best]) best = j;
    const double kept = values[k];
    values[k] = values[best];
    values[best] = kept;
    if (x) NAME(swap)(ctx, m, x + k * m, x + best * m);
    if (y) NAME(swap)(ctx, n, y + k * n, y + best * n);
  }
}

void NAME(rush_eigh)(struct rush_ctx *ctx, int64_t n, NUM *a, double *values, NUM *v) {
  const double least = sqrt(NAME(square_of)(ctx, n * n, a)) * (DBL_EPSILON / 256);
  bool more = true;
  if (v) NAME(set_unit)(ctx, n, v);
  for (int sweep = 0; more && sweep < MAX_SWEEPS; sweep++) {
    more = false;
    for (int64_t p = 0; p < n; p++) {
      if (rush_should_stop(ctx, (uint64_t)(n * (n - p)))) return;
      for (int64_t q = p + 1; q < n; q++) {
        const NUM across = a[p + q * n];
        const double size = SIZE(across);
        double c, s;
        if (!(size > least)) continue;
        more = true;
        const NUM turn = CONJ(across) / size;
        const double at_p = REAL(a[p + p * n]), at_q = REAL(a[q + q * n]);
        const double t = NAME(angle_of)(at_p, at_q, size, &c, &s);
        NAME(rotate)(ctx, n, 1, c, s, turn, a + p * n, a + q * n);
        NAME(rotate)(ctx, n, n, c, s, CONJ(turn), a + p, a + q);
        if (v) NAME(rotate)(ctx, n, 1, c, s, turn, v + p * n, v + q * n);
        if (ctx && ctx->stopped) return;
        a[p + p * n] = at_p - t * size;
        a[q + q * n] = at_q + t * size;
        a[p + q * n] = a[q + p * n] = 0;
      }
    }
  }
  for (int64_t k = 0; k < n; k++) values[k] = REAL(a[k + k * n]);
  NAME(sort)(ctx, n, false, values, n, v, NULL);
}

/* Completes the columns of u[m][n] from k on to an orthonormal set. */
static void NAME(complete)(struct rush_ctx *ctx, int64_t m, int64_t k, int64_t n, NUM *u,
                           NUM *work) {
  NUM *tau = work, *a = work + m;
  if (k == n) return;
  PIECES(m * k) EACH(r) a[r] = u[r];
  NAME(rush_qr)(ctx, m, k, a, tau);
  for (int64_t r = m * k; r < m * n && !rush_stops_at_step(ctx, r); r++) u[r] = r % (m + 1) == 0;
  NAME(rush_reflect)(ctx, m, k, a, tau, false, n - k, u + m * k);
}

/* Makes the columns of a[m][n] orthogonal. The same rotations apply to v[n][n], which may be
 * NULL. */
static void NAME(orthogonalise)(struct rush_ctx *ctx, int64_t m, int64_t n, NUM *a, NUM *v) {
  /* Columns with a smaller norm are noise. */
  const double least = NAME(square_of)(ctx, m * n, a) * (DBL_EPSILON * DBL_EPSILON / 256);
  bool more = true;
  for (int sweep = 0; more && sweep < MAX_SWEEPS; sweep++) {
    more = false;
    for (int64_t p = 0; p < n; p++) {
      for (int64_t q = p + 1; q < n; q++) {
        if (rush_should_stop(ctx, WORK)) return;
        NUM *x = a + p * m, *y = a + q * m, across = 0;
        const double at_p = NAME(square_of)(ctx, m, x), at_q = NAME(square_of)(ctx, m, y);
        double c, s;
        PIECES(m) EACH(r) across += CONJ(x[r]) * y[r];
        const double size = SIZE(across);
        if (!(at_p > least && at_q > least && size > DBL_EPSILON * sqrt(at_p) * sqrt(at_q)))
          continue;
        more = true;
        const NUM turn = CONJ(across) / size;
        NAME(angle_of)(at_p, at_q, size, &c, &s);
        NAME(rotate)(ctx, m, 1, c, s, turn, x, y);
        if (v) NAME(rotate)(ctx, n, 1, c, s, turn, v + p * n, v + q * n);
      }
    }
  }
}

void NAME(rush_svd)(struct rush_ctx *ctx, int64_t m, int64_t n, bool all, NUM *a, double *values,
                    NUM *u, NUM *v, NUM *work) {
  double largest = 0; /* scaling by it keeps squares from overflow and underflow */
  PIECES(m * n) EACH(r) largest = fmax(largest, SIZE(a[r]));
  if (largest > 0) NAME(divide)(ctx, m * n, largest, a);
  if (v) NAME(set_unit)(ctx, n, v);
  NAME(orthogonalise)(ctx, m, n, a, v);
  for (int64_t k = 0; k < n; k++) values[k] = sqrt(NAME(square_of)(ctx, m, a + k * m));
  NAME(sort)(ctx, n, true, values, m, a, v);
  if (v) {
    int64_t rank = 0;
    for (; rank < n && values[rank] > values[0] * DBL_EPSILON * (double)m; rank++)
      PIECES(m) EACH(r) u[(int64_t)r + rank * m] = a[(int64_t)r + rank * m] / values[rank];
    NAME(complete)(ctx, m, rank, all ? m : n, u, work);
  }
  for (int64_t k = 0; k < n; k++) values[k] *= largest;
}
