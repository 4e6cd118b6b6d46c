/* Tests exec: how the interpreter handles blocks, values, lifetimes, budgets and errors. The models
 * are built by hand from the simplest operators. */
#include "base/base.h"
#include "harness.h"

#include "exec/session.h"

enum { TENSOR, INT, BOOL, LIST, TENSORS, NONE, PAIR, INTS3 };

static void types(builder *b) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type(b, RUSH_TYPE_BOOL);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(INT));
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(TENSOR));
  build_type(b, RUSH_TYPE_NONE);
  build_type_n(b, RUSH_TYPE_TUPLE, 2, U32(INT, INT));
  build_type_n(b, RUSH_TYPE_TUPLE, 3, U32(INT, INT, INT));
}

/* `torch.set_grad_enabled(False)` gives this program, which has no registers to drop. */
static void a_program_may_have_no_values(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", NONE, 0, NULL);
  build_op(b, "aten::set_grad_enabled", 1, U32(K(build_bool(b, false))), 0, NULL);
  build_return(b, K(build_none(b)));
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, NO_ARGS), "None");
  rig_close(r);
}

/* ---- Branches -------------------------------------------------------------------------------- */

static void both_branches_give_their_values(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", PAIR, 2, U32(BOOL, INT));
  uint32_t one = build_int(b, 1), p = build_reg(b, INT), q = build_reg(b, INT);
  build_if(b, 0, 2, U32(p, q));
  uint32_t up = CALL("aten::add.int", INT, 1, K(one));
  build_else(b, 2, U32(up, 1));
  uint32_t down = CALL("aten::sub.int", INT, 1, K(one));
  build_end_if(b, 2, U32(1, down));
  build_return(b, CALL("prim::TupleConstruct", PAIR, p, q));
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, ARGS(rush_bool(true), rush_int(5))), "(6, 5)");
  assert_string_equal(run(r, 0, ARGS(rush_bool(false), rush_int(5))), "(5, 4)");
  rig_close(r);
}

/* deepest = flags[0] ? (flags[1] ? 1 : 2) : 3, with results passed through every level */
static void branches_nest(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", INT, 2, U32(BOOL, BOOL));
  uint32_t one = build_int(b, 1), two = build_int(b, 2), three = build_int(b, 3);
  uint32_t outer = build_reg(b, INT), inner = build_reg(b, INT);
  build_if(b, 0, 1, U32(outer));
  build_if(b, 1, 1, U32(inner));
  build_else(b, 1, U32(K(one)));
  build_end_if(b, 1, U32(K(two)));
  build_else(b, 1, U32(inner));
  build_end_if(b, 1, U32(K(three)));
  build_return(b, outer);
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, ARGS(rush_bool(true), rush_bool(true))), "1");
  assert_string_equal(run(r, 0, ARGS(rush_bool(true), rush_bool(false))), "2");
  assert_string_equal(run(r, 0, ARGS(rush_bool(false), rush_bool(true))), "3");
  rig_close(r);
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* forward(most, enter): s = 0; for i in range(most) [while enter]: s += i; return s */
static void build_sum(builder *b) {
  types(b);
  build_method(b, "forward", INT, 2, U32(INT, BOOL));
  uint32_t zero = build_int(b, 0), yes = build_bool(b, true);
  uint32_t s = build_reg(b, INT), i = build_reg(b, INT), t = build_reg(b, INT);
  build_loop(b, 0, 1, 1, U32(K(zero)), U32(s), U32(i, t));
  uint32_t u = CALL("aten::add.int", INT, t, i);
  build_end_loop(b, K(yes), 1, U32(u));
  build_return(b, s);
}

static void a_loop_counts_its_rounds(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  build_sum(&b);
  rig_open(r);
  rig_start(r, &b);
  static const struct {
    int64_t most;
    bool enter;
    const char *sum;
  } rows[] = {{0, true, "0"},  {1, true, "0"},         {2, true, "1"},  {101, true, "5050"},
              {-5, true, "0"}, {INT64_MIN, true, "0"}, {50, false, "0"}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    assert_string_equal(run(r, 0, ARGS(rush_int(rows[k].most), rush_bool(rows[k].enter))),
                        rows[k].sum);
  rig_close(r);
}

/* forward(n): x = 1; while x < n: x = x * 3; return x */
static void a_condition_ends_a_loop(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", INT, 1, U32(INT));
  uint32_t one = build_int(b, 1), three = build_int(b, 3), most = build_int(b, INT64_MAX);
  uint32_t enter = CALL("aten::lt.int", BOOL, K(one), 0);
  uint32_t x = build_reg(b, INT), i = build_reg(b, INT), y = build_reg(b, INT);
  build_loop(b, K(most), enter, 1, U32(K(one)), U32(x), U32(i, y));
  uint32_t z = CALL("aten::mul.int", INT, y, K(three));
  uint32_t go_on = CALL("aten::lt.int", BOOL, z, 0);
  build_end_loop(b, go_on, 1, U32(z));
  build_return(b, x);
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, ARGS(rush_int(100))), "243");
  assert_string_equal(run(r, 0, ARGS(rush_int(1))), "1");
  assert_string_equal(run(r, 0, ARGS(rush_int(2))), "3");
  rig_close(r);
}

/* a, b, c = 1, 2, 3; for _ in range(n): a, b, c = b, c, a */
static void carried_values_change_places_at_once(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", INTS3, 1, U32(INT));
  uint32_t k[3], out[3], in[4];
  for (int j = 0; j < 3; j++) k[j] = K(build_int(b, j + 1)), out[j] = build_reg(b, INT);
  for (int j = 0; j < 4; j++) in[j] = build_reg(b, INT);
  uint32_t yes = build_bool(b, true);
  build_loop(b, 0, K(yes), 3, k, out, in);
  build_end_loop(b, K(yes), 3, U32(in[2], in[3], in[1]));
  build_return(b, CALL("prim::TupleConstruct", INTS3, out[0], out[1], out[2]));
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, ARGS(rush_int(0))), "(1, 2, 3)");
  assert_string_equal(run(r, 0, ARGS(rush_int(1))), "(2, 3, 1)");
  assert_string_equal(run(r, 0, ARGS(rush_int(2))), "(3, 1, 2)");
  assert_string_equal(run(r, 0, ARGS(rush_int(300))), "(1, 2, 3)");
  rig_close(r);
}

/* Carries tensors, one of them into itself. All references must be released. */
static void carried_tensors_are_counted(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", TENSOR, 3, U32(INT, TENSOR, TENSOR));
  uint32_t yes = build_bool(b, true), x = build_reg(b, TENSOR), y = build_reg(b, TENSOR),
           i = build_reg(b, INT);
  uint32_t p = build_reg(b, TENSOR), q = build_reg(b, TENSOR);
  build_loop(b, 0, K(yes), 2, U32(1, 2), U32(x, y), U32(i, p, q));
  uint32_t s = CALL("aten::add.Tensor", TENSOR, p, q);
  build_end_loop(b, K(yes), 2, U32(q, s));
  build_return(b, CALL("aten::add.Tensor", TENSOR, x, y));
  rig_open(r);
  rig_start(r, b);
  rush_value one = rig_floats(r, 2, (float[]){1, 2}), two = rig_floats(r, 2, (float[]){10, 20});
  assert_string_equal(run(r, 0, ARGS(rush_int(0), one, two)), "float32[2](11 22)");
  assert_string_equal(run(r, 0, ARGS(rush_int(1), one, two)), "float32[2](21 42)");
  assert_string_equal(run(r, 0, ARGS(rush_int(3), one, one)), "float32[2](8 16)");
  /* The memory was not reused while the host holds the value. */
  assert_string_equal(show(r, &one), "float32[2](1 2)");
  rush_value_release(r->session, &one);
  rush_value_release(r->session, &two);
  rig_close(r);
}

/* for i in range(n): for j in range(i): if j > 1: s += 10 else: s += 1 */
static void loops_and_branches_nest(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", INT, 1, U32(INT));
  uint32_t zero = build_int(b, 0), one = build_int(b, 1), ten = build_int(b, 10),
           yes = build_bool(b, true);
  uint32_t s = build_reg(b, INT), i = build_reg(b, INT), t = build_reg(b, INT);
  uint32_t u = build_reg(b, INT), j = build_reg(b, INT), v = build_reg(b, INT),
           w = build_reg(b, INT);
  build_loop(b, 0, K(yes), 1, U32(K(zero)), U32(s), U32(i, t));
  build_loop(b, i, K(yes), 1, U32(t), U32(u), U32(j, v));
  uint32_t cond = CALL("aten::gt.int", BOOL, j, K(one));
  build_if(b, cond, 1, U32(w));
  uint32_t much = CALL("aten::add.int", INT, v, K(ten));
  build_else(b, 1, U32(much));
  uint32_t little = CALL("aten::add.int", INT, v, K(one));
  build_end_if(b, 1, U32(little));
  build_end_loop(b, K(yes), 1, U32(w));
  build_end_loop(b, K(yes), 1, U32(u));
  build_return(b, s);
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, ARGS(rush_int(5))), "37"); /* 1 + 2 + 12 + 22 */
  assert_string_equal(run(r, 0, ARGS(rush_int(0))), "0");
  assert_string_equal(run(r, 0, ARGS(rush_int(2))), "1");
  rig_close(r);
}

static void sixty_loops_nest(void **state) {
  (void)state;
  enum { DEPTH = 60 };
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", INT, 1, U32(INT));
  uint32_t one = build_int(b, 1), yes = build_bool(b, true), in[DEPTH + 1] = {0}, out[DEPTH];
  for (int k = 0; k < DEPTH; k++) {
    out[k] = build_reg(b, INT);
    uint32_t index = build_reg(b, INT);
    in[k + 1] = build_reg(b, INT);
    build_loop(b, K(one), K(yes), 1, U32(in[k]), U32(out[k]), U32(index, in[k + 1]));
  }
  uint32_t value = CALL("aten::add.int", INT, in[DEPTH], K(one));
  for (int k = DEPTH - 1; k >= 0; k--) {
    build_end_loop(b, K(yes), 1, U32(value));
    value = out[k];
  }
  build_return(b, value);
  rig_open(r);
  rig_start(r, b);
  assert_string_equal(run(r, 0, ARGS(rush_int(41))), "42");
  rig_close(r);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void lists_and_tuples_hold_what_they_are_given(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", TENSORS, 2, U32(TENSOR, INT));
  uint32_t list = CALL("prim::ListConstruct", TENSORS, 0, 0);
  uint32_t same = CALL("aten::append.t", TENSORS, list, 0);
  build_return(b, same);
  build_method(b, "numbers", PAIR, 1, U32(INT));
  uint32_t seven = build_int(b, 7);
  build_return(b, CALL("prim::TupleConstruct", PAIR, K(seven), 0));
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 1, (float[]){3});
  assert_string_equal(run(r, 0, ARGS(x, rush_int(0))),
                      "[float32[1](3), float32[1](3), float32[1](3)]");
  assert_string_equal(run(r, 1, ARGS(rush_int(-1))), "(7, -1)");
  rush_value_release(r->session, &x);
  rig_close(r);
}

/* list = []; for i in range(n): list.append(x + i); return list. The list keeps its values
 * alive. */
static void what_a_list_holds_outlives_its_register(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", TENSORS, 2, U32(TENSOR, INT));
  uint32_t list = build_reg(b, TENSORS), yes = build_bool(b, true), i = build_reg(b, INT),
           one = build_int(b, 1);
  build_op(b, "prim::ListConstruct", 0, NULL, 1, U32(list));
  build_loop(b, 1, K(yes), 0, NULL, NULL, U32(i));
  uint32_t y = CALL("aten::add.Scalar", TENSOR, 0, i, K(one));
  CALL("aten::append.t", TENSORS, list, y);
  build_end_loop(b, K(yes), 0, NULL);
  build_return(b, list);
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 1, (float[]){3});
  assert_string_equal(run(r, 0, ARGS(x, rush_int(3))),
                      "[float32[1](3), float32[1](4), float32[1](5)]");
  assert_string_equal(run(r, 0, ARGS(x, rush_int(0))), "[]");
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void the_caller_keeps_its_arguments(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  build_return(b, 0);
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 2, (float[]){3, 4}), y;
  OK(rush_session_run(r->session, 0, &x, 1, &y));
  assert_ptr_equal(x.u.ref, y.u.ref); /* a returned input is the same tensor */
  rush_value_release(r->session, &x);
  assert_string_equal(show(r, &y), "float32[2](3 4)");
  rush_value_release(r->session, &y);
  rig_close(r);
}

/* ---- Lifetimes ------------------------------------------------------------------------------- */

/* x + 1 + 1 + ... n times. Two buffers are enough, because a dead one is dropped early and
 * reused. */
static void values_are_dropped_at_their_last_use(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  enum { N = 40, BYTES = 1 << 16 };
  types(b);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  uint32_t one = build_int(b, 1), x = 0;
  for (int k = 0; k < N; k++) x = CALL("aten::add.Scalar", TENSOR, x, K(one), K(one));
  build_return(b, x);
  rig_open(r);
  rig_start(r, b);
  int64_t n = BYTES / 4;
  static float zeros[BYTES / 4];
  rush_value v = rig_tensor(r, RUSH_FLOAT32, 1, &n, zeros), y;
  size_t before = r->counter.live;
  OK(rush_session_run(r->session, 0, &v, 1, &y));
  if (r->counter.live - before > 3 * BYTES)
    fail_msg("%d values of %d bytes take %zu", N, BYTES, r->counter.live - before);
  rush_value_release(r->session, &y);
  rush_value_release(r->session, &v);
  rig_close(r);
}

/* norm(x + 1, arg). Nothing else uses the sum, so it is overwritten. */
static size_t bytes_of_norm(const char *op, bool list, int64_t arg) {
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  enum { N = 8, C = 8, S = 512 };
  types(b);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  uint32_t one = build_int(b, 1), number = build_int(b, arg);
  if (list) number = build_items(b, RUSH_CONST_LIST, LIST, 1, U32(number));
  uint32_t y = CALL("aten::add.Scalar", TENSOR, 0, K(one), K(one));
  build_return(b, build_call(b, op, TENSOR, 2, U32(y, K(number))));
  rig_open(r);
  rig_start(r, b);
  static float zeros[N * C * S];
  rush_value v = rig_tensor(r, RUSH_FLOAT32, 3, (int64_t[]){N, C, S}, zeros), z;
  size_t before = r->counter.live;
  OK(rush_session_run(r->session, 0, &v, 1, &z));
  before = r->counter.live - before;
  rush_value_release(r->session, &z);
  rush_value_release(r->session, &v);
  rig_close(r);
  return before * 2 / sizeof zeros; /* in units of half a tensor */
}

static void norms_overwrite_what_dies(void **state) {
  (void)state;
  assert_int_equal(bytes_of_norm("aten::layer_norm", true, 512), 2);
  assert_int_equal(bytes_of_norm("aten::group_norm", false, 4), 2);
}

static void a_second_run_of_the_same_shapes_allocates_nothing(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", TENSORS, 2, U32(TENSOR, INT));
  uint32_t list = build_reg(b, TENSORS), yes = build_bool(b, true), i = build_reg(b, INT),
           one = build_int(b, 1);
  build_op(b, "prim::ListConstruct", 0, NULL, 1, U32(list));
  build_loop(b, 1, K(yes), 0, NULL, NULL, U32(i));
  uint32_t y = CALL("aten::add.Scalar", TENSOR, 0, i, K(one));
  uint32_t z = CALL("aten::mul.Tensor", TENSOR, y, 0);
  CALL("aten::append.t", TENSORS, list, z);
  build_end_loop(b, K(yes), 0, NULL);
  build_return(b, list);
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 5, (float[]){1, 2, 3, 4, 5});
  for (int round = 0; round < 3; round++) {
    size_t calls = r->counter.calls;
    run(r, 0, ARGS(x, rush_int(6)));
    if (round > 0) assert_int_equal(r->counter.calls, calls);
  }
  size_t kept = r->counter.live;
  rush_session_trim(r->session);
  assert_true(r->counter.live < kept);
  assert_contains("after trim", run(r, 0, ARGS(x, rush_int(1))), "[float32[5](1 4 9 16 25)]");
  rush_value_release(r->session, &x);
  rig_close(r);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void writing_through_a_view_reaches_the_argument(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", TENSOR, 2, U32(TENSOR, TENSOR));
  uint32_t dim = build_int(b, 0), index = build_int(b, 1), one = build_int(b, 1);
  uint32_t row = CALL("aten::select.int", TENSOR, 0, K(dim), K(index));
  uint32_t sum = CALL("aten::add_.Tensor", TENSOR, row, 1, K(one));
  build_return(b, sum);
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_tensor(r, RUSH_FLOAT32, 2, SIZES(2, 2), (float[]){1, 2, 3, 4}),
             y = rig_floats(r, 2, (float[]){10, 20});
  assert_string_equal(run(r, 0, ARGS(x, y)), "float32[2](13 24)");
  assert_string_equal(show(r, &x), "float32[2, 2](1 2 13 24)");
  assert_string_equal(show(r, &y), "float32[2](10 20)");
  rush_value view; /* the tensors of a native caller may alias each other */
  OK(rush_tensor_view(r->session, &x, 1, SIZES(2), SIZES(2), 0, &view)); /* the first column */
  assert_string_equal(run(r, 0, ARGS(x, view)), "float32[2](14 37)");
  assert_string_equal(show(r, &view), "float32[2](1 14)");
  rush_value_release(r->session, &view);
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &y);
  rig_close(r);
}

static void a_weight_is_never_written(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  uint32_t w = build_tensor(b, RUSH_FLOAT32, 1, SIZES(2), (float[]){1, 2}), one = build_int(b, 1);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
  build_return(b, CALL("aten::add_.Tensor", TENSOR, K(w), 0, K(one)));
  build_method(b, "through_a_view", TENSOR, 1, U32(TENSOR));
  uint32_t v = CALL("aten::alias", TENSOR, K(w));
  build_return(b, CALL("aten::add_.Tensor", TENSOR, v, 0, K(one)));
  build_method(b, "read", TENSOR, 1, U32(TENSOR));
  build_return(b, CALL("aten::add.Tensor", TENSOR, K(w), 0, K(one)));
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 2, (float[]){10, 20});
  assert_contains("weight", run(r, 0, ARGS(x)),
                  "argument 'self' must not be written: it is a weight that other sessions share");
  assert_contains("view", run(r, 1, ARGS(x)), "must not be written: it is a weight");
  assert_string_equal(run(r, 2, ARGS(x)), "float32[2](11 22)");
  assert_string_equal(run(r, 2, ARGS(x)), "float32[2](11 22)");
  rush_value_release(r->session, &x);
  rig_close(r);
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static void a_run_in_pieces_gives_the_same_answer(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  build_sum(&b);
  rig_open(r);
  rig_start(r, &b);
  rush_value args[] = {rush_int(20), rush_bool(true)}, y;
  for (uint64_t budget = 1; budget < 70; budget = budget * 2 + 1) {
    OK(rush_session_begin(r->session, 0, args, 2));
    int steps = 0;
    rush_status st;
    while ((st = rush_session_step(r->session, budget)) == RUSH_PENDING) {
      steps++;
      assert_int_equal(rush_session_result(r->session, &y), RUSH_ERR_BAD_STATE);
      assert_int_equal(y.kind, RUSH_KIND_NONE);
    }
    assert_int_equal(st, RUSH_OK);
    assert_true((uint64_t)steps >= 40 / budget);
    OK(rush_session_result(r->session, &y));
    assert_string_equal(show(r, &y), "190");
  }
  assert_int_equal(rush_session_step(r->session, 1), RUSH_ERR_BAD_STATE);
  assert_contains("idle", rush_ctx_error(r->ctx), "nothing is running");
  rig_close(r);
}

static void a_begin_during_a_run_drops_that_run(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  build_sum(&b);
  rig_open(r);
  rig_start(r, &b);
  rush_value args[] = {rush_int(1000000000), rush_bool(true)};
  for (int k = 0; k < 3; k++) {
    OK(rush_session_begin(r->session, 0, args, 2));
    assert_int_equal(rush_session_step(r->session, 50), RUSH_PENDING);
  }
  assert_string_equal(run(r, 0, ARGS(rush_int(4), rush_bool(true))), "6");
  OK(rush_session_begin(r->session, 0, args, 2)); /* the session is destroyed during a run */
  assert_int_equal(rush_session_step(r->session, 50), RUSH_PENDING);
  rig_close(r);
}

/* A callback for printed text, which is called during the run. */
typedef struct entering {
  rig *r;
  int tried;
} entering;

static void tries_to_enter(void *user, const char *text, size_t size) {
  entering *e = user;
  rig *r = e->r;
  rush_value v, args[] = {rush_int(1)};
  (void)text, (void)size;
  assert_int_equal(rush_session_begin(r->session, 0, args, 1), RUSH_ERR_BAD_STATE);
  assert_string_equal(rush_ctx_error(r->ctx), "the session is already running");
  assert_int_equal(rush_session_step(r->session, 0), RUSH_ERR_BAD_STATE);
  assert_int_equal(rush_session_run(r->session, 0, args, 1, &v), RUSH_ERR_BAD_STATE);
  e->tried++;
}

static void what_a_step_calls_cannot_run_the_session(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", INT, 1, U32(INT));
  build_op(b, "prim::Print", 1, U32(0), 0, NULL);
  build_return(b, CALL("aten::add.int", INT, 0, 0));
  rig_open(r);
  rig_start(r, b);
  entering e = {r, 0};
  rush_ctx_set_print(r->ctx, tries_to_enter, &e);
  for (int k = 0; k < 3; k++) assert_string_equal(run(r, 0, ARGS(rush_int(4))), "8");
  assert_true(e.tried >= 3);
  rig_close(r);
}

static void a_result_is_taken_once(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rush_value y, args[] = {rush_int(3), rush_bool(true)};
  build_sum(&b);
  rig_open(r);
  rig_start(r, &b);
  OK(rush_session_begin(r->session, 0, args, 2));
  OK(rush_session_step(r->session, 0));
  OK(rush_session_result(r->session, &y));
  assert_string_equal(show(r, &y), "3");
  OK(rush_session_result(r->session, &y));
  assert_int_equal(y.kind, RUSH_KIND_NONE);
  rig_close(r);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static void an_error_names_its_place_and_leaves_the_session_usable(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", TENSOR, 2, U32(TENSOR, TENSOR));
  uint32_t one = build_int(b, 1), name = build_str(b, "model.py");
  uint32_t y = CALL("aten::t", TENSOR, 0);
  build_return(b, CALL("aten::add.Tensor", TENSOR, y, 1, K(one)));
  rush_file_source source = {name, 12, RUSH_NONE, RUSH_NONE, 0};
  build_add(b, RUSH_SEC_SOURCES, sizeof source, &source, 1);
  ((rush_file_instr *)build_at(b, RUSH_SEC_INSTRS, 1))->source = 0;
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 2, (float[]){1, 2}), z = rig_floats(r, 3, (float[]){1, 2, 3});
  for (int round = 0; round < 3; round++) {
    const char *said = run(r, 0, ARGS(x, z));
    assert_contains("front", said,
                    "bad-argument: forward, instruction 1 (aten::add.Tensor) at model.py:12: ");
    assert_string_equal(run(r, 0, ARGS(x, x)), "float32[2](2 4)");
  }
  size_t calls = r->counter.calls;
  run(r, 0, ARGS(x, z));
  assert_int_equal(r->counter.calls, calls);
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &z);
  rig_close(r);
}

static void arguments_that_do_not_fit_are_refused(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  uint32_t optional = build_type_n(b, RUSH_TYPE_OPTIONAL, 1, U32(LIST)),
           dict = build_type_n(b, RUSH_TYPE_DICT, 2, U32(INT, LIST));
  uint32_t either = build_type_n(b, RUSH_TYPE_UNION, 2, U32(LIST, BOOL)),
           number = build_type(b, RUSH_TYPE_NUMBER);
  build_method(b, "forward", INT, 2, U32(INT, TENSOR));
  build_return(b, 0);
  const uint32_t wanted[] = {optional, dict, either, number, PAIR};
  static const char *const names[] = {"optional", "dict", "either", "number", "pair"};
  for (int k = 0; k < 5; k++) {
    build_method(b, names[k], wanted[k], 1, wanted + k);
    build_return(b, 0);
  }
  ((rush_file_port *)build_at(b, RUSH_SEC_PORTS, 0))->initial = RUSH_NONE;
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 1, (float[]){1}), ints, mixed, good, bad, text;
  OK(rush_list_create(r->session, (rush_value[]){rush_int(1), rush_int(2)}, 2, &ints));
  OK(rush_list_create(r->session, (rush_value[]){rush_int(1), rush_float(2)}, 2, &mixed));
  OK(rush_dict_create(r->session, (rush_value[]){rush_int(1), ints}, 2, &good));
  OK(rush_dict_create(r->session, (rush_value[]){rush_int(1), mixed}, 2, &bad));
  OK(rush_str_create(r->session, "x", 1, &text));
  assert_string_equal(run(r, 0, ARGS(rush_int(3), x)), "3");
  assert_string_equal(run(r, 0, ARGS(rush_int(3))),
                      "bad-argument: forward: input \"input1\" is missing");
  assert_string_equal(run(r, 0, ARGS(rush_int(3), x, x)),
                      "bad-argument: forward takes 2 inputs, got 3");
  assert_contains("float", run(r, 0, ARGS(rush_float(3), x)),
                  "forward: input \"input0\" must be int, got float");
  assert_contains("none", run(r, 0, ARGS(rush_int(3), rush_none())),
                  "input \"input1\" must be Tensor, got None");
  assert_contains("method", run(r, 9, NO_ARGS), "method 9 does not exist, the model has 6");
  assert_string_equal(run(r, 1, ARGS(rush_none())), "None");
  assert_string_equal(run(r, 1, ARGS(ints)), "[1, 2]");
  assert_contains("items", run(r, 1, ARGS(mixed)), ", got list");
  assert_string_equal(run(r, 2, ARGS(good)), "{1: [1, 2]}");
  assert_contains("values", run(r, 2, ARGS(bad)), ", got dict");
  assert_string_equal(run(r, 3, ARGS(rush_bool(true))), "true");
  assert_contains("union", run(r, 3, ARGS(mixed)), ", got list");
  assert_string_equal(run(r, 4, ARGS(rush_float(0.5))), "0.5");
  assert_contains("number", run(r, 4, ARGS(text)), ", got str");
  assert_contains("pair", run(r, 5, ARGS(ints)), ", got list");
  rush_value *all[] = {&x, &ints, &mixed, &good, &bad, &text};
  for (int k = 0; k < 6; k++) rush_value_release(r->session, all[k]);
  rig_close(r);
}

static void an_operator_gets_only_kinds_of_its_schema(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  uint32_t any = build_type(b, RUSH_TYPE_ANY),
           text = build_const(b, RUSH_CONST_STR, build_str(b, "x"), 0, 0);
  build_method(b, "constant", TENSOR, 1, U32(TENSOR));
  build_return(b, CALL("aten::t", TENSOR, K(text)));
  build_method(b, "any", TENSOR, 1, &any);
  build_return(b, CALL("aten::t", TENSOR, 0));
  build_method(b, "list", TENSOR, 1, &any);
  build_return(b, CALL("aten::cat", TENSOR, 0));
  build_method(b, "condition", INT, 1, &any);
  build_if(b, 0, 0, NULL);
  build_else(b, 0, NULL);
  build_end_if(b, 0, NULL);
  uint32_t one = build_int(b, 1);
  build_return(b, K(one));
  build_method(b, "iterations", INT, 1, &any);
  uint32_t yes = build_bool(b, true), i = build_reg(b, INT);
  build_loop(b, 0, K(yes), 0, NULL, NULL, &i);
  build_end_loop(b, 0, 0, NULL);
  build_return(b, K(one));
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 1, (float[]){1}), list;
  OK(rush_list_create(r->session, (rush_value[]){x, rush_int(2)}, 2, &list));
  assert_contains("constant", run(r, 0, ARGS(x)), "argument 'self' cannot be str");
  assert_contains("any", run(r, 1, ARGS(rush_int(1))), "argument 'self' cannot be int");
  assert_string_equal(run(r, 1, ARGS(x)), "float32[1](1)");
  assert_contains("list", run(r, 2, ARGS(list)),
                  "argument 'tensors' is a list with an item of the wrong kind");
  assert_contains("condition", run(r, 3, ARGS(rush_int(1))),
                  "the condition of an if is int, not bool");
  assert_contains("iterations", run(r, 4, ARGS(rush_float(1))),
                  "the greatest number of iterations of a loop is float, not int");
  assert_contains("go on", run(r, 4, ARGS(rush_int(3))),
                  "the condition of a loop is int, not bool");
  rush_value_release(r->session, &list);
  rush_value_release(r->session, &x);
  rig_close(r);
}

/* ---- The API on values ----------------------------------------------------------------------- */

static void values_are_made_and_read(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rush_value v, w, x;
  size_t n;
  rush_tensor_info info;
  build_sum(&b);
  rig_open(r);
  rig_start(r, &b);
  OK(rush_str_create(r->session, "h\xc3\xa9", 3, &v));
  assert_string_equal(show(r, &v), "'h\xc3\xa9'");
  assert_int_equal(rush_str_create(r->session, "not read", RUSH_MAX_TEXT, &w), RUSH_ERR_NO_MEMORY);
  assert_int_equal(rush_tensor_inspect(r->session, &v, &info), RUSH_ERR_BAD_ARGUMENT);
  assert_contains("inspect", rush_ctx_error(r->ctx), "expected a Tensor, got str");
  assert_int_equal(rush_dict_create(r->session, &v, 1, &w), RUSH_ERR_BAD_ARGUMENT);
  assert_null(rush_items(&v, &n));
  OK(rush_tuple_create(r->session, (rush_value[]){v, rush_none(), rush_float(0.5)}, 3, &w));
  rush_value_release(r->session, &v);
  assert_int_equal(v.kind, RUSH_KIND_NONE);
  assert_string_equal(show(r, &w), "('h\xc3\xa9', None, 0.5)");
  rush_value_retain(r->session, &w);
  x = w;
  rush_value_release(r->session, &w);
  assert_string_equal(show(r, &x), "('h\xc3\xa9', None, 0.5)");
  rush_value_release(r->session, &x);
  OK(rush_complex_create(r->session, 1, -2, &x));
  assert_string_equal(show(r, &x), "1-2j");
  rush_value_release(r->session, &x);
  void *data;
  assert_int_equal(rush_tensor_create(r->session, RUSH_QINT8, 1, SIZES(2), &x, &data),
                   RUSH_ERR_UNSUPPORTED);
  assert_int_equal(rush_tensor_create(r->session, RUSH_FLOAT32, 1, SIZES(-2), &x, &data),
                   RUSH_ERR_BAD_ARGUMENT);
  assert_null(data);
  rig_close(r);
}

static void a_view_is_made_contiguous(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rush_value turned;
  build_sum(&b);
  rig_open(r);
  rig_start(r, &b);
  rush_value x = rig_tensor(r, RUSH_INT32, 2, SIZES(2, 3), (int32_t[]){1, 2, 3, 4, 5, 6});
  OK(rush_tensor_view(r->session, &x, 2, SIZES(3, 2), SIZES(1, 3), 0, &turned));
  assert_string_equal(show(r, &turned), "int32[3, 2](1 4 2 5 3 6)");
  OK(rush_tensor_make_contiguous(r->session, &turned));
  assert_string_equal(show(r, &turned), "int32[3, 2](1 4 2 5 3 6)");
  void *before = x.u.ref;
  OK(rush_tensor_make_contiguous(r->session, &x));
  assert_ptr_equal(x.u.ref, before);
  rush_value_release(r->session, &turned);
  rush_value_release(r->session, &x);
  rig_close(r);
}

/* Lists that are nested far deeper than the stack would allow. */
static void dropping_deep_values_does_not_recurse(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rush_value v = rush_int(1), w;
  build_sum(&b);
  rig_open(r);
  rig_start(r, &b);
  for (int k = 0; k < 100000; k++) {
    OK(rush_list_create(r->session, (rush_value[]){v, rush_int(k)}, 2, &w));
    rush_value_release(r->session, &v);
    v = w;
  }
  rush_value_release(r->session, &v);
  rig_close(r);
}

/* ---- A profile ------------------------------------------------------------------------------- */

static double tick(void *user) {
  return *(double *)user += 0.5;
}

static void a_profile_counts_calls_and_seconds(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b;
  rush_profile_row *rows;
  size_t n;
  double now = 0;
  build_sum(&b);
  rig_open(r);
  rig_start(r, &b);
  OK(rush_session_profile_rows(r->session, &rows, &n));
  assert_int_equal(n, 0);
  OK(rush_session_profile(r->session, tick, &now));
  run(r, 0, ARGS(rush_int(8), rush_bool(true)));
  OK(rush_session_profile_rows(r->session, &rows, &n));
  assert_int_equal(n, 1);
  assert_string_equal(rows[0].op, "aten::add.int");
  assert_int_equal(rows[0].calls, 8);
  assert_true(rows[0].seconds == 4.0);
  assert_int_equal(rows[0].instr, 1);
  rush_free(r->ctx, rows, n * sizeof *rows);
  OK(rush_session_profile(r->session, NULL, NULL));
  run(r, 0, ARGS(rush_int(8), rush_bool(true)));
  assert_true(now == 8.0);
  rig_close(r);
}

/* A hash must not reveal addresses of the host to a program. */
static void a_tensor_is_hashed_to_a_number_of_its_own(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  types(b);
  build_method(b, "forward", INTS3, 2, U32(TENSOR, TENSOR));
  uint32_t first = CALL("aten::hash.generic", INT, 1), other = CALL("aten::hash.generic", INT, 0);
  uint32_t again = CALL("aten::hash.generic", INT, 1);
  build_return(b, CALL("prim::TupleConstruct", INTS3, first, other, again));
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 2, (float[]){1, 2}), y = rig_floats(r, 2, (float[]){1, 2});
  assert_string_equal(run(r, 0, ARGS(x, y)), "(1, 2, 1)");
  assert_string_equal(run(r, 0, ARGS(x, y)), "(1, 2, 1)");
  rush_value_release(r->session, &y);
  y = rig_floats(r, 2, (float[]){1, 2});
  assert_string_equal(run(r, 0, ARGS(x, y)), "(3, 2, 3)");
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &y);
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_may_have_no_values),
      cmocka_unit_test(both_branches_give_their_values),
      cmocka_unit_test(branches_nest),
      cmocka_unit_test(a_loop_counts_its_rounds),
      cmocka_unit_test(a_condition_ends_a_loop),
      cmocka_unit_test(carried_values_change_places_at_once),
      cmocka_unit_test(carried_tensors_are_counted),
      cmocka_unit_test(loops_and_branches_nest),
      cmocka_unit_test(sixty_loops_nest),
      cmocka_unit_test(lists_and_tuples_hold_what_they_are_given),
      cmocka_unit_test(what_a_list_holds_outlives_its_register),
      cmocka_unit_test(the_caller_keeps_its_arguments),
      cmocka_unit_test(values_are_dropped_at_their_last_use),
      cmocka_unit_test(norms_overwrite_what_dies),
      cmocka_unit_test(a_second_run_of_the_same_shapes_allocates_nothing),
      cmocka_unit_test(writing_through_a_view_reaches_the_argument),
      cmocka_unit_test(a_weight_is_never_written),
      cmocka_unit_test(a_run_in_pieces_gives_the_same_answer),
      cmocka_unit_test(a_begin_during_a_run_drops_that_run),
      cmocka_unit_test(what_a_step_calls_cannot_run_the_session),
      cmocka_unit_test(a_result_is_taken_once),
      cmocka_unit_test(an_error_names_its_place_and_leaves_the_session_usable),
      cmocka_unit_test(arguments_that_do_not_fit_are_refused),
      cmocka_unit_test(an_operator_gets_only_kinds_of_its_schema),
      cmocka_unit_test(values_are_made_and_read),
      cmocka_unit_test(a_tensor_is_hashed_to_a_number_of_its_own),
      cmocka_unit_test(a_view_is_made_contiguous),
      cmocka_unit_test(dropping_deep_values_does_not_recurse),
      cmocka_unit_test(a_profile_counts_calls_and_seconds),
  };
  return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
