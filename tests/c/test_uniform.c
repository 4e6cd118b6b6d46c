/* Tests storages that repeat eight bytes, which have no bytes in the file. */
#include "harness.h"

enum { TENSOR, INT };

static uint32_t build_uniform(builder *b, uint64_t bytes, const void *pattern) {
  const uint32_t storage = build_storage(b, NULL, 0);
  ((rush_file_storage *)build_at(b, RUSH_SEC_STORAGES, storage))->bytes = bytes;
  rush_file_uniform u = {storage, {0}};
  memcpy(u.pattern, pattern, sizeof u.pattern);
  build_add(b, RUSH_SEC_UNIFORM, sizeof u, &u, 1);
  return storage;
}

static uint32_t build_vector(builder *b, uint32_t storage, int64_t n) {
  return build_const(b, RUSH_CONST_TENSOR,
                     build_view(b, storage, RUSH_FLOAT32, 1, SIZES(n), NULL, 0), 0, 0);
}

/* add(x): state += x; return state
 * sum(): returns the sum of all constants
 * Storages with bytes in the file stand before, between and behind the uniform ones. */
static void build_states(builder *b) {
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_type(b, RUSH_TYPE_INT);
  const uint32_t before = build_vector(b, build_storage(b, (float[]){1, 2, 3}, 12), 3);
  const uint32_t state = build_vector(b, build_uniform(b, 12, (float[]){5, 7}), 3);
  const uint32_t between = build_vector(b, build_storage(b, (float[]){10, 20, 30}, 12), 3);
  const uint32_t last = build_vector(b, build_uniform(b, 12, (float[]){100, 200}), 3);
  const uint32_t slot = build_int(b, 0), one = build_int(b, 1);
  build_attribute(b, "state", TENSOR, state);
  build_method(b, "add", TENSOR, 1, U32(TENSOR));
  uint32_t read = CALL("rush::get_attr", TENSOR, K(slot));
  build_return(b, CALL("aten::clone", TENSOR, CALL("aten::add_.Tensor", TENSOR, read, 0, K(one))));
  build_method(b, "sum", TENSOR, 0, NULL);
  uint32_t sum = CALL("aten::add.Tensor", TENSOR, K(before), K(state), K(one));
  sum = CALL("aten::add.Tensor", TENSOR, sum, K(between), K(one));
  build_return(b, CALL("aten::add.Tensor", TENSOR, sum, K(last), K(one)));
}

static void a_uniform_storage_has_its_pattern(void **unused) {
  (void)unused;
  rig rig_, *r = &rig_;
  builder b;
  rush_weight_info info;
  rig_open(r);
  build_states(&b);
  rig_start(r, &b);
  rush_value x = rig_floats(r, 3, (float[]){1, 1, 1});
  for (int round = 0; round < 2; round++) {
    assert_string_equal(run(r, 0, ARGS(x)), "float32[3](6 8 6)");
    assert_string_equal(run(r, 0, ARGS(x)), "float32[3](7 9 7)");
    assert_string_equal(run(r, 1, NO_ARGS), "float32[3](116 229 138)");
    OK(rush_session_reset(r->session));
  }
  rush_value_release(r->session, &x);
  OK(rush_model_weight(r->ctx, r->model, 0, &info));
  assert_null(info.pattern);
  OK(rush_model_weight(r->ctx, r->model, 1, &info));
  assert_memory_equal(info.pattern, ((float[]){5, 7}), 8);
  rig_close(r);
}

/* The state of a session has these bytes alone: the model holds none of them. */
static void a_state_is_held_once(void **unused) {
  (void)unused;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  static const uint64_t zero;
  enum { BYTES = 1 << 20 };
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_attribute(b, "state", TENSOR, build_vector(b, build_uniform(b, BYTES, &zero), BYTES / 4));
  build_method(b, "forward", TENSOR, 0, NULL);
  build_return(b, CALL("rush::get_attr", TENSOR, K(build_int(b, 0))));
  rig_open(r);
  rig_load(r, b);
  assert_true(r->counter.live < BYTES / 4);
  OK(rush_session_create(r->ctx, r->model, &r->session));
  assert_true(r->counter.live > BYTES && r->counter.live < BYTES + BYTES / 4);
  rig_close(r);
}

static void build_large(builder *b, uint64_t bytes, bool as_state) {
  static const uint64_t zero;
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  const uint32_t large = build_vector(b, build_uniform(b, bytes, &zero), 4);
  if (as_state) build_attribute(b, "state", TENSOR, large);
  build_method(b, "forward", TENSOR, 0, NULL);
  build_return(b, as_state ? CALL("rush::get_attr", TENSOR, K(build_int(b, 0)))
                           : CALL("aten::clone", TENSOR, K(large)));
}

/* A file of a kilobyte may use 64 MiB, whether its model or its session needs them. */
static void a_small_file_cannot_have_a_large_storage(void **unused) {
  (void)unused;
  for (int k = 0; k < 4; k++) {
    rig rig_, *r = &rig_;
    builder b;
    const bool as_state = k & 1;
    build_large(&b, k & 2 ? SIZE_MAX / 8 : 80 << 20, as_state);
    rig_open(r);
    rush_status st = rig_try_load(r, &b);
    if (as_state) {
      assert_int_equal(st, RUSH_OK);
      st = rush_session_create(r->ctx, r->model, &r->session);
    }
    assert_contains("large", rush_ctx_error(r->ctx), "than a file of this size may need");
    assert_int_equal(st, RUSH_ERR_NO_MEMORY);
    rig_close(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_uniform_storage_has_its_pattern),
      cmocka_unit_test(a_state_is_held_once),
      cmocka_unit_test(a_small_file_cannot_have_a_large_storage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
