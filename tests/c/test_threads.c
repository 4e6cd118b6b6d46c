/* Tests loops on several threads: each item runs once for any number of threads, loops end when the
 * host stops them, and products have the same bits. In wasm there are no helpers here, so the
 * context's thread does all the work. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/threads.h"
#include "harness.h"
#include "kernels/gemm.h"
#include "tensor/planes.h"

static rush_ctx *with_threads(unsigned n) {
  rush_ctx *ctx;
  assert_int_equal(rush_ctx_create(NULL, NULL, &ctx), RUSH_OK);
  assert_int_equal(rush_ctx_set_threads(ctx, n), RUSH_OK);
  assert_int_equal(rush_threads(ctx), n);
  return ctx;
}

enum { THREADS = 4 };

typedef struct seen {
  unsigned char *times; /* items that ran */
  atomic_int busy[THREADS], clashes, outside;
} seen;

static void mark(const void *arg, size_t begin, size_t end, unsigned who) {
  seen *s = *(seen *const *)arg;
  if (who >= THREADS) {
    atomic_fetch_add(&s->outside, 1);
    return;
  }
  if (atomic_exchange(&s->busy[who], 1)) atomic_fetch_add(&s->clashes, 1);
  for (size_t i = begin; i < end; i++) s->times[i]++;
  atomic_store(&s->busy[who], 0);
}

static void test_each_item_is_done_once(void **state) {
  (void)state;
  static const size_t items[] = {1, 2, 3, 7, 100, 4096, 100001};
  static const uint64_t work[] = {1, 100, 10000, 1 << 20, (uint64_t)1 << 30};
  for (unsigned threads = 1; threads <= THREADS; threads++) {
    rush_ctx *ctx = with_threads(threads);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
      for (size_t k = 0; k < sizeof work / sizeof *work; k++) {
        seen s = {.times = calloc(items[i], 1)}, *at = &s;
        assert_false(rush_parallel(ctx, items[i], work[k], mark, &at));
        for (size_t n = 0; n < items[i]; n++) assert_int_equal(s.times[n], 1);
        assert_int_equal(s.clashes + s.outside, 0);
        free(s.times);
      }
    }
    rush_ctx_destroy(ctx);
  }
}

static void test_work_is_counted_alike(void **state) {
  (void)state;
  uint64_t counted[2];
  for (unsigned t = 0; t < 2; t++) {
    rush_ctx *ctx = with_threads(t == 0 ? 1 : THREADS);
    seen s = {.times = calloc(5000, 1)}, *at = &s;
    rush_parallel(ctx, 5000, 777, mark, &at);
    counted[t] = rush_ctx_work(ctx);
    free(s.times);
    rush_ctx_destroy(ctx);
  }
  assert_int_equal(counted[0], 5000 * 777);
  assert_int_equal(counted[1], counted[0]);
}

static bool asked(void *user) {
  return ++*(int *)user == 2;
}

static void test_a_loop_ends_when_the_host_wants_it(void **state) {
  (void)state;
  for (unsigned threads = 1; threads <= THREADS; threads += THREADS - 1) {
    enum { ITEMS = 200000 };
    rush_ctx *ctx = with_threads(threads);
    int times = 0;
    rush_ctx_set_poll(ctx, asked, &times);
    seen s = {.times = calloc(ITEMS, 1)}, *at = &s;
    assert_true(rush_parallel(ctx, ITEMS, 1 << 18, mark, &at));
    assert_int_equal(rush_take_stop(ctx), RUSH_ERR_INTERRUPTED);
    size_t done = 0;
    for (size_t i = 0; i < ITEMS; i++) done += s.times[i];
    assert_in_range(done, 1, ITEMS - 1);
    /* The next loop runs normally. */
    rush_ctx_set_poll(ctx, NULL, NULL);
    memset(s.times, 0, ITEMS);
    assert_false(rush_parallel(ctx, 100, 1 << 18, mark, &at));
    for (size_t i = 0; i < 100; i++) assert_int_equal(s.times[i], 1);
    free(s.times);
    rush_ctx_destroy(ctx);
  }
}

typedef struct planes {
  rush_iter it;
  atomic_llong most; /* elements in one plane */
} planes;

/* Adds 1 to each byte of the planes. */
static void mark_planes(const void *arg, size_t begin, size_t end, unsigned who) {
  planes *p = *(planes *const *)arg;
  rush_iter it = p->it;
  const int d = it.rank - 1;
  long long each = 1;
  (void)who;
  for (int k = 0; k < d; k++) each *= it.size[k];
  if (each > p->most) p->most = each;
  it.at[0] += it.stride[0][d] * (int64_t)begin;
  it.size[d] = (int64_t)(end - begin);
  do
    for (int64_t i = 0; i < it.size[0]; i++) it.at[0][i * it.stride[0][0]]++;
  while (rush_iter_next(&it));
}

static void test_large_planes_are_split(void **state) {
  (void)state;
  enum { N = (1 << 20) + 1, ALL = 6 * N };
  for (unsigned threads = 1; threads <= THREADS; threads += THREADS - 1) {
    rush_ctx *ctx = with_threads(threads);
    char *bytes = calloc(ALL, 1);
    planes p = {.it = {1, 3, {N, 2, 3}, {{1, N, 2 * N}}, {bytes}, {0}}}, *at = &p;
    const rush_iter before = p.it;
    rush_parallel_planes(ctx, &p.it, ALL, 7, mark_planes, &at);
    assert_int_equal(rush_take_stop(ctx), RUSH_OK);
    assert_memory_equal(&p.it, &before, sizeof before);
    assert_int_equal(p.most, 1);
    assert_int_equal(rush_ctx_work(ctx), 7 * ALL);
    for (size_t i = 0; i < ALL; i++) assert_int_equal(bytes[i], 1);
    /* A stop request ends all planes. */
    int times = 0;
    size_t done = 0;
    rush_ctx_set_poll(ctx, asked, &times);
    rush_parallel_planes(ctx, &p.it, ALL, 7, mark_planes, &at);
    assert_int_equal(rush_take_stop(ctx), RUSH_ERR_INTERRUPTED);
    for (size_t i = 0; i < ALL; i++) done += bytes[i] == 2;
    assert_in_range(done, 1, ALL - 1);
    free(bytes);
    rush_ctx_destroy(ctx);
  }
}

static void test_numbers_of_threads(void **state) {
  (void)state;
  rush_ctx *ctx = with_threads(1);
  assert_null(rush_ctx_pool(ctx));
  assert_int_equal(rush_ctx_set_threads(ctx, 0), RUSH_ERR_BAD_ARGUMENT);
  assert_int_equal(rush_ctx_set_threads(ctx, RUSH_MAX_THREADS + 1), RUSH_ERR_BAD_ARGUMENT);
  assert_string_equal(rush_ctx_error(ctx), "threads must be between 1 and 64, got 65");
  for (unsigned n = 1; n <= THREADS; n++) {
    assert_int_equal(rush_ctx_set_threads(ctx, n), RUSH_OK);
    assert_int_equal(rush_threads(ctx), n);
  }
  assert_int_equal(rush_ctx_set_threads(ctx, 1), RUSH_OK);
  size_t live, peak;
  rush_ctx_memory(ctx, &live, &peak);
  assert_int_equal(live, 0);
  rush_ctx_destroy(ctx);
}

static float *some_floats(size_t n, unsigned seed) {
  float *x = malloc(n * sizeof *x);
  for (size_t i = 0; i < n; i++, seed = seed * 1664525u + 1013904223u)
    x[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
  return x;
}

static void test_products_are_the_same_to_the_last_bit(void **state) {
  (void)state;
  static const size_t sizes[][3] = {{1, 1000, 300}, {1, 37, 2000}, {3, 513, 77},  {16, 384, 384},
                                    {49, 96, 600},  {200, 33, 65}, {401, 256, 9}, {7, 7, 7}};
  rush_ctx *one = with_threads(1), *more = with_threads(THREADS);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const size_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
    size_t floats;
    assert_true(rush_gemm_packed(k, n, &floats));
    float *a = some_floats(m * k, 1), *b = some_floats(n * k, 2), *bias = some_floats(n, 3);
    float *packed = aligned_alloc(64, (floats * sizeof *packed + 63) / 64 * 64);
    float *c = malloc(m * n * sizeof *c), *d = malloc(m * n * sizeof *d);
    rush_gemm_pack(NULL, k, n, b, 1, (ptrdiff_t)k, bias, packed);
    rush_gemm_parallel(one, m, n, k, a, k, packed, c, n, -INFINITY, INFINITY);
    rush_gemm_parallel(more, m, n, k, a, k, packed, d, n, -INFINITY, INFINITY);
    assert_memory_equal(c, d, m * n * sizeof *c);
    if (rush_gemm_unpacked(one, m, n, k, a, k, b, 1, (ptrdiff_t)k, c, n)) {
      rush_gemm_unpacked(more, m, n, k, a, k, b, 1, (ptrdiff_t)k, d, n);
      assert_memory_equal(c, d, m * n * sizeof *c);
    }
    free(a), free(b), free(bias), free(packed), free(c), free(d);
  }
  rush_ctx_destroy(one);
  rush_ctx_destroy(more);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_item_is_done_once),
      cmocka_unit_test(test_work_is_counted_alike),
      cmocka_unit_test(test_a_loop_ends_when_the_host_wants_it),
      cmocka_unit_test(test_large_planes_are_split),
      cmocka_unit_test(test_numbers_of_threads),
      cmocka_unit_test(test_products_are_the_same_to_the_last_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
