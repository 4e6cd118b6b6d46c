#include "kernels/fft.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

typedef double complex c128;

enum { MOST = 47, CHUNK = 512 }; /* the greatest factor of its own; steps between looks */

/* exp(-2 pi i k / n), of an angle of at most an eighth of a turn. */
static c128 root(uint64_t k, uint64_t n) {
  static const double QUARTER = 1.57079632679489661923;
  const uint64_t side = (8 * k / n + 1) / 2; /* the nearest quarter of a turn */
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

/* False where a prime factor is too large. */
static bool factorize(size_t n, uint8_t *factors) {
  size_t f = 4;
  while (n > 1) {
    while (n % f) f = f == 4 ? 2 : f == 2 ? 3 : f + 2;
    if (f > MOST) return false;
    *factors++ = (uint8_t)f;
    n /= f;
  }
  *factors = 0;
  return true;
}

size_t rush_fft_plan(rush_ctx *ctx, size_t n, rush_fft *plan) {
  *plan = (rush_fft){.ctx = ctx, .n = n, .length = n};
  size_t left = n;
  for (size_t f = 2; f <= MOST; f += f == 2 ? 1 : 2)
    while (left % f == 0) left /= f;
  if (left == 1) return n;
  for (plan->length = 1; plan->length < 2 * n - 1;) plan->length *= 2;
  return 4 * plan->length + n;
}

/* ---- Mixed radix ----------------------------------------------------------------------------- */

/* Turns p transforms of m elements, one after the other in x, into one of p * m, for the j-th
 * elements of each, j in [from, to). The roots of unity of p * m are every `step`-th of `roots`. */
typedef void pass_fn(const rush_fft *plan, c128 *x, size_t step, size_t m, size_t from, size_t to);

static inline c128 times_i(c128 z) {
  return CMPLX(-cimag(z), creal(z));
}

static void pass_2(const rush_fft *plan, c128 *x, size_t step, size_t m, size_t from, size_t to) {
  for (size_t j = from; j < to; j++) {
    const c128 a = x[j], b = x[j + m] * plan->roots[j * step];
    x[j] = a + b;
    x[j + m] = a - b;
  }
}
static void pass_3(const rush_fft *plan, c128 *x, size_t step, size_t m, size_t from, size_t to) {
  const double s = 0.86602540378443864676; /* sin(2 pi / 3) */
  for (size_t j = from; j < to; j++) {
    const c128 b = x[j + m] * plan->roots[j * step], d = x[j + 2 * m] * plan->roots[2 * j * step];
    const c128 sum = b + d, turned = times_i((b - d) * s), middle = x[j] - 0.5 * sum;
    x[j] += sum;
    x[j + m] = middle - turned;
    x[j + 2 * m] = middle + turned;
  }
}
static void pass_4(const rush_fft *plan, c128 *x, size_t step, size_t m, size_t from, size_t to) {
  for (size_t j = from; j < to; j++) {
    const c128 a = x[j], b = x[j + m] * plan->roots[j * step];
    const c128 d = x[j + 2 * m] * plan->roots[2 * j * step];
    const c128 e = x[j + 3 * m] * plan->roots[3 * j * step];
    const c128 even = a + d, odd = b + e, difference = a - d, turned = times_i(b - e);
    x[j] = even + odd;
    x[j + m] = difference - turned;
    x[j + 2 * m] = even - odd;
    x[j + 3 * m] = difference + turned;
  }
}
static void pass_5(const rush_fft *plan, c128 *x, size_t step, size_t m, size_t from, size_t to) {
  const double c1 = 0.30901699437494742410, s1 = 0.95105651629515357212; /* of 2 pi / 5 */
  const double c2 = -0.80901699437494742410, s2 = 0.58778525229247312917;
  for (size_t j = from; j < to; j++) {
    const c128 a = x[j], b = x[j + m] * plan->roots[j * step];
    const c128 d = x[j + 2 * m] * plan->roots[2 * j * step];
    const c128 e = x[j + 3 * m] * plan->roots[3 * j * step];
    const c128 f = x[j + 4 * m] * plan->roots[4 * j * step];
    const c128 outer = b + f, inner = d + e, o = b - f, i = d - e;
    const c128 p = a + c1 * outer + c2 * inner, q = a + c2 * outer + c1 * inner;
    const c128 u = times_i(s1 * o + s2 * i), v = times_i(s2 * o - s1 * i);
    x[j] = a + outer + inner;
    x[j + m] = p - u;
    x[j + 2 * m] = q - v;
    x[j + 3 * m] = q + v;
    x[j + 4 * m] = p + u;
  }
}
static void pass_any(const rush_fft *plan, c128 *x, size_t step, size_t p, size_t m, size_t from,
                     size_t to) {
  c128 t[MOST];
  const size_t turn = step * m; /* from one p-th root of unity to the next */
  for (size_t j = from; j < to; j++) {
    for (size_t k = 0; k < p; k++) t[k] = x[j + k * m] * plan->roots[k * j * step];
    for (size_t q = 0; q < p; q++) {
      c128 sum = t[0];
      for (size_t k = 1, at = q; k < p; k++, at = at + q < p ? at + q : at + q - p)
        sum += t[k] * plan->roots[at * turn];
      x[j + q * m] = sum;
    }
  }
}

/* out[k] = the transform of n elements of `in`, `step` apart; n is the product of the factors. */
static void transform(const rush_fft *plan, const uint8_t *factors, const c128 *in, size_t step,
                      c128 *out, size_t n) {
  const size_t p = *factors, m = p ? n / p : 1;
  if (p == 0) {
    out[0] = in[0];
    return;
  }
  for (size_t k = 0; k < p; k++) {
    if (m == 1)
      out[k] = in[k * step];
    else
      transform(plan, factors + 1, in + k * step, step * p, out + k * m, m);
  }
  pass_fn *const pass = p == 2 ? pass_2 : p == 3 ? pass_3 : p == 4 ? pass_4 : pass_5;
  for (size_t j = 0; j < m; j += CHUNK) {
    const size_t to = m - j < CHUNK ? m : j + CHUNK;
    if (rush_stops(plan->ctx, (to - j) * p * (p > 5 ? p : 2))) return;
    if (p <= 5)
      pass(plan, out, step, m, j, to);
    else
      pass_any(plan, out, step, p, m, j, to);
  }
}

/* ---- Any length ------------------------------------------------------------------------------ */

void rush_fft_init(rush_fft *plan, c128 *memory) {
  const size_t n = plan->n, length = plan->length;
  plan->roots = memory;
  for (size_t k = 0; k <= length / 2; k++) {
    if (k % CHUNK == 0 && rush_stops(plan->ctx, 32 * CHUNK)) return;
    plan->roots[k] = root(k, length);
    if (k > 0) plan->roots[length - k] = conj(plan->roots[k]);
  }
  factorize(length, plan->factors);
  if (length == n) return;
  plan->spectrum = memory + length;
  plan->work = plan->spectrum + length;
  plan->chirp = plan->work + 2 * length;
  c128 *line = plan->work;
  memset(line, 0, length * sizeof *line);
  /* jk = (j j + k k - (k - j)(k - j)) / 2: the convolution with exp(pi i j j / n) */
  for (size_t j = 0; j < n; j++) {
    if (j % CHUNK == 0 && rush_stops(plan->ctx, 32 * CHUNK)) return;
    plan->chirp[j] = root((uint64_t)j * j % (2 * (uint64_t)n), 2 * (uint64_t)n);
    line[j] = conj(plan->chirp[j]) / (double)length;
    if (j > 0) line[length - j] = line[j];
  }
  transform(plan, plan->factors, line, 1, plan->spectrum, length);
}

void rush_fft_run(const rush_fft *plan, const c128 *in, c128 *out) {
  const size_t n = plan->n, length = plan->length;
  if (length == n) {
    transform(plan, plan->factors, in, 1, out, n);
    return;
  }
  c128 *a = plan->work, *b = plan->work + length;
  for (size_t j = 0; j < n; j++) a[j] = in[j] * plan->chirp[j];
  memset(a + n, 0, (length - n) * sizeof *a);
  transform(plan, plan->factors, a, 1, b, length);
  for (size_t j = 0; j < length; j++) a[j] = conj(b[j] * plan->spectrum[j]);
  transform(plan, plan->factors, a, 1, b, length);
  for (size_t j = 0; j < n; j++) out[j] = conj(b[j]) * plan->chirp[j];
}
