/* Compares windows that are too long for one piece of work with loops over them, in each dtype. A
 * host that wants to stop ends them early. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "kernels/pooling.h"

enum { ZERO = 3, MANY = 1 << 20 };

/* Returns a small number that every dtype can represent. */
static int64_t number(size_t i) {
  return (int64_t)(i * 7 % 11) + (int64_t)(i / 65536 % 5);
}

static size_t item_of(rush_dtype dtype) {
  switch (dtype) {
    case RUSH_UINT8:
    case RUSH_QINT8:
    case RUSH_QUINT8:
      return 1;
    case RUSH_FLOAT32:
    case RUSH_INT32:
    case RUSH_QINT32:
      return 4;
    default:
      return 8;
  }
}

static void put(rush_dtype dtype, void *to, size_t i, int64_t v) {
  if (dtype == RUSH_FLOAT32)
    ((float *)to)[i] = (float)v;
  else if (dtype == RUSH_FLOAT64)
    ((double *)to)[i] = (double)v;
  else if (item_of(dtype) == 1)
    ((uint8_t *)to)[i] = (uint8_t)v;
  else if (item_of(dtype) == 4)
    ((int32_t *)to)[i] = (int32_t)v;
  else
    ((int64_t *)to)[i] = v;
}
static double get(rush_dtype dtype, const void *from, size_t i) {
  if (dtype == RUSH_FLOAT32) return (double)((const float *)from)[i];
  if (dtype == RUSH_FLOAT64) return ((const double *)from)[i];
  if (dtype == RUSH_QINT8) return ((const int8_t *)from)[i];
  if (item_of(dtype) == 1) return ((const uint8_t *)from)[i];
  if (item_of(dtype) == 4) return ((const int32_t *)from)[i];
  return (double)((const int64_t *)from)[i];
}

/* How the windows of a test are computed. */
typedef struct way {
  const char *name;
  rush_dtype dtype;
  bool average, indices;
} way;
static const way ways[] = {
    {"max", RUSH_FLOAT32, false, false},    {"max with indices", RUSH_FLOAT32, false, true},
    {"max", RUSH_FLOAT64, false, true},     {"max", RUSH_UINT8, false, false},
    {"max", RUSH_INT32, false, false},      {"max", RUSH_INT64, false, true},
    {"max", RUSH_QINT8, false, false},      {"max", RUSH_QUINT8, false, false},
    {"max", RUSH_QINT32, false, false},     {"average", RUSH_FLOAT32, true, false},
    {"average", RUSH_FLOAT64, true, false}, {"average", RUSH_INT64, true, false},
    {"average", RUSH_QINT8, true, false},   {"average", RUSH_QUINT8, true, false},
    {"average", RUSH_QINT32, true, false},
};

static void pool(const way *w, const rush_pool *s, const void *x, void *y, int64_t *indices) {
  const bool quantized =
      w->dtype == RUSH_QINT8 || w->dtype == RUSH_QUINT8 || w->dtype == RUSH_QINT32;
  if (quantized && w->average)
    rush_avg_pool_quantized(w->dtype, s, ZERO, x, y);
  else if (quantized)
    rush_max_pool_quantized(w->dtype, s, x, y);
  else if (w->average)
    rush_avg_pool(w->dtype, s, x, y);
  else
    rush_max_pool(w->dtype, s, x, y, w->indices ? indices : NULL);
}

/* Returns the answer of one channel of the window that begins at column `first`. */
static double expected(const way *w, const rush_pool *s, size_t first, size_t c, size_t *index) {
  double sum = 0, most = -INFINITY;
  for (size_t h = 0; h < s->kernel[1]; h++)
    for (size_t k = 0; k < s->kernel[2]; k++) {
      const size_t at = h * s->in[2] + first + k * s->dilation[2];
      const double v = (double)number(at * s->channels + c);
      sum += v;
      if (v > most) most = v, *index = at;
    }
  const double n = (double)(s->kernel[1] * s->kernel[2]);
  if (!w->average) return most;
  if (w->dtype == RUSH_FLOAT32 || w->dtype == RUSH_FLOAT64) return sum / n;
  if (w->dtype == RUSH_INT64) return trunc(sum / n);
  const double zero = ZERO;
  return (double)rintf((float)(sum - zero * n) / (float)n) + zero;
}

static bool wants_to_stop(void *user) {
  (void)user;
  return true;
}

static void try_way(const way *w, rush_pool s) {
  const size_t n = s.in[1] * s.in[2] * s.channels, out = s.out[2] * s.channels;
  void *x = malloc(n * item_of(w->dtype)), *y = calloc(out, item_of(w->dtype));
  int64_t *indices = calloc(out, sizeof *indices);
  for (size_t i = 0; i < n; i++) put(w->dtype, x, i, number(i));
  pool(w, &s, x, y, indices);
  for (size_t i = 0; i < out; i++) {
    size_t index = 0;
    const double want = expected(w, &s, i / s.channels, i % s.channels, &index);
    const double got = get(w->dtype, y, i);
    if (fabs(got - want) > (w->dtype == RUSH_FLOAT32 ? 1e-4 : 1e-9) ||
        (w->indices && indices[i] != (int64_t)index))
      fail_msg("%s of dtype %d, %zu channels, value %zu: %g must be %g", w->name, (int)w->dtype,
               s.channels, i, got, want);
  }
  assert_int_equal(rush_ctx_create(NULL, NULL, &s.ctx), RUSH_OK);
  rush_ctx_set_poll(s.ctx, wants_to_stop, NULL);
  pool(w, &s, x, y, indices);
  if (n >= MANY) assert_true(s.ctx->stopped); /* the host is asked after a million steps or so */
  rush_ctx_destroy(s.ctx);
  free(x), free(y), free(indices);
}

static rush_pool windows(size_t channels, size_t height, size_t width, size_t columns) {
  return (rush_pool){.batch = 1,
                     .channels = channels,
                     .in = {1, height, width},
                     .out = {1, 1, columns},
                     .kernel = {1, height, width - columns + 1},
                     .stride = {1, 1, 1},
                     .dilation = {1, 1, 1},
                     .count_padding = true};
}

static void long_windows(void **state) {
  (void)state;
  static const size_t channels[] = {1, 3, 17};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    for (size_t k = 0; k < 3; k++) try_way(ways + i, windows(channels[k], 2, 70000, 2));
}

static void huge_windows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    try_way(ways + i, windows(1, 16, 70000, 1));
    try_way(ways + i, windows(item_of(ways[i].dtype) == 1 ? 17 : 2, 16, 70000, 1));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(long_windows),
                                     cmocka_unit_test(huge_windows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
