/* Tests tensor/heap: size classes, alignment, reuse, and return of memory. */
#include "harness.h"

#include "base/poison.h"
#include "tensor/heap.h"

/* With AddressSanitizer, the heap poisons the bytes after the requested ones. */
#ifdef RUSH_HAS_ASAN
enum { SLACK = 0 };
static bool hidden(const void *at) {
  return __asan_address_is_poisoned(at);
}
#else
enum { SLACK = RUSH_HEAP_SLACK };
#endif

static void a_block_is_aligned_and_has_slack(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rig_open(r);
  rush_heap heap = {.ctx = r->ctx};
  for (size_t bytes = 0; bytes < 5000; bytes = bytes * 9 / 8 + 1) {
    void *p;
    OK(rush_heap_alloc(&heap, bytes, &p));
    assert_int_equal((uintptr_t)p % 64, 0);
    memset(p, 0x5A, bytes + SLACK); /* ASan watches */
#ifdef RUSH_HAS_ASAN
    assert_true(hidden((char *)p + bytes) && (bytes == 0 || !hidden((char *)p + bytes - 1)));
    rush_heap_free(&heap, p);
    assert_true(hidden(p));
    continue;
#endif
    rush_heap_free(&heap, p);
  }
  rush_heap_free(&heap, NULL);
  rush_heap_trim(&heap);
  rig_close(r);
}

static void a_freed_block_serves_its_whole_class(void **state) {
  (void)state;
  static const size_t pairs[][2] = {
      {0, 64},    {64, 1},    {65, 80},     {80, 65},     {81, 96},
      {128, 113}, {129, 160}, {4097, 5120}, {5120, 4097}, {1 << 20, (7 << 17) + 1}};
  rig rig_, *r = &rig_;
  rig_open(r);
  rush_heap heap = {.ctx = r->ctx};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    void *p, *q;
    OK(rush_heap_alloc(&heap, pairs[k][0], &p));
    rush_heap_free(&heap, p);
    size_t calls = r->counter.calls;
    OK(rush_heap_alloc(&heap, pairs[k][1], &q));
    if (p != q || r->counter.calls != calls)
      fail_msg("a block of %zu is not reused for %zu", pairs[k][0], pairs[k][1]);
    memset(q, 1, pairs[k][1] + SLACK);
    rush_heap_free(&heap, q);
    rush_heap_trim(&heap);
  }
  rig_close(r);
}

static void at_most_a_quarter_of_a_block_is_waste(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rig_open(r);
  rush_heap heap = {.ctx = r->ctx};
  for (size_t bytes = 64; bytes < 1 << 22; bytes = bytes * 33 / 32 + 1) {
    void *p;
    OK(rush_heap_alloc(&heap, bytes, &p));
    if (r->counter.live - sizeof *r->ctx > bytes + bytes / 4 + 256)
      fail_msg("%zu bytes take %zu", bytes, r->counter.live);
    rush_heap_free(&heap, p);
    rush_heap_trim(&heap);
  }
  rig_close(r);
}

static void a_random_life_never_hands_out_a_block_twice(void **state) {
  (void)state;
  enum { N = 64 };
  struct {
    uint8_t *at;
    size_t bytes;
    uint8_t mark;
  } live[N] = {{0}};
  rig rig_, *r = &rig_;
  uint32_t seed = 7;
  rig_open(r);
  rush_heap heap = {.ctx = r->ctx};
  for (int round = 0; round < 4000; round++) {
    seed = seed * 1664525u + 1013904223u;
    int k = (int)(seed >> 20) % N;
    if (live[k].at) {
      for (size_t j = 0; j < live[k].bytes; j++) assert_int_equal(live[k].at[j], live[k].mark);
      rush_heap_free(&heap, live[k].at);
      live[k].at = NULL;
    } else {
      void *p;
      live[k].bytes = (seed >> 8) % 700;
      live[k].mark = (uint8_t)round;
      OK(rush_heap_alloc(&heap, live[k].bytes, &p));
      live[k].at = p;
      memset(p, live[k].mark, live[k].bytes);
    }
    if (round == 2000) rush_heap_trim(&heap);
  }
  for (int k = 0; k < N; k++) rush_heap_free(&heap, live[k].at);
  rush_heap_trim(&heap);
  rig_close(r);
}

static void what_cannot_be_is_no_memory(void **state) {
  (void)state;
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2, SIZE_MAX / 4};
  rig rig_, *r = &rig_;
  rig_open(r);
  rush_heap heap = {.ctx = r->ctx};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    void *p = r;
    assert_int_equal(rush_heap_alloc(&heap, sizes[k], &p), RUSH_ERR_NO_MEMORY);
    assert_null(p);
    assert_contains("heap", rush_ctx_error(r->ctx), "out of memory");
  }
  rig_close(r);
}

static void kept_blocks_are_given_up_before_memory_runs_out(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  void *p, *q;
  rig_open(r);
  rush_heap heap = {.ctx = r->ctx};
  OK(rush_heap_alloc(&heap, 10000, &p));
  rush_heap_free(&heap, p);
  assert_true(r->counter.live > 10000);
  r->counter.fail_at = r->counter.calls + 1;
  assert_int_equal(rush_heap_alloc(&heap, 100, &q), RUSH_ERR_NO_MEMORY);
  assert_true(r->counter.live < 10000); /* it tried to allocate */
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_block_is_aligned_and_has_slack),
      cmocka_unit_test(a_freed_block_serves_its_whole_class),
      cmocka_unit_test(at_most_a_quarter_of_a_block_is_waste),
      cmocka_unit_test(a_random_life_never_hands_out_a_block_twice),
      cmocka_unit_test(what_cannot_be_is_no_memory),
      cmocka_unit_test(kept_blocks_are_given_up_before_memory_runs_out),
  };
  return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
