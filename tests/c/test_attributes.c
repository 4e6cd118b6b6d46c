/* Tests state: attributes that a program writes, their independence between sessions, and reset. */
#include "harness.h"

enum { TENSOR, INT, TENSORS, NONE, PAIR };

/* forward(x): state += x; count = count + 1; return (state, count)
 * half(): returns the second element of state, a view of the same storage
 * log(x): log.append(x); return log */
static void build_stateful(builder *b) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(TENSOR));
  build_type(b, RUSH_TYPE_NONE);
  build_type_n(b, RUSH_TYPE_TUPLE, 2, U32(TENSOR, INT));
  uint32_t storage = build_storage(b, (float[]){1, 2}, 8);
  uint32_t whole = build_const(b, RUSH_CONST_TENSOR,
                               build_view(b, storage, RUSH_FLOAT32, 1, SIZES(2), NULL, 0), 0, 0);
  uint32_t part = build_const(b, RUSH_CONST_TENSOR,
                              build_view(b, storage, RUSH_FLOAT32, 1, SIZES(1), NULL, 1), 0, 0);
  uint32_t slot[4], one = build_int(b, 1), zero = build_int(b, 0),
                    empty = build_items(b, RUSH_CONST_LIST, TENSORS, 0, NULL);
  for (int k = 0; k < 4; k++) slot[k] = K(build_int(b, k));
  build_attribute(b, "state", TENSOR, whole);
  build_attribute(b, "part", TENSOR, part);
  build_attribute(b, "count", INT, zero);
  build_attribute(b, "log", TENSORS, empty);

  build_method(b, "forward", PAIR, 1, U32(TENSOR));
  uint32_t state = CALL("rush::get_attr", TENSOR, slot[0]),
           sum = CALL("aten::add_.Tensor", TENSOR, state, 0, K(one));
  uint32_t count = CALL("rush::get_attr", INT, slot[2]),
           more = CALL("aten::add.int", INT, count, K(one));
  build_op(b, "rush::set_attr", 2, U32(slot[2], more), 0, NULL);
  uint32_t copy = CALL("aten::clone", TENSOR, sum);
  build_return(b, CALL("prim::TupleConstruct", PAIR, copy, more));

  build_method(b, "part", TENSOR, 0, NULL);
  build_return(b, CALL("rush::get_attr", TENSOR, slot[1]));

  build_method(b, "log", TENSORS, 1, U32(TENSOR));
  uint32_t log = CALL("rush::get_attr", TENSORS, slot[3]);
  build_return(b, CALL("aten::append.t", TENSORS, log, 0));

  build_method(b, "constant", TENSOR, 0, NULL);
  build_return(b, CALL("aten::clone", TENSOR, K(whole)));
}

static void state_lives_from_run_to_run_until_reset(void **unused) {
  (void)unused;
  rig rig_, *r = &rig_;
  builder b;
  rig_open(r);
  build_stateful(&b);
  rig_start(r, &b);
  rush_value x = rig_floats(r, 2, (float[]){10, 20});
  for (int round = 0; round < 3; round++) {
    assert_string_equal(run(r, 0, ARGS(x)), "(float32[2](11 22), 1)");
    assert_string_equal(run(r, 0, ARGS(x)), "(float32[2](21 42), 2)");
    assert_string_equal(run(r, 1, NO_ARGS), "float32[1](42)"); /* they still share a storage */
    /* The weight itself is unchanged. */
    assert_string_equal(run(r, 3, NO_ARGS), "float32[2](1 2)");
    run(r, 2, ARGS(x));
    assert_string_equal(run(r, 2, ARGS(x)), "[float32[2](10 20), float32[2](10 20)]");
    OK(rush_session_reset(r->session));
    assert_string_equal(run(r, 1, NO_ARGS), "float32[1](2)");
    assert_string_equal(run(r, 2, ARGS(x)), "[float32[2](10 20)]");
    OK(rush_session_reset(r->session));
  }
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void two_sessions_have_two_states(void **unused) {
  (void)unused;
  rig rig_, *r = &rig_;
  builder b;
  rig_open(r);
  build_stateful(&b);
  rig_start(r, &b);
  rush_session *first = r->session, *second;
  OK(rush_session_create(r->ctx, r->model, &second));
  rush_value x = rig_floats(r, 2, (float[]){10, 20});
  assert_string_equal(run(r, 0, ARGS(x)), "(float32[2](11 22), 1)");
  r->session = second;
  rush_value y = rig_floats(r, 2, (float[]){1, 1});
  assert_string_equal(run(r, 0, ARGS(y)), "(float32[2](2 3), 1)");
  assert_string_equal(run(r, 0, ARGS(y)), "(float32[2](3 4), 2)");
  rush_value_release(second, &y);
  rush_session_destroy(second);
  r->session = first;
  assert_string_equal(run(r, 0, ARGS(x)), "(float32[2](21 42), 2)");
  rush_value_release(first, &x);
  rig_close(r);
}

static void a_failed_run_keeps_what_it_had_written(void **unused) {
  (void)unused;
  rig rig_, *r = &rig_;
  builder b;
  rig_open(r);
  build_stateful(&b);
  rig_start(r, &b);
  rush_value x = rig_floats(r, 2, (float[]){10, 20}), wrong = rig_floats(r, 3, (float[]){1, 2, 3});
  assert_contains("shape", run(r, 0, ARGS(wrong)),
                  "bad-argument: forward, instruction 1 (aten::add_.Tensor)");
  assert_string_equal(run(r, 0, ARGS(x)), "(float32[2](11 22), 1)");
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &wrong);
  rig_close(r);
}

static void the_host_reads_and_sets_attributes(void **unused) {
  (void)unused;
  rig rig_, *r = &rig_;
  builder b;
  rush_value v;
  rig_open(r);
  build_stateful(&b);
  rig_start(r, &b);
  assert_int_equal(rush_model_attribute_count(r->model), 4);
  assert_string_equal(rush_model_attribute_name(r->model, 2), "count");
  assert_null(rush_model_attribute_name(r->model, 4));
  rush_value x = rig_floats(r, 2, (float[]){10, 20}), five = rush_int(5), text;
  OK(rush_session_set_attribute(r->session, 2, &five));
  OK(rush_session_set_attribute(r->session, 0, &x));
  assert_string_equal(run(r, 0, ARGS(x)), "(float32[2](20 40), 6)");
  OK(rush_session_get_attribute(r->session, 2, &v));
  assert_string_equal(show(r, &v), "6");
  OK(rush_session_get_attribute(r->session, 0, &v));
  assert_string_equal(show(r, &v), "float32[2](20 40)");
  rush_value_release(r->session, &v);
  assert_int_equal(rush_session_get_attribute(r->session, 4, &v), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("get", rush_ctx_error(r->ctx), "attribute 4 does not exist, the model has 4");
  OK(rush_str_create(r->session, "x", 1, &text));
  assert_int_equal(rush_session_set_attribute(r->session, 2, &text), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("set", rush_ctx_error(r->ctx), "attribute 'count' cannot be str");
  rush_value_release(r->session, &text);
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void a_slot_that_is_not_there_is_refused(void **unused) {
  (void)unused;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  build_stateful(b);
  build_method(b, "wrong", TENSOR, 1, U32(INT));
  build_return(b, CALL("rush::get_attr", TENSOR, 0));
  build_method(b, "mistaken", TENSOR, 0, NULL);
  uint32_t two = build_int(b, 2);
  uint32_t v = CALL("rush::get_attr", TENSOR, K(two)); /* an int in any register */
  build_return(b, CALL("aten::t", TENSOR, v));
  rig_open(r);
  rig_start(r, b);
  static const int64_t slots[] = {4, -1, INT64_MAX, INT64_MIN};
  for (int k = 0; k < 4; k++)
    assert_contains("slot", run(r, 4, ARGS(rush_int(slots[k]))), "the model has no attribute");
  assert_contains("kind", run(r, 5, NO_ARGS), "argument 'self' cannot be int");
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(state_lives_from_run_to_run_until_reset),
      cmocka_unit_test(two_sessions_have_two_states),
      cmocka_unit_test(a_failed_run_keeps_what_it_had_written),
      cmocka_unit_test(the_host_reads_and_sets_attributes),
      cmocka_unit_test(a_slot_that_is_not_there_is_refused),
  };
  return cmocka_run_group_tests_name("attributes", tests, NULL, NULL);
}
