/* Compares conversions between 16-bit floats and float32 with base/half.h. Products with a matrix
 * of 16-bit floats have the same bits as with that matrix in float32: for all 65,536 values of both
 * dtypes, sizes around the tiles, large elements of the rows, and any number of threads. */
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

#include "base/base.h"
#include "base/half.h"
#include "base/threads.h"
#include "kernels/fp16.h"
#include "kernels/gemm.h"
#include "kernels/gemm_half.h"

static const rush_dtype dtypes[] = {RUSH_FLOAT16, RUSH_BFLOAT16};

static const char *name_of(rush_dtype dtype) {
  return dtype == RUSH_FLOAT16 ? "float16" : "bfloat16";
}
static float widened(rush_dtype dtype, uint16_t bits) {
  return dtype == RUSH_FLOAT16 ? rush_from_float16(bits) : rush_from_bfloat16(bits);
}
static uint16_t narrowed(rush_dtype dtype, float v) {
  return dtype == RUSH_FLOAT16 ? rush_to_float16(v) : rush_to_bfloat16(v);
}
/* The first one is the public function. */
static const struct {
  rush_half_rows_fn *widen, *narrow;
} conversions[] = {
    {rush_widen_halves, rush_narrow_floats},
#if defined(__x86_64__)
    {rush_widen_halves_4, rush_narrow_floats_4},
    {rush_widen_halves_8, rush_narrow_floats_8},
#endif
};
/* Returns how many of them this machine supports. */
static size_t widths(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") ? 3 : 2;
#else
  return 1;
#endif
}
#define EACH_CONVERSION(w, d)           \
  for (size_t w = 0; w < widths(); w++) \
    for (size_t d = 0; d < 2; d++)

static void *memory(size_t bytes) {
  void *p = aligned_alloc(64, bytes / 64 * 64 + 64);
  assert_non_null(p);
  return p;
}
static float *packed_of(size_t item, size_t n, size_t k, const void *b, const float *bias) {
  size_t floats;
  assert_true(rush_gemm_packed(rush_gemm_rows(item, k), n, &floats));
  float *packed = memory(floats * sizeof *packed);
  rush_gemm_pack_items(NULL, item, k, n, b, 1, (ptrdiff_t)k, bias, packed);
  return packed;
}

/* Checks that numbers are equal, or both NaN. */
static void expect_same(const char *what, size_t n, const float *got, const float *want) {
  for (size_t i = 0; i < n; i++)
    if (memcmp(got + i, want + i, sizeof *got) != 0 && !(isnan(got[i]) && isnan(want[i])))
      fail_msg("%s: element %zu is %.9g, not %.9g", what, i, (double)got[i], (double)want[i]);
}

enum { ALL = 1 << 16 };
static uint16_t all_halves[ALL];
static float floats_of_all[ALL];

static void all_halves_become_floats(void **unused) {
  (void)unused;
  static float want[ALL];
  for (size_t i = 0; i < ALL; i++) all_halves[i] = (uint16_t)i;
  EACH_CONVERSION(w, d) {
    for (size_t i = 0; i < ALL; i++) want[i] = widened(dtypes[d], (uint16_t)i);
    conversions[w].widen(dtypes[d], ALL, all_halves, floats_of_all);
    expect_same("widened", ALL, floats_of_all, want);
  }
}

/* Checks that floats_of_all are converted as one by one. */
static void expect_rounded(size_t w, rush_dtype dtype) {
  conversions[w].narrow(dtype, ALL, floats_of_all, all_halves);
  for (size_t i = 0; i < ALL; i++)
    if (all_halves[i] != narrowed(dtype, floats_of_all[i]))
      fail_msg("dtype %d: %a became %#x, not %#x", (int)dtype, (double)floats_of_all[i],
               all_halves[i], narrowed(dtype, floats_of_all[i]));
}

/* Tests bit patterns in steps of a prime; each 16-bit float; and midpoints with their
 * neighbours. */
static void floats_are_rounded_to_the_nearest_half(void **unused) {
  (void)unused;
  EACH_CONVERSION(w, d) {
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32;) {
      for (size_t i = 0; i < ALL; i++, bits += 4093)
        floats_of_all[i] = rush_float_from_bits((uint32_t)bits);
      expect_rounded(w, dtypes[d]);
    }
    const uint32_t half = dtypes[d] == RUSH_FLOAT16 ? 1 << 12 : 1 << 15;
    for (uint32_t more = 0; more < 4; more++) {
      for (size_t i = 0; i < ALL; i++) {
        const uint32_t at = rush_float_to_bits(widened(dtypes[d], (uint16_t)i));
        floats_of_all[i] = rush_float_from_bits(more == 0 ? at : at + half + more - 2);
      }
      expect_rounded(w, dtypes[d]);
    }
    /* Midpoints between subnormal numbers, and between the least one and zero. */
    for (size_t i = 0; i < ALL; i++) floats_of_all[i] = (float)i * (i % 2 ? 0x1p-30f : -0x1p-34f);
    expect_rounded(w, dtypes[d]);
  }
}

static void conversions_of_every_length(void **unused) {
  (void)unused;
  EACH_CONVERSION(w, d) {
    for (size_t n = 0; n <= 35; n++) {
      uint16_t halves[35 + 1], back[35 + 1];
      float floats[35 + 1];
      for (size_t i = 0; i <= 35; i++) halves[i] = (uint16_t)(0x3c00 + 37 * i), back[i] = 77;
      for (size_t i = 0; i <= 35; i++) floats[i] = guard;
      conversions[w].widen(dtypes[d], n, halves, floats);
      for (size_t i = 0; i <= 35; i++)
        assert_true(floats[i] == (i < n ? widened(dtypes[d], halves[i]) : guard));
      conversions[w].narrow(dtypes[d], n, floats, back);
      for (size_t i = 0; i <= 35; i++) assert_int_equal(back[i], i < n ? halves[i] : 77);
    }
  }
}

static void plain_product(size_t m, size_t n, size_t k, const float *a, const float *w,
                          const float *bias, float *c, size_t ldc) {
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      float sum = bias[j];
      for (size_t t = 0; t < k; t++) sum += a[i * k + t] * w[j * k + t];
      c[i * ldc + j] = sum;
    }
}

/* Multiplies a[m][k] by w[n][k]. */
static void product(rush_ctx *ctx, rush_dtype dtype, size_t m, size_t n, size_t k, const float *a,
                    const uint16_t *w) {
  char what[96];
  snprintf(what, sizeof what, "%s, %zu x %zu x %zu", name_of(dtype), m, n, k);
  float *wide = memory(n * k * sizeof *wide), *bias = memory(n * sizeof *bias);
  for (size_t i = 0; i < n * k; i++) wide[i] = widened(dtype, w[i]);
  for (size_t j = 0; j < n; j++) bias[j] = noise();
  float *floats = packed_of(sizeof *wide, n, k, wide, bias);
  float *halves = packed_of(sizeof *w, n, k, w, bias);
  const size_t ldc = n + 3;
  float *want = memory(m * ldc * sizeof *want), *got = memory(m * ldc * sizeof *got);
  for (size_t i = 0; i < m * ldc; i++) want[i] = got[i] = guard;
  const rush_half_product p = {.dtype = dtype,
                               .finite = rush_half_is_finite(dtype, n * k, w),
                               .m = m,
                               .n = n,
                               .k = k,
                               .lda = k,
                               .ldc = ldc,
                               .a = a,
                               .packed = halves,
                               .c = got,
                               .min = -3,
                               .max = INFINITY};
  size_t room;
  assert_true(rush_half_scratch(ctx, &p, &room));
  float *scratch = memory((room + GUARD) * sizeof *scratch);
  for (size_t i = 0; i < GUARD; i++) scratch[room + i] = guard;
  const double work = 2.0 * (double)(m * n * k);
  if (timed.wanted)
    TIMED("gemm of halves", what, PLAIN, work, 0, plain_product(m, n, k, a, wide, bias, want, ldc));
  TIMED("gemm of halves", what, "of float32", work, 0,
        rush_gemm_parallel(ctx, m, n, k, a, k, floats, want, ldc, -3, INFINITY));
  TIMED("gemm of halves", what, "kernel", work, 0, rush_half_gemm(ctx, &p, scratch));
  expect_same(what, m * ldc, got, want);
  for (size_t i = 0; i < GUARD; i++) assert_true(scratch[room + i] == guard);
  free(wide), free(bias), free(floats), free(halves), free(want), free(got), free(scratch);
}

static rush_ctx *context(unsigned threads) {
  rush_ctx *ctx;
  assert_int_equal(rush_ctx_create(NULL, NULL, &ctx), RUSH_OK);
  assert_int_equal(rush_ctx_set_threads(ctx, threads), RUSH_OK);
  return ctx;
}

/* Multiplies one weight for each column by 1: first finite values only, then all values. */
static void every_value_is_widened_exactly(void **unused) {
  (void)unused;
  rush_ctx *ctx = context(1);
  uint16_t *w = memory(ALL * sizeof *w);
  static const float ones[] = {1, 1};
  for (size_t d = 0; d < 2; d++) {
    size_t finite = 0;
    for (size_t bits = 0; bits < ALL; bits++)
      if (isfinite(widened(dtypes[d], (uint16_t)bits))) w[finite++] = (uint16_t)bits;
    assert_int_equal(finite, ALL - 2 * (d == 0 ? 1 << 10 : 1 << 7));
    for (size_t m = 1; m <= 2; m++) product(ctx, dtypes[d], m, finite, 1, ones, w);
    for (size_t bits = 0; bits < ALL; bits++) w[bits] = (uint16_t)bits;
    for (size_t m = 1; m <= 2; m++) product(ctx, dtypes[d], m, ALL, 1, ones, w);
  }
  free(w);
  rush_ctx_destroy(ctx);
}

static void some_product(rush_ctx *ctx, size_t m, size_t n, size_t k, float large) {
  for (size_t d = 0; d < 2; d++) {
    float *a = memory((m * k + 1) * sizeof *a);
    uint16_t *w = memory((n * k + 1) * sizeof *w);
    for (size_t i = 0; i < m * k; i++) a[i] = noise();
    if (m * k > 0) a[m * k / 2] *= large;
    for (size_t i = 0; i < n * k; i++) w[i] = narrowed(dtypes[d], noise());
    product(ctx, dtypes[d], m, n, k, a, w);
    free(a), free(w);
  }
}

static void products_of_all_sizes(void **unused) {
  (void)unused;
  rush_ctx *ctx = context(1);
  static const size_t m[] = {1, 2, 7, 13}, n[] = {1, 4, 7, 8, 9, 31, 32, 33, 65, 131},
                      k[] = {0, 1, 2, 3, 8, 9, 17};
  for (size_t a = 0; a < sizeof m / sizeof *m; a++)
    for (size_t b = 0; b < sizeof n / sizeof *n; b++)
      for (size_t c = 0; c < sizeof k / sizeof *k; c++) some_product(ctx, m[a], n[b], k[c], 1);
  rush_ctx_destroy(ctx);
}

/* Tests one token, and texts of several tokens. */
static void products_of_layers(void **unused) {
  (void)unused;
  static const size_t m[] = {1, 16, 128};
  rush_ctx *ctx = context(1);
  for (size_t i = 0; i < sizeof m / sizeof *m; i++) some_product(ctx, m[i], 96, 384, 1);
  rush_ctx_destroy(ctx);
}

/* Elements of a row that overflow in the product by 2^112, and elements that are not finite. */
static void large_elements_of_a_row(void **unused) {
  (void)unused;
  static const float large[] = {0x1.fffffep15f, 0x1p17f, 0x1p100f, INFINITY, NAN};
  rush_ctx *ctx = context(1);
  for (size_t i = 0; i < sizeof large / sizeof *large; i++)
    for (size_t m = 1; m <= 3; m++) some_product(ctx, m, 75, 33, large[i]);
  rush_ctx_destroy(ctx);
}

static void products_on_threads(void **unused) {
  (void)unused;
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    rush_ctx *ctx = context(threads);
    some_product(ctx, 1, 3000, 700, 1);
    some_product(ctx, 5, 700, 900, 1);
    some_product(ctx, 700, 90, 700, 1);
    some_product(ctx, 3, 41, 9000, 1);
    rush_ctx_destroy(ctx);
  }
}

static void a_matrix_is_packed_in_place_and_read_back(void **unused) {
  (void)unused;
  for (size_t n = 0; n <= 3 * rush_gemm_nr() + 1; n++) {
    for (size_t k = 0; k <= 21; k++) {
      size_t floats;
      assert_true(rush_gemm_packed(rush_gemm_rows(2, k), n, &floats));
      uint16_t *w = memory(n * k * sizeof *w + 1), *row = memory(k * sizeof *w + 1);
      for (size_t i = 0; i < n * k; i++) w[i] = (uint16_t)(i * 40503u);
      float *placed = memory((floats + 1) * sizeof *placed),
            *scratch = memory(rush_gemm_nr() * k * 2);
      memcpy((char *)(placed + floats) - n * k * sizeof *w, w, n * k * sizeof *w);
      rush_gemm_pack_placed(NULL, sizeof *w, k, n, NULL, scratch, placed);
      for (size_t j = 0; j < n; j++) {
        rush_gemm_packed_row(NULL, sizeof *w, k, placed, j, row);
        assert_memory_equal(row, w + j * k, k * sizeof *w);
      }
      free(w), free(row), free(placed), free(scratch);
    }
  }
}

static void time_rows(void) {
  enum { BYTES = ALL * (sizeof *all_halves + sizeof *floats_of_all) };
  for (size_t i = 0; i < ALL; i++) all_halves[i] = (uint16_t)i;
  for (size_t d = 0; d < 2; d++) {
    const char *name = name_of(dtypes[d]);
    TIMED("widen", name, PLAIN, 0, BYTES,
          for (size_t i = 0; i < ALL; i++) floats_of_all[i] = widened(dtypes[d], all_halves[i]));
    for (size_t w = widths() > 1; w < widths(); w++)
      TIMED("widen", name, timed_width(w), 0, BYTES,
            conversions[w].widen(dtypes[d], ALL, all_halves, floats_of_all));
    for (size_t i = 0; i < ALL; i++) floats_of_all[i] = noise();
    TIMED("narrow", name, PLAIN, 0, BYTES,
          for (size_t i = 0; i < ALL; i++) all_halves[i] = narrowed(dtypes[d], floats_of_all[i]));
    for (size_t w = widths() > 1; w < widths(); w++)
      TIMED("narrow", name, timed_width(w), 0, BYTES,
            conversions[w].narrow(dtypes[d], ALL, floats_of_all, all_halves));
  }
  products_of_layers(NULL);
}

int main(int argc, char **argv) {
  if (timed_wanted(argc, argv)) return time_rows(), 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_halves_become_floats),
      cmocka_unit_test(floats_are_rounded_to_the_nearest_half),
      cmocka_unit_test(conversions_of_every_length),
      cmocka_unit_test(every_value_is_widened_exactly),
      cmocka_unit_test(products_of_all_sizes),
      cmocka_unit_test(products_of_layers),
      cmocka_unit_test(large_elements_of_a_row),
      cmocka_unit_test(products_on_threads),
      cmocka_unit_test(a_matrix_is_packed_in_place_and_read_back),
  };
  return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
