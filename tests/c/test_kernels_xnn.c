/* Compares the kernels of products, convolutions and transposes with plain C loops: sizes around
 * the tiles, guard values after the output, NaN through the clamp, and weights that runs with
 * different shapes share. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "floats.h"
#include "timed.h"

#include "kernels/conv.h"
#include "kernels/dwconv_row.h"
#include "kernels/gemm.h"
#include "kernels/transpose.h"

/* Makes n floats of noise. As in the heap, 16 bytes after the end may be read. */
static float *numbers(size_t n) {
  float *p = malloc(n * sizeof *p + 16);
  assert_non_null(p);
  for (size_t i = 0; i < n; i++) p[i] = noise();
  memset(p + n, 0xff, 16);
  return p;
}
static float *guarded(size_t n) {
  float *p = aligned_alloc(64, ((n + GUARD) * sizeof *p + 63) / 64 * 64);
  assert_non_null(p);
  for (size_t i = 0; i < n + GUARD; i++) p[i] = guard;
  return p;
}
static void check(const char *what, const float *got, const double *want, size_t n,
                  double tolerance) {
  for (size_t i = 0; i < n; i++) {
    if (isnan(want[i]) ? !isnan(got[i])
                       : !(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
      fail_msg("%s: element %zu is %g, not %g", what, i, got[i], want[i]);
  }
  for (size_t i = n; i < n + GUARD; i++)
    if (got[i] != guard) fail_msg("%s: wrote behind the end", what);
}
static double clamp(double v, double min, double max) {
  return v < min ? min : v > max ? max : v;
}

/* ---- Products -------------------------------------------------------------------------------- */

static void plain_product(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                          ptrdiff_t sk, ptrdiff_t sn, double *c, size_t ldc) {
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      double sum = 0;
      for (size_t t = 0; t < k; t++)
        sum += (double)a[i * lda + t] * (double)b[(ptrdiff_t)t * sk + (ptrdiff_t)j * sn];
      c[i * ldc + j] = sum;
    }
  }
}

static void product(size_t m, size_t n, size_t k, ptrdiff_t sk, ptrdiff_t sn, bool bias, float min,
                    float max) {
  char what[128];
  snprintf(what, sizeof what, "%zu x %zu x %zu, strides %td %td", m, n, k, sk, sn);
  const size_t lda = k + 3, ldc = n + 2;
  float *a = numbers(m * lda + 1), *b = numbers((k + 1) * (n + 1) * 2), *bi = numbers(n + 1);
  size_t floats;
  assert_true(rush_gemm_packed(k, n, &floats));
  float *packed = guarded(floats), *c = guarded(m * ldc), *direct = guarded(m * ldc);
  double *want = calloc(m * ldc + 1, sizeof *want), *plain = calloc(m * ldc + 1, sizeof *plain);
  for (size_t i = 0; i < m * ldc; i++) want[i] = plain[i] = (double)guard;
  const double work = 2.0 * (double)(m * n * k);
  TIMED("gemm", what, PLAIN, work, 0, plain_product(m, n, k, a, lda, b, sk, sn, plain, ldc));
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++)
      want[i * ldc + j] =
          clamp(plain[i * ldc + j] + (bias ? (double)bi[j] : 0), (double)min, (double)max);
  rush_gemm_pack(NULL, k, n, b, sk, sn, bias ? bi : NULL, packed);
  for (size_t i = floats; i < floats + GUARD; i++) assert_true(packed[i] == guard);
  TIMED("gemm", what, "kernel", work, 0, rush_gemm(m, n, k, a, lda, packed, c, ldc, min, max));
  const double tolerance = 2e-5 * (1 + (double)k / 1000); /* k rounded terms of size 1 */
  check(what, c, want, m * ldc, tolerance);
  if (rush_gemm_unpacked(NULL, m, n, k, a, lda, b, sk, sn, direct, ldc))
    check(what, direct, plain, m * ldc, tolerance);
  free(a), free(b), free(bi), free(packed), free(c), free(direct), free(want), free(plain);
}

static void products_of_all_sizes(void **unused) {
  (void)unused;
  static const size_t m[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 13},
                      n[] = {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 40},
                      k[] = {0, 1, 2, 3, 4, 5, 8, 9, 17};
  for (size_t a = 0; a < sizeof m / sizeof *m; a++)
    for (size_t b = 0; b < sizeof n / sizeof *n; b++)
      for (size_t c = 0; c < sizeof k / sizeof *k; c++) {
        const ptrdiff_t nn = (ptrdiff_t)n[b], kk = (ptrdiff_t)k[c];
        product(m[a], n[b], k[c], nn, 1, true, -INFINITY, INFINITY);  /* [k][n] */
        product(m[a], n[b], k[c], 1, kk + 1, true, -0.5f, 0.5f);      /* [n][k] with gaps */
        product(m[a], n[b], k[c], 1, 0, false, 0, INFINITY);          /* expanded */
        product(m[a], n[b], k[c], 2, 2 * kk, false, -INFINITY, 1.0f); /* neither */
      }
}

static void packing_in_place_gives_the_same_bits(void **unused) {
  (void)unused;
  for (size_t n = 0; n <= 3 * rush_gemm_nr() + 1; n++) {
    for (size_t k = 0; k <= 21; k++) {
      size_t floats;
      assert_true(rush_gemm_packed(k, n, &floats));
      float *b = numbers(n * k), *bias = n % 2 ? numbers(n) : NULL;
      float *want = guarded(floats), *got = guarded(floats), *scratch = guarded(rush_gemm_nr() * k);
      rush_gemm_pack(NULL, k, n, b, 1, (ptrdiff_t)k, bias, want);
      memcpy(got + floats - n * k, b, n * k * sizeof *b);
      rush_gemm_pack_placed(NULL, sizeof(float), k, n, bias, scratch, got);
      if (memcmp(got, want, (floats + GUARD) * sizeof *got) != 0)
        fail_msg("n %zu, k %zu differ", n, k);
      assert_true(scratch[rush_gemm_nr() * k] == guard);
      free(b), free(bias), free(want), free(got), free(scratch);
    }
  }
}

static void products_larger_than_the_cache(void **unused) {
  (void)unused;
  product(9, 700, 900, 700, 1, true, -INFINITY, INFINITY);
  product(1, 700, 900, 1, 900, true, 0, 6);
  product(5, 41, 5000, 1, 5000, true, -INFINITY, INFINITY);
  product(128, 96, 384, 1, 384, true, -INFINITY, INFINITY);
}

static void nan_passes_the_clamp_of_a_product(void **unused) {
  (void)unused;
  enum { N = 19, K = 5 };
  for (size_t m = 1; m < 10; m++) {
    float *a = numbers(m * K), *b = numbers(K * N), *packed = guarded(1000), *c = guarded(m * N);
    rush_gemm_pack(NULL, K, N, b, N, 1, NULL, packed);
    for (size_t row = 0; row < m; row++) {
      a[row * K + 2] = NAN;
      rush_gemm(m, N, K, a, K, packed, c, N, 0, 6);
      for (size_t i = 0; i < m * N; i++)
        assert_true(i / N <= row ? isnan(c[i]) : c[i] >= 0 && c[i] <= 6);
    }
    free(a), free(b), free(packed), free(c);
  }
}

/* Small terms are summed before the bias is added, so each answer is rounded to the bias once. */
static void biases_are_added_to_sums(void **unused) {
  (void)unused;
  enum { N = 43, K = 301, MOST = 7 };
  const double bias = 4096, ulp = ldexp(1, 12 - 23);
  float *a = numbers(MOST * K), *b = numbers(K * N), biases[N];
  float packed[(N + 16) * (K + 1)] __attribute__((aligned(64))), c[MOST * N];
  for (size_t j = 0; j < N; j++) biases[j] = (float)bias;
  for (size_t i = 0; i < MOST * K; i++) a[i] /= 64;
  rush_gemm_pack(NULL, K, N, b, N, 1, biases, packed);
  for (size_t m = 1; m <= MOST; m++)
    for (int bounded = 0; bounded < 2; bounded++) {
      rush_gemm(m, N, K, a, K, packed, c, N, bounded ? 0 : -INFINITY, INFINITY);
      for (size_t i = 0; i < m * N; i++) {
        double want = bias;
        for (size_t k = 0; k < K; k++) want += (double)a[i / N * K + k] * (double)b[k * N + i % N];
        if (!(fabs((double)c[i] - want) <= 0.52 * ulp))
          fail_msg("%zu rows: element %zu is %g off", m, i, (double)c[i] - want);
      }
    }
  free(a), free(b);
}

/* ---- Convolutions ---------------------------------------------------------------------------- */

typedef struct row {
  const char *name;
  rush_conv s;                /* `out` follows from them; `behind` is the end padding */
  size_t behind[3], extra[3]; /* `extra` is the output padding if transposed */
} row;

static bool complete(row *r) {
  rush_conv *s = &r->s;
  for (int d = 0; d < 3; d++) {
    const ptrdiff_t reach = (ptrdiff_t)((s->kernel[d] - 1) * s->dilation[d]) + 1,
                    in = (ptrdiff_t)s->in[d];
    const ptrdiff_t pads = s->padding[d] + (ptrdiff_t)r->behind[d];
    ptrdiff_t out = s->transposed
                        ? (in - 1) * (ptrdiff_t)s->stride[d] - pads + reach + (ptrdiff_t)r->extra[d]
                    : in + pads < reach ? 0
                                        : (in + pads - reach) / (ptrdiff_t)s->stride[d] + 1;
    if (out <= 0) return false;
    s->out[d] = (size_t)out;
  }
  return true;
}

/* Strides of a weight [o][i][d][h][w], or in the memory order [o][d][h][w][i] with `last`. */
static void strides_of(const rush_conv *s, bool last, ptrdiff_t *to) {
  const ptrdiff_t taps = (ptrdiff_t)(s->kernel[0] * s->kernel[1] * s->kernel[2]);
  const ptrdiff_t second = (ptrdiff_t)(s->transposed ? s->out_c : s->in_c), one = last ? second : 1;
  to[0] = taps * second;
  to[1] = last ? 1 : taps;
  to[4] = one;
  to[3] = one * (ptrdiff_t)s->kernel[2];
  to[2] = to[3] * (ptrdiff_t)s->kernel[1];
}

static void reference(const rush_conv *s, const float *x, const float *w, const ptrdiff_t *st,
                      const float *bias, double min, double max, double *y) {
  const size_t ic = s->groups * s->in_c, oc = s->groups * s->out_c;
  const size_t in = s->in[0] * s->in[1] * s->in[2], out = s->out[0] * s->out[1] * s->out[2];
  for (size_t i = 0; i < s->batch * out * oc; i++) y[i] = bias ? (double)bias[i % oc] : 0;
  for (size_t b = 0; b < s->batch; b++)
    for (size_t p = 0; p < (s->transposed ? in : out); p++)
      for (size_t t = 0; t < s->kernel[0] * s->kernel[1] * s->kernel[2]; t++) {
        const size_t *size = s->transposed ? s->in : s->out,
                     *other = s->transposed ? s->out : s->in;
        const size_t at[3] = {p / size[2] / size[1], p / size[2] % size[1], p % size[2]};
        const size_t k[3] = {t / s->kernel[2] / s->kernel[1], t / s->kernel[2] % s->kernel[1],
                             t % s->kernel[2]};
        ptrdiff_t q = 0, wt = 0;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
          const ptrdiff_t i =
              (ptrdiff_t)(at[d] * s->stride[d] + k[d] * s->dilation[d]) - s->padding[d];
          inside = inside && i >= 0 && i < (ptrdiff_t)other[d];
          q = q * (ptrdiff_t)other[d] + i;
          wt += (ptrdiff_t)k[d] * st[2 + d];
        }
        if (!inside) continue;
        const size_t xi = b * in + (s->transposed ? p : (size_t)q),
                     yi = b * out + (s->transposed ? (size_t)q : p);
        for (size_t g = 0; g < s->groups; g++)
          for (size_t o = 0; o < s->out_c; o++)
            for (size_t i = 0; i < s->in_c; i++) {
              const ptrdiff_t ws =
                  s->transposed ? (ptrdiff_t)(g * s->in_c + i) * st[0] + (ptrdiff_t)o * st[1]
                                : (ptrdiff_t)(g * s->out_c + o) * st[0] + (ptrdiff_t)i * st[1];
              y[yi * oc + g * s->out_c + o] +=
                  (double)x[xi * ic + g * s->in_c + i] * (double)w[ws + wt];
            }
      }
  for (size_t i = 0; i < s->batch * out * oc; i++) y[i] = clamp(y[i], min, max);
}

static void convolve(row r, bool last, bool with_bias, float min, float max) {
  if (!complete(&r)) return;
  const rush_conv *s = &r.s;
  ptrdiff_t st[5];
  strides_of(s, last, st);
  const size_t ic = s->groups * s->in_c, oc = s->groups * s->out_c;
  const size_t in = s->batch * s->in[0] * s->in[1] * s->in[2] * ic,
               out = s->batch * s->out[0] * s->out[1] * s->out[2] * oc;
  float *x = numbers(in), *bias = numbers(oc);
  float *w = numbers(s->kernel[0] * s->kernel[1] * s->kernel[2] *
                     (s->transposed ? ic * s->out_c : oc * s->in_c));
  size_t floats, bytes;
  assert_true(rush_conv_packed(s, &floats));
  assert_true(rush_conv_scratch(s, &bytes));
  float *packed = guarded(floats), *y = guarded(out);
  void *scratch = malloc(bytes + 1);
  double *want = malloc((out + 1) * sizeof *want);
  rush_conv_pack(s, w, st, with_bias ? bias : NULL, packed);
  for (size_t i = floats; i < floats + GUARD; i++)
    if (packed[i] != guard) fail_msg("%s: packing wrote behind the end", r.name);
  const double work = 2.0 * (double)(s->transposed ? in * s->out_c : out * s->in_c) *
                      (double)(s->kernel[0] * s->kernel[1] * s->kernel[2]);
  TIMED("conv", r.name, "kernel", work, 0, rush_conv_run(s, x, packed, y, min, max, scratch));
  TIMED("conv", r.name, PLAIN, work, 0,
        reference(s, x, w, st, with_bias ? bias : NULL, (double)min, (double)max, want));
  check(r.name, y, want, out, 2e-5);
  if (in > 0 && out > 0) { /* NaN propagates, also through the clamp */
    x[in / 2] = NAN;
    for (size_t i = 0; i < out; i++) y[i] = guard;
    rush_conv_run(s, x, packed, y, -0.25f, 0.25f, scratch);
    reference(s, x, w, st, with_bias ? bias : NULL, -0.25, 0.25, want);
    check(r.name, y, want, out, 2e-5);
  }
  free(x), free(bias), free(w), free(packed), free(y), free(scratch), free(want);
}

#define ONE {1, 1, 1}
static void biases_of_convolutions_are_added_to_sums(void **unused) {
  (void)unused;
  row r = {
      "3x3", {1, 1, 33, 19, {1, 5, 6}, ONE, {1, 3, 3}, {1, 2, 2}, ONE, {0}, false, NULL}, {0}, {0}};
  ptrdiff_t st[5];
  assert_true(complete(&r));
  strides_of(&r.s, false, st);
  const double bias = 4096, ulp = ldexp(1, 12 - 23);
  const size_t out = r.s.out[1] * r.s.out[2] * r.s.out_c;
  float *x = numbers(5 * 6 * 33), *w = numbers(9 * 33 * 19), biases[19];
  double *want = malloc(out * sizeof *want);
  size_t floats, bytes;
  for (size_t j = 0; j < 19; j++) biases[j] = (float)bias;
  for (size_t i = 0; i < 5 * 6 * 33; i++) x[i] /= 64;
  assert_true(rush_conv_packed(&r.s, &floats));
  assert_true(rush_conv_scratch(&r.s, &bytes));
  float *packed = guarded(floats), *y = guarded(out);
  void *scratch = malloc(bytes + 1);
  rush_conv_pack(&r.s, w, st, biases, packed);
  for (int bounded = 0; bounded < 2; bounded++) {
    const float min = bounded ? 0 : -INFINITY;
    rush_conv_run(&r.s, x, packed, y, min, INFINITY, scratch);
    reference(&r.s, x, w, st, biases, (double)min, HUGE_VAL, want);
    for (size_t i = 0; i < out; i++)
      if (!(fabs((double)y[i] - want[i]) <= 0.52 * ulp))
        fail_msg("element %zu is %g off", i, (double)y[i] - want[i]);
  }
  free(x), free(w), free(want), free(packed), free(y), free(scratch);
}

static const row rows[] = {
    {"1x1", {1, 1, 5, 9, {1, 3, 5}, ONE, ONE, ONE, ONE, {0}, false, NULL}, {0}, {0}},
    {"1x1 stride 2", {2, 1, 5, 9, {1, 4, 5}, ONE, ONE, {1, 2, 2}, ONE, {0}, false, NULL}, {0}, {0}},
    {"1x1 padded",
     {1, 1, 4, 3, {1, 3, 3}, ONE, ONE, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"1x1 groups", {2, 3, 2, 5, {1, 3, 3}, ONE, ONE, ONE, ONE, {0}, false, NULL}, {0}, {0}},
    {"3x3",
     {1, 1, 4, 8, {1, 7, 6}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"3x3 batch",
     {3, 1, 5, 17, {1, 6, 5}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"3x3 stride 2",
     {1, 1, 3, 32, {1, 9, 11}, ONE, {1, 3, 3}, {1, 2, 2}, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"3x3 one side",
     {1, 1, 3, 7, {1, 8, 8}, ONE, {1, 3, 3}, {1, 2, 2}, ONE, {0}, false, NULL},
     {0, 1, 1},
     {0}},
    {"5x3 dilated",
     {2, 1, 3, 9, {1, 12, 9}, ONE, {1, 5, 3}, {1, 1, 2}, {1, 2, 3}, {0, 4, 2}, false, NULL},
     {0, 4, 2},
     {0}},
    {"padding beyond the kernel",
     {1, 1, 2, 3, {1, 2, 2}, ONE, {1, 2, 2}, ONE, ONE, {0, 5, 4}, false, NULL},
     {0, 5, 4},
     {0}},
    {"kernel as large as the input",
     {2, 1, 3, 4, {1, 5, 5}, ONE, {1, 5, 5}, ONE, ONE, {0}, false, NULL},
     {0},
     {0}},
    {"one output pixel",
     {1, 1, 6, 20, {1, 3, 3}, ONE, {1, 3, 3}, ONE, ONE, {0}, false, NULL},
     {0},
     {0}},
    {"1-d",
     {2, 1, 5, 6, {1, 1, 23}, ONE, {1, 1, 4}, {1, 1, 3}, ONE, {0, 0, 2}, false, NULL},
     {0, 0, 1},
     {0}},
    {"3-d",
     {2, 1, 3, 5, {5, 6, 4}, ONE, {3, 3, 3}, {2, 1, 1}, {1, 2, 1}, {1, 2, 1}, false, NULL},
     {1, 2, 1},
     {0}},
    {"groups",
     {2, 3, 4, 6, {1, 5, 6}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"depthwise with multiplier",
     {1, 5, 1, 3, {1, 5, 6}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"depthwise 3x3",
     {2, 9, 1, 1, {1, 7, 13}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"depthwise 3x3 stride 2",
     {1, 16, 1, 1, {1, 12, 20}, ONE, {1, 3, 3}, {1, 2, 2}, ONE, {0}, false, NULL},
     {0, 1, 1},
     {0}},
    {"depthwise 5x5",
     {1, 7, 1, 1, {1, 9, 14}, ONE, {1, 5, 5}, ONE, ONE, {0, 2, 2}, false, NULL},
     {0, 2, 2},
     {0}},
    {"depthwise 5x5 stride 2",
     {1, 4, 1, 1, {1, 15, 21}, ONE, {1, 5, 5}, {1, 2, 2}, ONE, {0, 2, 2}, false, NULL},
     {0, 2, 2},
     {0}},
    {"depthwise 3x3 of long rows",
     {1, 5, 1, 1, {1, 2, 100000}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"depthwise 3x3 stride 2 of long rows",
     {1, 16, 1, 1, {1, 1, 70000}, ONE, {1, 3, 3}, {1, 2, 2}, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"depthwise 5x5 of long rows",
     {1, 4, 1, 1, {1, 2, 60000}, ONE, {1, 5, 5}, ONE, ONE, {0, 2, 2}, false, NULL},
     {0, 2, 2},
     {0}},
    {"depthwise dilated, of long rows",
     {1, 5, 1, 1, {1, 2, 100000}, ONE, {1, 3, 3}, ONE, {1, 1, 2}, {0, 1, 2}, false, NULL},
     {0, 1, 2},
     {0}},
    {"depthwise 7x7",
     {1, 6, 1, 1, {1, 9, 14}, ONE, {1, 7, 7}, ONE, ONE, {0, 3, 3}, false, NULL},
     {0, 3, 3},
     {0}},
    {"depthwise dilated",
     {1, 5, 1, 1, {1, 9, 17}, ONE, {1, 3, 3}, {1, 1, 2}, {1, 2, 2}, {0, 3, 3}, false, NULL},
     {0, 3, 3},
     {0}},
    {"depthwise stride 3",
     {1, 5, 1, 1, {1, 9, 20}, ONE, {1, 3, 2}, {1, 3, 3}, ONE, {0}, false, NULL},
     {0},
     {0}},
    {"depthwise, border only",
     {1, 5, 1, 1, {1, 2, 2}, ONE, {1, 3, 3}, ONE, ONE, {0, 4, 4}, false, NULL},
     {0, 4, 4},
     {0}},
    {"depthwise 1-d",
     {1, 3, 1, 1, {1, 1, 30}, ONE, {1, 1, 9}, ONE, ONE, {0, 0, 4}, false, NULL},
     {0, 0, 4},
     {0}},
    {"depthwise 3-d",
     {1, 5, 1, 1, {4, 5, 9}, ONE, {3, 3, 3}, ONE, ONE, {1, 1, 1}, false, NULL},
     {1, 1, 1},
     {0}},
    {"transposed 2x2 stride 2",
     {1, 1, 4, 6, {1, 3, 5}, ONE, {1, 2, 2}, {1, 2, 2}, ONE, {0}, true, NULL},
     {0},
     {0}},
    {"transposed 3x3 stride 2",
     {2, 1, 3, 9, {1, 4, 5}, ONE, {1, 3, 3}, {1, 2, 2}, ONE, {0, 1, 1}, true, NULL},
     {0, 1, 1},
     {0, 1, 1}},
    {"transposed 4x4 stride 2",
     {1, 1, 5, 8, {1, 4, 4}, ONE, {1, 4, 4}, {1, 2, 2}, ONE, {0, 1, 1}, true, NULL},
     {0, 1, 1},
     {0}},
    {"transposed stride 1",
     {1, 1, 3, 5, {1, 5, 4}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, true, NULL},
     {0, 1, 1},
     {0}},
    {"transposed 1x1 stride 3",
     {1, 1, 3, 5, {1, 3, 4}, ONE, {1, 1, 1}, {1, 3, 3}, ONE, {0}, true, NULL},
     {0},
     {0, 2, 1}},
    {"transposed dilated",
     {1, 1, 3, 4, {1, 4, 5}, ONE, {1, 3, 2}, {1, 2, 3}, {1, 2, 3}, {0, 1, 0}, true, NULL},
     {0, 1, 0},
     {0, 1, 2}},
    {"transposed groups",
     {2, 2, 3, 4, {1, 4, 3}, ONE, {1, 3, 3}, {1, 2, 2}, {1, 3, 1}, {0, 2, 1}, true, NULL},
     {0, 2, 1},
     {0, 1, 0}},
    {"transposed depthwise",
     {1, 5, 1, 1, {1, 4, 3}, ONE, {1, 3, 3}, {1, 2, 2}, ONE, {0, 1, 1}, true, NULL},
     {0, 1, 1},
     {0}},
    {"transposed 1-d",
     {2, 1, 4, 3, {1, 1, 9}, ONE, {1, 1, 16}, {1, 1, 8}, ONE, {0, 0, 4}, true, NULL},
     {0, 0, 4},
     {0}},
    {"transposed 3-d",
     {1, 1, 2, 3, {2, 3, 4}, ONE, {3, 2, 3}, {2, 1, 3}, {1, 2, 1}, {1, 0, 1}, true, NULL},
     {1, 0, 1},
     {1, 0, 0}},
    {"transposed, padding beyond",
     {1, 1, 2, 3, {1, 8, 9}, ONE, {1, 3, 3}, {1, 2, 2}, ONE, {0, 5, 4}, true, NULL},
     {0, 5, 4},
     {0}},
    {"no input channels",
     {1, 1, 0, 3, {1, 3, 4}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"no batch",
     {0, 1, 2, 3, {1, 3, 4}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"1x1 of 64 channels",
     {1, 1, 64, 96, {1, 14, 14}, ONE, ONE, ONE, ONE, {0}, false, NULL},
     {0},
     {0}},
    {"depthwise 3x3 of 64 channels",
     {1, 64, 1, 1, {1, 28, 28}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
    {"depthwise 5x5 of 64 channels",
     {1, 64, 1, 1, {1, 14, 14}, ONE, {1, 5, 5}, ONE, ONE, {0, 2, 2}, false, NULL},
     {0, 2, 2},
     {0}},
    {"1-d of 64 channels",
     {1, 1, 64, 64, {1, 1, 200}, ONE, {1, 1, 3}, ONE, ONE, {0, 0, 1}, false, NULL},
     {0, 0, 1},
     {0}},
    {"more columns than the cache holds",
     {1, 1, 64, 250, {1, 3, 4}, ONE, {1, 3, 3}, ONE, ONE, {0, 1, 1}, false, NULL},
     {0, 1, 1},
     {0}},
};

static void convolutions(void **unused) {
  (void)unused;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    convolve(rows[i], false, true, -INFINITY, INFINITY);
    convolve(rows[i], true, true, 0, 6);
    convolve(rows[i], true, false, -0.1f, INFINITY);
  }
}

/* Tests random small kernels, strides, dilations, paddings and sizes, with channels around
 * tiles. */
static void convolutions_at_random(void **unused) {
  (void)unused;
  for (int i = 0; i < 3000; i++) {
    row r = {"random", {0}, {0}, {0}};
    rush_conv *s = &r.s;
#define PICK(n) ((size_t)((noise() + 1) * 0.5f * (float)(n)))
    s->transposed = PICK(3) == 0;
    s->batch = 1 + PICK(2);
    const size_t kind = PICK(3);
    s->groups = kind == 0 ? 1 : 1 + PICK(11);
    s->in_c = kind == 1 ? 1 : 1 + PICK(6);
    s->out_c = kind == 1 ? 1 : 1 + PICK(18);
    for (int d = 0; d < 3; d++) {
      const bool used = d > 0 || PICK(6) == 0;
      s->in[d] = used ? 1 + PICK(9) : 1;
      s->kernel[d] = used ? 1 + PICK(5) : 1;
      s->stride[d] = used ? 1 + PICK(3) : 1;
      s->dilation[d] = used ? 1 + PICK(3) : 1;
      s->padding[d] = used ? (ptrdiff_t)PICK(4) : 0;
      r.behind[d] = s->transposed ? (size_t)s->padding[d] : used ? PICK(4) : 0;
      r.extra[d] = s->transposed && used ? PICK(s->stride[d]) : 0;
    }
    char name[200];
    snprintf(name, sizeof name, "random %d: groups %zu, channels %zu to %zu, transposed %d", i,
             s->groups, s->in_c, s->out_c, s->transposed);
    r.name = name;
    convolve(r, PICK(2) == 0, PICK(2) == 0, -INFINITY, PICK(2) == 0 ? 0.5f : INFINITY);
  }
}

static void packed_weights_serve_any_shape_and_are_not_written(void **unused) {
  (void)unused;
  row r = rows[5];
  assert_true(complete(&r));
  ptrdiff_t st[5];
  strides_of(&r.s, true, st);
  size_t floats, bytes;
  assert_true(rush_conv_packed(&r.s, &floats));
  assert_true(rush_conv_scratch(&r.s, &bytes));
  float *w = numbers(9 * 5 * 17), *packed = guarded(floats), *copy = guarded(floats),
        *x = numbers(3 * 30 * 30 * 5);
  void *scratch = malloc(bytes);
  rush_conv_pack(&r.s, w, st, NULL, packed);
  memcpy(copy, packed, floats * sizeof *packed);
  for (size_t size = 3; size < 30; size += 5) {
    row t = r;
    t.s.in[1] = size, t.s.in[2] = 33 - size;
    assert_true(complete(&t));
    const size_t out = t.s.batch * t.s.out[1] * t.s.out[2] * 17;
    float *y = guarded(out);
    double *want = malloc(out * sizeof *want);
    rush_conv_run(&t.s, x, packed, y, -INFINITY, INFINITY, scratch);
    reference(&t.s, x, w, st, NULL, (double)-INFINITY, (double)INFINITY, want);
    check("shared", y, want, out, 2e-5);
    assert_memory_equal(copy, packed, floats * sizeof *packed);
    free(y), free(want);
  }
  free(w), free(packed), free(copy), free(x), free(scratch);
}

/* ---- Rows of depthwise convolutions ---------------------------------------------------------- */

/* Stores the row functions, and returns how many of them this machine supports. */
static size_t row_widths(rush_dw_row_fn *fns[3]) {
  fns[0] = rush_dw_row_4;
#if defined(__x86_64__)
  fns[1] = rush_dw_row_8;
  fns[2] = rush_dw_row_16;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? 3 : 2;
#endif
  return 1;
}

/* Three rows of pixels follow each other, without a column on each side. */
static void plain_row(const rush_dw_row *r, double *y) {
  for (size_t o = 0; o < r->n; o++)
    for (size_t c = 0; c < r->channels; c++) {
      double sum = (double)r->bias[c];
      for (size_t k = 0; k < r->h * r->width; k++) {
        const ptrdiff_t at = r->first + (ptrdiff_t)(o * r->stride + k % r->width * r->dilation);
        if (at < 0 || at >= r->columns) continue;
        const float *x = r->x + (ptrdiff_t)(k / r->width) * r->x_h;
        sum += (double)x[(size_t)at * r->channels + c] * (double)r->w[k * r->row + c];
      }
      y[o * r->channels + c] = clamp(sum, (double)r->min, (double)r->max);
    }
}

static void depthwise_rows_of_each_width(void **unused) {
  (void)unused;
  enum { CHANNELS = 64, COLUMNS = 28 };
  rush_dw_row_fn *fns[3];
  const size_t widths = row_widths(fns);
  for (size_t size = 3; size <= 7; size += 2)
    for (size_t stride = 1; stride <= 2; stride++) {
      char what[48];
      snprintf(what, sizeof what, "row of 28, %zux%zu of stride %zu", size, size, stride);
      const size_t n = (COLUMNS - 1) / stride + 1, x_h = COLUMNS * CHANNELS;
      float *x = numbers(size * x_h), *w = numbers((size * size + 1) * CHANNELS);
      float *bias = numbers(CHANNELS), *y = guarded(n * CHANNELS);
      double *want = malloc(n * CHANNELS * sizeof *want);
      const rush_dw_row r = {.x = x,
                             .w = w,
                             .bias = bias,
                             .y = y,
                             .channels = CHANNELS,
                             .row = CHANNELS,
                             .n = n,
                             .stride = stride,
                             .dilation = 1,
                             .first = -(ptrdiff_t)(size / 2),
                             .columns = COLUMNS,
                             .d = 1,
                             .h = size,
                             .width = size,
                             .x_h = (ptrdiff_t)x_h,
                             .w_h = size * CHANNELS,
                             .min = -1,
                             .max = INFINITY};
      const double work = 2.0 * (double)(n * CHANNELS * size * size);
      TIMED("depthwise", what, PLAIN, work, 0, plain_row(&r, want));
      for (size_t v = 0; v < widths; v++) {
        for (size_t i = 0; i < n * CHANNELS; i++) y[i] = guard;
        TIMED("depthwise", what, timed_width(widths > 1 ? v + 1 : 0), work, 0,
              fns[v](&r, 0, CHANNELS));
        check(what, y, want, n * CHANNELS, 2e-5);
      }
      free(x), free(w), free(bias), free(y), free(want);
    }
}

/* ---- Transposes ------------------------------------------------------------------------------ */

static void transposes(void **unused) {
  (void)unused;
  static const size_t sizes[] = {1, 2, 4, 8, 16}, n[] = {1, 3, 4, 5, 8, 31, 32, 33, 70};
  for (size_t s = 0; s < 5; s++)
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
      for (size_t j = 0; j < sizeof n / sizeof *n; j++) {
        const size_t size = sizes[s], rows_ = n[i], columns = n[j], from_row = rows_ + 2,
                     to_row = columns + 1;
        uint8_t *from = malloc(columns * from_row * size), *to = malloc(rows_ * to_row * size);
        for (size_t b = 0; b < columns * from_row * size; b++)
          from[b] = (uint8_t)(100 + 100 * noise());
        memset(to, 0x5a, rows_ * to_row * size);
        rush_transpose(size, rows_, columns, from, (ptrdiff_t)from_row, to, (ptrdiff_t)to_row);
        for (size_t a = 0; a < rows_; a++) {
          for (size_t b = 0; b < columns; b++)
            assert_memory_equal(to + (a * to_row + b) * size, from + (b * from_row + a) * size,
                                size);
          for (size_t b = 0; b < size; b++)
            assert_int_equal(to[(a * to_row + columns) * size + b], 0x5a);
        }
        free(from), free(to);
      }
}

static void time_rows(void) {
  depthwise_rows_of_each_width(NULL);
  products_larger_than_the_cache(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    convolve(rows[i], false, true, -INFINITY, INFINITY);
}

int main(int argc, char **argv) {
  if (timed_wanted(argc, argv)) return time_rows(), 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_all_sizes),
      cmocka_unit_test(packing_in_place_gives_the_same_bits),
      cmocka_unit_test(products_larger_than_the_cache),
      cmocka_unit_test(nan_passes_the_clamp_of_a_product),
      cmocka_unit_test(biases_are_added_to_sums),
      cmocka_unit_test(biases_of_convolutions_are_added_to_sums),
      cmocka_unit_test(convolutions),
      cmocka_unit_test(convolutions_at_random),
      cmocka_unit_test(packed_weights_serve_any_shape_and_are_not_written),
      cmocka_unit_test(depthwise_rows_of_each_width),
      cmocka_unit_test(transposes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
