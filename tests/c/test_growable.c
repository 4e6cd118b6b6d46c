/* Tests growable tensors: joined elements follow the old ones in the same memory, and a write gets
 * its own copy. */
#include "harness.h"

#include "blocks/concatenate.h"
#include "tensor/growable.h"

enum { N = 40 };

typedef struct bench {
  rig rig;
  rush_ctx *ctx;
  rush_heap heap;
} bench;

static void bench_open(bench *r) {
  rig_open(&r->rig);
  r->ctx = r->rig.ctx;
  r->heap = (rush_heap){.ctx = r->ctx};
}

static void bench_close(bench *r) {
  rush_heap_trim(&r->heap);
  rig_close(&r->rig); /* reports leaks */
}

/* Makes a tensor [2, n, 3] that is filled with `value`. */
static rush_tensor *filled(bench *r, int64_t n, float value) {
  rush_tensor *t;
  OK(rush_tensor_new(&r->heap, RUSH_FLOAT32, 3, SIZES(2, n, 3), &t));
  for (int64_t i = 0; i < t->numel; i++) ((float *)rush_data(t))[i] = value;
  return t;
}

static rush_tensor *grown(bench *r, const rush_tensor *t, int64_t n, float value) {
  rush_tensor *more = filled(r, n, value), *out;
  OK(rush_cat_growing(&r->heap, 2, (const rush_tensor *[]){t, more}, 1, RUSH_FLOAT32, &out));
  rush_tensor_drop(&r->heap, more);
  return out;
}

/* Returns whether the rows along dimension 1 of t are 0, 1, 2, ... */
static bool counts(const rush_tensor *t) {
  for (int64_t i = 0; i < t->sizes[0]; i++)
    for (int64_t j = 0; j < t->sizes[1]; j++)
      for (int64_t k = 0; k < t->sizes[2]; k++)
        if (((float *)rush_data(t))[i * t->strides[0] + j * t->strides[1] + k * t->strides[2]] !=
            (float)j)
          return false;
  return true;
}

static void what_is_joined_lies_behind_it(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  rush_tensor *t = filled(r, 0, 0);
  int moved = 0;
  for (int k = 0; k < N; k++) {
    rush_tensor *next = grown(r, t, 1, (float)k);
    moved += next->storage->data != t->storage->data;
    rush_tensor_drop(&r->heap, t);
    t = next;
    assert_true(t->sizes[1] == k + 1 && t->numel == 6 * (k + 1) && counts(t));
    assert_true(rush_nominal(t)[0] == 3 * (k + 1) && rush_nominal(t)[1] == 3);
    assert_false(rush_is_unshared(t));
  }
  assert_true(moved <= 8); /* the memory grows by half each time */
  rush_tensor_drop(&r->heap, t);
  bench_close(r);
}

static void a_place_is_given_once(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  rush_tensor *none = filled(r, 0, 0), *t = grown(r, none, 4, 0);
  for (int64_t i = 0; i < 2; i++)
    for (int64_t j = 0; j < 4; j++)
      for (int64_t k = 0; k < 3; k++)
        ((float *)rush_data(t))[i * t->strides[0] + j * 3 + k] = (float)j;
  rush_tensor *first = grown(r, t, 1, 4), *second = grown(r, t, 1, 4);
  assert_ptr_equal(first->storage->data, t->storage->data);
  assert_ptr_not_equal(second->storage->data, t->storage->data);
  rush_tensor *part;
  OK(rush_tensor_new_view(&r->heap, first, 3, SIZES(2, 4, 3), first->strides, 0, &part));
  assert_false(rush_can_grow(part, 1, 1)); /* part of a longer tensor */
  assert_true(rush_can_grow(first, 1, 2) && !rush_can_grow(first, 1, 3));
  assert_false(rush_can_grow(first, 0, 1) || rush_can_grow(none, 1, 1));
  assert_true(counts(t) && counts(first) && counts(second));
  rush_tensor *all[] = {none, t, first, second, part};
  for (int k = 0; k < 5; k++) rush_tensor_drop(&r->heap, all[k]);
  bench_close(r);
}

/* Tensors are restored to PyTorch's order or freed in any sequence, and the others stay valid. */
static void each_goes_by_itself(void **state) {
  (void)state;
  for (int order = 0; order < 6; order++) {
    bench bench_, *r = &bench_;
    bench_open(r);
    rush_tensor *t[3];
    rush_tensor *none = filled(r, 0, 0), *one = grown(r, none, 1, 0);
    t[0] = grown(r, one, 1, 1);
    t[1] = grown(r, t[0], 1, 2);
    t[2] = grown(r, t[1], 1, 3);
    assert_ptr_equal(t[2]->storage->data, t[1]->storage->data);
    rush_tensor_drop(&r->heap, none);
    rush_tensor_drop(&r->heap, one);
    for (int k = 0; k < 3; k++) {
      rush_tensor *it = t[(order + k) % 3];
      if (order >= 3) {
        OK(rush_turn_back(&r->heap, it->storage));
        assert_true(!rush_is_turned(it) && rush_is_contiguous(it) && counts(it));
        assert_true(it->storage->bytes == (size_t)it->numel * 4 && rush_is_unshared(it));
        memset(rush_data(it), 0, it->storage->bytes);
      } else {
        assert_true(counts(it));
        rush_tensor_drop(&r->heap, it);
        t[(order + k) % 3] = NULL;
      }
      for (int j = k + 1; j < 3; j++) assert_true(counts(t[(order + j) % 3]));
    }
    for (int k = 0; k < 3; k++) rush_tensor_drop(&r->heap, t[k]);
    bench_close(r);
  }
}

/* A program that needed PyTorch's order once will need it again: no capacity is reserved twice. */
static void what_was_laid_again_gets_no_spare_capacity(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  rush_tensor *t = filled(r, 0, 0);
  for (int k = 0; k < 4; k++) {
    rush_tensor *next = grown(r, t, 1, (float)k);
    rush_tensor_drop(&r->heap, t);
    t = next;
    assert_int_equal(rush_is_turned(t), k == 0);
    OK(rush_turn_back(&r->heap, t->storage));
    assert_true(counts(t) && rush_is_unshared(t));
  }
  rush_tensor_drop(&r->heap, t);
  bench_close(r);
}

/* If memory runs out, the older tensor is unchanged. */
static void without_memory_nothing_is_lost(void **state) {
  (void)state;
  bench bench_, *r = &bench_;
  bench_open(r);
  rush_tensor *none = filled(r, 0, 0), *t = grown(r, none, 1, 0);
  rush_heap_trim(&r->heap);
  rush_tensor *more = filled(r, 1, 1), *out = NULL;
  int failures = 0;
  for (;; failures++) {
    rush_heap_trim(&r->heap);
    r->rig.counter.fail_at = r->rig.counter.calls + (size_t)failures + 1;
    const rush_status st =
        rush_cat_growing(&r->heap, 2, (const rush_tensor *[]){t, more}, 1, RUSH_FLOAT32, &out);
    r->rig.counter.fail_at = 0;
    if (st == RUSH_OK) break;
    assert_int_equal(st, RUSH_ERR_NO_MEMORY);
    assert_true(out == NULL && counts(t));
  }
  assert_true(failures > 0 && counts(out));
  rush_tensor *all[] = {none, t, more, out};
  for (int k = 0; k < 4; k++) rush_tensor_drop(&r->heap, all[k]);
  bench_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_joined_lies_behind_it),
      cmocka_unit_test(a_place_is_given_once),
      cmocka_unit_test(each_goes_by_itself),
      cmocka_unit_test(what_was_laid_again_gets_no_spare_capacity),
      cmocka_unit_test(without_memory_nothing_is_lost),
  };
  return cmocka_run_group_tests_name("growable", tests, NULL, NULL);
}
