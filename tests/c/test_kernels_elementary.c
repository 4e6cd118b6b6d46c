/* Compares the SIMD functions of kernels/elementary.h and kernels/reduction.h with references. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "timed.h"

#include "kernels/elementary.h"
#include "kernels/normalize.h"
#include "kernels/reduction.h"
#if defined(__x86_64__)
#include "kernels/elementary_wide.h"
#endif

/* The greatest error of normal results in units in the last place, and `far` for those below
 * `tiny`. */
static const struct {
  const char *name;
  void (*run[4])(size_t n, float *out, const float *in); /* the first one is the public function */
  double (*reference)(double x);
  double ulp;
  double tiny; /* smaller results may have an absolute error of `tiny` */
} rows[] = {
#if defined(__x86_64__)
#define RUNS(name) {rush_##name##_f32, rush_##name##_4, rush_##name##_8, rush_##name##_16}
#else
#define RUNS(name) {rush_##name##_f32}
#endif
#define ROW(name, ulp, tiny) {#name, RUNS(name), rush_##name##_ref, ulp, tiny}
    ROW(exp, 1.5, 0),
    ROW(exp2, 1.5, 0),
    ROW(expm1, 2, 0),
    ROW(log, 1.5, 0),
    ROW(log2, 1.5, 0),
    ROW(log10, 1.5, 0),
    ROW(log1p, 1.5, 0),
    ROW(tanh, 3, 0),
    ROW(sigmoid, 2.5, 0),
    ROW(erf, 2.5, 0),
    ROW(gelu, 8, 1e-36),
    ROW(gelu_tanh, 100, 0),
    ROW(silu, 2.5, 1e-36),
    ROW(mish, 2.5, 1e-36),
    ROW(log_sigmoid, 2.5, 0),
    ROW(hardsigmoid, 2.5, 0),
    ROW(hardswish, 2.5, 1e-36),
    ROW(sin, 2, 1e-7),
    ROW(cos, 2, 1e-7),
    ROW(atan, 2.5, 0),
    ROW(sqrt, 0.51, 0),
    ROW(rsqrt, 2, 0),
    ROW(floor, 0, 0),
    ROW(ceil, 0, 0),
    ROW(trunc, 0, 0),
    ROW(round, 0, 0),
    ROW(frac, 0, 0),
};
enum { ROWS = sizeof rows / sizeof *rows, BATCH = 1021 };

/* Returns how many of run[] this machine supports. */
static size_t widths(void) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 2;
  const bool has_16 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return has_16 ? 4 : 3;
#else
  return 1;
#endif
}
#define EACH_RUN(row, w)                  \
  for (size_t row = 0; row < ROWS; row++) \
    for (size_t w = 0; w < widths(); w++)

/* Returns the distance in units in the last place of `want` as a float. */
static double distance(float got, double want) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  const float rounded = (float)want;
  if (isinf(rounded))
    return isinf(got) && (got > 0) == (rounded > 0) ? 0 : fabsf(got) > 3.4028e38f ? 1 : INFINITY;
  if (!isfinite(got)) return fabs(want) > 3.40282346e38 ? 1 : INFINITY;
  int e;
  (void)frexp(want, &e);
  return fabs((double)got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

static void check(size_t row, const float *in, const float *out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    /* sin and cos of large numbers are libm's, and libm's error is not tested */
    const double want = rows[row].reference((double)in[i]);
    if (fabs((double)out[i] - want) <= rows[row].tiny) continue;
    if (distance(out[i], want) <= rows[row].ulp) continue;
    fail_msg("%s(%.9g): expected %.9g, got %.9g", rows[row].name, (double)in[i], want,
             (double)out[i]);
  }
}

/* Bit patterns from 0 to 2^32 in steps of a prime cover all exponents, both signs, inf and NaN. */
static void a_sweep_stays_within_its_error(void **state) {
  static float in[BATCH], out[BATCH];
  (void)state;
  EACH_RUN(row, w) {
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32;) {
      size_t n = 0;
      for (; n < BATCH && bits < UINT64_C(1) << 32; n++, bits += 1000003) {
        const uint32_t b = (uint32_t)bits;
        memcpy(&in[n], &b, sizeof b);
      }
      rows[row].run[w](n, out, in);
      check(row, in, out, n);
    }
  }
}

static void special_values_and_the_numbers_around_0(void **state) {
  static const float special[] = {0.0f,  -0.0f,  1.0f,    -1.0f,       INFINITY,   -INFINITY,
                                  NAN,   1e-45f, -1e-45f, 1e-38f,      -1e-38f,    0.5f,
                                  -0.5f, 2.0f,   88.0f,   89.0f,       -87.5f,     -104.0f,
                                  3e38f, -3e38f, 2.5f,    -8388607.5f, 1.0000001f, 0.99999994f,
                                  1e-7f, -1e-7f, 9.0f,    -9.0f,       13.2f,      -13.2f};
  enum { N = sizeof special / sizeof *special };
  float in[200], out[200];
  (void)state;
  EACH_RUN(row, w) {
    if (strcmp(rows[row].name, "gelu") == 0) continue; /* -inf * 0 is NaN there, as in PyTorch */
    rows[row].run[w](N, out, special);
    for (size_t i = 0; i < N; i++)
      if (!isinf(special[i])) check(row, &special[i], &out[i], 1);
    for (int i = 0; i < 200; i++) in[i] = (float)(i - 100) / 10;
    rows[row].run[w](200, out, in);
    check(row, in, out, 200);
  }
  const float zeros[] = {0.0f, -0.0f};
  static const char *const odd[] = {"expm1", "log1p", "tanh",  "erf",  "sin",   "sqrt",
                                    "gelu",  "silu",  "floor", "ceil", "trunc", "round"};
  EACH_RUN(row, w) {
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
      if (strcmp(odd[k], rows[row].name) != 0) continue;
      rows[row].run[w](2, out, zeros);
      assert_true(out[0] == 0 && !signbit(out[0]) && out[1] == 0 && signbit(out[1]));
    }
  }
}

/* Tests each length, also in place of either factor, with a guard after the end. */
static void complex_products_are_those_of_their_parts(void **state) {
  enum { MOST = 9 };
  (void)state;
  for (size_t n = 0; n <= MOST; n++) {
    for (int where = 0; where < 3; where++) {
      float x[2 * MOST + 1], y[2 * MOST + 1], apart[2 * MOST + 1], want[2 * MOST];
      float *out = where == 0 ? apart : where == 1 ? x : y;
      for (size_t i = 0; i < 2 * n; i++) x[i] = (float)i - 3.5f, y[i] = 0.25f * (float)(i * i) - 2;
      out[2 * n] = 77;
      for (size_t i = 0; i < 2 * n; i += 2) {
        want[i] = x[i] * y[i] - x[i + 1] * y[i + 1];
        want[i + 1] = x[i] * y[i + 1] + x[i + 1] * y[i];
      }
      rush_mul_c64(n, out, x, y);
      assert_memory_equal(out, want, 2 * n * sizeof *want);
      assert_true(out[2 * n] == 77);
    }
  }
}

/* Tests each length, in place, with a guard after the end. */
static void every_length_and_in_place(void **state) {
  (void)state;
  EACH_RUN(row, w) {
    float in[24], apart[24], place[24], one;
    for (int i = 0; i < 24; i++) in[i] = 0.3f * (float)(i + 1);
    for (size_t n = 0; n <= 20; n++) {
      for (int i = 0; i < 24; i++) apart[i] = place[i] = i < (int)n ? in[i] : 77.0f;
      rows[row].run[w](n, apart, in);
      rows[row].run[w](n, place, place);
      for (size_t i = 0; i < 24; i++) {
        rows[row].run[w](1, &one, &in[i]);
        assert_true(apart[i] == (i < n ? one : 77.0f));
        assert_true(place[i] == apart[i]);
      }
    }
  }
}

/* Tests every pair of special values, and a grid of others. */
static void atan2_is_that_of_c(void **state) {
  enum { N = 67 };
  static float y[N * N], x[N * N], out[N * N];
  float some[N] = {0.0f,  -0.0f,  INFINITY, -INFINITY, NAN,    1.0f,
                   -1.0f, 1e-45f, -1e-45f,  3e38f,     -3e38f, 1e-30f};

  (void)state;
  for (int i = 12; i < N; i++) some[i] = (float)(i - 40) * (i % 3 == 0 ? 1e-3f : 0.37f);
  for (int i = 0; i < N * N; i++) {
    y[i] = some[i / N];
    x[i] = some[i % N];
  }
  for (size_t w = 0; w < widths(); w++) {
#if defined(__x86_64__)
    (w == 0   ? rush_atan2_f32
     : w == 1 ? rush_atan2_4
     : w == 2 ? rush_atan2_8
              : rush_atan2_16)(N * N, out, y, x);
#else
    rush_atan2_f32(N * N, out, y, x);
#endif
    for (int i = 0; i < N * N; i++) {
      const double want = atan2((double)y[i], (double)x[i]);
      if (distance(out[i], want) > 3 || (want == 0 && !signbit(out[i]) != !signbit(want)))
        fail_msg("atan2(%g, %g): expected %.9g, got %.9g", (double)y[i], (double)x[i], want,
                 (double)out[i]);
    }
  }
}

static void sums_do_not_drift(void **state) {
  static float x[100003];
  (void)state;
  double want = 0;
  for (size_t i = 0; i < 100003; i++) want += (double)(x[i] = 0.1f);
  for (size_t n = 0; n < 70; n++) assert_true(fabs(rush_sum_f32(n, x) - 0.1f * (double)n) < 1e-5);
  assert_true(fabs(rush_sum_f32(100003, x) / want - 1) < 1e-6);
  assert_true(fabs(rush_sum_abs_f32(100003, x) / want - 1) < 1e-6);
  assert_true(rush_sum_squares_f32(100003, x, 0.1f) == 0);
}

static void a_nan_is_the_greatest_and_the_least(void **state) {
  float x[37];
  (void)state;
  for (size_t n = 1; n <= 37; n++) {
    for (size_t at = 0; at < n; at++) {
      for (size_t i = 0; i < 37; i++) x[i] = i < n ? (float)((i * 7) % 11) : 99.0f;
      x[at] = 50;
      assert_true(rush_max_f32(n, x) == 50.0f);
      x[at] = -50;
      assert_true(rush_min_f32(n, x) == -50.0f);
      x[at] = NAN;
      assert_true(isnan(rush_max_f32(n, x)) && isnan(rush_min_f32(n, x)));
    }
  }
}

static void softmax_rows_and_columns_agree(void **state) {
  enum { N = 21, COLS = 7 };
  float columns[N * COLS], row[N];
  (void)state;
  for (int logarithm = 0; logarithm < 2; logarithm++) {
    for (int i = 0; i < N * COLS; i++) columns[i] = (float)((i * 37) % 29) / 3 - 5;
    float x[N * COLS];
    memcpy(x, columns, sizeof x);
    rush_softmax_columns_f32(NULL, N, COLS, COLS, columns, columns, logarithm);
    for (int c = 0; c < COLS; c++) {
      for (int i = 0; i < N; i++) row[i] = x[i * COLS + c];
      rush_softmax_row_f32(NULL, N, row, row, logarithm);
      for (int i = 0; i < N; i++) assert_true(fabsf(row[i] - columns[i * COLS + c]) < 2e-6f);
    }
  }
}

/* The inputs are between 0 and 4. */
static void time_rows(void) {
  static float in[BATCH], out[BATCH];
  for (size_t i = 0; i < BATCH; i++) in[i] = 4 * (float)(i + 1) / (float)BATCH;
  for (size_t row = 0; row < ROWS; row++) {
    TIMED(rows[row].name, "1021 elements", PLAIN, 0, 0,
          for (size_t i = 0; i < BATCH; i++) out[i] = (float)rows[row].reference((double)in[i]));
    for (size_t w = widths() > 1; w < widths(); w++)
      TIMED(rows[row].name, "1021 elements", timed_width(w), 0, 0,
            rows[row].run[w](BATCH, out, in));
  }
}

int main(int argc, char **argv) {
  if (timed_wanted(argc, argv)) return time_rows(), 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sweep_stays_within_its_error),
      cmocka_unit_test(special_values_and_the_numbers_around_0),
      cmocka_unit_test(every_length_and_in_place),
      cmocka_unit_test(atan2_is_that_of_c),
      cmocka_unit_test(complex_products_are_those_of_their_parts),
      cmocka_unit_test(sums_do_not_drift),
      cmocka_unit_test(a_nan_is_the_greatest_and_the_least),
      cmocka_unit_test(softmax_rows_and_columns_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
