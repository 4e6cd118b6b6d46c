/* Tests the cost of files and programs: limits that the host sets, the host's request to stop, and
 * work that is counted instead of timed. */
#include "base/base.h"
#include "harness.h"

enum { TENSOR, INT, BOOL, STR, INTS };

static void add_types(builder *b) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type(b, RUSH_TYPE_BOOL);
  build_type(b, RUSH_TYPE_STR);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(INT));
}

/* A host that asks to stop at its n-th poll, or never if n is 0. */
typedef struct host {
  uint64_t asked, stop_at;
} host;

static bool ask(void *user) {
  host *h = user;
  return ++h->asked == h->stop_at;
}

/* ---- Limits of the host ---------------------------------------------------------------------- */

/* forward(): while True: pass */
static void build_endless(builder *b) {
  add_types(b);
  build_method(b, "forward", INT, 0, NULL);
  uint32_t most = build_int(b, INT64_MAX), yes = build_bool(b, true), i = build_reg(b, INT);
  build_loop(b, K(most), K(yes), 0, NULL, NULL, U32(i));
  build_end_loop(b, K(yes), 0, NULL);
  build_return(b, K(most));
}

static void a_loop_without_end_is_ended(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  host h = {.stop_at = 3};
  build_endless(&b);
  rig_open(r);
  rig_start(r, &b);
  rush_ctx_set_poll(r->ctx, ask, &h);
  assert_contains("poll", run(r, 0, NO_ARGS), "interrupted: forward, instruction ");
  assert_int_equal(h.asked, 3);
  assert_contains("again", (h.stop_at = 5, run(r, 0, NO_ARGS)), "the host interrupted the run");
  rush_ctx_set_poll(r->ctx, NULL, NULL);
  rush_session_set_step_limit(r->session, 1000);
  assert_contains(
      "steps", run(r, 0, NO_ARGS),
      "interrupted: forward, instruction 1 (control flow): the run exceeds its limit of 1000 "
      "instructions");
  /* The limit applies to the whole run, regardless of its steps. */
  OK(rush_session_begin(r->session, 0, NULL, 0));
  for (int k = 0; k < 3; k++) assert_int_equal(rush_session_step(r->session, 300), RUSH_PENDING);
  assert_int_equal(rush_session_step(r->session, 300), RUSH_ERR_INTERRUPTED);
  assert_int_equal(rush_session_step(r->session, 300), RUSH_ERR_BAD_STATE);
  rig_close(r);
}

static void a_step_ends_where_a_look_is_due(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  build_endless(&b);
  rig_open(r);
  rig_start(r, &b);
  OK(rush_session_begin(r->session, 0, NULL, 0));
  uint64_t before = rush_ctx_work(r->ctx), least = UINT64_MAX;
  for (int k = 0; k < 20; k++) {
    assert_int_equal(rush_session_step(r->session, UINT64_MAX), RUSH_PENDING);
    const uint64_t work = rush_ctx_work(r->ctx) - before;
    assert_true(work < 2 << 20); /* about two milliseconds */
    if (k > 0 && work < least) least = work;
    before += work;
  }
  assert_true(least > 1 << 19);
  rig_close(r);
}

/* forward(): l = []; while True: l.append(l's length); */
static void memory_has_a_limit(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  add_types(b);
  build_method(b, "forward", INTS, 0, NULL);
  uint32_t most = build_int(b, 100000), yes = build_bool(b, true), list = build_reg(b, INTS);
  build_op(b, "prim::ListConstruct", 0, NULL, 1, &list);
  uint32_t i = build_reg(b, INT);
  build_loop(b, K(most), K(yes), 0, NULL, NULL, &i);
  CALL("aten::append.t", INTS, list, i);
  build_end_loop(b, K(yes), 0, NULL);
  build_return(b, list);
  rig_open(r);
  rig_start(r, b);
  rush_ctx_set_memory_limit(r->ctx, 1 << 20);
  assert_contains("limit", run(r, 0, NO_ARGS), "out-of-memory: forward, instruction 2");
  assert_contains("limit", r->text, "and the limit is 1048576");
  size_t live, peak;
  rush_ctx_memory(r->ctx, &live, &peak);
  assert_true(peak <= 1 << 20);
  rush_ctx_set_memory_limit(r->ctx, 0);
  assert_contains("no limit", run(r, 0, NO_ARGS), "[0, 1, 2, ");
  rig_close(r);
}

/* The context that loaded the model counted its bytes, and continues to count them. */
static void a_model_may_be_destroyed_with_another_context(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rush_ctx *other;
  build_endless(&b);
  rig_open(r);
  rig_load(r, &b);
  OK(rush_ctx_create(counter_alloc, &r->counter, &other));
  rush_model_destroy(other, r->model);
  size_t live, peak;
  rush_ctx_memory(other, &live, &peak);
  assert_int_equal(live, 0);
  assert_int_equal(peak, 0);
  rush_ctx_set_memory_limit(other, 1 << 20); /* its limit still has the same room */
  build_endless(&b);
  rush_ctx_destroy(r->ctx);
  r->ctx = other;
  rig_load(r, &b);
  rig_close(r);
}

/* ---- Values that nest without end ------------------------------------------------------------ */

/* forward(n): l = []; for _ in range(n): l = [l]; then, with n = 0, l.append(l); return use(l). */
static uint32_t build_nested(builder *b, bool cycle) {
  build_type_n(b, RUSH_TYPE_ANY, 0, NULL);
  const uint32_t any = 5;
  build_method(b, "forward", any, 1, U32(INT));
  uint32_t yes = build_bool(b, true), list = build_reg(b, any);
  build_op(b, "prim::ListConstruct", 0, NULL, 1, &list);
  uint32_t result = build_reg(b, any), i = build_reg(b, INT), inside = build_reg(b, any);
  build_loop(b, 0, K(yes), 1, &list, &result, U32(i, inside));
  uint32_t outer = build_reg(b, any);
  build_op(b, "prim::ListConstruct", 1, &inside, 1, &outer);
  build_end_loop(b, K(yes), 1, &outer);
  if (cycle) build_op(b, "aten::append.t", 2, U32(result, result), 1, U32(build_reg(b, any)));
  return result;
}

static uint32_t use_str(builder *b, uint32_t v) {
  return CALL("aten::str", 5, v);
}
static uint32_t use_print(builder *b, uint32_t v) {
  build_op(b, "prim::Print", 1, &v, 0, NULL);
  return K(build_none(b));
}
static uint32_t use_key(builder *b, uint32_t v) { /* compares two equal keys */
  uint32_t copy = CALL("aten::list.t", 5, v);
  return CALL("prim::DictConstruct", 5, v, v, copy, v);
}
static uint32_t use_order(builder *b, uint32_t v) {
  uint32_t a = CALL("prim::TupleConstruct", 5, v), c = CALL("aten::list.t", 5, v),
           d = CALL("prim::TupleConstruct", 5, c), list = CALL("prim::ListConstruct", 5, a, d);
  return CALL("aten::sorted.any", 5, list);
}
static uint32_t use_nothing(builder *b, uint32_t v) {
  (void)v;
  return K(build_none(b));
}

static void values_are_looked_through_to_a_depth(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t (*use)(builder *b, uint32_t v);
    const char *says;
  } rows[] = {{"str", use_str, "nested too deeply"},
              {"print", use_print, "nested too deeply"},
              {"key", use_key, "nested too deeply"},
              {"order", use_order, "nested too deeply"},
              {"nothing", use_nothing, "None"}};
  for (size_t k = 0; k < 2 * sizeof rows / sizeof *rows; k++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    const bool cycle = k % 2 == 1;
    add_types(b);
    uint32_t v = build_nested(b, cycle);
    build_return(b, rows[k / 2].use(b, v));
    rig_open(r);
    rig_start(r, b);
    /* A million nested lists are also freed without recursion. */
    const char *said = run(r, 0, ARGS(rush_int(cycle ? 0 : 1000000)));
    assert_contains(rows[k / 2].name, said, rows[k / 2].says);
    rig_close(r); /* no memory leaks, not even that of a list that holds itself */
  }
}

static void nesting_that_is_allowed_works(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  add_types(b);
  uint32_t v = build_nested(b, false);
  build_return(b, use_str(b, v));
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, ARGS(rush_int(3))), "'[[[[]]]]'");
  assert_contains("900", run(r, 0, ARGS(rush_int(900))), "[[[[[[");
  rig_close(r);
}

/* ---- Constants ------------------------------------------------------------------------------- */

/* forward(l=[1, 2]): l.append(3); return l */
static void a_default_belongs_to_the_session(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  add_types(b);
  build_method(b, "forward", INTS, 1, U32(INTS));
  uint32_t one = build_int(b, 1), two = build_int(b, 2), three = build_int(b, 3);
  ((rush_file_port *)build_at(b, RUSH_SEC_PORTS, 0))->initial =
      build_items(b, RUSH_CONST_LIST, INTS, 2, U32(one, two));
  CALL("aten::append.t", INTS, 0, K(three));
  build_return(b, 0);
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, NO_ARGS), "[1, 2, 3]");
  assert_string_equal(run(r, 0, NO_ARGS), "[1, 2, 3, 3]"); /* as in PyTorch and Python */
  rush_session *other;
  OK(rush_session_create(r->ctx, r->model, &other));
  rush_value y;
  OK(rush_session_run(other, 0, NULL, 0, &y));
  size_t n;
  rush_items(&y, &n);
  assert_int_equal(n, 3);
  rush_value_release(other, &y);
  rush_session_destroy(other);
  OK(rush_session_reset(r->session));
  assert_string_equal(run(r, 0, NO_ARGS), "[1, 2, 3]");
  rig_close(r);
}

/* A program must not write its constants, directly or through an alias. */
static void constants_are_not_written(void **state) {
  (void)state;
  static const char *const ops[] = {"aten::append.t", "aten::clear.t", "aten::reverse.t",
                                    "aten::extend.t"};
  for (size_t k = 0; k < 4; k++) {
    for (int alias = 0; alias < 2; alias++) {
      rig rig_, *r = &rig_;
      builder b_, *b = &b_;
      add_types(b);
      build_type_n(b, RUSH_TYPE_TUPLE, 1, U32(INTS));
      build_method(b, "forward", INTS, 0, NULL);
      uint32_t one = build_int(b, 1),
               list = K(build_items(b, RUSH_CONST_LIST, INTS, 2, U32(one, one)));
      if (alias) { /* (list,)[0] */
        uint32_t tuple = build_reg(b, 5), item = build_reg(b, INTS);
        build_op(b, "prim::TupleConstruct", 1, &list, 1, &tuple);
        build_op(b, "prim::TupleUnpack", 1, &tuple, 1, &item);
        list = item;
      }
      const bool binary = k == 0 || k == 3;
      uint32_t out = build_reg(b, INTS);
      build_op(b, ops[k], binary ? 2 : 1, U32(list, k == 0 ? K(one) : list), k == 0, &out);
      build_return(b, K(one));
      rig_open(r);
      rig_start(r, b);
      for (int again = 0; again < 2; again++)
        assert_contains(ops[k], run(r, 0, NO_ARGS),
                        "argument 'self' must not be written: it is a constant of the model");
      rig_close(r);
    }
  }
}

/* ---- Long operators -------------------------------------------------------------------------- */

static uint32_t any_call(builder *b, const char *op, uint32_t n, const uint32_t *in) {
  return build_call(b, op, 0, n, in);
}

/* Runs op(x expanded, ...) until the host stops it at its second poll, and again at the tenth. This
 * shows that operators poll more than once in work that would take minutes. */
static void check_stops(const char *name, const char *op, const int64_t *small,
                        const int64_t *large, rush_dtype dtype, int rank, uint32_t n_more,
                        const rush_value *more) {
  for (uint64_t stop = 2; stop <= 10; stop += 8) {
    rig rig_, *r = &rig_;
    builder b_ = {0}, *b = &b_;
    host h = {.stop_at = stop};
    uint32_t types[8] = {0}, in[8];
    build_type(b, RUSH_TYPE_ANY);
    build_method(b, "forward", 0, 1 + n_more, types);
    for (uint32_t k = 0; k <= n_more; k++) in[k] = k;
    build_return(b, any_call(b, op, 1 + n_more, in));
    rig_open(r);
    rig_start(r, b);
    rush_value base, args[8];
    void *data;
    int64_t strides[4] = {0};
    OK(rush_tensor_create(r->session, dtype, rank, small, &base, &data));
    memset(data, 0, dtype == RUSH_FLOAT32 ? 4 : dtype == RUSH_BOOL || dtype == RUSH_UINT8 ? 1 : 8);
    OK(rush_tensor_view(r->session, &base, rank, large, strides, 0, args));
    for (uint32_t k = 0; k < n_more; k++)
      args[k + 1] = more[k].kind == RUSH_KIND_TENSOR ? args[0] : more[k];
    rush_ctx_set_poll(r->ctx, ask, &h);
    assert_contains(name, run(r, 0, 1 + n_more, args), "interrupted: ");
    assert_int_equal(h.asked, stop);
    rush_value_release(r->session, args);
    rush_value_release(r->session, &base);
    rig_close(r);
  }
}

static void long_operators_look_whether_to_stop(void **state) {
  (void)state;
  static const int64_t ones[] = {1, 1, 1, 1}, square[] = {1 << 13, 1 << 13}, row[] = {1, 1 << 26},
                       column[] = {1 << 26, 1};
  const rush_value self = {.kind = RUSH_KIND_TENSOR};
  check_stops("sum", "aten::sum", ones, square, RUSH_FLOAT32, 2, 0, NULL);
  check_stops("sum of a row", "aten::sum", ones, row, RUSH_FLOAT32, 2, 0, NULL);
  check_stops("sum of ints", "aten::sum", ones, column, RUSH_INT64, 2, 0, NULL);
  check_stops("all", "aten::all", ones, square, RUSH_BOOL, 2, 0, NULL);
  check_stops("argmax over columns", "aten::argmax", ones, square, RUSH_FLOAT64, 2, 1,
              (rush_value[]){rush_int(0)});
  check_stops("nonzero", "aten::nonzero", ones, square, RUSH_FLOAT32, 2, 0, NULL);
  check_stops("masked_select", "aten::masked_select", ones, square, RUSH_BOOL, 2, 1, &self);
  check_stops("bincount", "aten::bincount", ones, (const int64_t[]){1 << 26}, RUSH_INT64, 1, 0,
              NULL);
  check_stops("mm", "aten::mm", ones, (const int64_t[]){1 << 12, 1 << 12}, RUSH_INT64, 2, 1, &self);
  check_stops("mm of floats", "aten::mm", ones, (const int64_t[]){1 << 12, 1 << 12}, RUSH_FLOAT32,
              2, 1, &self);
  check_stops("contiguous", "aten::contiguous", ones, (const int64_t[]){1 << 13, 1 << 13},
              RUSH_UINT8, 2, 0, NULL);
  check_stops("relu", "aten::relu", ones, (const int64_t[]){1 << 12, 1 << 12}, RUSH_FLOAT32, 2, 0,
              NULL);
}

/* Runs the loops of kernels: forward(x) = op(x, constants...), with tensors of zeros. */
typedef struct kernel_row {
  const char *name, *op;
  int rank;
  int64_t sizes[4];
  uint32_t (*call)(builder *b, const char *op);
} kernel_row;

static uint32_t ints(builder *b, int64_t i) {
  uint32_t c = build_int(b, i);
  return K(build_items(b, RUSH_CONST_LIST, INTS, 1, &c));
}
static uint32_t zeros4(builder *b, int64_t n, int64_t c, int64_t h, int64_t w) {
  return K(build_tensor(b, RUSH_FLOAT32, 4, SIZES(n, c, h, w), NULL));
}

static uint32_t call_conv(builder *b, const char *op) {
  return CALL(op, TENSOR, 0, zeros4(b, 64, 64, 3, 3), K(build_none(b)), ints(b, 1), ints(b, 1),
              ints(b, 1), K(build_bool(b, false)), ints(b, 0), K(build_int(b, 1)));
}
static uint32_t call_turned(builder *b, const char *op) {
  return CALL(op, TENSOR, 0, zeros4(b, 64, 64, 4, 4), K(build_none(b)), ints(b, 2), ints(b, 1),
              ints(b, 1), K(build_bool(b, true)), ints(b, 0), K(build_int(b, 1)));
}
static uint32_t call_depthwise(builder *b, const char *op) {
  return CALL(op, TENSOR, 0, zeros4(b, 64, 1, 3, 3), K(build_none(b)), ints(b, 1), ints(b, 1),
              ints(b, 1), K(build_bool(b, false)), ints(b, 0), K(build_int(b, 64)));
}
static uint32_t call_linear(builder *b, const char *op) {
  return CALL(op, TENSOR, 0, K(build_tensor(b, RUSH_FLOAT32, 2, SIZES(256, 256), NULL)));
}
static uint32_t call_pool(builder *b, const char *op) {
  return CALL(op, TENSOR, 0, ints(b, 9), ints(b, 1), ints(b, 4));
}
static uint32_t call_attention(builder *b, const char *op) {
  return CALL(op, TENSOR, 0, 0, 0);
}

static void kernels_look_whether_to_stop(void **state) {
  (void)state;
  static const kernel_row rows[] = {
      {"conv", "aten::convolution", 4, {1, 64, 128, 128}, call_conv},
      {"transposed", "aten::convolution", 4, {1, 64, 64, 64}, call_turned},
      {"depthwise", "aten::convolution", 4, {4, 64, 256, 256}, call_depthwise},
      {"linear", "aten::linear", 2, {1 << 13, 256}, call_linear},
      {"max pool", "aten::max_pool2d", 4, {1, 64, 128, 128}, call_pool},
      {"mean pool", "aten::avg_pool2d", 4, {1, 64, 128, 128}, call_pool},
      {"attention", "aten::scaled_dot_product_attention", 4, {1, 1, 4096, 32}, call_attention},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    /* Each of these would poll more often. */
    host h = {.stop_at = 3};
    add_types(b);
    build_method(b, "forward", TENSOR, 1, U32(TENSOR));
    build_return(b, rows[k].call(b, rows[k].op));
    rig_open(r);
    rig_start(r, b);
    rush_value x;
    void *data;
    rush_tensor_info info;
    OK(rush_tensor_create(r->session, RUSH_FLOAT32, rows[k].rank, rows[k].sizes, &x, &data));
    OK(rush_tensor_inspect(r->session, &x, &info));
    memset(data, 0, (size_t)info.numel * sizeof(float));
    rush_ctx_set_poll(r->ctx, ask, &h);
    assert_contains(rows[k].name, run(r, 0, 1, &x), "interrupted: ");
    rush_ctx_set_poll(r->ctx, NULL, NULL);
    assert_contains(rows[k].name, run(r, 0, 1, &x), "float32["); /* the session still works */
    rush_value_release(r->session, &x);
    rig_close(r);
  }
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* The cost of loading, describing and making a session, in steps of work and in bytes. One part of
 * the file is n times as large. */
typedef void grow(builder *b, uint32_t n);

static void grow_strings(builder *b, uint32_t n) {
  for (uint32_t k = 0; k < 20 * n; k++) build_str(b, "a string that is some bytes long");
}
static void grow_methods(builder *b, uint32_t n) {
  char name[64];
  for (uint32_t k = 0; k < n; k++) {
    snprintf(name, sizeof name, "a_name_of_which_most_is_the_same_as_of_others_%u", k);
    build_method(b, name, INT, 0, NULL);
    build_return(b, K(0));
  }
}
static void grow_types(builder *b, uint32_t n) {
  uint32_t t = INT;
  for (uint32_t k = 0; k < 10; k++) t = build_type_n(b, RUSH_TYPE_UNION, 2, U32(t, t));
  for (uint32_t k = 0; k < n; k++) build_reg(b, t);
}
static void grow_ops(builder *b, uint32_t n) {
  uint32_t r = 0;
  for (uint32_t k = 0; k < n; k++) r = CALL("aten::neg.int", INT, r);
}
static void grow_constants(builder *b, uint32_t n) {
  uint32_t c = 0;
  for (uint32_t k = 0; k < 6; k++) c = build_items(b, RUSH_CONST_LIST, INTS, 2, U32(c, c));
  for (uint32_t k = 0; k < n; k++) build_items(b, RUSH_CONST_LIST, INTS, 2, U32(c, 0));
}

typedef struct cost {
  uint64_t work;
  size_t peak;
} cost;

static cost cost_of(grow *more, uint32_t n) {
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  add_types(b);
  build_int(b, 7);
  build_method(b, "forward", INT, 1, U32(INT));
  if (more != grow_methods) more(b, n);
  build_return(b, 0);
  if (more == grow_methods) more(b, n);
  rig_open(r);
  rig_start(r, b);
  for (int form = 0; form <= RUSH_DESCRIBE_TORCH_CODE; form++) {
    char *text;
    size_t size;
    OK(rush_model_describe(r->ctx, r->model, (rush_describe_form)form, &text, &size));
    rush_free(r->ctx, text, size);
  }
  cost c = {rush_ctx_work(r->ctx), 0};
  size_t live;
  rush_ctx_memory(r->ctx, &live, &c.peak);
  rig_close(r);
  return c;
}

static void loading_grows_with_the_file(void **state) {
  (void)state;
  static const struct {
    const char *name;
    grow *more;
  } rows[] = {{"strings", grow_strings},
              {"methods", grow_methods},
              {"types", grow_types},
              {"operators", grow_ops},
              {"constants", grow_constants}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    const cost once = cost_of(rows[k].more, 500), four = cost_of(rows[k].more, 2000);
    /* A file of four times the size takes at most about four times the work and memory. */
    if (four.work > 5 * once.work || four.peak > 5 * once.peak)
      fail_msg("%s: %llu steps become %llu, %zu bytes %zu", rows[k].name,
               (unsigned long long)once.work, (unsigned long long)four.work, once.peak, four.peak);
  }
}

/* A name that many records refer to is not read again for each of them. */
static void long_names_are_not_compared_for_each_that_has_them(void **state) {
  (void)state;
  static char text[1 << 16];
  memset(text, 'a', sizeof text - 1);
  for (int of_ops = 0; of_ops < 2; of_ops++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    add_types(b);
    build_int(b, 7);
    const uint32_t name = build_str(b, text);
    for (uint32_t k = 0; k < 256; k++) {
      char other[16];
      snprintf(other, sizeof other, "m%u", k);
      build_method(b, other, INT, 0, NULL);
      build_return(b, K(0));
      if (!of_ops) ((rush_file_method *)build_at(b, RUSH_SEC_METHODS, k))->name = name;
      rush_file_op op = {name, RUSH_NONE};
      if (of_ops) build_add(b, RUSH_SEC_OPS, sizeof op, &op, 1);
    }
    rig_open(r);
    rush_status st = rig_try_load(r, b);
    assert_int_equal(st, of_ops ? RUSH_ERR_UNSUPPORTED : RUSH_ERR_BAD_FILE);
    assert_contains(
        "name", rush_ctx_error(r->ctx),
        of_ops ? "256 operators that this runtime lacks: aaa" : "duplicate method 'aaa");
    assert_true(rush_ctx_work(r->ctx) < 1 << 20); /* reading 2^16 bytes for each would take 2^24 */
    rig_close(r);
  }
}

/* Many convolutions use one weight of two bytes that is viewed as 2^20 elements. Their bias does
 * not fit, so that none keeps what it widens. */
static void what_instructions_widen_has_a_limit(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  add_types(b);
  const uint32_t view = build_view(b, build_storage(b, NULL, 2), RUSH_FLOAT16, 4,
                                   SIZES(1 << 20, 1, 1, 1), SIZES(0, 0, 0, 0), 0);
  const uint32_t weight = build_const(b, RUSH_CONST_TENSOR, view, 0, 0);
  const uint32_t bias = build_tensor(b, RUSH_FLOAT32, 1, SIZES(2), NULL);
  uint32_t y = 0;
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  for (int k = 0; k < 400; k++)
    y = CALL(k % 2 ? "aten::conv2d" : "aten::conv_transpose2d.input", TENSOR, y, K(weight),
             K(bias));
  build_return(b, y);
  rig_open(r);
  rig_load(r, b);
  assert_true(rush_ctx_work(r->ctx) < 100u << 20); /* 400 times 2^20 without a limit */
  rig_close(r);
}

/* Loads linear with a weight of 4 bytes that is viewed as many gigabytes. A file of a kilobyte may
 * use 64 MiB, and each byte of a file adds 64. */
static void an_allowance_grows_with_the_file(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  for (int large = 0; large < 2; large++) {
    builder b_, *b = &b_;
    add_types(b);
    const int64_t n = 20 << 20; /* 80 MiB */
    build_storage(b, NULL, large ? 1 << 20 : 4);
    uint32_t shape = build_view(b, RUSH_NONE, RUSH_FLOAT32, 1, &n, NULL, 0);
    uint32_t random = build_const(b, RUSH_CONST_RANDOM, shape, 1, 0);
    build_method(b, "forward", TENSOR, 0, NULL);
    build_return(b, K(random));
    rig_open(r);
    if (large) {
      rig_start(r, b);
    } else {
      assert_int_equal(rig_try_load(r, b), RUSH_ERR_NO_MEMORY);
      assert_contains("small", rush_ctx_error(r->ctx), "than a file of this size may need");
    }
    rig_close(r);
  }
}

static void a_small_file_cannot_ask_for_much(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  add_types(b);
  const float one = 1;
  const int64_t side = sizeof(void *) > 4 ? 1 << 17 : 20000;
  uint32_t storage = build_storage(b, &one, 4);
  uint32_t w =
      build_const(b, RUSH_CONST_TENSOR,
                  build_view(b, storage, RUSH_FLOAT32, 2, SIZES(side, side), SIZES(0, 0), 0), 0, 0);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  build_return(b, CALL("aten::linear", TENSOR, 0, K(w)));
  rig_open(r);
  assert_int_equal(rig_try_load(r, b), RUSH_ERR_NO_MEMORY);
  assert_contains("small", rush_ctx_error(r->ctx), "than a file of this size may need");
  rig_close(r);
}

/* The name of the class would end the JSON string around it. */
static void names_are_escaped(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  add_types(b);
  static const char name[] = "a\",\"methods\":[],\"x\":\"";
  rush_file_type t = {RUSH_TYPE_ENUM, 0, 0, build_str(b, name), 0};
  uint32_t type = build_add(b, RUSH_SEC_TYPES, sizeof t, &t, 1);
  build_method(b, name, type, 1, &type);
  build_return(b, 0);
  rig_open(r);
  rig_load(r, b);
  for (int form = RUSH_DESCRIBE_JSON; form <= RUSH_DESCRIBE_GRAPH; form++) {
    char *text;
    size_t size;
    OK(rush_model_describe(r->ctx, r->model, (rush_describe_form)form, &text, &size));
    assert_contains("escaped", text, "\"a\\\",\\\"methods\\\":[],\\\"x\\\":\\\"\"");
    assert_contains("the name of a type is a word", text, "\"a___methods______x___\"");
    rush_free(r->ctx, text, size);
  }
  rig_close(r);
}

/* Loading and describing also poll the host, and leak nothing when they stop. */
static void loading_and_describing_can_be_stopped(void **state) {
  (void)state;
  for (int describe = 0; describe < 2; describe++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    host h = {.stop_at = describe ? 0 : 1};
    static char text[1 << 16];
    add_types(b);
    memset(text, 'x', sizeof text - 1);
    for (int k = 0; k < 100; k++) {
      uint32_t s = build_str(b, text);
      rush_file_meta meta = {s, s};
      build_add(b, RUSH_SEC_META, sizeof meta, &meta, 1);
    }
    build_int(b, 7);
    build_method(b, "forward", INT, 0, NULL);
    build_return(b, K(0));
    rig_open(r);
    rush_ctx_set_poll(r->ctx, ask, &h);
    rush_status st = rig_try_load(r, b);
    assert_int_equal(st, describe ? RUSH_OK : RUSH_ERR_INTERRUPTED);
    if (describe) {
      char *said;
      size_t size;
      h = (host){.stop_at = 1};
      st = rush_model_describe(r->ctx, r->model, RUSH_DESCRIBE_JSON, &said, &size);
      assert_int_equal(st, RUSH_ERR_INTERRUPTED);
      assert_null(said);
    }
    assert_string_equal(rush_ctx_error(r->ctx), "the host interrupted the run");
    rig_close(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_loop_without_end_is_ended),
      cmocka_unit_test(a_step_ends_where_a_look_is_due),
      cmocka_unit_test(memory_has_a_limit),
      cmocka_unit_test(a_model_may_be_destroyed_with_another_context),
      cmocka_unit_test(values_are_looked_through_to_a_depth),
      cmocka_unit_test(nesting_that_is_allowed_works),
      cmocka_unit_test(a_default_belongs_to_the_session),
      cmocka_unit_test(constants_are_not_written),
      cmocka_unit_test(long_operators_look_whether_to_stop),
      cmocka_unit_test(kernels_look_whether_to_stop),
      cmocka_unit_test(loading_grows_with_the_file),
      cmocka_unit_test(long_names_are_not_compared_for_each_that_has_them),
      cmocka_unit_test(what_instructions_widen_has_a_limit),
      cmocka_unit_test(an_allowance_grows_with_the_file),
      cmocka_unit_test(a_small_file_cannot_ask_for_much),
      cmocka_unit_test(names_are_escaped),
      cmocka_unit_test(loading_and_describing_can_be_stopped),
  };
  return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
