/* Compares products with weights of few bits with plain loops: odd sizes of pieces and groups, zero
 * points, extreme integers, and columns and rows that do not fill a tile. The answers are the same
 * on any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "floats.h"
#include "timed.h"

#include "base/base.h"
#include "kernels/int4_gemm.h"

static void *memory(size_t bytes) {
  return aligned_alloc(64, bytes / 64 * 64 + 64);
}

typedef struct matrix {
  rush_int4_matrix b;
  int8_t *integers; /* [n][k], as in the file */
  float *scales, *minima, *bias;
  uint8_t *zeros;
  void *packed;
} matrix;

static const void *offsets_of(const matrix *m, size_t i) {
  if (m->b.offsets == RUSH_INT4_NO_OFFSETS) return NULL;
  return m->b.offsets == RUSH_INT4_MINIMA ? (const void *)(m->minima + i) : m->zeros + i;
}

static matrix new_matrix(rush_int4_matrix b, bool extreme) {
  const size_t groups = rush_int4_groups(&b), row = b.bits == 8 ? b.k : (b.k + 1) / 2;
  matrix m = {b,
              malloc(b.n * b.k + 1),
              malloc((b.n * groups + 1) * sizeof(float)),
              malloc((b.n * groups + 1) * sizeof(float)),
              malloc((b.n + 1) * sizeof(float)),
              malloc(b.n * groups + 1),
              NULL};
  uint8_t *w = calloc(b.n * row + 1, 1);
  const int least = b.bits == 8 ? -128 : 0, most = b.bits == 8 ? 127 : 15;
  for (size_t i = 0; i < b.n * b.k; i++) {
    const float t = extreme ? (noise() < 0 ? -1.0f : 0.999f) : noise();
    const int v = least + (int)((t + 1) / 2 * (float)(most - least + 1));
    m.integers[i] = (int8_t)v;
    if (b.bits == 8) {
      w[i] = (uint8_t)v;
    } else {
      w[i / b.k * row + i % b.k / 2] |= (uint8_t)(v << (i % b.k % 2 * 4));
    }
  }
  for (size_t i = 0; i < b.n * groups; i++) {
    m.scales[i] = noise();
    m.minima[i] = noise();
    m.zeros[i] = (uint8_t)((noise() + 1) * 8);
  }
  for (size_t j = 0; j < b.n; j++) m.bias[j] = noise();
  size_t bytes;
  assert_true(rush_int4_packed(&b, &bytes));
  m.packed = memory(bytes);
  for (size_t j = 0; j < b.n; j += 8)
    rush_int4_pack(NULL, &b, j, w + j * row, m.scales + j * groups, offsets_of(&m, j * groups),
                   m.bias + j, m.packed);
  free(w);
  return m;
}
static void free_matrix(matrix *m) {
  free(m->integers);
  free(m->scales);
  free(m->minima);
  free(m->bias);
  free(m->zeros);
  free(m->packed);
}

static int zero_of(const matrix *m, size_t group) {
  if (m->b.offsets == RUSH_INT4_ZERO_POINTS) return m->zeros[group];
  return m->b.bits == 4 && m->b.offsets == RUSH_INT4_NO_OFFSETS ? 8 : 0;
}

static float plain(const matrix *m, const float *x, size_t j) {
  const rush_int4_matrix *b = &m->b;
  const size_t groups = rush_int4_groups(b);
  float sum = 0;
  for (size_t g = 0; g < groups; g++) {
    const size_t last = b->k - g * b->group < b->group ? b->k : (g + 1) * b->group;
    const int zero = zero_of(m, j * groups + g);
    for (size_t from = g * b->group; from < last; from += RUSH_INT4_PIECE) {
      const size_t to = last - from < RUSH_INT4_PIECE ? last : from + RUSH_INT4_PIECE;
      float most = 0;
      int64_t products = 0, total = 0;
      for (size_t i = from; i < to; i++) most = fmaxf(most, fabsf(x[i]));
      const float top = b->row_bits == 8 ? 127 : 32767;
      const float scale = most / top >= 1e-37f ? most / top : 0;
      const float inverse = scale > 0 ? 1 / scale : 0;
      for (size_t i = from; i < to; i++) {
        const float q = fminf(fmaxf(rintf(x[i] * inverse), -top), top);
        products += (int64_t)q * (m->integers[j * b->k + i] - zero);
        total += (int64_t)q;
      }
      assert_in_range(products + INT32_MAX, 0, 2 * (int64_t)INT32_MAX);
      const volatile float factor = scale * m->scales[j * groups + g];
      const volatile float product = (float)products * factor;
      sum += product;
      if (b->offsets != RUSH_INT4_MINIMA) continue;
      const volatile float shift = scale * m->minima[j * groups + g];
      const volatile float shifted = (float)total * shift;
      sum += shifted;
    }
  }
  return sum + m->bias[j];
}

static void check(rush_int4_matrix b, size_t m, bool extreme) {
  matrix w = new_matrix(b, extreme);
  float *x = malloc((m * b.k + 1) * sizeof *x), *y = malloc((m * b.n + GUARD) * sizeof *y);
  for (size_t i = 0; i < m * b.k; i++) x[i] = extreme ? (noise() < 0 ? -2.0f : 2.0f) : noise();
  if (!extreme && m > 1 && b.k > 0) memset(x, 0, b.k * sizeof *x), x[b.k] = 1e6f;
  size_t bytes;
  assert_true(rush_int4_rows(&b, m, &bytes));
  void *rows = memory(bytes);
  rush_int4_rows_of_floats(NULL, &b, m, x, b.k, rows);
  for (size_t i = 0; i < GUARD; i++) y[m * b.n + i] = guard;
  char row[96];
  static const char *const with[] = {"", " with zero points", " with minima"};
  snprintf(row, sizeof row, "%d bits%s, rows of %d, %zu x %zu x %zu, groups of %zu", b.bits,
           with[b.offsets], b.row_bits, m, b.n, b.k, b.group);
  const double work = 2.0 * (double)(m * b.n * b.k);
  if (timed.wanted)
    TIMED("gemm of few bits", row, PLAIN, work, 0,
          for (size_t i = 0; i < m * b.n; i++) y[i] = plain(&w, x + i / b.n * b.k, i % b.n));
  static const char *const variants[] = {"dots of two", "dots of four"};
  for (int fours = 0; fours < 2; fours++) {
    TIMED("gemm of few bits", row, variants[fours], work, 0,
          rush_int4_gemm_by(NULL, fours, &b, m, rows, w.packed, y, b.n, -INFINITY, INFINITY));
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < b.n; j++) {
        const float wanted = plain(&w, x + i * b.k, j);
        if (y[i * b.n + j] != wanted)
          fail_msg("%s, %s, groups of %zu: [%zu, %zu] is %g, not %g", row, variants[fours], b.group,
                   i, j, y[i * b.n + j], wanted);
      }
    for (size_t i = 0; i < GUARD; i++) assert_true(y[m * b.n + i] == guard);
  }
  free(rows);
  free(x);
  free(y);
  free_matrix(&w);
}

/* The bits of a weight and of a row's element, and zero points or minima. */
static const struct {
  int bits, row_bits;
  rush_int4_offsets offsets;
} kinds[] = {{8, 16, RUSH_INT4_NO_OFFSETS}, {8, 16, RUSH_INT4_MINIMA},
             {4, 16, RUSH_INT4_NO_OFFSETS}, {4, 16, RUSH_INT4_ZERO_POINTS},
             {4, 16, RUSH_INT4_MINIMA},     {4, 8, RUSH_INT4_NO_OFFSETS},
             {4, 8, RUSH_INT4_ZERO_POINTS}, {4, 8, RUSH_INT4_MINIMA}};
enum { KINDS = sizeof kinds / sizeof *kinds };
static rush_int4_matrix bits_of(int kind, size_t n, size_t k, size_t group) {
  return (rush_int4_matrix){kinds[kind].bits,    n, k, group, kinds[kind].offsets,
                            kinds[kind].row_bits};
}

static void test_sizes(void **state) {
  (void)state;
  static const size_t ks[] = {0, 1, 3, 4, 31, 32, 33, 255, 256, 257, 600},
                      groups[] = {1, 3, 4, 5, 32, 128, 256, 300, 1000}, ms[] = {1, 2, 7, 53};
  int round = 0;
  for (size_t a = 0; a < sizeof ks / sizeof *ks; a++)
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
      for (int kind = 0; kind < KINDS; kind++, round++) {
        const size_t m = ms[round % 4], n = (size_t)(round * 5 % 43) + 1;
        check(bits_of(kind, n, ks[a], groups[g]), m, false);
      }
}

/* Tests one token, and a text. */
static void test_layers(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++)
    for (size_t m = 1; m <= 53; m += 52)
      for (size_t group = 32; group <= 128; group *= 4)
        check(bits_of(kind, 128, 512, group), m, false);
}

/* The sum of a whole piece of the greatest products does not overflow. */
static void test_extremes(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++)
    for (size_t m = 1; m <= 5; m += 4) check(bits_of(kind, 17, 512, 512), m, true);
}

static void test_threads(void **state) {
  (void)state;
  enum { THREADS = 4, M = 61, N = 333, K = 77 };
  for (int kind = 0; kind < KINDS; kind++) {
    matrix w = new_matrix(bits_of(kind, N, K, 32), false);
    float *x = malloc(M * K * sizeof *x), *y[2];
    for (size_t i = 0; i < M * K; i++) x[i] = noise();
    for (size_t m = 1; m <= M; m += M - 1) {
      for (int t = 0; t < 2; t++) {
        size_t bytes;
        rush_ctx *ctx;
        assert_true(rush_int4_rows(&w.b, m, &bytes));
        void *rows = memory(bytes);
        assert_int_equal(rush_ctx_create(NULL, NULL, &ctx), RUSH_OK);
        assert_int_equal(rush_ctx_set_threads(ctx, t ? THREADS : 1), RUSH_OK);
        y[t] = malloc(m * N * sizeof *y[t]);
        rush_int4_rows_of_floats(ctx, &w.b, m, x, K, rows);
        rush_int4_gemm(ctx, &w.b, m, rows, w.packed, y[t], N, -0.5f, 0.5f);
        rush_ctx_destroy(ctx);
        free(rows);
      }
      assert_memory_equal(y[0], y[1], m * N * sizeof *y[0]);
      free(y[0]);
      free(y[1]);
    }
    free(x);
    free_matrix(&w);
  }
}

static void test_overflows(void **state) {
  (void)state;
  size_t bytes;
  for (int kind = 0; kind < KINDS; kind++) {
    const rush_int4_matrix deep = bits_of(kind, 8, SIZE_MAX / 8, 1);
    const rush_int4_matrix wide = bits_of(kind, SIZE_MAX / 8, 64, 32),
                           small = bits_of(kind, 8, 64, 32);
    assert_false(rush_int4_packed(&deep, &bytes));
    assert_false(rush_int4_packed(&wide, &bytes));
    assert_false(rush_int4_rows(&deep, 2, &bytes));
    assert_false(rush_int4_rows(&small, SIZE_MAX / 8, &bytes));
  }
}

static void time_rows(void) {
  test_layers(NULL);
}

int main(int argc, char **argv) {
  if (timed_wanted(argc, argv)) return time_rows(), 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),     cmocka_unit_test(test_layers),
      cmocka_unit_test(test_extremes),  cmocka_unit_test(test_threads),
      cmocka_unit_test(test_overflows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
