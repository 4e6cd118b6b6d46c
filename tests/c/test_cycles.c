/* Tests reference cycles: they are freed when the run ends, except for values that the host or an
 * attribute holds. */
#include <limits.h>

#include "harness.h"

enum { ANY, TENSOR, RUNS = 3000, ELEMENTS = 1 << 15 };

/* Adds the types and a tensor of 128 kB, so that each leaked value shows in the bytes. */
static uint32_t begin_method(builder *b, const char *name) {
  build_method(b, name, ANY, 0, NULL);
  const uint32_t none = K(build_none(b)), dtype = K(build_int(b, RUSH_FLOAT32));
  const uint32_t n = K(build_int(b, ELEMENTS)), sizes = CALL("prim::ListConstruct", ANY, n);
  return CALL("aten::zeros", TENSOR, sizes, dtype, none, none, none);
}

/* l = [x]; l.append(l) */
static uint32_t list_in_itself(builder *b, uint32_t x) {
  const uint32_t list = CALL("prim::ListConstruct", ANY, x);
  return CALL("aten::append.t", ANY, list, list);
}
/* l = [x, x]; l[1] = l */
static uint32_t item_of_itself(builder *b, uint32_t x) {
  const uint32_t list = CALL("prim::ListConstruct", ANY, x, x);
  return CALL("aten::_set_item.t", ANY, list, K(build_int(b, 1)), list);
}
/* d = {'x': x}; d['d'] = d, then d['x'] = d */
static uint32_t dict_in_itself(builder *b, uint32_t x) {
  const uint32_t key = K(build_const(b, RUSH_CONST_STR, build_str(b, "x"), 0, 0));
  const uint32_t other = K(build_const(b, RUSH_CONST_STR, build_str(b, "d"), 0, 0));
  const uint32_t dict = CALL("prim::DictConstruct", ANY, key, x);
  build_op(b, "aten::_set_item.str", 3, U32(dict, other, dict), 0, NULL);
  build_op(b, "aten::_set_item.str", 3, U32(dict, key, dict), 0, NULL);
  return dict;
}
/* a = [x]; b = (a, a); c = [b, x]; a.append(c): a ring of lists and a tuple, with a tensor
 * twice. */
static uint32_t ring(builder *b, uint32_t x) {
  const uint32_t list = CALL("prim::ListConstruct", ANY, x);
  const uint32_t tuple = CALL("prim::TupleConstruct", ANY, list, list);
  const uint32_t other = CALL("prim::ListConstruct", ANY, tuple, x);
  CALL("aten::append.t", ANY, list, other);
  return other;
}
/* Two lists hold each other, and one of them holds a third list. */
static uint32_t pair_with_a_leaf(builder *b, uint32_t x) {
  const uint32_t leaf = CALL("prim::ListConstruct", ANY, x);
  const uint32_t one = CALL("prim::ListConstruct", ANY, leaf);
  const uint32_t two = CALL("prim::ListConstruct", ANY, one, leaf);
  CALL("aten::append.t", ANY, one, two);
  return one;
}

static const struct {
  const char *name;
  uint32_t (*make)(builder *b, uint32_t x);
} rows[] = {{"a list in itself", list_in_itself},
            {"an item of itself", item_of_itself},
            {"a dict in itself", dict_in_itself},
            {"a ring", ring},
            {"a pair with a leaf", pair_with_a_leaf}};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* Method 2k returns None, and method 2k + 1 returns the value. The last method raises. */
static void start_all(rig *r) {
  builder b_ = {0}, *b = &b_;
  build_type(b, RUSH_TYPE_ANY);
  build_type(b, RUSH_TYPE_TENSOR);
  for (size_t k = 0; k < 2 * N_ROWS; k++) {
    char name[64];
    snprintf(name, sizeof name, "%zu", k);
    const uint32_t v = rows[k / 2].make(b, begin_method(b, name));
    build_return(b, k % 2 ? v : K(build_none(b)));
  }
  const uint32_t said = K(build_const(b, RUSH_CONST_STR, build_str(b, "no"), 0, 0));
  const uint32_t none = K(build_none(b));
  list_in_itself(b, begin_method(b, "raises"));
  build_op(b, "prim::RaiseException", 2, U32(said, none), 0, NULL);
  build_return(b, none);
  rig_open(r);
  rig_start(r, b);
}

static size_t live(const rig *r) {
  size_t bytes, peak;
  rush_ctx_memory(r->ctx, &bytes, &peak);
  return bytes;
}

static void values_that_hold_themselves_go_after_each_run(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  start_all(r);
  rush_ctx_set_memory_limit(r->ctx, 16 << 20); /* enough for about a hundred of them */
  for (size_t k = 0; k < N_ROWS; k++) {
    assert_string_equal(run(r, 2 * k, NO_ARGS), "None");
    const size_t before = live(r);
    for (int i = 0; i < RUNS; i++) {
      rush_value result;
      OK(rush_session_run(r->session, 2 * k, NULL, 0, &result));
    }
    if (live(r) != before) fail_msg("%s: %zu bytes, and %zu before", rows[k].name, live(r), before);
  }
  rig_close(r);
}

static void a_result_that_holds_itself_goes_with_the_next_run(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  start_all(r);
  for (size_t k = 0; k < N_ROWS; k++) {
    size_t before = 0;
    for (int i = 0; i < 300; i++) {
      rush_value result;
      size_t n;
      OK(rush_session_run(r->session, 2 * k + 1, NULL, 0, &result));
      const rush_value *items = rush_items(&result, &n);
      assert_true(n > 0 && items != NULL); /* it is intact, because the host holds it */
      rush_value_release(r->session, &result);
      if (i == 2) before = live(r);
    }
    assert_true(live(r) <= before);
  }
  rig_close(r);
}

static void a_run_that_fails_leaves_none(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  start_all(r);
  size_t before = 0;
  for (int i = 0; i < 300; i++) {
    assert_contains("raises", run(r, 2 * N_ROWS, NO_ARGS), "no");
    if (i == 0) before = live(r);
  }
  assert_int_equal(live(r), before);
  rig_close(r);
}

/* The search for cycles in later runs does not change values that the host holds. */
static void what_the_host_holds_stays(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  rush_value held, result;
  size_t n;
  start_all(r);
  OK(rush_session_run(r->session, 1, NULL, 0, &held));
  for (size_t k = 0; k < 2 * N_ROWS; k++) {
    OK(rush_session_run(r->session, k, NULL, 0, &result));
    rush_value_release(r->session, &result);
  }
  const rush_value *items = rush_items(&held, &n);
  rush_tensor_info t;
  assert_int_equal(n, 2);
  OK(rush_tensor_inspect(r->session, items, &t));
  assert_int_equal(t.numel, ELEMENTS);
  assert_ptr_equal(items[1].u.ref, held.u.ref);
  rush_value_release(r->session, &held);
  rig_close(r);
}

/* ---- Stop requests --------------------------------------------------------------------------- */

enum { MANY = 1 << 14 }; /* containers of each kind */

/* Adds lists in themselves to `all`, which is returned, loses as many others, and prints. */
static void build_many(builder *b) {
  const uint32_t yes = K(build_bool(b, true)), most = K(build_int(b, MANY));
  build_type(b, RUSH_TYPE_ANY);
  build_method(b, "forward", ANY, 0, NULL);
  const uint32_t i = build_reg(b, ANY), all = CALL("prim::ListConstruct", ANY, most);
  build_loop(b, most, yes, 0, NULL, NULL, &i);
  CALL("aten::append.t", ANY, all, list_in_itself(b, i));
  list_in_itself(b, i);
  build_end_loop(b, yes, 0, NULL);
  build_op(b, "prim::Print", 1, U32(most), 0, NULL);
  build_return(b, all);
}

typedef struct countdown {
  bool started;
  int left; /* polls before the stop request */
} countdown;
static void start_countdown(void *user, const char *text, size_t size) {
  (void)text, (void)size;
  ((countdown *)user)->started = true;
}
static bool ends_countdown(void *user) {
  countdown *c = user;
  return c->started && --c->left < 0;
}

/* Stops the end of a run at each poll in turn. The next run frees the values that it left. */
static void a_search_that_is_stopped_loses_nothing(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  size_t live = 0;
  int stopped = 0;
  rush_status st = RUSH_ERR_INTERRUPTED;
  build_many(b);
  rig_open(r);
  rig_start(r, b);
  for (int k = -1; k < 1 || st != RUSH_OK; k++) {
    rush_value result;
    countdown c = {false, k < 0 ? INT_MAX : k};
    rush_ctx_set_poll(r->ctx, ends_countdown, &c);
    rush_ctx_set_print(r->ctx, start_countdown, &c);
    st = rush_session_run(r->session, 0, NULL, 0, &result);
    rush_ctx_set_poll(r->ctx, NULL, NULL);
    stopped += st == RUSH_ERR_INTERRUPTED;
    if (st == RUSH_OK) rush_value_release(r->session, &result);
    OK(rush_session_run(r->session, 0, NULL, 0, &result));
    rush_value_release(r->session, &result);
    if (k < 0) live = r->counter.live;
    assert_true(r->counter.live <= live);
  }
  assert_true(stopped > 4); /* in each pass of the search, and while containers are freed */
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_that_hold_themselves_go_after_each_run),
      cmocka_unit_test(a_result_that_holds_itself_goes_with_the_next_run),
      cmocka_unit_test(a_run_that_fails_leaves_none), cmocka_unit_test(what_the_host_holds_stays),
      cmocka_unit_test(a_search_that_is_stopped_loses_nothing)};
  return cmocka_run_group_tests_name("cycles", tests, NULL, NULL);
}
