/* Tests operands that share memory with a written tensor. An operator reads the values from before
 * the call, or refuses the call (call/overlap.h). tests/python/test_overlap.py compares every row
 * with PyTorch. */
#include "harness.h"

enum { ANY };

/* forward(x, *others): op(x[1:], x[:-1], *others); return x. */
static void shifted(builder *b, const char *op, uint32_t n) {
  uint32_t types[8] = {0}, in[8];
  build_type(b, RUSH_TYPE_ANY);
  build_method(b, "forward", ANY, n, types);
  const uint32_t zero = K(build_int(b, 0)), one = K(build_int(b, 1)), last = K(build_int(b, -1));
  const uint32_t none = K(build_none(b));
  in[0] = CALL("aten::slice.Tensor", ANY, 0, zero, one, none, one);
  in[1] = CALL("aten::slice.Tensor", ANY, 0, zero, none, last, one);
  for (uint32_t k = 1; k < n; k++) in[1 + k] = k;
  build_call(b, op, ANY, n + 1, in);
  build_return(b, 0);
}

/* Without a copy, each written element would be read as a further element of the mask, and would
 * take a further element of the source. */
static void a_mask_is_read_before_anything_is_written(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  shifted(b, "aten::masked_scatter_", 2);
  rig_open(r);
  rig_start(r, b);
  const uint8_t first[12] = {1}, more[] = {1, 1};
  rush_value args[] = {rig_tensor(r, RUSH_BOOL, 1, SIZES(12), first),
                       rig_tensor(r, RUSH_BOOL, 1, SIZES(2), more)};
  assert_string_equal(
      run(r, 0, 2, args),
      "bool[12](true true false false false false false false false false false false)");
  for (int k = 0; k < 2; k++) rush_value_release(r->session, args + k);
  rig_close(r);
}

/* A pointwise write needs no copy. Hot programs do it often, so it must not allocate. */
static void one_tensor_twice_is_no_copy(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_ = {0}, *b = &b_;
  build_type(b, RUSH_TYPE_ANY);
  build_method(b, "forward", ANY, 1, U32(ANY));
  const uint32_t one = K(build_int(b, 1));
  for (int k = 0; k < 8; k++) CALL("aten::add_.Tensor", ANY, 0, 0, one);
  build_return(b, 0);
  rig_open(r);
  rig_start(r, b);
  rush_value x = rig_floats(r, 1, (float[]){1}), result;
  const size_t before = r->counter.calls;
  OK(rush_session_begin(r->session, 0, &x, 1));
  OK(rush_session_step(r->session, 0));
  OK(rush_session_result(r->session, &result));
  assert_int_equal(r->counter.calls, before);
  assert_string_equal(show(r, &result), "float32[1](256)");
  rush_value_release(r->session, &result);
  rush_value_release(r->session, &x);
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_mask_is_read_before_anything_is_written),
      cmocka_unit_test(one_tensor_twice_is_no_copy),
  };
  return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
