/* Tests rush::chain, which computes the operators after it or leaves them to run. Neither its
 * arguments nor the operators after it change a result. rows_chains.py tests which values it
 * takes. */
#include "harness.h"

#include "exec/session.h"

enum { TENSOR, INT, BOOL, NONE, PAIR };

static void types(builder *b) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type(b, RUSH_TYPE_BOOL);
  build_type(b, RUSH_TYPE_NONE);
  build_type_n(b, RUSH_TYPE_TUPLE, 2, U32(TENSOR, TENSOR));
}

static void chain(builder *b, int64_t n) {
  build_op(b, "rush::chain", 1, U32(K(build_int(b, n))), 0, NULL);
}

/* forward(x, k): -((x + x) * x) + k */
static void start(rig *r, int64_t n) {
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", TENSOR, 2, U32(TENSOR, INT));
  chain(b, n);
  const uint32_t sum = CALL("aten::add.Tensor", TENSOR, 0, 0);
  const uint32_t product = CALL("aten::mul.Tensor", TENSOR, sum, 0);
  const uint32_t negative = CALL("aten::neg", TENSOR, product);
  build_return(b, CALL("aten::add.Scalar", TENSOR, negative, 1));
  rig_open(r);
  rig_start(r, b);
}

static double tick(void *now) {
  return *(double *)now += 0.5;
}

/* Returns how often operators of this name ran since profiling began. */
static uint64_t calls_of(rig *r, const char *op) {
  rush_profile_row *rows;
  size_t n;
  uint64_t calls = 0;
  OK(rush_session_profile_rows(r->session, &rows, &n));
  for (size_t k = 0; k < n; k++)
    if (strcmp(rows[k].op, op) == 0) calls += rows[k].calls;
  rush_free(r->ctx, rows, n * sizeof *rows);
  return calls;
}

static void it_computes_what_stands_behind_it(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  double now = 0;
  start(r, 4);
  OK(rush_session_profile(r->session, tick, &now));
  rush_value x = rig_floats(r, 3, (float[]){1, 2, -3});
  assert_string_equal(run(r, 0, ARGS(x, rush_int(1))), "float32[3](-1 -7 -17)");
  assert_int_equal(calls_of(r, "rush::chain"), 1);
  assert_int_equal(calls_of(r, "aten::neg"), 0);
  assert_int_equal(calls_of(r, "aten::add.Scalar"), 0);
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void it_does_so_again(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  double now = 0;
  start(r, 4);
  rush_value x = rig_floats(r, 3, (float[]){1, 2, -3}), y = rig_floats(r, 2, (float[]){4, 5}),
             z = rig_floats(r, 1, (float[]){3});
  for (int round = 0; round < 3; round++) {
    const size_t calls = r->counter.calls;
    assert_string_equal(run(r, 0, ARGS(x, rush_int(1))), "float32[3](-1 -7 -17)");
    if (round > 0) assert_int_equal(r->counter.calls, calls);
  }
  OK(rush_session_profile(r->session, tick, &now));
  assert_string_equal(run(r, 0, ARGS(x, rush_int(2))), "float32[3](0 -6 -16)");
  assert_string_equal(run(r, 0, ARGS(y, rush_int(2))), "float32[2](-30 -48)");
  assert_string_equal(run(r, 0, ARGS(z, rush_int(2))), "float32[1](-16)");
  assert_string_equal(run(r, 0, ARGS(x, rush_int(2))), "float32[3](0 -6 -16)");
  assert_int_equal(calls_of(r, "aten::neg"), 0);
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &y);
  rush_value_release(r->session, &z);
  rig_close(r);
}

static void any_number_will_do(void **state) {
  (void)state;
  static const int64_t numbers[] = {INT64_MIN, -1, 0, 1, 2, 3, 4, 5, 6, 100, INT64_MAX};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    rig rig_, *r = &rig_;
    start(r, numbers[k]);
    rush_value x = rig_floats(r, 3, (float[]){1, 2, -3});
    for (int round = 0; round < 20; round++)
      assert_string_equal(run(r, 0, ARGS(x, rush_int(1))), "float32[3](-1 -7 -17)");
    rush_value_release(r->session, &x);
    rig_close(r);
  }
}

/* uint8 elements use the bodies of int64. */
static void what_does_not_fit_is_left_to_the_operators(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  double now = 0;
  start(r, 4);
  OK(rush_session_profile(r->session, tick, &now));
  rush_value x = rig_tensor(r, RUSH_UINT8, 1, SIZES(2), (uint8_t[]){100, 3});
  for (int round = 0; round < 20; round++)
    assert_string_equal(run(r, 0, ARGS(x, rush_int(1))), "uint8[2](225 239)");
  assert_int_equal(calls_of(r, "aten::neg"), 20);
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void it_may_stand_anywhere(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", PAIR, 2, U32(TENSOR, BOOL));
  const uint32_t either = build_reg(b, TENSOR);
  chain(b, 9);
  chain(b, 9);
  const uint32_t turned = CALL("aten::t", TENSOR, 0);
  chain(b, 9);
  build_if(b, 1, 1, U32(either));
  chain(b, 9);
  const uint32_t twice = CALL("aten::add.Tensor", TENSOR, turned, turned);
  const uint32_t squared = CALL("aten::mul.Tensor", TENSOR, twice, turned);
  build_else(b, 1, U32(squared));
  chain(b, 9);
  build_end_if(b, 1, U32(turned));
  const uint32_t pair = CALL("prim::TupleConstruct", PAIR, either, 0);
  chain(b, 9);
  build_return(b, pair);
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_tensor(r, RUSH_FLOAT32, 2, SIZES(1, 2), (float[]){3, 4});
  assert_string_equal(run(r, 0, ARGS(x, rush_bool(true))),
                      "(float32[2, 1](18 32), float32[1, 2](3 4))");
  assert_string_equal(run(r, 0, ARGS(x, rush_bool(false))),
                      "(float32[2, 1](3 4), float32[1, 2](3 4))");
  rush_value_release(r->session, &x);
  rig_close(r);
}

/* The result of the first operator is kept. The result of the last one reuses the memory of an
 * operand that dies. */
static void what_stays_is_kept_and_what_dies_is_taken_over(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", PAIR, 1, U32(TENSOR));
  const uint32_t copy = CALL("aten::clone", TENSOR, 0);
  chain(b, 3);
  const uint32_t first = CALL("aten::neg", TENSOR, 0);
  const uint32_t next = CALL("aten::mul.Tensor", TENSOR, first, copy);
  const uint32_t last = CALL("aten::add.Tensor", TENSOR, next, 0);
  build_return(b, CALL("prim::TupleConstruct", PAIR, first, last));
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 3, (float[]){1, 2, 3});
  for (int round = 0; round < 3; round++)
    assert_string_equal(run(r, 0, ARGS(x)), "(float32[3](-1 -2 -3), float32[3](0 -2 -6))");
  rush_value_release(r->session, &x);
  rig_close(r);
}

/* 30,000 elements give several pieces to each thread. */
static void threads_change_nothing(void **state) {
  (void)state;
  enum { N = 30000 };
  static float data[N], results[2][N];
  for (int i = 0; i < N; i++) data[i] = (float)(i % 1013) / 97 - 5;
  for (unsigned threads = 1; threads <= 2; threads++) {
    rig rig_, *r = &rig_;
    rush_value result;
    rush_tensor_info info;
    start(r, 4);
    OK(rush_ctx_set_threads(r->ctx, threads));
    rush_value x = rig_tensor(r, RUSH_FLOAT32, 2, SIZES(100, 300), data);
    const rush_value args[] = {x, rush_int(1)};
    OK(rush_session_run(r->session, 0, args, 2, &result));
    OK(rush_tensor_inspect(r->session, &result, &info));
    memcpy(results[threads - 1], info.data, sizeof results[0]);
    rush_value_release(r->session, &result);
    rush_value_release(r->session, &x);
    rig_close(r);
  }
  for (int i = 0; i < N; i++) {
    assert_true(results[0][i] == -((data[i] + data[i]) * data[i]) + 1);
    assert_true(results[0][i] == results[1][i]);
  }
}

/* The planes of the result are so large that each is split, too: x[i][0][k] + y[0][j][k], and the
 * same times x. */
static void large_planes_are_split(void **state) {
  (void)state;
  enum { N = (1 << 20) + 3 };
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  double now = 0;
  types(b);
  build_method(b, "forward", TENSOR, 2, U32(TENSOR, TENSOR));
  chain(b, 2);
  const uint32_t sum = CALL("aten::add.Tensor", TENSOR, 0, 1);
  build_return(b, CALL("aten::mul.Tensor", TENSOR, sum, 0));
  rig_open(r);
  rig_start(r, b);
  float *data = malloc(2 * N * sizeof *data);
  for (int i = 0; i < 2 * N; i++) data[i] = (float)(i % 1013) - 500;
  rush_value x = rig_tensor(r, RUSH_FLOAT32, 3, SIZES(2, 1, N), data), result;
  rush_value y = rig_tensor(r, RUSH_FLOAT32, 3, SIZES(1, 2, N), data);
  rush_tensor_info info;
  OK(rush_session_profile(r->session, tick, &now));
  const rush_value args[] = {x, y};
  OK(rush_session_run(r->session, 0, args, 2, &result));
  assert_int_equal(calls_of(r, "aten::mul.Tensor"), 0);
  OK(rush_tensor_inspect(r->session, &result, &info));
  assert_int_equal(info.numel, 4 * N);
  const float *got = info.data;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < N; k++, got++)
        assert_true(*got == (data[i * N + k] + data[j * N + k]) * data[i * N + k]);
  free(data);
  rush_value_release(r->session, &result);
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &y);
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_computes_what_stands_behind_it),
      cmocka_unit_test(it_does_so_again),
      cmocka_unit_test(any_number_will_do),
      cmocka_unit_test(what_does_not_fit_is_left_to_the_operators),
      cmocka_unit_test(it_may_stand_anywhere),
      cmocka_unit_test(what_stays_is_kept_and_what_dies_is_taken_over),
      cmocka_unit_test(threads_change_nothing),
      cmocka_unit_test(large_planes_are_split),
  };
  return cmocka_run_group_tests_name("chain", tests, NULL, NULL);
}
