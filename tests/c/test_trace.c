/* Tests exec/trace: it compares a run with PyTorch's by debug handle and iteration. */
#include <rushlight/trace.h>

#include "harness.h"

enum { INT, BOOL, TENSOR };

static void from_node(builder *b, uint32_t instr, uint64_t handle) {
  rush_file_source source = {build_str(b, "net.py"), 12, RUSH_NONE, RUSH_NONE, handle};
  uint32_t added = build_add(b, RUSH_SEC_SOURCES, sizeof source, &source, 1);
  ((rush_file_instr *)build_at(b, RUSH_SEC_INSTRS, instr))->source = added;
}

/* Appends an instruction with one int result, which comes from node `handle`. */
static uint32_t add(builder *b, uint32_t x, uint32_t y, uint64_t handle) {
  uint32_t out = build_reg(b, INT);
  from_node(b, build_op(b, "aten::add.int", 2, U32(x, y), 1, U32(out)), handle);
  return out;
}

/* forward(x): y = x + 1; repeat 3 times: y = y + 10; return y + 100. The handles are 7, 3, in the
 * loop 4, and 5. `unrolled` repeats the loop's body twice, and one iteration is folded. */
static void make_program(builder *b, bool unrolled) {
  build_type(b, RUSH_TYPE_INT);
  build_type(b, RUSH_TYPE_BOOL);
  uint32_t one = build_int(b, 1), ten = build_int(b, 10), hundred = build_int(b, 100),
           rounds = build_int(b, 3), yes = build_bool(b, true);
  build_method(b, "forward", INT, 1, U32(INT));
  uint32_t y = add(b, 0, K(one), 7);
  if (unrolled) {
    y = add(b, y, K(ten), 3);
    y = add(b, y, K(ten), 3);
  } else {
    uint32_t result = build_reg(b, INT), index = build_reg(b, INT), carried = build_reg(b, INT);
    uint32_t loop = build_loop(b, K(rounds), K(yes), 1, U32(y), U32(result), U32(index, carried));
    from_node(b, loop, 4);
    build_end_loop(b, K(yes), 1, U32(add(b, carried, K(ten), 3)));
    y = result;
  }
  build_return(b, add(b, y, K(hundred), 5));
}

typedef struct item {
  uint64_t handle;
  int64_t value;
} item;

/* PyTorch's values, the outcome of the comparison for x = 1, and its place. */
static const struct {
  const char *name;
  bool unrolled;
  item items[7];
  const char *says; /* "" if all agree */
  uint64_t compared, unpaired;
  uint32_t instr, iteration;
} rows[] = {
    {"all agree", false, {{3, 12}, {3, 22}, {3, 32}, {4, 32}, {5, 132}, {7, 2}}, "", 6, 0, 0, 0},
    {"the first that differs is named",
     false,
     {{3, 12}, {3, 22}, {3, 32}, {4, 32}, {5, 133}, {7, 2}},
     "forward, instruction 4 (aten::add.int) at net.py:12: result: expected 133, got 132",
     5,
     0,
     4,
     0},
    {"in its iteration",
     false,
     {{3, 12}, {3, 23}, {3, 33}, {5, 132}, {7, 2}},
     "iteration 1: result: expected 23, got 22",
     2,
     0,
     2,
     1},
    {"a loop at its end",
     false,
     {{3, 12}, {3, 22}, {3, 32}, {4, 33}, {5, 132}, {7, 2}},
     "forward, instruction 1 (control flow) at net.py:12: result: expected 33, got 32",
     4,
     0,
     1,
     0},
    {"PyTorch's loop ended before",
     false,
     {{3, 12}, {3, 22}, {5, 122}, {7, 2}},
     "iteration 2: PyTorch's run does not reach this instruction",
     3,
     0,
     2,
     2},
    {"PyTorch took another branch",
     false,
     {{5, 132}, {7, 2}},
     "instruction 2 (aten::add.int) at net.py:12: PyTorch's run does not reach this instruction",
     1,
     0,
     2,
     0},
    {"more nodes than instructions",
     false,
     {{1, 9}, {3, 12}, {3, 22}, {3, 32}, {4, 32}, {5, 132}, {7, 2}},
     "",
     6,
     0,
     0,
     0},
    {"a folded iteration is left out",
     true,
     {{3, 2}, {3, 12}, {3, 22}, {5, 122}, {7, 2}},
     "",
     4,
     0,
     0,
     0},
    {"another value in an unrolled loop",
     true,
     {{3, 2}, {3, 13}, {3, 22}, {5, 122}, {7, 2}},
     "instruction 1 (aten::add.int) at net.py:12: iteration 0: result: expected 2, got 12",
     1,
     0,
     1,
     0},
};

static void a_run_is_compared_by_handle_and_iteration(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    rush_value values[7];
    rush_traced items[7];
    size_t n = 0;
    rig_open(r);
    make_program(b, rows[i].unrolled);
    rig_start(r, b);
    for (; n < 7 && rows[i].items[n].handle; n++) {
      values[n] = rush_int(rows[i].items[n].value);
      items[n] = (rush_traced){rows[i].items[n].handle, values + n, 1, NULL};
    }
    OK(rush_session_trace(r->session, items, n, 0, 0));
    run(r, 0, ARGS(rush_int(1)));
    rush_trace_report report;
    rush_status st = rush_session_trace_end(r->session, &report);
    if (st != (rows[i].says[0] ? RUSH_ERR_MISMATCH : RUSH_OK))
      fail_msg("%s: %s: %s", rows[i].name, rush_status_name(st), rush_ctx_error(r->ctx));
    if (st != RUSH_OK) assert_contains(rows[i].name, rush_ctx_error(r->ctx), rows[i].says);
    if (report.compared != rows[i].compared || report.unpaired != rows[i].unpaired ||
        report.instr != rows[i].instr || report.iteration != rows[i].iteration)
      fail_msg("%s: compared %d, unpaired %d, instruction %u, iteration %u", rows[i].name,
               (int)report.compared, (int)report.unpaired, report.instr, report.iteration);
    assert_string_equal(run(r, 0, ARGS(rush_int(1))), rows[i].unrolled ? "122" : "132");
    rig_close(r);
  }
}

static void an_instruction_without_a_handle_is_unpaired(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  rig_open(r);
  build_type(b, RUSH_TYPE_INT);
  uint32_t one = build_int(b, 1);
  build_method(b, "forward", INT, 1, U32(INT));
  build_return(b, add(b, add(b, 0, K(one), 0), K(one), 4));
  rig_start(r, b);
  rush_value three = rush_int(3);
  rush_trace_report report;
  OK(rush_session_trace(r->session, &(rush_traced){4, &three, 1, NULL}, 1, 0, 0));
  run(r, 0, ARGS(rush_int(1)));
  OK(rush_session_trace_end(r->session, &report));
  assert_true(report.compared == 1 && report.unpaired == 1);
  rig_close(r);
}

static void a_loop_that_lacks_results_is_unpaired(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  const int64_t wanted[7] = {12, 22, 32, 32, 0, 132, 2};
  static const uint64_t handles[6] = {3, 3, 3, 4, 5, 7};
  rush_value values[7];
  rush_traced items[6];
  for (size_t k = 0; k < 7; k++) values[k] = rush_int(wanted[k]);
  for (size_t k = 0; k < 6; k++)
    items[k] = (rush_traced){handles[k], values + k + (k > 3), handles[k] == 4 ? 2 : 1, NULL};
  rig_open(r);
  make_program(b, false);
  rig_start(r, b);
  rush_trace_report report;
  OK(rush_session_trace(r->session, items, 6, 0, 0));
  run(r, 0, ARGS(rush_int(1)));
  OK(rush_session_trace_end(r->session, &report));
  assert_true(report.compared == 5 && report.unpaired == 1);
  rig_close(r);
}

static void a_program_without_operators_has_nothing_to_compare(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  rush_trace_report report;
  rig_open(r);
  build_type(b, RUSH_TYPE_INT);
  build_method(b, "forward", INT, 1, U32(INT));
  build_return(b, 0);
  rig_start(r, b);
  OK(rush_session_trace(r->session, NULL, 0, 0, 0));
  run(r, 0, ARGS(rush_int(1)));
  OK(rush_session_trace_end(r->session, &report));
  assert_true(report.compared == 0 && report.unpaired == 0);
  rig_close(r);
}

static void absolute_tolerance_is_relative_to_the_greatest_element(void **state) {
  (void)state;
  static const float got[2] = {0.5f, 1000}, near[2] = {0.25f, 1000}, small[2] = {0.25f, 1};
  for (int scaled = 0; scaled < 2; scaled++) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    rig_open(r);
    build_type(b, RUSH_TYPE_TENSOR);
    build_method(b, "forward", 0, 1, U32(0));
    uint32_t y = build_call(b, "aten::clone", 0, 1, U32(0));
    rush_file_source source = {RUSH_NONE, 0, RUSH_NONE, RUSH_NONE, 1};
    ((rush_file_instr *)build_at(b, RUSH_SEC_INSTRS, 0))->source =
        build_add(b, RUSH_SEC_SOURCES, sizeof source, &source, 1);
    build_return(b, y);
    rig_start(r, b);
    const float x[2] = {got[0], scaled ? got[1] : 1};
    rush_value given = rig_floats(r, 2, x), wanted = rig_floats(r, 2, scaled ? near : small);
    rush_trace_report report;
    OK(rush_session_trace(r->session, &(rush_traced){1, &wanted, 1, NULL}, 1, 0, 1e-3));
    run(r, 0, ARGS(given));
    assert_int_equal(rush_session_trace_end(r->session, &report),
                     scaled ? RUSH_OK : RUSH_ERR_MISMATCH);
    assert_true(report.max_abs == (scaled ? 0.25 : 0));
    rush_value_release(r->session, &given);
    rush_value_release(r->session, &wanted);
    rig_close(r);
  }
}

static void values_that_cannot_be_compared_are_refused(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  rush_value value = rush_int(2);
  rush_trace_report report;
  rig_open(r);
  make_program(b, false);
  rig_start(r, b);
  assert_int_equal(rush_session_trace_end(r->session, &report), RUSH_ERR_BAD_STATE);
  const rush_traced other = {8, &value, 1, NULL},
                    falling[2] = {{7, &value, 1, NULL}, {3, &value, 1, NULL}};
  assert_int_equal(rush_session_trace(r->session, &other, 1, 0, 0), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("other", rush_ctx_error(r->ctx), "belongs to another graph");
  assert_int_equal(rush_session_trace(r->session, falling, 2, 0, 0), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("order", rush_ctx_error(r->ctx), "must be sorted");
  assert_int_equal(rush_session_trace_test(r->session, 0), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("none", rush_ctx_error(r->ctx), "holds no trace of test vector 0");
  rig_close(r);
}

/* ---- A trace in the file --------------------------------------------------------------------- */

static void trace(builder *b, uint32_t test, uint64_t handle, int64_t value) {
  uint32_t tuple = build_type_n(b, RUSH_TYPE_TUPLE, 1, U32(INT));
  uint32_t results = build_items(b, RUSH_CONST_TUPLE, tuple, 1, U32(build_int(b, value)));
  rush_file_traced record = {test, results, handle};
  build_add(b, RUSH_SEC_TRACED, sizeof record, &record, 1);
}

static void make_traced(builder *b) {
  make_program(b, false);
  uint32_t tuple = build_type_n(b, RUSH_TYPE_TUPLE, 1, U32(INT));
  for (int64_t x = 0; x < 2; x++)
    build_test(b, 0, build_items(b, RUSH_CONST_TUPLE, tuple, 1, U32(build_int(b, x))),
               build_int(b, x + 131), 0, 0);
  trace(b, 1, 3, 12);
  trace(b, 1, 3, 22);
  trace(b, 1, 3, 32);
  trace(b, 1, 4, 32);
  trace(b, 1, 5, 133);
  trace(b, 1, 7, 2);
}

static void the_files_trace_is_compared_with_its_test_vector(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  rush_trace_report report;
  rig_open(r);
  make_traced(b);
  rig_start(r, b);
  for (int again = 0; again < 2; again++) {
    OK(rush_session_trace_test(r->session, 1));
    OK(rush_session_step(r->session, 0));
    assert_int_equal(rush_session_trace_end(r->session, &report), RUSH_ERR_MISMATCH);
    assert_contains("end", rush_ctx_error(r->ctx), "expected 133, got 132");
    assert_int_equal(report.compared, 5);
  }
  assert_int_equal(rush_session_trace_test(r->session, 0), RUSH_ERR_BAD_ARGUMENT);
  OK(rush_session_trace_test(r->session, 1)); /* destroying the session ends it */
  rig_close(r);
}

static void a_bad_trace_in_a_file_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *says;
    uint32_t record;
    rush_file_traced bad;
  } bads[] = {
      {"traced[0] at byte", 0, {2, 12, 3}},
      {"test vector 2 does not exist", 0, {2, 12, 3}},
      {"its results must be a tuple", 1, {1, 0, 3}},
      {"its results must be a tuple", 1, {1, 1000, 3}},
      {"it has no handle", 0, {1, 12, 0}},
      {"test vectors and handles must be sorted", 5, {1, 12, 4}},
      {"test vectors and handles must be sorted", 5, {0, 12, 7}},
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    rig_open(r);
    make_traced(b);
    rush_file_traced *record = build_at(b, RUSH_SEC_TRACED, bads[i].record);
    uint32_t results = bads[i].bad.results == 12 ? record->results : bads[i].bad.results;
    *record = (rush_file_traced){bads[i].bad.test, results, bads[i].bad.handle};
    assert_int_equal(rig_try_load(r, b), RUSH_ERR_BAD_FILE);
    assert_contains(bads[i].says, rush_ctx_error(r->ctx), bads[i].says);
    rig_close(r);
  }
}

static void without_memory_nothing_leaks(void **state) {
  (void)state;
  for (size_t n = 1;; n++) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    rush_trace_report report;
    rig_open(r);
    make_traced(b);
    rig_start(r, b);
    r->counter.fail_at = r->counter.calls + n;
    rush_status st = rush_session_trace_test(r->session, 1);
    bool failed = r->counter.calls >= r->counter.fail_at;
    r->counter.fail_at = 0;
    if (failed) assert_int_equal(st, RUSH_ERR_NO_MEMORY);
    OK(rush_session_trace_test(r->session, 1));
    OK(rush_session_step(r->session, 0));
    assert_int_equal(rush_session_trace_end(r->session, &report), RUSH_ERR_MISMATCH);
    rig_close(r);
    if (!failed) break;
  }
}

static void a_value_agrees_that_is_as_near_to_float64s(void **state) {
  (void)state;
  for (int known = 0; known < 2; known++) {
    float x[20], pytorch[20];
    double exact[20];
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    rig_open(r);
    build_type(b, RUSH_TYPE_TENSOR);
    build_method(b, "forward", 0, 1, U32(0));
    uint32_t out = build_reg(b, 0);
    from_node(b, build_op(b, "aten::relu", 1, U32(0), 1, U32(out)), 1);
    build_return(b, out);
    rig_start(r, b);
    for (int k = 0; k < 20; k++) {
      x[k] = 1.002f;
      exact[k] = 1.001;
      pytorch[k] = 1;
    }
    rush_value given = rig_floats(r, 20, x), wanted = rig_floats(r, 20, pytorch), wide;
    void *data;
    OK(rush_tensor_create(r->session, RUSH_FLOAT64, 1, SIZES(20), &wide, &data));
    memcpy(data, exact, sizeof exact);
    rush_trace_report report;
    OK(rush_session_trace(r->session, &(rush_traced){1, &wanted, 1, known ? &wide : NULL}, 1, 1e-4,
                          1e-5));
    run(r, 0, ARGS(given));
    assert_int_equal(rush_session_trace_end(r->session, &report),
                     known ? RUSH_OK : RUSH_ERR_MISMATCH);
    rush_value_release(r->session, &wide);
    rush_value_release(r->session, &given);
    rush_value_release(r->session, &wanted);
    rig_close(r);
  }
}

/* Tests either order. The first one is not disturbed, and the other one comes after it. */
static void a_run_is_compared_or_observed(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  rush_trace_report report;
  size_t n;
  rig_open(r);
  make_program(b, true);
  rig_start(r, b);
  const rush_value two = rush_int(2);
  const rush_traced wanted = {7, &two, 1, NULL};
  OK(rush_session_trace(r->session, &wanted, 1, 0, 0));
  assert_int_equal(rush_session_observe(r->session, true), RUSH_ERR_BAD_STATE);
  assert_contains("observe", rush_ctx_error(r->ctx), "must end its observation or trace");
  OK(rush_session_observe(r->session, false));
  run(r, 0, ARGS(rush_int(1)));
  rush_session_results(r->session, &n);
  assert_int_equal(n, 0);
  rush_session_trace_end(r->session, &report);
  assert_true(report.compared + report.unpaired > 0);
  OK(rush_session_observe(r->session, true));
  assert_int_equal(rush_session_trace(r->session, &wanted, 1, 0, 0), RUSH_ERR_BAD_STATE);
  assert_int_equal(rush_session_trace_end(r->session, &report), RUSH_ERR_BAD_STATE);
  run(r, 0, ARGS(rush_int(1)));
  rush_session_results(r->session, &n);
  assert_int_equal(n, 1);
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_is_compared_by_handle_and_iteration),
      cmocka_unit_test(an_instruction_without_a_handle_is_unpaired),
      cmocka_unit_test(a_loop_that_lacks_results_is_unpaired),
      cmocka_unit_test(a_program_without_operators_has_nothing_to_compare),
      cmocka_unit_test(absolute_tolerance_is_relative_to_the_greatest_element),
      cmocka_unit_test(values_that_cannot_be_compared_are_refused),
      cmocka_unit_test(a_run_is_compared_or_observed),
      cmocka_unit_test(the_files_trace_is_compared_with_its_test_vector),
      cmocka_unit_test(a_bad_trace_in_a_file_is_refused),
      cmocka_unit_test(without_memory_nothing_leaks),
      cmocka_unit_test(a_value_agrees_that_is_as_near_to_float64s),
  };
  return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
