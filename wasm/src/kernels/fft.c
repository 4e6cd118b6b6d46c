#include "kernels/fft.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

/* A complex number in one vector. */
typedef double c2 __attribute__((vector_size(16), aligned(8), may_alias));

/* MAX_FACTOR: greatest factor with a pass; CHUNK: steps between checks for a stop request */
enum { MAX_FACTOR = 47, CHUNK = 512 };

static inline c2 times(c2 a, c2 b) {
  const c2 re = {a[0], a[0]}, im = {a[1], a[1]}, turned = {-b[1], b[0]};
  return re * b + im * turned;
}
static inline c2 times_i(c2 a) {
  return (c2){-a[1], a[0]};
}
static inline c2 conjugate(c2 a) {
  return (c2){a[0], -a[1]};
}

/* Returns exp(-2 pi i k / n) from the sine and cosine of at most an eighth of a turn. */
static double complex root(uint64_t k, uint64_t n) {
  static const double QUARTER = 1.57079632679489661923;
  const uint64_t side = (8 * k / n + 1) / 2; /* the nearest quarter turn */
  const double angle = QUARTER * ((double)(int64_t)(4 * k - side * n) / (double)n);
  const double c = cos(angle), s = sin(angle);
  switch (side & 3) {
    case 0:
      return CMPLX(c, -s);
    case 1:
      return CMPLX(-s, -c);
    case 2:
      return CMPLX(-c, s);
    default:
      return CMPLX(s, c);
  }
}

/* Returns the part of n without factors that have a pass. Writes these factors unless `factors` is
 * NULL. */
static size_t factorize(size_t n, uint8_t *factors) {
  for (size_t f = 4; f <= MAX_FACTOR; f = f == 4 ? 2 : f == 2 ? 3 : f + 2)
    for (; n % f == 0; n /= f)
      if (factors) *factors++ = (uint8_t)f;
  if (factors) *factors = 0;
  return n;
}

size_t rush_fft_plan(rush_ctx *ctx, size_t n, bool real, rush_fft *plan) {
  *plan = (rush_fft){.ctx = ctx, .n = n, .halved = real && n % 2 == 0};
  plan->length = plan->points = plan->halved ? n / 2 : n;
  const size_t halves = plan->halved ? n / 2 + 1 : 0;
  if (factorize(plan->points, NULL) == 1) return 2 * plan->points + halves;
  for (plan->length = 1; plan->length < 2 * plan->points - 1;) plan->length *= 2;
  return 5 * plan->length + plan->points + halves;
}

/* ---- Mixed radix (Stockham) ------------------------------------------------------------------ */

/* One step of the transform: s interleaved transforms of p * m numbers become p * s transforms of m
 * numbers. It covers elements j in [j0, j1) of the transforms q in [q0, q1). */
typedef struct pass {
  const c2 *roots; /* roots of unity of order p * m * s */
  const c2 *x;     /* x[p][m][s] */
  c2 *y;           /* y[m][p][s] */
  size_t p, m, s, j0, j1, q0, q1;
} pass;

#define EACH_J for (size_t j = t->j0; j < t->j1; j++)
#define EACH_Q for (size_t q = t->q0; q < t->q1; q++)
#define ROOT(k) t->roots[(k) * j * t->s]
#define X(k) t->x[(j + (k) * t->m) * t->s + q]
#define Y(k) t->y[(j * t->p + (k)) * t->s + q]

static void pass_2(const pass *t) {
  EACH_J {
    const c2 w = ROOT(1);
    EACH_Q {
      const c2 a = X(0), b = X(1);
      Y(0) = a + b;
      Y(1) = times(a - b, w);
    }
  }
}
static void pass_3(const pass *t) {
  const double s = 0.86602540378443864676; /* sin(2 pi / 3) */
  EACH_J {
    const c2 w1 = ROOT(1), w2 = ROOT(2);
    EACH_Q {
      const c2 a = X(0), b = X(1), c = X(2), sum = b + c;
      const c2 turned = times_i((b - c) * s), middle = a - 0.5 * sum;
      Y(0) = a + sum;
      Y(1) = times(middle - turned, w1);
      Y(2) = times(middle + turned, w2);
    }
  }
}
static void pass_4(const pass *t) {
  EACH_J {
    const c2 w1 = ROOT(1), w2 = ROOT(2), w3 = ROOT(3);
    EACH_Q {
      const c2 a = X(0), b = X(1), c = X(2), d = X(3);
      const c2 even = a + c, odd = b + d, difference = a - c, turned = times_i(b - d);
      Y(0) = even + odd;
      Y(1) = times(difference - turned, w1);
      Y(2) = times(even - odd, w2);
      Y(3) = times(difference + turned, w3);
    }
  }
}
static void pass_5(const pass *t) {
  /* The cosine and sine of 2 pi / 5 and 4 pi / 5. */
  const double cos1 = 0.30901699437494742410, sin1 = 0.95105651629515357212;
  const double cos2 = -0.80901699437494742410, sin2 = 0.58778525229247312917;
  EACH_J {
    const c2 w1 = ROOT(1), w2 = ROOT(2), w3 = ROOT(3), w4 = ROOT(4);
    EACH_Q {
      const c2 a = X(0), b = X(1), c = X(2), d = X(3), e = X(4);
      const c2 outer = b + e, inner = c + d, o = b - e, i = c - d;
      const c2 f = a + cos1 * outer + cos2 * inner, g = a + cos2 * outer + cos1 * inner;
      const c2 u = times_i(sin1 * o + sin2 * i), v = times_i(sin2 * o - sin1 * i);
      Y(0) = a + outer + inner;
      Y(1) = times(f - u, w1);
      Y(2) = times(g - v, w2);
      Y(3) = times(g + v, w3);
      Y(4) = times(f + u, w4);
    }
  }
}
static void pass_any(const pass *t) {
  const size_t p = t->p, turn = t->m * t->s; /* step between p-th roots of unity */
  EACH_J EACH_Q {
    c2 x[MAX_FACTOR];
    for (size_t k = 0; k < p; k++) x[k] = X(k);
    for (size_t r = 0; r < p; r++) {
      c2 sum = x[0];
      for (size_t k = 1, at = r; k < p; k++, at = at + r < p ? at + r : at + r - p)
        sum += times(x[k], t->roots[at * turn]);
      Y(r) = times(sum, ROOT(r));
    }
  }
}

/* Computes the transform of plan->length numbers. `work` has room for the same number. */
static void transform(const rush_fft *plan, const double complex *in, double complex *out,
                      double complex *work) {
  static void (*const passes[])(const pass *) = {pass_2, pass_3, pass_4, pass_5};
  const size_t n = plan->length;
  pass t = {.roots = (const c2 *)plan->roots, .x = (const c2 *)in, .m = n, .s = 1};
  size_t count = 0;
  while (plan->factors[count]) count++;
  if (count == 0) out[0] = in[0];
  for (size_t k = 0; k < count; k++) {
    t.p = plan->factors[k];
    t.m /= t.p;
    t.y = (c2 *)((count - k) % 2 ? out : work);
    void (*const run)(const pass *) = t.p <= 5 ? passes[t.p - 2] : pass_any;
    const size_t js =
        t.s < CHUNK ? CHUNK / t.s : 1;  // NOLINT(clang-analyzer-core.DivideZero): s is a product
    for (t.j0 = 0; t.j0 < t.m; t.j0 = t.j1) {
      t.j1 = t.m - t.j0 < js ? t.m : t.j0 + js;
      for (t.q0 = 0; t.q0 < t.s; t.q0 = t.q1) {
        t.q1 = t.s - t.q0 < CHUNK ? t.s : t.q0 + CHUNK;
        if (rush_should_stop(plan->ctx, (t.j1 - t.j0) * (t.q1 - t.q0) * t.p * (t.p > 5 ? t.p : 2)))
          return;
        run(&t);
      }
    }
    t.s *= t.p;
    t.x = t.y;
  }
}

/* ---- Arbitrary lengths (Bluestein) ----------------------------------------------------------- */

/* For step k of a loop that computes roots */
static bool stops_at(const rush_fft *plan, size_t k) {
  return k % CHUNK == 0 && rush_should_stop(plan->ctx, 32 * CHUNK);
}
/* Elements j from `first` to n in pieces, between which the host may stop the run */
#define PIECES(first, n)                                                                 \
  for (size_t at = first, some; rush_next_piece(plan->ctx, n, 2, at, &some); at += some) \
    for (size_t j = at; j < at + some; j++)

void rush_fft_init(rush_fft *plan, double complex *memory) {
  const size_t n = plan->points, length = plan->length;
  plan->roots = memory;
  plan->work = plan->roots + length;
  for (size_t k = 0; k <= length / 2; k++) {
    if (stops_at(plan, k)) return;
    plan->roots[k] = root(k, length);
    if (k > 0) plan->roots[length - k] = conj(plan->roots[k]);
  }
  factorize(length, plan->factors);
  memory = plan->work + (length == n ? length : 3 * length);
  if (plan->halved) {
    plan->halves = memory;
    memory += n + 1;
    for (size_t k = 0; k <= n; k++) {
      if (stops_at(plan, k)) return;
      plan->halves[k] = root(k, 2 * n);
    }
  }
  if (length == n) return;
  plan->spectrum = memory;
  plan->chirp = memory + length;
  double complex *line = plan->work;
  PIECES(0, length) line[j] = 0;
  /* jk = (j j + k k - (k - j)(k - j)) / 2 turns the sum into a convolution with exp(pi i j j
   * / n). */
  for (size_t j = 0; j < n; j++) {
    if (stops_at(plan, j)) return;
    plan->chirp[j] = root((uint64_t)j * j % (2 * (uint64_t)n), 2 * (uint64_t)n);
    line[j] = conj(plan->chirp[j]) / (double)length;
    if (j > 0) line[length - j] = line[j];
  }
  transform(plan, line, plan->spectrum, line + length);
}

void rush_fft_run(const rush_fft *plan, const double complex *in, double complex *out) {
  const size_t n = plan->points, length = plan->length;
  if (length == n) {
    transform(plan, in, out, plan->work);
    return;
  }
  double complex *a = plan->work, *b = a + length, *work = b + length;
  PIECES(0, n) a[j] = in[j] * plan->chirp[j];
  PIECES(n, length) a[j] = 0;
  transform(plan, a, b, work);
  PIECES(0, length) a[j] = conj(b[j] * plan->spectrum[j]);
  transform(plan, a, b, work);
  PIECES(0, n) out[j] = conj(b[j]) * plan->chirp[j];
}

/* ---- Real transforms ------------------------------------------------------------------------- */

void rush_fft_from_real(const rush_fft *plan, double complex *in, double complex *out) {
  const size_t n = plan->points;
  if (!plan->halved) {
    const double *numbers = (const double *)in;
    for (size_t j = n; j > 0 && !rush_stops_at_step(plan->ctx, (int64_t)j); j--)
      in[j - 1] = numbers[j - 1];
    rush_fft_run(plan, in, out);
  } else { /* packs even elements + i * odd elements; each half is Hermitian */
    rush_fft_run(plan, in, out);
    c2 *x = (c2 *)out;
    const c2 *roots = (const c2 *)plan->halves;
    x[n] = x[0];
    for (size_t k = 0; k <= n - k && !rush_stops_at_step(plan->ctx, (int64_t)k); k++) {
      const c2 a = x[k], b = conjugate(x[n - k]), even = 0.5 * (a + b);
      const c2 odd = times(times_i(0.5 * (b - a)), roots[k]);
      x[k] = even + odd;
      x[n - k] = conjugate(even - odd);
    }
  }
  out[0] = creal(out[0]); /* these two elements have no partner */
  if (plan->halved) out[n] = creal(out[n]);
}

void rush_fft_to_real(const rush_fft *plan, double complex *in, double complex *out) {
  const size_t n = plan->points;
  in[0] = creal(in[0]);
  if (!plan->halved) {
    for (size_t k = 1; k <= n / 2 && !rush_stops_at_step(plan->ctx, (int64_t)k); k++) {
      in[n - k] = in[k];
      in[k] = conj(in[k]);
    }
    rush_fft_run(plan, in, out);
    double *numbers = (double *)out;
    PIECES(0, n) numbers[j] = creal(out[j]);
    return;
  }
  in[n] = creal(in[n]);
  c2 *x = (c2 *)in;
  const c2 *roots = (const c2 *)plan->halves;
  for (size_t k = 0; k <= n - k; k++) { /* conjugated for the inverse transform */
    if (rush_stops_at_step(plan->ctx, (int64_t)k)) return;
    const c2 a = x[k], b = conjugate(x[n - k]), even = a + b;
    const c2 odd = times_i(times(a - b, conjugate(roots[k])));
    x[k] = conjugate(even + odd);
    if (k > 0) x[n - k] = even - odd;
  }
  rush_fft_run(plan, in, out);
  PIECES(0, n) out[j] = conj(out[j]);
}
