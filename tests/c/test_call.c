/* Tests call: temporaries are released with the call, and operators never drop them. */
#include "harness.h"

#include "call/call.h"

typedef struct stage {
  rig r;
  rush_heap heap;
  rush_call call;
} stage;

static void open_stage(stage *s) {
  rig_open(&s->r);
  s->heap = (rush_heap){.ctx = s->r.ctx};
  s->call = (rush_call){.ctx = s->r.ctx, .heap = &s->heap};
}

/* rig_close fails if a byte leaks. */
static void close_stage(stage *s) {
  rush_heap_trim(&s->heap);
  rig_close(&s->r);
}

static rush_tensor *matrix(stage *s) {
  const rig *r = &s->r;
  rush_tensor *t;
  OK(rush_tensor_new(&s->heap, RUSH_FLOAT32, 2, (int64_t[]){3, 4}, &t));
  memset(rush_data(t), 0, 12 * sizeof(float));
  return t;
}

static void temporaries_go_when_the_operator_has_returned(void **state) {
  (void)state;
  stage s_, *s = &s_;
  open_stage(s);
  const rig *r = &s->r;
  rush_tensor *t = matrix(s), *a, *b;
  void *bytes;
  for (int k = 0; k < 5; k++) {
    OK(tmp_new(&s->call, RUSH_INT64, 1, (int64_t[]){100 + k}, &a));
    OK(tmp_view(&s->call, t, 2, (int64_t[]){4, 3}, (int64_t[]){1, 4}, 0, &a));
    OK(tmp_contiguous(&s->call, a, &b));
    assert_ptr_not_equal(a, b);
    OK(tmp_to(&s->call, b, RUSH_INT32, &a));
    OK(tmp_items(&s->call, 1000, sizeof(double), &bytes));
    memset(bytes, 1, 1000 * sizeof(double));
  }
  assert_int_equal(t->storage->refs, 6); /* t and five views */
  rush_call_release(&s->call);
  assert_int_equal(t->storage->refs, 1);
  assert_null(s->call.tensors);
  assert_null(s->call.blocks);
  rush_tensor_drop(&s->heap, t);
  close_stage(s);
}

static void what_another_holds_keeps_its_count(void **state) {
  (void)state;
  stage s_, *s = &s_;
  open_stage(s);
  const rig *r = &s->r;
  rush_tensor *t = matrix(s), *same;
  OK(tmp_contiguous(&s->call, t, &same));
  assert_ptr_equal(same, t);
  OK(tmp_to(&s->call, t, RUSH_FLOAT32, &same));
  assert_ptr_equal(same, t);
  assert_int_equal(t->object.refs, 1); /* otherwise it could not be reused */
  rush_call_release(&s->call);
  assert_int_equal(t->object.refs, 1);
  rush_tensor_drop(&s->heap, t);
  close_stage(s);
}

static void a_temporary_may_become_a_result(void **state) {
  (void)state;
  stage s_, *s = &s_;
  rush_value result = rush_none();
  open_stage(s);
  const rig *r = &s->r;
  s->call.results = &result;
  s->call.n_results = 1;
  rush_tensor *t, *same;
  OK(tmp_new(&s->call, RUSH_FLOAT32, 0, NULL, &t));
  OK(tmp_contiguous(&s->call, t, &same)); /* a temporary is its own temporary, once */
  assert_ptr_equal(same, t);
  ret_tensor(&s->call, 0, rush_tensor_retain(same));
  rush_call_release(&s->call);
  assert_int_equal(t->object.refs, 1);
  rush_drop(&s->heap, &result);
  close_stage(s);
}

static void without_memory_nothing_is_chained(void **state) {
  (void)state;
  stage s_, *s = &s_;
  open_stage(s);
  rush_tensor *t = matrix(s), *out;
  void *bytes;
  s->r.counter.fail_at = s->r.counter.calls + 1;
  assert_int_equal(tmp_new(&s->call, RUSH_FLOAT32, 1, (int64_t[]){1 << 20}, &out),
                   RUSH_ERR_NO_MEMORY);
  assert_int_equal(tmp_bytes(&s->call, 1 << 20, &bytes), RUSH_ERR_NO_MEMORY);
  assert_int_equal(tmp_items(&s->call, INT64_MAX, 16, &bytes), RUSH_ERR_NO_MEMORY);
  assert_int_equal(tmp_items(&s->call, -1, 16, &bytes), RUSH_ERR_NO_MEMORY);
  s->r.counter.fail_at = 0;
  assert_null(s->call.tensors);
  assert_null(s->call.blocks);
  rush_call_release(&s->call);
  rush_tensor_drop(&s->heap, t);
  close_stage(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(temporaries_go_when_the_operator_has_returned),
      cmocka_unit_test(what_another_holds_keeps_its_count),
      cmocka_unit_test(a_temporary_may_become_a_result),
      cmocka_unit_test(without_memory_nothing_is_chained),
  };
  return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
