/* Products of 8-bit integers beside plain loops: every tile of this machine, odd sizes, zero points,
 * extreme integers, rows made of floats and of bytes, and the same answers on any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "floats.h"

#include "base/base.h"
#include "kernels/int8.h"
#include "kernels/int8_tile.h"

static int integer(int least, int most) {
  return least + (int)((noise() + 1) / 2 * (float)(most - least + 1));
}

static void *memory(size_t bytes) {
  return aligned_alloc(64, bytes / 64 * 64 + 64);
}

static rush_int8_rows new_rows(size_t m, size_t k) {
  return (rush_int8_rows){m,
                          k,
                          memory(m * rush_int8_row(k)),
                          malloc((m + 1) * sizeof(int32_t)),
                          malloc((m + 1) * sizeof(uint32_t)),
                          malloc((m + 1) * sizeof(float))};
}
static void free_rows(rush_int8_rows *rows) {
  free(rows->data);
  free(rows->zeros);
  free(rows->sums);
  free(rows->scales);
}

typedef struct weights {
  int8_t *w;
  int32_t *zeros;
  float *scales, *bias;
  void *packed;
} weights;

static weights new_weights(size_t n, size_t k, bool extreme) {
  weights w = {malloc(n * k + 1), malloc((n + 1) * sizeof(int32_t)),
               malloc((n + 1) * sizeof(float)), malloc((n + 1) * sizeof(float)), NULL};
  for (size_t i = 0; i < n * k; i++)
    w.w[i] = (int8_t)(extreme ? (noise() < 0 ? -128 : 127) : integer(-128, 127));
  for (size_t j = 0; j < n; j++) {
    w.zeros[j] = extreme ? 0 : integer(-128, 127);
    w.scales[j] = fabsf(noise()) + 0.01f;
    w.bias[j] = noise();
  }
  size_t bytes;
  assert_true(rush_int8_packed(n, k, &bytes));
  w.packed = memory(bytes);
  rush_int8_pack(n, k, w.w, w.scales, w.zeros, w.bias, w.packed);
  return w;
}
static void free_weights(weights *w) {
  free(w->w);
  free(w->zeros);
  free(w->scales);
  free(w->bias);
  free(w->packed);
}

/* x[m][k]: each byte minus `zero`. */
static int32_t sum_of(const weights *w, size_t k, size_t j, const uint8_t *x, bool is_signed,
                      int32_t zero) {
  uint32_t sum = 0;
  for (size_t p = 0; p < k; p++) {
    const int32_t v = ((is_signed ? (int8_t)x[p] : x[p]) - zero) * (w->w[j * k + p] - w->zeros[j]);
    sum += (uint32_t)v;
  }
  return (int32_t)sum;
}

/* Rows of bytes, and sums by rows or by columns. */
static void check_sums(size_t m, size_t n, size_t k, bool is_signed, bool extreme) {
  weights w = new_weights(n, k, extreme);
  rush_int8_rows rows = new_rows(m, k);
  uint8_t *x = malloc(m * k + 1);
  int32_t *y = malloc((m * n + 1) * sizeof *y);
  const int32_t zero = is_signed ? integer(-128, 127) : integer(0, 255);
  for (size_t i = 0; i < m * k; i++)
    x[i] = (uint8_t)(extreme ? (noise() < 0 ? 0 : 255) ^ (is_signed ? 128 : 0) : integer(0, 255));
  rush_int8_rows_of_bytes(NULL, x, is_signed, zero, &rows);
  for (int columns = 0; columns < 2; columns++) {
    const size_t row = columns ? 1 : n, col = columns ? m : 1;
    y[m * n] = -12345;
    rush_int8_sums(NULL, &rows, n, w.packed, y, row, col);
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < n; j++)
        assert_int_equal(y[i * row + j * col], sum_of(&w, k, j, x + i * k, is_signed, zero));
    assert_int_equal(y[m * n], -12345);
  }
  free(x);
  free(y);
  free_rows(&rows);
  free_weights(&w);
}

static void test_sums(void **state) {
  (void)state;
  static const size_t sizes[][3] = {{0, 3, 5},  {1, 1, 1},   {1, 8, 4},    {1, 9, 33},
                                    {2, 7, 16}, {5, 8, 17},  {6, 17, 64},  {7, 3, 0},
                                    {13, 1, 3}, {50, 65, 9}, {1, 1000, 19}};
  for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++)
    for (int kind = 0; kind < 4; kind++)
      check_sums(sizes[t][0], sizes[t][1], sizes[t][2], kind & 1, kind & 2);
  check_sums(3, 9, 70000, false, true); /* longer than 32 bits hold: wraps */
}

/* What quantising gives, in plain C. */
static void test_floats(void **state) {
  (void)state;
  for (size_t k = 0; k < 40; k += k < 20 ? 1 : 13) {
    enum { M = 9, N = 11 };
    weights w = new_weights(N, k, false);
    rush_int8_rows rows = new_rows(M, k);
    float *x = malloc((M * k + 1) * sizeof *x), y[M * N + GUARD];
    uint8_t *q = malloc(M * k + 1);
    for (size_t i = 0; i < M * k; i++) x[i] = noise() * 3 + (i / (k + 1) % 2 ? 1.0f : 0.0f);
    for (size_t p = 0; p < k; p++) x[k + p] = 0, x[2 * k + p] = fabsf(x[2 * k + p]);
    for (size_t p = 0; p < k; p++) x[3 * k + p] = -fabsf(x[3 * k + p]), x[4 * k + p] *= 1e-38f;
    for (size_t p = 0; p < k; p++) x[5 * k + p] *= 1e38f;
    if (k > 0) x[6 * k] = NAN, x[7 * k + k - 1] = -INFINITY;
    rush_int8_rows_of_floats(NULL, x, k, &rows);
    for (size_t i = 0; i < GUARD; i++) y[M * N + i] = guard;
    rush_int8_gemm(NULL, &rows, N, w.packed, y, N, -INFINITY, INFINITY);
    for (size_t i = 0; i < M; i++) {
      float least = 0, most = 0;
      bool finite = true;
      for (size_t p = 0; p < k; p++) {
        least = fminf(least, x[i * k + p]), most = fmaxf(most, x[i * k + p]);
        finite = finite && isfinite(x[i * k + p]);
      }
      float scale = most / 255 - least / 255;
      if (scale < 1e-37f) scale = 0;
      const float inverse = scale > 0 ? 1 / scale : 0;
      const int32_t zero = finite ? (int32_t)rintf(-least * inverse) : 0;
      for (size_t p = 0; p < k; p++) {
        const float v = rintf(x[i * k + p] * inverse) + (float)zero;
        q[i * k + p] = (uint8_t)(v > 0 ? v < 255 ? v : 255 : 0);
      }
      for (size_t j = 0; j < N; j++) {
        const float sum = (float)sum_of(&w, k, j, q + i * k, false, zero);
        const float product = sum * (scale * w.scales[j]), wanted = product + w.bias[j];
        if (finite) {
          assert_true(y[i * N + j] == wanted);
        } else {
          assert_true(isnan(y[i * N + j]));
        }
      }
    }
    for (size_t i = 0; i < GUARD; i++) assert_true(y[M * N + i] == guard);
    rush_int8_rows_scaled(NULL, x, k, 0.01f, 130, &rows);
    rush_int8_gemm(NULL, &rows, N, w.packed, y, N, -0.5f, 0.5f);
    for (size_t p = 0; p < k; p++) {
      const float v = rintf(x[2 * k + p] * (1 / 0.01f)) + 130;
      q[p] = (uint8_t)(v > 0 ? v < 255 ? v : 255 : 0);
    }
    for (size_t j = 0; j < N; j++) {
      const float product = (float)sum_of(&w, k, j, q, false, 130) * (0.01f * w.scales[j]);
      const float v = product + w.bias[j];
      assert_true(y[2 * N + j] == (v < -0.5f ? -0.5f : v > 0.5f ? 0.5f : v));
    }
    free(x);
    free(q);
    free_rows(&rows);
    free_weights(&w);
  }
}

static void check_tile(rush_int8_tile *tile, size_t mr, bool is_wide) {
  enum { GROUPS = 37, N = GROUPS * RUSH_INT8_KR };
  int8_t w[GROUPS * RUSH_INT8_NR * RUSH_INT8_KR];
  union {
    int16_t wide[N];
    uint8_t bytes[N];
  } x[RUSH_INT8_MR];
  for (size_t groups = 0; groups <= GROUPS; groups += groups < 4 ? 1 : 11) {
    const void *rows[RUSH_INT8_MR];
    int32_t sums[RUSH_INT8_MR][RUSH_INT8_NR];
    for (size_t i = 0; i < sizeof w; i++) w[i] = (int8_t)(i < 64 ? -128 : integer(-128, 127));
    for (size_t r = 0; r < RUSH_INT8_MR; r++) {
      rows[r] = &x[r];
      for (size_t i = 0; i < N; i++) {
        if (is_wide) {
          x[r].wide[i] = (int16_t)(i < 8 ? 383 : integer(-255, 255));
        } else {
          x[r].bytes[i] = (uint8_t)(i < 8 ? 255 : integer(0, 255));
        }
      }
    }
    tile(groups, rows, w, sums);
    for (size_t r = 0; r < mr; r++)
      for (size_t c = 0; c < RUSH_INT8_NR; c++) {
        int32_t sum = 0;
        for (size_t i = 0; i < groups * RUSH_INT8_KR; i++)
          sum += (is_wide ? x[r].wide[i] : x[r].bytes[i]) *
                 w[i / RUSH_INT8_KR * sizeof w / GROUPS + c * RUSH_INT8_KR + i % RUSH_INT8_KR];
        assert_int_equal(sums[r][c], sum);
      }
  }
}

/* Also those that this machine would not take. */
static void test_tiles(void **state) {
  (void)state;
  check_tile(rush_int8_one_wide, 1, true);
  check_tile(rush_int8_many_wide, 4, true);
  const rush_int8_kernel here = rush_int8_kernel_here();
  if (here.form != RUSH_INT8_SIGNED) {
    check_tile(here.one, 1, here.form == RUSH_INT8_WIDE);
    check_tile(here.many, here.mr, here.form == RUSH_INT8_WIDE);
  }
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    check_tile(rush_int8_one_avx2, 1, true);
    check_tile(rush_int8_many_avx2, 6, true);
  }
#endif
}

static void test_threads(void **state) {
  (void)state;
  enum { THREADS = 4, M = 131, N = 333, K = 77 };
  weights w = new_weights(N, K, false);
  float *x = malloc(M * K * sizeof *x), *y[2];
  for (size_t i = 0; i < M * K; i++) x[i] = noise();
  for (size_t m = 1; m <= M; m += M - 1) {
    for (int t = 0; t < 2; t++) {
      rush_int8_rows rows = new_rows(m, K);
      rush_ctx *ctx;
      assert_int_equal(rush_ctx_create(NULL, NULL, &ctx), RUSH_OK);
      assert_int_equal(rush_ctx_set_threads(ctx, t ? THREADS : 1), RUSH_OK);
      y[t] = malloc(m * N * sizeof *y[t]);
      rush_int8_rows_of_floats(ctx, x, K, &rows);
      rush_int8_gemm(ctx, &rows, N, w.packed, y[t], N, -INFINITY, INFINITY);
      rush_ctx_destroy(ctx);
      free_rows(&rows);
    }
    assert_memory_equal(y[0], y[1], m * N * sizeof *y[0]);
    free(y[0]);
    free(y[1]);
  }
  free(x);
  free_weights(&w);
}

static void test_sizes(void **state) {
  (void)state;
  size_t bytes;
  assert_false(rush_int8_packed(8, SIZE_MAX, &bytes));
  assert_false(rush_int8_packed(8, SIZE_MAX / 8, &bytes));
  assert_false(rush_int8_packed(SIZE_MAX, 8, &bytes));
  assert_true(rush_int8_packed(9, 5, &bytes));
  assert_int_equal(bytes, 2 * (128 + 2 * 32));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums),    cmocka_unit_test(test_floats), cmocka_unit_test(test_tiles),
      cmocka_unit_test(test_threads), cmocka_unit_test(test_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
