/* Tests ops/quantized/quantized_pointwise: numbers that bytes represent exactly pass through
 * quantized operators and become floats again. */
#include <math.h>

#include "harness.h"

enum { TENSOR };

/* Converts float32 to QUINT8 and back: (byte - 3) * 0.5. */
static uint32_t bytes_of(builder *b, uint32_t x) {
  return CALL("rush::quantized_of", TENSOR, x, K(build_float(b, 0.5)), K(build_int(b, 3)));
}
static void return_floats(builder *b, uint32_t bytes) {
  build_return(b, CALL("rush::floats_of", TENSOR, bytes, K(build_int(b, 0))));
}
static void begin(rig *r, builder *b, uint32_t inputs) {
  *b = (builder){0};
  rig_open(r);
  build_type(b, RUSH_TYPE_TENSOR);
  build_method(b, "forward", TENSOR, inputs, U32(TENSOR, TENSOR));
}
static rush_value floats(rig *r, int rank, const int64_t *sizes, const float *data) {
  return rig_tensor(r, RUSH_FLOAT32, rank, sizes, data);
}

static void bytes_come_back_as_the_floats_that_they_hold(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  begin(r, b, 1);
  return_floats(b, bytes_of(b, 0));
  rig_start(r, b);
  rush_value x = floats(r, 3, SIZES(1, 2, 3), (float[]){-9, -1.5, 0, 0.5, 126, 1000}),
             none = floats(r, 3, SIZES(0, 2, 1), NULL);
  assert_string_equal(run(r, 0, 1, &x), "float32[1, 2, 3](-1.5 -1.5 0 0.5 126 126)");
  assert_string_equal(run(r, 0, 1, &none), "float32[0, 2, 1]()");
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &none);
  rig_close(r);
}

static void sums_are_in_steps_of_the_result(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  begin(r, b, 2);
  uint32_t x = bytes_of(b, 0), y = bytes_of(b, 1);
  return_floats(
      b, CALL("rush::quantized_add", TENSOR, x, y, K(build_float(b, 1)), K(build_int(b, 7))));
  rig_start(r, b);
  rush_value args[] = {floats(r, 4, SIZES(1, 2, 1, 2), (float[]){1, 2, 100, -1.5}),
                       floats(r, 4, SIZES(1, 2, 1, 2), (float[]){1, 1, 100, -1.5})};
  assert_string_equal(run(r, 0, 2, args), "float32[1, 2, 1, 2](2 3 200 -3)");
  for (int k = 0; k < 2; k++) rush_value_release(r->session, args + k);
  rig_close(r);
}

static void a_number_for_each_channel_multiplies_its_places(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  begin(r, b, 2);
  uint32_t x = bytes_of(b, 0), by = bytes_of(b, 1);
  return_floats(
      b, CALL("rush::quantized_scale", TENSOR, x, by, K(build_float(b, 0.25)), K(build_int(b, 9))));
  rig_start(r, b);
  rush_value args[] = {
      floats(r, 3, SIZES(2, 2, 2), (float[]){1, 2, 3, 4, 5, 6, 7, 8}),
      floats(r, 3, SIZES(2, 2, 1), (float[]){2, 0.5, 1, 0}),
  };
  assert_string_equal(run(r, 0, 2, args), "float32[2, 2, 2](2 4 1.5 2 5 6 0 0)");
  rush_value none[] = {floats(r, 3, SIZES(2, 2, 0), NULL), args[1]};
  assert_string_equal(run(r, 0, 2, none), "float32[2, 2, 0]()");
  for (int k = 0; k < 2; k++) rush_value_release(r->session, args + k);
  rush_value_release(r->session, none);
  rig_close(r);
}

static void a_table_maps_each_byte(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  begin(r, b, 1);
  float falling[256];
  for (int k = 0; k < 256; k++) falling[k] = (float)(255 - k);
  uint32_t f = build_tensor(b, RUSH_FLOAT32, 1, SIZES(256), falling);
  uint32_t table = CALL("aten::quantize_per_tensor", TENSOR, K(f), K(build_float(b, 1)),
                        K(build_int(b, 0)), K(build_int(b, RUSH_QUINT8)));
  uint32_t looked = CALL("rush::quantized_by_table", TENSOR, bytes_of(b, 0), table);
  build_return(b, CALL("aten::dequantize.self", TENSOR, looked));
  rig_start(r, b);
  rush_value x = floats(r, 3, SIZES(1, 2, 2), (float[]){-1.5, 0, 1, 126}); /* bytes 0 3 5 255 */
  assert_string_equal(run(r, 0, 1, &x), "float32[1, 2, 2](255 252 250 0)");
  rush_value_release(r->session, &x);
  rig_close(r);
}

static void means_are_of_all_places_of_a_channel(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  begin(r, b, 1);
  build_return(b, CALL("rush::mean_of_quantized", TENSOR, bytes_of(b, 0)));
  rig_start(r, b);
  rush_value x = floats(r, 4, SIZES(2, 2, 1, 2), (float[]){1, 2, 3, 5, 0, 0, -1.5, 126});
  assert_string_equal(run(r, 0, 1, &x), "float32[2, 2, 1, 1](1.5 4 0 62.25)");
  rush_value none = floats(r, 3, SIZES(0, 2, 1), NULL);
  assert_string_equal(run(r, 0, 1, &none), "float32[0, 2, 1]()");
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &none);
  rig_close(r);
}

/* _make_per_tensor_quantized_tensor accepts any scale and zero point. Sanitizers check the
 * arithmetic. */
static void tensors_may_have_any_scale_and_zero_point(void **state) {
  (void)state;
  static const struct {
    const char *op;
    double scale;
    int64_t zero;
    bool relu; /* an argument of the operator */
  } rows[] = {{"rush::quantized_sum_of_qnnpack", 1, INT32_MIN, true},
              {"rush::quantized_sum_of_qnnpack", 1, INT64_MIN, true},
              {"rush::quantized_sum_of_qnnpack", -1e30, 0, true},
              {"rush::quantized_sum_of_qnnpack", NAN, 0, true},
              {"rush::quantized_sum", -1e300, INT64_MAX, true},
              {"rush::quantized_product", NAN, INT64_MIN, true},
              {"rush::quantized_add", NAN, INT64_MIN, false},
              {"rush::quantized_scale", 1, INT64_MIN, false}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    begin(r, b, 0);
    const uint32_t u8 = build_tensor(b, RUSH_UINT8, 4, SIZES(1, 4, 1, 1), U32(0xff01ff00));
    const char *make = "aten::_make_per_tensor_quantized_tensor";
    const uint32_t plain = CALL(make, TENSOR, K(u8), K(build_float(b, 1)), K(build_int(b, 0)));
    const uint32_t odd =
        CALL(make, TENSOR, K(u8), K(build_float(b, rows[k].scale)), K(build_int(b, rows[k].zero)));
    const uint32_t in[] = {plain, odd, K(build_float(b, 1)), K(build_int(b, 0)),
                           K(build_bool(b, false))};
    const uint32_t y = build_call(b, rows[k].op, TENSOR, rows[k].relu ? 5 : 4, in);
    build_return(b, CALL("aten::dequantize.self", TENSOR, y));
    rig_start(r, b);
    assert_contains(rows[k].op, run(r, 0, NO_ARGS), "float32[1, 4, 1, 1](");
    rig_close(r);
  }
}

/* quantized_conv of two groups, with one weight for each of `taps` * `taps` places. */
static const char *convolve(rig *r, int64_t taps, int32_t zero) {
  builder b_, *b = &b_;
  begin(r, b, 0);
  int8_t *w = malloc((size_t)(2 * taps * taps));
  memset(w, INT8_MAX, (size_t)(2 * taps * taps));
  const uint32_t list = build_type_n(b, RUSH_TYPE_LIST, 1, U32(build_type(b, RUSH_TYPE_INT)));
  const uint32_t one = build_int(b, 1), half = build_int(b, taps / 2), none = build_int(b, 0);
  const uint32_t x = build_tensor(b, RUSH_UINT8, 4, SIZES(1, 2, 1, 1), "\1\2");
  const uint32_t ones = K(build_items(b, RUSH_CONST_LIST, list, 2, U32(one, one)));
  const uint32_t scale = K(build_float(b, 1));
  const uint32_t in[] = {
      CALL("aten::_make_per_tensor_quantized_tensor", TENSOR, K(x), scale, K(none)),
      K(build_tensor(b, RUSH_INT8, 4, SIZES(2, 1, taps, taps), w)),
      K(build_tensor(b, RUSH_FLOAT64, 1, SIZES(2), (const double[]){1, 1})),
      K(build_tensor(b, RUSH_INT32, 1, SIZES(2), (const int32_t[]){zero, zero})),
      K(build_none(b)),
      K(build_bool(b, false)),
      ones,
      K(build_items(b, RUSH_CONST_LIST, list, 2, U32(half, half))),
      ones,
      K(build_items(b, RUSH_CONST_LIST, list, 2, U32(none, none))),
      K(build_int(b, 2)),
      K(build_bool(b, false)),
      scale,
      K(none),
      K(build_bool(b, false))};
  const uint32_t y = build_call(b, "rush::quantized_conv", TENSOR, sizeof in / sizeof *in, in);
  build_return(b, CALL("aten::dequantize.self", TENSOR, y));
  free(w);
  rig_start(r, b);
  return run(r, 0, NO_ARGS);
}

static void zero_points_of_weights_must_fit(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  assert_contains("the least", convolve(r, 3, INT32_MIN),
                  "a zero point must fit in its dtype, got -2147483648");
  rig_close(r);
}

static void sums_of_very_many_products_are_refused(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  assert_contains("2049 x 2049 products", convolve(r, 2049, INT8_MIN),
                  "int8 sums must have at most 4194304 terms, got 4198401");
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_come_back_as_the_floats_that_they_hold),
      cmocka_unit_test(sums_are_in_steps_of_the_result),
      cmocka_unit_test(a_number_for_each_channel_multiplies_its_places),
      cmocka_unit_test(a_table_maps_each_byte),
      cmocka_unit_test(means_are_of_all_places_of_a_channel),
      cmocka_unit_test(tensors_may_have_any_scale_and_zero_point),
      cmocka_unit_test(zero_points_of_weights_must_fit),
      cmocka_unit_test(sums_of_very_many_products_are_refused),
  };
  return cmocka_run_group_tests_name("quantized", tests, NULL, NULL);
}
