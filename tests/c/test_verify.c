/* Tests exec/verify: which answers count as equal, and how a difference is described. */
#include "harness.h"

#include <math.h>

/* A method returns its argument, and a test expects another constant, so each row is a
 * comparison. */
typedef struct values {
  uint32_t type, given, wanted;
} values;

static uint32_t floats(builder *b, int n, const float *x) {
  return build_tensor(b, RUSH_FLOAT32, 1, SIZES(n), x);
}

#define T(...) floats(b, sizeof((float[]){__VA_ARGS__}) / 4, (float[]){__VA_ARGS__})

static uint32_t ints(builder *b, int64_t a, int64_t c) {
  return build_tensor(b, RUSH_INT64, 1, SIZES(2), (int64_t[]){a, c});
}
static uint32_t list(builder *b, uint32_t type, uint32_t x, uint32_t y) {
  return build_items(b, RUSH_CONST_LIST, type, 2, U32(x, y));
}
static uint32_t text(builder *b, const char *s) {
  return build_const(b, RUSH_CONST_STR, build_str(b, s), 0, 0);
}

enum { TENSOR, INT, FLOAT, STR, ANY, TENSORS, NESTED };

/* clang-format off */
/* name, rtol, atol, message ("" if equal), type, given, wanted */
#define ROWS(R)                                                                                    \
  R(same_tensors, 0, 0, "", TENSOR, T(1, 2, 3), T(1, 2, 3))                                        \
  R(within_rtol, 1e-2f, 0, "", TENSOR, T(100, 200), T(100.5f, 201))                                \
  R(outside_rtol, 1e-3f, 0,                                                                        \
      "result: expected 201, got 200 (greatest difference 1, rtol 0.001, atol 0)", TENSOR,         \
      T(100, 200), T(100, 201))                                                                    \
  R(within_atol, 0, 0.5f, "", TENSOR, T(0, 0.25f), T(0.5f, 0))                                     \
  R(outside_atol, 0, 0.1f, "expected 0, got 0.25", TENSOR, T(0, 0.25f), T(0, 0))                   \
  R(nan_is_nan, 0, 0, "", TENSOR, T(NAN, 1), T(NAN, 1))                                            \
  R(nan_is_no_number, 1, 1, "expected nan, got 1", TENSOR, T(1), T(NAN))                           \
  R(number_is_no_nan, 1, 1, "expected 1, got nan", TENSOR, T(NAN), T(1))                           \
  R(infinity_is_infinity, 0, 0, "", TENSOR, T(INFINITY, -INFINITY), T(INFINITY, -INFINITY))        \
  R(infinity_has_a_sign, 1, 1, "expected -inf, got inf", TENSOR, T(INFINITY), T(-INFINITY))        \
  R(infinity_is_no_number, 1, 1, "expected inf, got 3.00000001e+38", TENSOR, T(3e38f),             \
      T(INFINITY))                                                                                 \
  R(number_is_no_infinity, 1, 1, "expected 3.00000001e+38, got inf", TENSOR, T(INFINITY),          \
      T(3e38f))                                                                                    \
  R(zeros_of_both_signs, 0, 0, "", TENSOR, T(-0.0f), T(0.0f))                                      \
  R(empty_tensors, 0, 0, "", TENSOR, build_tensor(b, RUSH_FLOAT32, 2, SIZES(0, 3), NULL),          \
    build_tensor(b, RUSH_FLOAT32, 2, SIZES(0, 3), NULL))                                           \
  R(other_shape, 0, 0, "expected shape [1, 2], got [2]", TENSOR, T(1, 2),                          \
    build_tensor(b, RUSH_FLOAT32, 2, SIZES(1, 2), ((float[]){1, 2})))                              \
  R(other_dtype, 1, 1, "expected dtype int64, got float32", TENSOR, T(1, 2), ints(b, 1, 2))        \
  R(ints_are_equal, 0, 0, "", TENSOR, ints(b, 1, INT64_MAX), ints(b, 1, INT64_MAX))                \
  R(ints_have_no_tolerance, 1, 1, "result: expected 3, got 2", TENSOR, ints(b, 1, 2), ints(b,      \
      1, 3))                                                                                       \
  R(large_ints_are_told_apart, 1, 1, "expected ", TENSOR, ints(b, 1, INT64_MAX), ints(b, 1,        \
      INT64_MAX - 1))                                                                              \
  R(int, 0, 0, "", INT, build_int(b, 7), build_int(b, 7))                                          \
  R(other_int, 1, 1, "expected 8, got 7", INT, build_int(b, 7), build_int(b, 8))                   \
  R(float, 0, 0.5f, "", FLOAT, build_float(b, 7), build_float(b, 7.25))                            \
  R(other_float, 0, 0, "expected 7.25, got 7", FLOAT, build_float(b, 7), build_float(b, 7.25))     \
  R(str, 0, 0, "", STR, text(b, "abc"), text(b, "abc"))                                            \
  R(other_str, 0, 0, "expected 'abd', got 'abc'", STR, text(b, "abc"), text(b, "abd"))             \
  R(none, 0, 0, "", ANY, build_none(b), build_none(b))                                             \
  R(other_kind, 1, 1, "expected float, got int", ANY, build_int(b, 1), build_float(b, 1))          \
  R(bool_is_no_int, 1, 1, "expected int, got bool", ANY, build_bool(b, true), build_int(b, 1))     \
  R(lists, 0, 0, "", TENSORS, list(b, TENSORS, T(1), T(2)), list(b, TENSORS, T(1), T(2)))          \
  R(second_item, 0, 0, "result[1]: expected 3, got 2", TENSORS, list(b, TENSORS, T(1), T(2)),      \
      list(b, TENSORS, T(1), T(3)))                                                                \
  R(fewer_items, 0, 0, "expected 0 items, got 2", TENSORS, list(b, TENSORS, T(1), T(2)),           \
    build_items(b, RUSH_CONST_LIST, TENSORS, 0, NULL))                                             \
  R(nested, 0, 0, "result[1][0]: expected 5, got 3", NESTED,                                       \
    list(b, NESTED, list(b, TENSORS, T(1), T(2)), list(b, TENSORS, T(3), T(4))),                   \
    list(b, NESTED, list(b, TENSORS, T(1), T(2)), list(b, TENSORS, T(5), T(4))))

/* clang-format on */

#define MAKE(name, rtol, atol, says, type, given, wanted) \
  static values make_##name(builder *b) {                 \
    uint32_t g = given, w = wanted;                       \
    return (values){type, g, w};                          \
  }
ROWS(MAKE)
#define ROW(name, rtol, atol, says, type, given, wanted) {#name, make_##name, rtol, atol, says},
static const struct {
  const char *name;
  values (*make)(builder *b);
  float rtol, atol;
  const char *says;
} rows[] = {ROWS(ROW)};

static void add_types(builder *b) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type(b, RUSH_TYPE_FLOAT);
  build_type(b, RUSH_TYPE_STR);
  build_type(b, RUSH_TYPE_ANY);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(TENSOR));
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(TENSORS));
}

/* forward(x): return x. Returns the arguments of a test for it. */
static uint32_t give_back(builder *b, uint32_t type, uint32_t given) {
  uint32_t tuple = build_type_n(b, RUSH_TYPE_TUPLE, 1, U32(type));
  build_method(b, "forward", type, 1, U32(type));
  build_return(b, 0);
  return build_items(b, RUSH_CONST_TUPLE, tuple, 1, U32(given));
}

static void answers_are_compared_as_allclose_does(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    rush_verify_report report;
    rig_open(r);
    add_types(b);
    values v = rows[i].make(b);
    uint32_t args = give_back(b, v.type, v.given);
    build_test(b, 0, args, v.wanted, rows[i].rtol, rows[i].atol);
    rig_start(r, b);
    rush_status st = rush_session_verify(r->session, 0, &report);
    if (st != (rows[i].says[0] ? RUSH_ERR_MISMATCH : RUSH_OK))
      fail_msg("%s: %s: %s", rows[i].name, rush_status_name(st), rush_ctx_error(r->ctx));
    if (st != RUSH_OK) {
      assert_contains(rows[i].name, rush_ctx_error(r->ctx), rows[i].says);
      assert_contains(rows[i].name, rush_ctx_error(r->ctx), "test vector 0: ");
    }
    rig_close(r);
  }
}

static void the_report_measures_either_way(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  rush_verify_report report;
  rig_open(r);
  add_types(b);
  uint32_t args = give_back(b, TENSOR, T(1, 2, 0.5f, NAN)), wanted = T(1, 4, 0, NAN);
  build_test(b, 0, args, wanted, 1, 1);
  build_test(b, 0, args, wanted, 0, 0);
  rig_start(r, b);
  assert_int_equal(rush_model_test_count(r->model), 2);
  for (size_t test = 0; test < 2; test++) {
    assert_int_equal(rush_session_verify(r->session, test, &report),
                     test ? RUSH_ERR_MISMATCH : RUSH_OK);
    assert_true(report.max_abs == 2.0 && report.max_rel == 0.5 && report.compared == 4);
  }
  assert_int_equal(rush_session_verify(r->session, 2, &report), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("count", rush_ctx_error(r->ctx), "test vector 2 does not exist, the file has 2");
  rig_close(r);
}

static void relative_differences_of_small_elements_do_not_count(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  rush_verify_report report;
  rig_open(r);
  add_types(b);
  uint32_t args = give_back(b, TENSOR, T(2000, 5, 3, 1));
  uint32_t wanted = T(2000, 4, 2, 0); /* 4 is above a thousandth of 2000, 2 is not */
  build_test(b, 0, args, wanted, 0, 1);
  rig_start(r, b);
  assert_int_equal(rush_session_verify(r->session, 0, &report), RUSH_OK);
  assert_true(report.max_abs == 1.0 && report.max_rel == 0.25 && report.compared == 4);
  rig_close(r);
}

/* SplitMix64 as in format.h. The first four values from seed 42 were computed independently. */
static void random_inputs_are_those_of_the_specification(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  rush_verify_report report;
  rig_open(r);
  add_types(b);
  uint64_t range;
  float lo_hi[2] = {-1, 3};
  memcpy(&range, lo_hi, 8);
  static const rush_dtype dtypes[] = {RUSH_FLOAT32, RUSH_FLOAT64, RUSH_INT64, RUSH_BOOL};
  uint64_t s = 42;
  double u24[4], u53[4];
  bool top[4];
  for (int k = 0; k < 4; k++) {
    uint64_t z = (s += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    if (k == 0) assert_true(z == 0xBDD732262FEB6E95u); /* Java's SplittableRandom(42).nextLong() */
    u24[k] = (double)(z >> 40) / 16777216.0;
    u53[k] = (double)(z >> 11) / 9007199254740992.0;
    top[k] = z >> 63;
  }
  for (int k = 0; k < 4; k++) {
    float f[4];
    double d[4];
    int64_t i[4];
    uint8_t bits[4];
    for (int j = 0; j < 4; j++)
      d[j] = -1 + 4 * u24[j], f[j] = (float)d[j], i[j] = (int64_t)floor(-1 + 4 * u53[j]),
      bits[j] = top[j];
    const void *data[] = {f, d, i, bits};
    uint32_t random =
        build_const(b, RUSH_CONST_RANDOM,
                    build_view(b, RUSH_NONE, dtypes[k], 2, SIZES(2, 2), NULL, 0), 42, range);
    uint32_t tuple = build_type_n(b, RUSH_TYPE_TUPLE, 1, U32(TENSOR));
    uint32_t args = build_items(b, RUSH_CONST_TUPLE, tuple, 1, &random),
             wanted = build_tensor(b, dtypes[k], 2, SIZES(2, 2), data[k]);
    build_test(b, 0, args, wanted, 0, 0);
  }
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  build_return(b, 0);
  rig_start(r, b);
  for (size_t k = 0; k < 4; k++) OK(rush_session_verify(r->session, k, &report));
  rig_close(r);
}

/* A program writes to its inputs. Its tests pass views of one storage, which must alias. */
static void inputs_alias_as_in_the_file_and_are_fresh_each_time(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  rush_verify_report report;
  rig_open(r);
  add_types(b);
  uint32_t pair = build_type_n(b, RUSH_TYPE_TUPLE, 2, U32(TENSOR, TENSOR)), one = build_int(b, 1);
  uint32_t storage = build_storage(b, (float[]){1, 2, 3}, 12);
  uint32_t x = build_const(b, RUSH_CONST_TENSOR,
                           build_view(b, storage, RUSH_FLOAT32, 1, SIZES(3), NULL, 0), 0, 0);
  uint32_t y = build_const(b, RUSH_CONST_TENSOR,
                           build_view(b, storage, RUSH_FLOAT32, 1, SIZES(1), NULL, 2), 0, 0);
  uint32_t args = build_items(b, RUSH_CONST_TUPLE, pair, 2, U32(x, y)), wanted = T(6);
  build_method(b, "forward", TENSOR, 2, U32(TENSOR, TENSOR));
  uint32_t doubled = build_call(b, "aten::add_.Tensor", TENSOR, 3, U32(0, 0, K(one)));
  (void)doubled;
  build_return(b, 1);
  build_test(b, 0, args, wanted, 0, 0);
  rig_start(r, b);
  for (int round = 0; round < 3; round++) OK(rush_session_verify(r->session, 0, &report));
  rig_close(r);
}

static void a_test_starts_from_the_files_state(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  rush_verify_report report;
  rig_open(r);
  add_types(b);
  uint32_t slot = build_int(b, 0), one = build_int(b, 1),
           none = build_type_n(b, RUSH_TYPE_TUPLE, 0, NULL);
  build_attribute(b, "count", INT, slot);
  uint32_t args = build_items(b, RUSH_CONST_TUPLE, none, 0, NULL);
  build_method(b, "forward", INT, 0, NULL);
  uint32_t count = build_call(b, "rush::get_attr", INT, 1, U32(K(slot)));
  uint32_t more = build_call(b, "aten::add.int", INT, 2, U32(count, K(one)));
  build_op(b, "rush::set_attr", 2, U32(K(slot), more), 0, NULL);
  build_return(b, more);
  build_test(b, 0, args, one, 0, 0);
  rig_start(r, b);
  for (int round = 0; round < 3; round++) {
    run(r, 0, NO_ARGS);
    OK(rush_session_verify(r->session, 0, &report));
  }
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_are_compared_as_allclose_does),
      cmocka_unit_test(the_report_measures_either_way),
      cmocka_unit_test(relative_differences_of_small_elements_do_not_count),
      cmocka_unit_test(random_inputs_are_those_of_the_specification),
      cmocka_unit_test(inputs_alias_as_in_the_file_and_are_fresh_each_time),
      cmocka_unit_test(a_test_starts_from_the_files_state),
  };
  return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
