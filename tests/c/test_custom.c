/* Tests ops/custom: valid and invalid schemas of the user's operators in C, and operators that
 * break the rules. */
#include "harness.h"

#include <rushlight/op.h>

enum { TENSOR, INT, FLOAT, TENSORS, MAYBE, PAIR };

static void types(builder *b) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type(b, RUSH_TYPE_FLOAT);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(TENSOR));
  build_type_n(b, RUSH_TYPE_OPTIONAL, 1, U32(TENSOR));
  build_type_n(b, RUSH_TYPE_TUPLE, 2, U32(TENSOR, INT));
}

static float *data(rush_call *call, size_t i, int64_t *n) {
  rush_tensor_info info;
  if (rush_call_tensor(call, i, &info) != RUSH_OK) return NULL;
  *n = info.numel;
  return info.data;
}

/* ---- Schemas --------------------------------------------------------------------------------- */

static rush_status times_two(rush_call *call, void *user) {
  (void)user;
  int64_t n;
  void *y;
  const float *x = data(call, 0, &n);
  rush_status st = rush_call_result(call, 0, RUSH_FLOAT32, 1, &n, &y);
  for (int64_t i = 0; st == RUSH_OK && i < n; i++) ((float *)y)[i] = 2 * x[i];
  return st;
}

static rush_status times(rush_call *call, void *user) {
  (void)user;
  int64_t n;
  void *y;
  const float *x = data(call, 0, &n);
  rush_status st = rush_call_result(call, 0, RUSH_FLOAT32, 1, &n, &y);
  for (int64_t i = 0; st == RUSH_OK && i < n; i++)
    ((float *)y)[i] = x[i] * (float)rush_call_arg(call, 1).u.i;
  return st;
}

static void overloads_are_operators_of_their_own(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rig_open(r);
  const rush_custom_op plain = {
      .size = sizeof plain, .schema = "my_ops::f(Tensor x) -> Tensor", .run = times_two};
  const rush_custom_op by = {
      .size = sizeof by, .schema = "my_ops::f.int(Tensor x, int n) -> Tensor", .run = times};
  OK(rush_ctx_add_op(r->ctx, &plain));
  OK(rush_ctx_add_op(r->ctx, &by));
  types(&b);
  uint32_t three = build_int(&b, 3);
  build_method(&b, "forward", TENSOR, 1, U32(TENSOR));
  uint32_t twice = build_call(&b, "my_ops::f", TENSOR, 1, U32(0));
  build_return(&b, build_call(&b, "my_ops::f.int", TENSOR, 2, U32(twice, K(three))));
  rig_start(r, &b);
  rush_value x = rig_floats(r, 2, (float[]){1, 2});
  assert_string_equal(run(r, 0, ARGS(x)), "float32[2](6 12)");
  rush_value_release(r->session, &x);
  rig_close(r);
}

/* Many records of a file may share one schema of an operator that the host computes. */
static void a_schema_of_the_files_has_an_end(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  static char text[1 << 15];
  const int n = snprintf(text, sizeof text, "my_ops::f(Tensor x) -> Tensor");
  memset(text + n, ' ', sizeof text - 1 - (size_t)n);
  const rush_custom_op op = {.size = sizeof op, .schema = "my_ops::f"};
  types(b);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  build_return(b, build_call(b, "my_ops::f", TENSOR, 1, U32(0)));
  ((rush_file_op *)build_at(b, RUSH_SEC_OPS, 0))->schema = build_str(b, text);
  rig_open(r);
  OK(rush_ctx_add_op(r->ctx, &op));
  assert_int_equal(rig_try_load(r, b), RUSH_ERR_BAD_FILE);
  assert_contains("schema", rush_ctx_error(r->ctx),
                  "a schema must have at most 16384 bytes, got 32767");
  rig_close(r);
}

/* ends(Tensor[] xs, Tensor? mask, Scalar by, int[] at=[1, 2]) -> (Tensor, int): returns the sum of
 * all tensors, times mask, times by, and the sum of `at`. */
static rush_status ends(rush_call *call, void *user) {
  (void)user;
  size_t n_xs, n_at;
  int64_t n = 0, masked, size = 1, at = 0;
  void *y;
  rush_value xs = rush_call_arg(call, 0), mask = rush_call_arg(call, 1),
             by = rush_call_arg(call, 2), list = rush_call_arg(call, 3);
  const rush_value *items = rush_items(&xs, &n_xs), *places = rush_items(&list, &n_at);
  const float *m = mask.kind == RUSH_KIND_NONE ? NULL : data(call, 1, &masked);
  float sum = 0;
  for (size_t k = 0; k < n_xs; k++) {
    rush_tensor_info info;
    rush_status st = rush_tensor_inspect(rush_call_session(call), items + k, &info);
    if (st != RUSH_OK) return st;
    for (int64_t i = 0; i < info.numel; i++)
      sum += ((const float *)info.data)[i] * (m ? m[n++] : 1);
  }
  for (size_t k = 0; k < n_at; k++) at += places[k].u.i;
  rush_status st = rush_call_result(call, 0, RUSH_FLOAT32, 1, &size, &y);
  if (st == RUSH_OK)
    *(float *)y = sum * (by.kind == RUSH_KIND_FLOAT ? (float)by.u.f : (float)by.u.i);
  return st == RUSH_OK ? rush_call_return(call, 1, rush_int(at)) : st;
}

static void lists_scalars_optional_arguments_and_several_results(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rig_open(r);
  const rush_custom_op op = {.size = sizeof op,
                             .schema =
                                 "my_ops::ends(Tensor[] xs, Tensor? mask=None, Scalar by=1, int[] "
                                 "at=[1, 2]) -> (Tensor, int)",
                             .run = ends};
  OK(rush_ctx_add_op(r->ctx, &op));
  types(&b);
  uint32_t half = build_float(&b, 0.5);
  for (int given = 0; given < 2; given++) {
    build_method(&b, given ? "given" : "forward", PAIR, 2, U32(TENSORS, MAYBE));
    uint32_t sum = build_reg(&b, TENSOR), at = build_reg(&b, INT);
    build_op(&b, "my_ops::ends", given ? 3 : 1, U32(0, 1, K(half)), 2, U32(sum, at));
    build_return(&b, build_call(&b, "prim::TupleConstruct", PAIR, 2, U32(sum, at)));
  }
  rig_start(r, &b);
  rush_value parts[] = {rig_floats(r, 2, (float[]){1, 2}), rig_floats(r, 1, (float[]){5})}, xs;
  rush_value mask = rig_floats(r, 3, (float[]){1, 0, 2});
  OK(rush_list_create(r->session, parts, 2, &xs));
  assert_string_equal(run(r, 0, ARGS(xs, rush_none())), "(float32[1](8), 3)");
  assert_string_equal(run(r, 1, ARGS(xs, rush_none())), "(float32[1](4), 3)");
  assert_string_equal(run(r, 1, ARGS(xs, mask)), "(float32[1](5.5), 3)");
  rush_value_release(r->session, parts);
  rush_value_release(r->session, parts + 1);
  rush_value_release(r->session, &mask);
  rush_value_release(r->session, &xs);
  rig_close(r);
}

/* Negates every tensor of the first argument, which is a tensor or a list. Writes 100 to the second
 * argument, which it must not write. */
static rush_status negate(rush_call *call, void *user) {
  (void)user;
  rush_value first = rush_call_arg(call, 0);
  size_t n_tensors = 1;
  int64_t other;
  const rush_value *tensors =
      first.kind == RUSH_KIND_LIST ? rush_items(&first, &n_tensors) : &first;
  float *y = data(call, 1, &other);
  for (size_t k = 0; k < n_tensors; k++) {
    rush_tensor_info info;
    rush_status st = rush_tensor_inspect(rush_call_session(call), tensors + k, &info);
    if (st != RUSH_OK) return st;
    for (int64_t i = 0; i < info.numel; i++) ((float *)info.data)[i] *= -1;
  }
  for (int64_t i = 0; i < other; i++) y[i] = 100;
  return first.kind == RUSH_KIND_LIST ? RUSH_OK : rush_call_return_arg(call, 0, 0);
}

static void what_is_written_in_place_is_seen_through_views(void **state) {
  (void)state;
  static const char *const schemas[] = {"my_ops::neg_(Tensor(a!) x, Tensor y) -> Tensor(a!)",
                                        "my_ops::neg_.list(Tensor(a!)[] xs, Tensor y) -> ()"};
  for (int list = 0; list < 2; list++) {
    rig rig_, *r = &rig_;
    builder b;
    rig_open(r);
    const rush_custom_op op = {.size = sizeof op, .schema = schemas[list], .run = negate};
    OK(rush_ctx_add_op(r->ctx, &op));
    types(&b);
    uint32_t one = build_int(&b, 1);
    build_method(&b, "forward", TENSOR, 1, U32(TENSOR));
    uint32_t copy = build_call(&b, "aten::clone", TENSOR, 1, U32(0));
    uint32_t column = build_call(&b, "aten::select.int", TENSOR, 3, U32(copy, K(one), K(one)));
    /* It is also strided, and must not be written. */
    uint32_t turned = build_call(&b, "aten::t", TENSOR, 1, U32(copy));
    if (list) {
      uint32_t columns = build_call(&b, "prim::ListConstruct", TENSORS, 1, U32(column));
      build_op(&b, "my_ops::neg_.list", 2, U32(columns, turned), 0, NULL);
    } else {
      build_call(&b, "my_ops::neg_", TENSOR, 2, U32(column, turned));
    }
    build_return(&b, copy);
    rig_start(r, &b);
    rush_value x = rig_tensor(r, RUSH_FLOAT32, 2, SIZES(2, 2), (float[]){1, 2, 3, 4});
    assert_string_equal(run(r, 0, ARGS(x)), "float32[2, 2](1 -2 3 -4)");
    rush_value_release(r->session, &x);
    rig_close(r);
  }
}

/* ---- Operators that break the rules ---------------------------------------------------------- */

static rush_status fails(rush_call *call, void *user) {
  (void)user;
  return rush_call_fail(call, "the moon is in the wrong quarter");
}
static rush_status nothing(rush_call *call, void *user) {
  (void)call, (void)user;
  return RUSH_OK;
}
static rush_status an_int(rush_call *call, void *user) {
  (void)user;
  return rush_call_return(call, 0, rush_int(3));
}
static rush_status too_many(rush_call *call, void *user) {
  (void)user;
  return rush_call_return(call, 1, rush_int(3));
}
static rush_status reserved(rush_call *call, void *user) {
  (void)user;
  void *y;
  return rush_call_result(call, 0, RUSH_QINT8, 1, (const int64_t[]){2}, &y);
}
static rush_status bad_shape(rush_call *call, void *user) {
  (void)user;
  void *y;
  return rush_call_result(call, 0, RUSH_FLOAT32, 1, (const int64_t[]){-2}, &y);
}
static rush_status wants_ints(rush_call *call, void *user) {
  (void)user;
  rush_tensor_info x;
  return rush_call_tensor_of(call, 0, RUSH_INT64, 1, &x);
}
static rush_status wants_rows(rush_call *call, void *user) {
  (void)user;
  rush_tensor_info x;
  return rush_call_tensor_of(call, 0, RUSH_FLOAT32, 2, &x);
}
static rush_status wants_another(rush_call *call, void *user) {
  (void)user;
  rush_tensor_info x;
  return rush_call_tensor(call, 1, &x);
}
static rush_status says_nothing(rush_call *call, void *user) {
  (void)call, (void)user;
  return RUSH_ERR_NO_MEMORY;
}
static rush_status no_status(rush_call *call, void *user) {
  (void)call, (void)user;
  return (rush_status)99;
}
static rush_status three(rush_call *call, void *user) {
  (void)user;
  void *y;
  return rush_call_result(call, 0, RUSH_INT64, 1, (const int64_t[]){3}, &y);
}

static void operators_that_do_wrong_are_named(void **state) {
  (void)state;
  static const struct {
    rush_status (*run)(rush_call *, void *);
    const char *says; /* follows "forward, instruction " */
  } rows[] = {
      {fails, "0 (my_ops::f): the moon is in the wrong quarter"},
      {nothing, "0 (my_ops::f): the operator's schema does not allow None as result 0"},
      {an_int, "0 (my_ops::f): the operator's schema does not allow int as result 0"},
      {too_many, "0 (my_ops::f): result 1 does not exist, the number of results is 1"},
      {reserved, "0 (my_ops::f): this runtime does not have dtype qint8"},
      {bad_shape, "0 (my_ops::f): "},
      {wants_ints, "0 (my_ops::f): argument 0 must be int64 with 1 dimensions, got float32 with 1"},
      {wants_rows,
       "0 (my_ops::f): argument 0 must be float32 with 2 dimensions, got float32 with 1"},
      {wants_another, "0 (my_ops::f): argument 1 must be a Tensor, got None"},
      {says_nothing,
       "0 (my_ops::f): the operator failed without a message, with status 1 (out-of-memory)"},
      {no_status, "0 (my_ops::f): the operator failed without a message, with status 99 (unknown)"},
      {three, "1 (aten::dot): "}, /* a valid tensor, but its user refuses the dtype
                                     and size */
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    rig rig_, *r = &rig_;
    builder b;
    char wanted[128];
    rig_open(r);
    const rush_custom_op op = {
        .size = sizeof op, .schema = "my_ops::f(Tensor x) -> Tensor", .run = rows[k].run};
    OK(rush_ctx_add_op(r->ctx, &op));
    assert_int_equal(rush_ctx_add_op(r->ctx, &op), RUSH_ERR_BAD_ARGUMENT); /* leaves a message */
    types(&b);
    build_method(&b, "forward", TENSOR, 1, U32(TENSOR));
    uint32_t y = build_call(&b, "my_ops::f", TENSOR, 1, U32(0));
    build_return(&b, build_call(&b, "aten::dot", TENSOR, 2, U32(y, 0)));
    rig_start(r, &b);
    rush_value x = rig_floats(r, 2, (float[]){1, 2});
    snprintf(wanted, sizeof wanted, "forward, instruction %s", rows[k].says);
    assert_contains(rows[k].says, run(r, 0, ARGS(x)), wanted);
    rush_value_release(r->session, &x);
    rig_close(r);
  }
}

static void what_is_no_operator_is_not_added(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rig_open(r);
  static const struct {
    rush_custom_op op;
    const char *says;
  } rows[] = {
      {{.size = sizeof(rush_custom_op), .run = nothing},
       "an operator must have a schema, got NULL"},
      {{.size = sizeof(rush_custom_op), .schema = "my_ops::f", .run = nothing},
       "a schema must be NAME(ARGUMENTS) -> RESULTS, got 'my_ops::f'"},
      {{.schema = "my_ops::f(Tensor x) -> Tensor", .run = nothing}, "an operator of 0 bytes"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    assert_int_equal(rush_ctx_add_op(r->ctx, &rows[k].op), RUSH_ERR_BAD_ARGUMENT);
    assert_contains(rows[k].says, rush_ctx_error(r->ctx), rows[k].says);
  }
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(overloads_are_operators_of_their_own),
      cmocka_unit_test(a_schema_of_the_files_has_an_end),
      cmocka_unit_test(lists_scalars_optional_arguments_and_several_results),
      cmocka_unit_test(what_is_written_in_place_is_seen_through_views),
      cmocka_unit_test(operators_that_do_wrong_are_named),
      cmocka_unit_test(what_is_no_operator_is_not_added),
  };
  return cmocka_run_group_tests_name("custom", tests, NULL, NULL);
}
