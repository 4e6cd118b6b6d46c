/* Tests the beginning of a run: arguments, defaults, and constraints on the sizes of inputs. */
#include "harness.h"

enum { TENSOR, INT, LIST, ANY, N_TYPES };

/* sum(x, y, z=None): the sizes x[0] and y[0] are equal and 2 to 8, and x[1] is 3.
 * count(n=5) returns n. keep(l=[7]) appends 1 to l and returns it. other(x): x[0] is 4. */
enum { SUM, COUNT, KEEP, OTHER };
enum { X, Y, Z, N_PORTS_OF_SUM, PORT_OF_N = N_PORTS_OF_SUM + 1, PORT_OF_L = PORT_OF_N + 2, W = 8 };

static rush_file_port *port(builder *b, uint32_t k) {
  return build_at(b, RUSH_SEC_PORTS, k);
}

static void build_methods(builder *b) {
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(INT));
  build_type(b, RUSH_TYPE_ANY);
  const uint32_t none = build_none(b), one = build_int(b, 1), five = build_int(b, 5);
  const uint32_t seven = build_items(b, RUSH_CONST_LIST, LIST, 1, U32(build_int(b, 7)));
  build_method(b, "sum", ANY, 3, U32(TENSOR, TENSOR, ANY));
  build_return(b, K(one));
  build_method(b, "count", INT, 1, U32(INT));
  build_return(b, 0);
  build_method(b, "keep", ANY, 1, U32(LIST));
  build_return(b, CALL("aten::append.t", ANY, 0, K(one)));
  build_method(b, "other", ANY, 1, U32(TENSOR));
  build_return(b, K(none));
  port(b, Z)->initial = none;
  port(b, PORT_OF_N)->initial = five;
  port(b, PORT_OF_L)->initial = seven;
}

static void add_constraints(builder *b) {
  const uint32_t batch = build_str(b, "batch");
  const rush_file_hint hint = {RUSH_FLOAT32, 2, 0, 0, {-1, 3}};
  const rush_file_constraint all[] = {{X, 0, batch, 0, 2, 8},
                                      {X, 1, RUSH_NONE, 0, 3, 3},
                                      {Y, 0, batch, 0, 2, INT64_MAX},
                                      {W, 0, RUSH_NONE, 0, 4, 4}};
  build_add(b, RUSH_SEC_HINTS, sizeof hint, &hint, 1);
  port(b, X)->hint = 0;
  build_add(b, RUSH_SEC_CONSTRAINTS, sizeof *all, all, sizeof all / sizeof *all);
}

static void start(rig *r) {
  builder b_ = {0}, *b = &b_;
  build_methods(b);
  add_constraints(b);
  rig_open(r);
  rig_start(r, b);
}

static void sizes_are_checked_against_constraints(void **state) {
  (void)state;
  static const struct {
    const char *what;
    size_t method;
    int n, ranks[2];
    int64_t sizes[2][2];
    const char *said;
  } rows[] = {
      {"sizes in their ranges", SUM, 2, {2, 1}, {{2, 3}, {2}}, "1"},
      {"a size that is too small", SUM, 2, {2, 1}, {{1, 3}, {1}}, "must be at least 2, got 1"},
      {"a size that is too large", SUM, 2, {2, 1}, {{9, 3}, {9}}, "must be at most 8, got 9"},
      {"another size than the only one", SUM, 2, {2, 1}, {{2, 4}, {2}}, "must be 3, as at export"},
      {"sizes that differ", SUM, 2, {2, 1}, {{2, 3}, {4}}, "they must be equal"},
      {"a rank that is too small, with a hint", SUM, 2, {1, 1}, {{2}, {2}}, "must have 2 dim"},
      {"a rank that is too small, without one", SUM, 2, {2, 0}, {{2, 3}, {0}}, "must have 1 dim"},
      {"a constraint of a later method", OTHER, 1, {1}, {{4}}, "None"},
      {"a size that this constraint refuses", OTHER, 1, {1}, {{3}}, "must be 4, as at export"},
      {"an input that is missing", SUM, 1, {2}, {{2, 3}}, "is missing"},
  };
  rig rig_, *r = &rig_;
  start(r);
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    rush_value args[2];
    for (int i = 0; i < rows[k].n; i++) {
      void *data;
      OK(rush_tensor_create(r->session, RUSH_FLOAT32, rows[k].ranks[i], rows[k].sizes[i], args + i,
                            &data));
    }
    assert_contains(rows[k].what, run(r, rows[k].method, (size_t)rows[k].n, args), rows[k].said);
    for (int i = 0; i < rows[k].n; i++) rush_value_release(r->session, args + i);
  }
  rig_close(r);
}

/* None in the place of a tensor has no sizes. */
static void none_has_no_sizes(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  const uint32_t tensor = build_type(b, RUSH_TYPE_TENSOR);
  const uint32_t optional = build_type_n(b, RUSH_TYPE_OPTIONAL, 1, U32(tensor));
  build_method(b, "forward", optional, 1, U32(optional));
  build_return(b, 0);
  const rush_file_constraint two = {0, 0, RUSH_NONE, 0, 2, 2};
  build_add(b, RUSH_SEC_CONSTRAINTS, sizeof two, &two, 1);
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, ARGS(rush_none())), "None");
  rig_close(r);
}

static void defaults_stand_for_missing_inputs(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  start(r);
  assert_string_equal(run(r, COUNT, NO_ARGS), "5");
  assert_string_equal(run(r, COUNT, ARGS(rush_int(6))), "6");
  /* A program may write into a default, which the next run sees, as in Python. */
  assert_string_equal(run(r, KEEP, NO_ARGS), "[7, 1]");
  assert_string_equal(run(r, KEEP, NO_ARGS), "[7, 1, 1]");
  OK(rush_session_reset(r->session));
  assert_string_equal(run(r, KEEP, NO_ARGS), "[7, 1]");
  rig_close(r);
}

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  start(r);
  assert_contains("too many", run(r, COUNT, ARGS(rush_int(1), rush_int(2))),
                  "takes 1 input, got 2");
  assert_contains("another type", run(r, COUNT, ARGS(rush_none())), "must be int, got None");
  assert_contains("no method", run(r, 9, NO_ARGS), "method 9 does not exist, the model has 4");
  rig_close(r);
}

/* A failure names the input that differs from the export's example. */
static void a_failure_names_the_odd_input(void **state) {
  (void)state;
  static const struct {
    rush_file_hint hint;
    const char *said;
  } rows[] = {
      {{RUSH_FLOAT32, 2, 0, 0, {-1, 3}},
       "is float32 [2, 3, 4] but was exported as float32 [2, 3]: "},
      {{RUSH_DTYPE_UNKNOWN, 3, 0, 0, {-1, 5, 4}},
       "is float32 [2, 3, 4] but was exported as float32 [2, 5, 4]: "},
      {{RUSH_INT64, 255, 0, 0, {0}}, "is float32 [2, 3, 4] but was exported as int64 [2, 3, 4]: "},
      {{RUSH_FLOAT32, 3, 0, 0, {-1, 3, 4}}, NULL},
      {{RUSH_DTYPE_UNKNOWN, 255, 0, 0, {0}}, NULL},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    const uint32_t tensor = build_type(b, RUSH_TYPE_TENSOR);
    build_method(b, "forward", tensor, 1, U32(tensor));
    build_return(b, CALL("aten::t", tensor, 0));
    build_add(b, RUSH_SEC_HINTS, sizeof rows[k].hint, &rows[k].hint, 1);
    port(b, 0)->hint = 0;
    rig_open(r);
    rig_start(r, b);
    rush_value x;
    void *data;
    OK(rush_tensor_create(r->session, RUSH_FLOAT32, 3, (int64_t[]){2, 3, 4}, &x, &data));
    const char *message = run(r, 0, ARGS(x));
    assert_contains("the operator", message, "t() expects a tensor with <= 2 dimensions");
    if (rows[k].said)
      assert_contains("the input", message, rows[k].said);
    else
      assert_null(strstr(message, "exported"));
    rush_value_release(r->session, &x);
    rig_close(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_are_checked_against_constraints),
                                     cmocka_unit_test(none_has_no_sizes),
                                     cmocka_unit_test(defaults_stand_for_missing_inputs),
                                     cmocka_unit_test(wrong_arguments_are_refused),
                                     cmocka_unit_test(a_failure_names_the_odd_input)};
  return cmocka_run_group_tests_name("begin", tests, NULL, NULL);
}
