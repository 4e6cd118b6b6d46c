/* Tests rushlight/verdict.h, which judges answers by PyTorch's and float64's. */
#include <rushlight/verdict.h>

#include <math.h>

#include "harness.h"

enum { MOST = 64 };

/* 64 numbers around 1: float64's, PyTorch's, and an answer. `pytorch` and `own` are relative errors
 * of either sign. `one` is an extra error of one element, and `all` is a wrong factor. A field that
 * a row does not name is 0: float64's answer is then known, the norm counts, and the tolerances are
 * the usual ones. */
typedef struct row {
  const char *name;
  int n;        /* how many numbers; 0 for 64 */
  double scale; /* around which number; 0 for 1 */
  double pytorch, own, one, all;
  bool unmeasured, without_norm, exact;
  bool right;
} row;

static const row rows[] = {
    {"the same", .right = true},
    {"close", .own = 1e-5, .right = true},
    {"not close, as near as PyTorch", .pytorch = 2e-4, .own = 2e-4, .right = true},
    {"three times as far", .pytorch = 2e-4, .own = 6e-4, .right = true},
    {"ten times as far", .pytorch = 2e-4, .own = 2e-3},
    {"PyTorch is right, this is not", .pytorch = 1e-7, .own = 1e-3},
    {"a thousandth too much", .pytorch = 5e-5, .own = 5e-5, .all = 1e-3},
    {"one element is another", .pytorch = 5e-5, .own = 5e-5, .one = 1e-2},
    {"one element of a very noisy answer", .pytorch = 1e-3, .own = 1e-3, .one = 1e-1},
    {"small numbers, close beside 1", .scale = 1e-4, .pytorch = 1e-7, .own = 1e-3,
     .unmeasured = true, .right = true},
    {"small numbers, and float64 tells", .scale = 1e-4, .pytorch = 1e-7, .own = 1e-3},
    {"small numbers that PyTorch rounds as much", .scale = 1e-4, .pytorch = 1e-3, .own = 1e-3,
     .right = true},
    {"a few small numbers", .n = 2, .scale = 1e-4, .pytorch = 1e-7, .own = 1e-3, .right = true},
    {"a few numbers, and PyTorch is lucky", .n = 2, .pytorch = 1e-4, .own = 1e-3, .right = true},
    {"float64 is another function", .pytorch = 0.5, .own = 0.5},
    {"float64 is not known, the norm is small", .own = 1e-5, .one = 2.4e-4, .unmeasured = true,
     .right = true},
    {"the norm is not small", .own = 2e-4, .unmeasured = true},
    {"nobody asked for the norm", .own = 1e-5, .one = 2.4e-4, .unmeasured = true,
     .without_norm = true},
    {"a tolerance of nothing", .own = 1e-9, .unmeasured = true, .without_norm = true,
     .exact = true},
};

static void an_answer_is_right_or_not(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    const row *r = rows + k;
    rush_verdict v;
    const double scale = r->scale > 0 ? r->scale : 1;
    rush_verdict_begin(&v, r->exact ? 0 : 1e-4, r->exact ? 0 : 1e-5, scale * 2, !r->unmeasured,
                       !r->without_norm);
    for (int i = 0; i < (r->n ? r->n : MOST); i++) {
      const double exact = scale * (1 + (double)(i % 7) / 7), sign = i % 2 ? 1 : -1;
      const double other = i % 3 ? 1 : -1;
      rush_verdict_add(&v, exact * (1 + r->own * other + r->all) + (i == 5 ? r->one * scale : 0),
                       exact * (1 + r->pytorch * sign), exact);
    }
    if (rush_verdict_is_right(&v) != r->right) fail_msg("%s", r->name);
  }
}

/* 64 numbers, of which every second one is 1e-5. Rounding of activations that are far larger than
 * the answer also affects the small ones. The error of one element is `pytorch` in PyTorch and
 * `own` here, relative to the greatest number. */
static bool small_ones_are_right(double pytorch, double own) {
  rush_verdict v;
  rush_verdict_begin(&v, 1e-4, 1e-5, 1, true, true);
  for (int i = 0; i < 64; i++) {
    const double exact = i % 2 ? 1e-5 : 1;
    rush_verdict_add(&v, exact + (i == 7 ? own : 0), exact + (i == 7 ? pytorch : 0), exact);
  }
  return rush_verdict_is_right(&v);
}

/* Models a deep network in bfloat16. PyTorch has errors of size `pytorch` and either sign. This
 * answer has a share of these errors and `more` of its own, times `all`. */
static bool far_ones_are_right(double pytorch, double share, double more, double all) {
  rush_verdict v;
  rush_verdict_begin(&v, 1.6e-2, 1e-5, 1, true, true);
  for (int i = 0; i < 64; i++) {
    const double exact = 1, off = i % 2 ? pytorch : -pytorch, other = i % 3 ? more : -more;
    rush_verdict_add(&v, (exact + share * off + other) * all, exact + off, exact);
  }
  return rush_verdict_is_right(&v);
}

static void a_deep_network_in_bfloat16_is_as_near_as_pytorch(void **state) {
  (void)state;
  assert_true(far_ones_are_right(0.12, 1, 0.02, 1));
  assert_true(far_ones_are_right(0.8, 1, 0.2, 1));
  assert_false(far_ones_are_right(0.12, 2, 0, 1));    /* twice the error */
  assert_false(far_ones_are_right(0.12, 0, 0.12, 1)); /* other errors */
  assert_false(far_ones_are_right(0.8, 1, 0, 0));     /* all zero */
  assert_false(far_ones_are_right(0.8, 0, 1.5, 1));   /* unrelated */
  assert_false(far_ones_are_right(1.1, 1, 0.1, 1));   /* undecidable */
}

static void a_step_of_large_activations_is_no_error(void **state) {
  (void)state;
  assert_true(small_ones_are_right(1.45e-6, 1.3e-5));
  assert_true(small_ones_are_right(1e-7, 2e-5));
  assert_false(small_ones_are_right(1e-7, 4e-5));
  assert_false(small_ones_are_right(1e-6, 1e-3)); /* a thousandth of the greatest */
}

static void add(rush_verdict *v, double got, double pytorch, double exact) {
  rush_verdict_begin(v, 1, 1, 1, true, true);
  for (int i = 0; i < 20; i++) rush_verdict_add(v, 1, 1, 1);
  rush_verdict_add(v, got, pytorch, exact);
}

static void what_is_no_number_is_where_pytorch_or_float64_has_it(void **state) {
  (void)state;
  static const struct {
    double got, pytorch, exact;
    bool right;
  } cases[] = {
      {NAN, NAN, NAN, true},
      {NAN, 1, 1, false},
      {1, NAN, 1, true},
      {1, NAN, NAN, false},
      {INFINITY, 1, 1, false},
      {INFINITY, INFINITY, 1, true},
      {1, INFINITY, 1, true},
      {-INFINITY, INFINITY, INFINITY, false},
      {INFINITY, 3e38, 1e39, true}, /* infinite in float32 */
      {2, INFINITY, INFINITY, false},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    rush_verdict v;
    add(&v, cases[k].got, cases[k].pytorch, cases[k].exact);
    if (rush_verdict_is_right(&v) != cases[k].right) fail_msg("case %zu", k);
  }
}

static void distances_are_in_units_of_the_answer(void **state) {
  (void)state;
  rush_verdict v;
  rush_distance pytorch, rushlight, difference;
  rush_verdict_begin(&v, 0, 0, 4, true, false);
  rush_verdict_add(&v, 3, 3.5, 4);
  rush_verdict_add(&v, -3, -3, -3);
  rush_verdict_distances(&v, &pytorch, &rushlight, &difference);
  assert_true(pytorch.max == 0.125 && rushlight.max == 0.25 && difference.max == 0.125);
  assert_true(fabs(pytorch.l2 - 0.1) < 1e-15 && fabs(rushlight.l2 - 0.2) < 1e-15);
}

/* ---- In a file ------------------------------------------------------------------------------- */

enum { TENSOR, FLOAT, INT, TUPLE };

static void measure(builder *b, uint32_t test, uint32_t exact, float rtol, float atol) {
  rush_file_measure m = {test, exact, rtol, atol};
  build_add(b, RUSH_SEC_MEASURES, sizeof m, &m, 1);
}

/* forward(x, f, i): return (x, f, i), with a test and measures of its values. */
static void make(builder *b, double x, double f, int64_t i, const double *exact) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_FLOAT);
  build_type(b, RUSH_TYPE_INT);
  build_type_n(b, RUSH_TYPE_TUPLE, 3, U32(TENSOR, FLOAT, INT));
  float many[40], far[40];
  double wide[40];
  for (int k = 0; k < 40; k++) {
    wide[k] = exact[0];
    many[k] = 1;
    far[k] = (float)x;
  }
  uint32_t given = build_items(
      b, RUSH_CONST_TUPLE, TUPLE, 3,
      U32(build_tensor(b, RUSH_FLOAT32, 1, SIZES(40), far), build_float(b, f), build_int(b, i)));
  uint32_t wanted = build_items(
      b, RUSH_CONST_TUPLE, TUPLE, 3,
      U32(build_tensor(b, RUSH_FLOAT32, 1, SIZES(40), many), build_float(b, 1), build_int(b, 1)));
  build_method(b, "forward", TUPLE, 3, U32(TENSOR, FLOAT, INT));
  build_return(b, build_call(b, "prim::TupleConstruct", TUPLE, 3, U32(0, 1, 2)));
  build_test(b, 0, given, wanted, 1e-4f, 1e-5f);
  measure(b, 0, build_tensor(b, RUSH_FLOAT64, 1, SIZES(40), wide), 1e-4f, 1e-5f);
  measure(b, 0, build_float(b, exact[1]), 1e-7f, 1e-9f);
  measure(b, 0, build_int(b, (int64_t)exact[2]), 0, 0);
}

static void a_file_has_measures_of_its_answers(void **state) {
  (void)state;
  static const struct {
    double x, f;
    int64_t i;
    double exact[3];
    const char *says;
  } cases[] = {
      {1, 1, 1, {1, 1, 1}, ""},
      {1.0004, 1, 1, {1.0002, 1, 1}, ""},
      {1.0009, 1, 1, {1.0002, 1, 1}, ""},
      {1.002, 1, 1, {1.0002, 1, 1}, "from float64's answer PyTorch is off by 0.0002"},
      {1.002, 1, 1, {1, 1, 1}, "result[0]"},
      {1, 1.00001, 1, {1, 1.000005, 1}, ""},
      {1, 1.00001, 1, {1, 1, 1}, "result[1]: expected 1, got 1.0000"},
      {1, 1, 2, {1, 1, 2}, ""},
      {1, 1, 3, {1, 1, 2}, "result[2]: expected 1, got 3"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    rush_verify_report report;
    rig_open(r);
    make(b, cases[k].x, cases[k].f, cases[k].i, cases[k].exact);
    rig_start(r, b);
    rush_status st = rush_session_verify(r->session, 0, &report);
    if (st != (cases[k].says[0] ? RUSH_ERR_MISMATCH : RUSH_OK))
      fail_msg("case %zu: %s: %s", k, rush_status_name(st), rush_ctx_error(r->ctx));
    if (cases[k].says[0]) assert_non_null(strstr(rush_ctx_error(r->ctx), cases[k].says));
    if (st == RUSH_OK) assert_true(report.measured == 2);
    rig_close(r);
  }
}

static void a_measure_that_is_none_is_left_alone(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  rush_verify_report report;
  rig_open(r);
  make(b, 1.0002, 1, 1, (double[]){1, 1, 1});
  rush_file_measure *m = build_at(b, RUSH_SEC_MEASURES, 0);
  m[0].exact = m[2].exact; /* an int for a tensor */
  rig_start(r, b);
  assert_int_equal(rush_session_verify(r->session, 0, &report), RUSH_ERR_MISMATCH);
  assert_true(report.measured == 1 || report.measured == 0);
  rig_close(r);
}

static void too_few_measures_are_a_bad_file(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  rush_verify_report report;
  rig_open(r);
  make(b, 1, 1, 1, (double[]){1, 1, 1});
  build_test(b, 0, ((rush_file_test *)build_at(b, RUSH_SEC_TESTS, 0))->inputs,
             ((rush_file_test *)build_at(b, RUSH_SEC_TESTS, 0))->output, 1, 1);
  measure(b, 1, RUSH_NONE, 1, 1);
  rig_start(r, b);
  OK(rush_session_verify(r->session, 0, &report));
  assert_int_equal(rush_session_verify(r->session, 1, &report), RUSH_ERR_BAD_FILE);
  assert_non_null(strstr(rush_ctx_error(r->ctx), "fewer measures than"));
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_answer_is_right_or_not),
      cmocka_unit_test(a_deep_network_in_bfloat16_is_as_near_as_pytorch),
      cmocka_unit_test(a_step_of_large_activations_is_no_error),
      cmocka_unit_test(what_is_no_number_is_where_pytorch_or_float64_has_it),
      cmocka_unit_test(distances_are_in_units_of_the_answer),
      cmocka_unit_test(a_file_has_measures_of_its_answers),
      cmocka_unit_test(a_measure_that_is_none_is_left_alone),
      cmocka_unit_test(too_few_measures_are_a_bad_file),
  };
  return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
