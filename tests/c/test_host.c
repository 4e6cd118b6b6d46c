/* Tests exec/host and ops/custom: the user's operators, in C and in the host; observation and
 * replacement of results, printing, and cancellation. */
#include "harness.h"

#include <rushlight/op.h>

enum { TENSOR, INT };

/* forward(x, n): y = my_ops::NAME(x.t(), n); return y + y */
static void build_custom(builder *b, const char *name) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  uint32_t one = build_int(b, 1);
  build_method(b, "forward", TENSOR, 2, U32(TENSOR, INT));
  uint32_t turned = build_call(b, "aten::t", TENSOR, 1, U32(0));
  uint32_t y = build_call(b, name, TENSOR, 2, U32(turned, 1));
  build_return(b, build_call(b, "aten::add.Tensor", TENSOR, 3, U32(y, y, K(one))));
}

static rush_status scale(rush_call *call, void *user) {
  rush_tensor_info x;
  void *y;
  rush_value n = rush_call_arg(call, 1), k = rush_call_arg(call, 2);
  ++*(int *)user;
  if (n.u.i < 0) return rush_call_fail(call, "n is %d", (int)n.u.i);
  rush_status st = rush_call_tensor(call, 0, &x);
  if (st == RUSH_OK) st = rush_call_result(call, 0, x.dtype, x.rank, x.sizes, &y);
  if (st != RUSH_OK) return st;
  for (int64_t i = 0; i < x.numel; i++)
    ((float *)y)[i] = ((const float *)x.data)[i] * (float)n.u.i + (float)k.u.f;
  return RUSH_OK;
}

static void an_operator_in_c_gets_contiguous_and_complete_arguments(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  int calls = 0;
  rig_open(r);
  const rush_custom_op op = {.size = sizeof op,
                             .schema = "my_ops::scale(Tensor x, int n, float k=0.5) -> Tensor",
                             .run = scale,
                             .user = &calls};
  build_custom(&b, "my_ops::scale");
  assert_int_equal(rig_try_load(r, &b), RUSH_ERR_UNSUPPORTED);
  assert_contains("missing", rush_ctx_error(r->ctx), "my_ops::scale");
  OK(rush_ctx_add_op(r->ctx, &op));
  build_custom(&b, "my_ops::scale");
  rig_start(r, &b);
  rush_value x = rig_tensor(r, RUSH_FLOAT32, 2, SIZES(2, 2), (float[]){1, 2, 3, 4});
  assert_string_equal(run(r, 0, ARGS(x, rush_int(10))), "float32[2, 2](21 61 41 81)");
  assert_contains("fail", run(r, 0, ARGS(x, rush_int(-3))),
                  "forward, instruction 1 (my_ops::scale): n is -3");
  assert_string_equal(run(r, 0, ARGS(x, rush_int(0))), "float32[2, 2](1 1 1 1)");
  assert_int_equal(calls, 3);
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void invalid_operators_are_refused(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rig_open(r);
  int user = 0;
  rush_custom_op op = {.size = sizeof op,
                       .schema = "my_ops::f(Tensor x) -> Tensor",
                       .run = scale,
                       .user = &user},
                 other = op;
  OK(rush_ctx_add_op(r->ctx, &op));
  assert_int_equal(rush_ctx_add_op(r->ctx, &other), RUSH_ERR_BAD_ARGUMENT); /* twice */
  other.schema = "aten::relu(Tensor self) -> Tensor";
  assert_int_equal(rush_ctx_add_op(r->ctx, &other), RUSH_ERR_BAD_ARGUMENT);
  other.schema = "my_ops::g(Tensor x";
  assert_int_equal(rush_ctx_add_op(r->ctx, &other), RUSH_ERR_BAD_ARGUMENT);
  assert_true(rush_ctx_error(r->ctx)[0] != '\0');
  rig_close(r);
}

static void an_operator_of_the_hosts_stops_the_run(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rush_next next;
  rush_value y;
  rig_open(r);
  const rush_custom_op op = {.size = sizeof op,
                             .schema = "my_ops::outside(Tensor x, int n) -> Tensor"};
  OK(rush_ctx_add_op(r->ctx, &op));
  build_custom(&b, "my_ops::outside");
  rig_start(r, &b);
  rush_value x = rig_tensor(r, RUSH_FLOAT32, 1, SIZES(2), (float[]){1, 2}),
             args[] = {x, rush_int(7)};
  assert_contains("run", run(r, 0, 2, args), "use begin, step and provide");
  for (int round = 0; round < 2; round++) {
    OK(rush_session_begin(r->session, 0, args, 2));
    assert_int_equal(rush_session_step(r->session, 0), RUSH_PENDING);
    assert_int_equal(rush_session_step(r->session, 0), RUSH_PENDING); /* it still waits */
    OK(rush_session_next(r->session, &next));
    assert_true(next.waits && next.n_args == 2 && next.n_results == 1);
    assert_string_equal(next.op, "my_ops::outside");
    assert_string_equal(show(r, next.args + 1), "7");
    rush_value wrong = rush_int(1), given = rig_floats(r, 2, (float[]){50, 60});
    assert_int_equal(rush_session_provide(r->session, &wrong, 1), RUSH_ERR_BAD_ARGUMENT);
    assert_int_equal(rush_session_provide(r->session, &given, 0), RUSH_ERR_BAD_ARGUMENT);
    OK(rush_session_provide(r->session, &given, 1));
    rush_value_release(r->session, &given);
    OK(rush_session_step(r->session, 0));
    OK(rush_session_result(r->session, &y));
    assert_string_equal(show(r, &y), "float32[2](100 120)");
    rush_value_release(r->session, &y);
  }
  OK(rush_session_begin(r->session, 0, args, 2));
  assert_int_equal(rush_session_step(r->session, 0), RUSH_PENDING);
  rush_session_cancel(r->session);
  assert_int_equal(rush_session_next(r->session, &next), RUSH_ERR_BAD_STATE);
  assert_int_equal(rush_session_provide(r->session, &x, 1), RUSH_ERR_BAD_STATE);
  rush_session_cancel(r->session); /* no run to cancel */
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void the_schema_of_a_hosts_operator_is_described_in_parts(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  char *text;
  size_t size;
  rig_open(r);
  const rush_custom_op op = {
      .size = sizeof op,
      .schema =
          "my_ops::f(Tensor(a!) x, SymInt n, str s=\"a, (b) -> c\") -> (Tensor(a!) y, Tensor("
          "b)[] l, Dict(str, int[2])? d, (int, SymInt[3]) t)"};
  OK(rush_ctx_add_op(r->ctx, &op));
  b = (builder){0};
  const uint32_t types[] = {build_type(&b, RUSH_TYPE_TENSOR), build_type(&b, RUSH_TYPE_INT)};
  build_method(&b, "forward", types[0], 2, types);
  uint32_t out[4];
  for (int k = 0; k < 4; k++) out[k] = build_reg(&b, types[0]);
  build_op(&b, "my_ops::f", 2, U32(0, 1), 4, out);
  build_return(&b, out[0]);
  size_t bytes;
  uint8_t *file = build_file(&b, &bytes);
  rush_loader *loader;
  void *at;
  OK(rush_loader_create(r->ctx, &loader));
  for (size_t got = 0, room = 0; !rush_loader_head(loader); got += room) {
    OK(rush_loader_window(loader, &at, &room));
    memcpy(at, file + got, room);
    rush_status st = rush_loader_advance(loader, room);
    if (st != RUSH_OK) fail_msg("%s", rush_ctx_error(r->ctx));
  }
  OK(rush_model_describe(r->ctx, rush_loader_head(loader), RUSH_DESCRIBE_JSON, &text, &size));
  assert_contains(
      "json", text,
      "\"args\":[{\"written\":true,\"result\":0},{\"written\":false,\"result\":-1},{"
      "\"written\":false,\"result\":-1}],\"results\":[\"Tensor\",\"Tensor[]\",\"Dict(str,"
      " int[])?\",\"(int, int[])\"]");
  rush_free(r->ctx, text, size);
  rush_loader_destroy(loader);
  build_free(&b);
  free(file);
  rig_close(r);
}

static void a_failure_says_where_it_was(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rush_location at;
  rig_open(r);
  assert_false(rush_ctx_location(r->ctx, &at));
  assert_string_equal(at.method, "");
  int calls = 0;
  const rush_custom_op op = {.size = sizeof op,
                             .schema = "my_ops::scale(Tensor x, int n, float k=0.5) -> Tensor",
                             .run = scale,
                             .user = &calls};
  OK(rush_ctx_add_op(r->ctx, &op));
  build_custom(&b, "my_ops::scale");
  const rush_file_source source = {build_str(&b, "net (of 7).py"), 42, RUSH_NONE, RUSH_NONE, 0};
  ((rush_file_instr *)build_at(&b, RUSH_SEC_INSTRS, 1))->source =
      build_add(&b, RUSH_SEC_SOURCES, sizeof source, &source, 1);
  rig_start(r, &b);
  rush_value x = rig_tensor(r, RUSH_FLOAT32, 2, SIZES(2, 2), (float[]){1, 2, 3, 4});
  assert_contains("run", run(r, 0, ARGS(x, rush_int(-3))), "at net (of 7).py:42: n is -3");
  assert_true(rush_ctx_location(r->ctx, &at));
  assert_string_equal(at.method, "forward");
  assert_int_equal(at.instr, 1);
  assert_string_equal(at.op, "my_ops::scale");
  assert_string_equal(at.file, "net (of 7).py");
  assert_int_equal(at.line, 42);
  run(r, 0, ARGS(rush_int(1))); /* it fails before any instruction */
  assert_false(rush_ctx_location(r->ctx, &at));
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void every_operator_can_be_watched_and_replaced(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  rush_next next;
  rush_value y;
  char seen[256] = "";
  rig_open(r);
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  uint32_t one = build_int(b, 1);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  uint32_t p = build_call(b, "aten::t", TENSOR, 1, U32(0));
  uint32_t q = build_call(b, "aten::add.Tensor", TENSOR, 3, U32(p, p, K(one)));
  build_return(b, build_call(b, "aten::mul.Tensor", TENSOR, 2, U32(q, p)));
  rig_start(r, b);
  rush_value x = rig_floats(r, 2, (float[]){1, 2}), other = rig_floats(r, 2, (float[]){10, 20});
  OK(rush_session_observe(r->session, true));
  OK(rush_session_begin(r->session, 0, &x, 1));
  for (rush_status st = RUSH_PENDING; st == RUSH_PENDING;) {
    size_t n;
    OK(rush_session_next(r->session, &next));
    if (next.op && strcmp(next.op, "aten::add.Tensor") == 0) {
      OK(rush_session_provide(r->session, &other, 1));
      strcat(seen, "replaced; ");
      continue;
    }
    st = rush_session_step(r->session, 1);
    const rush_value *results = rush_session_results(r->session, &n);
    if (!next.op || n != 1) continue;
    strcat(strcat(strcat(seen, next.op), " "), show(r, results));
    strcat(seen, "; ");
  }
  assert_string_equal(seen,
                      "aten::t float32[2](1 2); replaced; aten::mul.Tensor float32[2](10 40); ");
  OK(rush_session_result(r->session, &y));
  assert_string_equal(show(r, &y), "float32[2](10 40)");
  OK(rush_session_observe(r->session, false));
  rush_value_release(r->session, &y);
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &other);
  rig_close(r);
}

/* forward(x): return linear(x, weight) */
static void a_packed_weight_is_told_from_one_with_elements(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  build_type(b, RUSH_TYPE_TENSOR);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  uint32_t w = build_tensor(b, RUSH_FLOAT32, 2, SIZES(2, 3), (float[]){1, 2, 3, 4, 5, 6});
  build_return(b, CALL("aten::linear", TENSOR, 0, K(w)));
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_tensor(r, RUSH_FLOAT32, 2, SIZES(1, 3), (float[]){1, 10, 100}), copy;
  rush_next next;
  rush_tensor_info info;
  OK(rush_session_begin(r->session, 0, &x, 1));
  OK(rush_session_next(r->session, &next));
  OK(rush_tensor_inspect(r->session, next.args + 1, &info));
  assert_int_equal(info.rank, 2);
  assert_int_equal(info.sizes[1], 3);
  assert_null(info.data);
  rush_value_retain(r->session, next.args + 1);
  copy = next.args[1];
  assert_int_equal(rush_tensor_make_contiguous(r->session, &copy), RUSH_ERR_BAD_ARGUMENT);
  assert_string_equal(rush_ctx_error(r->ctx), "the weight's elements are packed for the kernels");
  rush_value_release(r->session, &copy);
  assert_int_equal(rush_session_step(r->session, 0), RUSH_OK);
  rush_session_cancel(r->session);
  assert_string_equal(run(r, 0, 1, &x), "float32[1, 2](321 654)");
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void collect(void *user, const char *text, size_t size) {
  char *to = user;
  size_t at = strlen(to);
  memcpy(to + at, text, size);
  to[at + size] = '\0';
}

static void prints_go_where_the_host_says(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  char said[256] = "";
  rig_open(r);
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  uint32_t text = build_const(b, RUSH_CONST_STR, build_str(b, "n is"), 0, 0);
  build_method(b, "forward", INT, 1, U32(INT));
  build_op(b, "prim::Print", 2, U32(K(text), 0), 0, NULL);
  build_return(b, 0);
  rig_start(r, b);
  run(r, 0, ARGS(rush_int(3))); /* prints nowhere */
  rush_ctx_set_print(r->ctx, collect, said);
  run(r, 0, ARGS(rush_int(4)));
  assert_string_equal(said, "n is 4\n");
  rig_close(r);
}

/* forward(x, y): my_ops::fill(x, y); return x. The operator has this schema and 0 or 1 results. */
static void start_writer(rig *r, const char *schema, uint32_t results) {
  builder b_ = {0}, *b = &b_;
  const rush_custom_op op = {.size = sizeof op, .schema = schema};
  OK(rush_ctx_add_op(r->ctx, &op));
  build_type(b, RUSH_TYPE_TENSOR);
  build_method(b, "forward", TENSOR, 2, U32(TENSOR, TENSOR));
  uint32_t out = results ? build_reg(b, TENSOR) : 0;
  build_op(b, "my_ops::fill", 2, U32(0, 1), results, &out);
  build_return(b, 0);
  rig_start(r, b);
}

static void an_argument_that_is_written_is_written_by_the_host(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rush_value result;
  rig_open(r);
  start_writer(r, "my_ops::fill(Tensor(a!) x, Tensor y) -> ()", 0);
  rush_value x = rig_floats(r, 2, (float[]){1, 2}), y = rig_floats(r, 2, (float[]){3, 4}),
             long_one = rig_floats(r, 3, (float[]){5, 6, 7}), args[] = {x, y}, number = rush_int(1);
  assert_int_equal(rush_session_write(r->session, 0, &y), RUSH_ERR_BAD_STATE);
  OK(rush_session_begin(r->session, 0, args, 2));
  assert_int_equal(rush_session_step(r->session, 0), RUSH_PENDING);
  for (size_t arg = 1; arg < 4; arg++) {
    assert_int_equal(rush_session_write(r->session, arg, &y), RUSH_ERR_BAD_ARGUMENT);
    assert_contains("which", rush_ctx_error(r->ctx),
                    "must be a tensor that the schema marks as written");
  }
  assert_int_equal(rush_session_write(r->session, 0, &number), RUSH_ERR_BAD_ARGUMENT);
  assert_int_equal(rush_session_write(r->session, 0, &long_one), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("sizes", rush_ctx_error(r->ctx), "written to, got float32[3]");
  OK(rush_session_write(r->session, 0, &y));
  OK(rush_session_provide(r->session, NULL, 0));
  OK(rush_session_step(r->session, 0));
  OK(rush_session_result(r->session, &result));
  assert_string_equal(show(r, &result), "float32[2](3 4)");
  rush_value_release(r->session, &result);
  for (int k = 0; k < 2; k++) rush_value_release(r->session, args + k);
  rush_value_release(r->session, &long_one);
  rig_close(r);
}

static void a_result_that_is_an_argument_is_copied_into_it(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rush_value result;
  rig_open(r);
  start_writer(r, "my_ops::fill(Tensor(a!) x, Tensor y) -> Tensor(a!)", 1);
  rush_value x = rig_floats(r, 2, (float[]){1, 2}), y = rig_floats(r, 2, (float[]){3, 4}),
             wrong = rig_tensor(r, RUSH_INT64, 1, SIZES(2), (int64_t[]){5, 6}), args[] = {x, y};
  for (int same = 0; same < 2; same++) {
    OK(rush_session_begin(r->session, 0, args, 2));
    assert_int_equal(rush_session_step(r->session, 0), RUSH_PENDING);
    assert_int_equal(rush_session_provide(r->session, &wrong, 1), RUSH_ERR_BAD_ARGUMENT);
    assert_contains("dtype", rush_ctx_error(r->ctx), "written to, got int64[2]");
    OK(rush_session_provide(r->session, args + !same, 1));
    OK(rush_session_step(r->session, 0));
    OK(rush_session_result(r->session, &result));
    assert_string_equal(show(r, &result), "float32[2](3 4)");
    rush_value_release(r->session, &result);
  }
  for (int k = 0; k < 2; k++) rush_value_release(r->session, args + k);
  rush_value_release(r->session, &wrong);
  rig_close(r);
}

/* forward(x): y = x.t(); return y + y if True else y */
static void results_are_replaced_behind_an_operator_alone(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  rush_value result;
  rig_open(r);
  build_type(b, RUSH_TYPE_TENSOR);
  uint32_t yes = build_bool(b, true), one = build_int(b, 1);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  uint32_t y = build_call(b, "aten::t", TENSOR, 1, U32(0)), out = build_reg(b, TENSOR);
  build_if(b, K(yes), 1, &out);
  uint32_t sum = build_call(b, "aten::add.Tensor", TENSOR, 3, U32(y, y, K(one)));
  build_else(b, 1, &sum);
  build_end_if(b, 1, &y);
  build_return(b, out);
  rig_start(r, b);
  rush_value x = rig_floats(r, 2, (float[]){1, 2}), other = rig_floats(r, 2, (float[]){10, 20}),
             number = rush_int(1);
  assert_int_equal(rush_session_replace(r->session, &other, 1), RUSH_ERR_BAD_STATE);
  assert_int_equal(rush_session_fail(r->session, "why"), RUSH_ERR_BAD_STATE);
  OK(rush_session_begin(r->session, 0, &x, 1));
  assert_int_equal(rush_session_replace(r->session, &other, 1), RUSH_ERR_BAD_STATE);
  assert_int_equal(rush_session_step(r->session, 1), RUSH_PENDING);
  assert_int_equal(rush_session_replace(r->session, &number, 1), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("kind", rush_ctx_error(r->ctx), "result 0 cannot be int");
  assert_int_equal(rush_session_replace(r->session, &other, 0), RUSH_ERR_BAD_ARGUMENT);
  OK(rush_session_replace(r->session, &other, 1));
  assert_int_equal(rush_session_provide(r->session, &other, 1), RUSH_ERR_BAD_STATE);
  assert_contains("if", rush_ctx_error(r->ctx), "the next instruction is control flow");
  assert_int_equal(rush_session_step(r->session, 1), RUSH_PENDING);
  assert_int_equal(rush_session_replace(r->session, &other, 1), RUSH_ERR_BAD_STATE);
  OK(rush_session_step(r->session, 0));
  OK(rush_session_result(r->session, &result));
  assert_string_equal(show(r, &result), "float32[2](20 40)");
  rush_value_release(r->session, &result);
  OK(rush_session_begin(r->session, 0, &x, 1));
  assert_int_equal(rush_session_fail(r->session, "the host's reason"), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("fail", rush_ctx_error(r->ctx), "(aten::t): the host's reason");
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &other);
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_operator_in_c_gets_contiguous_and_complete_arguments),
      cmocka_unit_test(invalid_operators_are_refused),
      cmocka_unit_test(an_operator_of_the_hosts_stops_the_run),
      cmocka_unit_test(the_schema_of_a_hosts_operator_is_described_in_parts),
      cmocka_unit_test(a_failure_says_where_it_was),
      cmocka_unit_test(every_operator_can_be_watched_and_replaced),
      cmocka_unit_test(a_packed_weight_is_told_from_one_with_elements),
      cmocka_unit_test(prints_go_where_the_host_says),
      cmocka_unit_test(an_argument_that_is_written_is_written_by_the_host),
      cmocka_unit_test(a_result_that_is_an_argument_is_copied_into_it),
      cmocka_unit_test(results_are_replaced_behind_an_operator_alone),
  };
  return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
