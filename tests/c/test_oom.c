/* Runs every entry point with a failure of allocation 1, 2, 3, ... Each time the status is
 * no-memory, nothing leaks, and earlier objects are still usable. `replay --oom` does the same with
 * every conformance row. */
#include "harness.h"

enum { TENSOR, INT, TENSORS, STR, PAIR, ARGS_TYPE };

/* forward(x, n) has weights (packed and plain), an attribute that changes, a loop, a list and a
 * string. */
static uint8_t *make_file(size_t *size) {
  static const float w[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, v[4] = {1, 0, -1, 2},
                     x[6] = {1, 2, 3, 4, 5, 6};
  builder b_ = {0}, *b = &b_;
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  build_type_n(b, RUSH_TYPE_LIST, 1, U32(TENSOR));
  build_type(b, RUSH_TYPE_STR);
  build_type_n(b, RUSH_TYPE_TUPLE, 2, U32(TENSORS, TENSOR));
  build_type_n(b, RUSH_TYPE_TUPLE, 2, U32(TENSOR, INT));
  uint32_t weight = build_tensor(b, RUSH_FLOAT32, 2, SIZES(4, 3), w),
           bias = build_tensor(b, RUSH_FLOAT32, 1, SIZES(4), v);
  uint32_t slot = build_int(b, 0), one = build_int(b, 1), yes = build_bool(b, true),
           input = build_tensor(b, RUSH_FLOAT32, 2, SIZES(2, 3), x);
  uint32_t rounds = build_int(b, 2),
           text = build_const(b, RUSH_CONST_STR, build_str(b, "some text"), 0, 0);
  uint32_t given = build_items(b, RUSH_CONST_TUPLE, ARGS_TYPE, 2, U32(input, rounds));
  build_method(b, "forward", PAIR, 2, U32(TENSOR, INT));
  build_attribute(b, "state", TENSOR, bias);
  uint32_t list = build_reg(b, TENSORS), i = build_reg(b, INT);
  build_op(b, "prim::ListConstruct", 0, NULL, 1, U32(list));
  build_loop(b, 1, K(yes), 0, NULL, NULL, U32(i));
  uint32_t y = CALL("aten::linear", TENSOR, 0, K(weight), K(bias));
  uint32_t state = CALL("rush::get_attr", TENSOR, K(slot));
  uint32_t sum = CALL("aten::add_.Tensor", TENSOR, state, K(bias), K(one));
  build_op(b, "rush::set_attr", 2, U32(K(slot), sum), 0, NULL);
  uint32_t z = CALL("aten::mul.Tensor", TENSOR, y, sum);
  CALL("aten::append.t", TENSORS, list, z);
  build_end_loop(b, K(yes), 0, NULL);
  uint32_t state_after = CALL("rush::get_attr", TENSOR, K(slot)),
           copy = CALL("aten::clone", TENSOR, state_after);
  uint32_t twice = CALL("aten::add.str", STR, K(text), K(text));
  (void)twice;
  build_return(b, CALL("prim::TupleConstruct", PAIR, list, copy));
  build_test(b, 0, given, given, 0, 0); /* a wrong answer, which the comparison reports */
  uint8_t *file = build_file(b, size);
  build_free(b);
  return file;
}

/* A scenario that uses `r`. If it needs them, the file is loaded and has a session. Returns the
 * first status that is not OK. */
typedef rush_status scenario(rig *r, const uint8_t *file, size_t size);

static rush_status load(rig *r, const uint8_t *file, size_t size) {
  return rush_model_load(r->ctx, file, size, &r->model);
}

static rush_status stream(rig *r, const uint8_t *file, size_t size) {
  rush_loader *l;
  void *at;
  size_t room, got = 0;
  rush_status st = rush_loader_create(r->ctx, &l);
  if (st != RUSH_OK) return st;
  while ((st = rush_loader_window(l, &at, &room)) == RUSH_OK && room > 0 && got < size) {
    size_t n = room < 100 ? room : 100;
    memcpy(at, file + got, n);
    got += n;
    if ((st = rush_loader_advance(l, n)) != RUSH_OK) break;
  }
  if (st == RUSH_OK) st = rush_loader_finish(l, &r->model);
  rush_loader_destroy(l);
  return st;
}

static rush_status create(rig *r, const uint8_t *file, size_t size) {
  (void)file, (void)size;
  return rush_session_create(r->ctx, r->model, &r->session);
}

static rush_status run_once(rig *r, const uint8_t *file, size_t size) {
  (void)file, (void)size;
  static const float x[6] = {1, 2, 3, 4, 5, 6};
  rush_value v, y;
  void *data;
  rush_status st = rush_tensor_create(r->session, RUSH_FLOAT32, 2, SIZES(2, 3), &v, &data);
  if (st != RUSH_OK) return st;
  memcpy(data, x, sizeof x);
  st = rush_session_run(r->session, 0, (rush_value[]){v, rush_int(3)}, 2, &y);
  rush_value_release(r->session, &v);
  rush_value_release(r->session, &y);
  return st;
}

static rush_status verify(rig *r, const uint8_t *file, size_t size) {
  (void)file, (void)size;
  rush_verify_report report;
  rush_status st = rush_session_verify(r->session, 0, &report);
  return st == RUSH_ERR_MISMATCH ? RUSH_OK : st;
}

static rush_status reset(rig *r, const uint8_t *file, size_t size) {
  (void)file, (void)size;
  return rush_session_reset(r->session);
}

static rush_status describe(rig *r, const uint8_t *file, size_t size) {
  (void)file, (void)size;
  for (int form = 0; form < 2; form++) {
    char *text;
    size_t n;
    rush_status st = rush_model_describe(r->ctx, r->model, (rush_describe_form)form, &text, &n);
    if (st != RUSH_OK) return st;
    rush_free(r->ctx, text, n);
  }
  return RUSH_OK;
}

static double no_time(void *user) {
  return *(double *)user;
}

static rush_status profile(rig *r, const uint8_t *file, size_t size) {
  rush_profile_row *rows;
  size_t n;
  static double zero = 0;
  rush_status st = rush_session_profile(r->session, no_time, &zero);
  if (st == RUSH_OK) st = run_once(r, file, size);
  if (st == RUSH_OK) st = rush_session_profile_rows(r->session, &rows, &n);
  if (st == RUSH_OK) rush_free(r->ctx, rows, n * sizeof *rows);
  return st;
}

static rush_status values(rig *r, const uint8_t *file, size_t size) {
  (void)file, (void)size;
  rush_value v[7] = {{0}};
  void *data;
  rush_status st = rush_tensor_create(r->session, RUSH_FLOAT32, 2, SIZES(2, 3), v, &data);
  if (st == RUSH_OK) memset(data, 0, 24);
  if (st == RUSH_OK) st = rush_tensor_view(r->session, v, 2, SIZES(3, 2), SIZES(1, 3), 0, v + 1);
  if (st == RUSH_OK) st = rush_tensor_make_contiguous(r->session, v + 1);
  if (st == RUSH_OK) st = rush_str_create(r->session, "abc", 3, v + 2);
  if (st == RUSH_OK) st = rush_list_create(r->session, v, 3, v + 3);
  if (st == RUSH_OK) st = rush_tuple_create(r->session, v, 4, v + 4);
  if (st == RUSH_OK) st = rush_dict_create(r->session, (rush_value[]){v[2], v[4]}, 2, v + 5);
  if (st == RUSH_OK) st = rush_complex_create(r->session, 1, 2, v + 6);
  for (int k = 0; k < 7; k++) rush_value_release(r->session, v + k);
  return st;
}

enum { WITHOUT, WITH_MODEL, WITH_SESSION };
static const struct {
  const char *name;
  scenario *run;
  int needs;
} scenarios[] = {{"load", load, WITHOUT},
                 {"stream", stream, WITHOUT},
                 {"create", create, WITH_MODEL},
                 {"run", run_once, WITH_SESSION},
                 {"verify", verify, WITH_SESSION},
                 {"reset", reset, WITH_SESSION},
                 {"describe", describe, WITH_SESSION},
                 {"profile", profile, WITH_SESSION},
                 {"values", values, WITH_SESSION}};

static void try_each(bool only_once) {
  size_t size;
  uint8_t *file = make_file(&size);
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
    size_t n = 1;
    for (rush_status st = RUSH_ERR_NO_MEMORY; n < 5000; n++) {
      rig rig_, *r = &rig_;
      rig_open(r);
      if (scenarios[i].needs >= WITH_MODEL) OK(load(r, file, size));
      if (scenarios[i].needs >= WITH_SESSION) OK(create(r, file, size));
      size_t calls = r->counter.calls;
      r->counter.fail_at = calls + n;
      r->counter.fail_once = only_once;
      st = scenarios[i].run(r, file, size);
      bool failed = r->counter.calls >= r->counter.fail_at;
      r->counter.fail_at = 0;
      if (st != RUSH_OK) {
        if (st != RUSH_ERR_NO_MEMORY)
          fail_msg("%s, allocation %zu: %s: %s", scenarios[i].name, n, rush_status_name(st),
                   rush_ctx_error(r->ctx));
        assert_contains(scenarios[i].name, rush_ctx_error(r->ctx), "out of memory");
        OK(scenarios[i].run(r, file, size)); /* memory is available again */
      } else if (failed && !only_once) {
        fail_msg("%s, allocation %zu: it failed and nobody noticed", scenarios[i].name, n);
      }
      rig_close(r);
      if (!failed) break;
    }
    if (n < 2) fail_msg("%s allocates nothing", scenarios[i].name);
  }
  free(file);
}

static void when_all_later_allocations_fail_nothing_leaks(void **state) {
  (void)state;
  try_each(false);
}

static void when_one_allocation_fails_nothing_leaks(void **state) {
  (void)state;
  try_each(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(when_all_later_allocations_fail_nothing_leaks),
      cmocka_unit_test(when_one_allocation_fails_nothing_leaks),
  };
  return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
