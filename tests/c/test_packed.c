/* Tests that a weight which several instructions use is stored once, in the packed layout. */
#include "base/half.h"
#include "harness.h"

enum { ROWS = 300, COLUMNS = 64, BYTES = ROWS * COLUMNS * 4, TENSOR = 0 };

static float element(int64_t row, int64_t column) {
  return (float)((row * 7 + column * 3) % 11 - 5);
}

static uint32_t table(builder *b) {
  float *w = malloc(BYTES);
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t j = 0; j < COLUMNS; j++) w[i * COLUMNS + j] = element(i, j);
  const uint32_t made = build_tensor(b, RUSH_FLOAT32, 2, SIZES(ROWS, COLUMNS), w);
  free(w);
  return made;
}

static uint32_t half_table(builder *b) {
  uint16_t *w = malloc(BYTES / 2);
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t j = 0; j < COLUMNS; j++) w[i * COLUMNS + j] = rush_to_float16(element(i, j));
  const uint32_t made = build_tensor(b, RUSH_FLOAT16, 2, SIZES(ROWS, COLUMNS), w);
  free(w);
  return made;
}

static const int64_t indices[] = {299, 0, 17, 8};

static void begin(rig *r, builder *b) {
  rig_open(r);
  *b = (builder){0};
  build_type(b, RUSH_TYPE_TENSOR);
  build_method(b, "forward", TENSOR, 1, U32(TENSOR));
}

/* Checks the model's memory. Small allocations are ignored. */
static void expect_bytes(rig *r, size_t least, size_t most) {
  if (r->counter.live < least || r->counter.live > most + BYTES / 2)
    fail_msg("%zu bytes, not %zu to %zu", r->counter.live, least, most + BYTES / 2);
}

/* Runs the model on indices and expects y[i][j] = bias + the product of two rows of the table. */
static void expect_products(rig *r, float bias) {
  rush_value x = rig_tensor(r, RUSH_INT64, 1, SIZES(4), indices), y;
  rush_tensor_info info;
  OK(rush_session_begin(r->session, 0, &x, 1));
  OK(rush_session_step(r->session, 0));
  OK(rush_session_result(r->session, &y));
  OK(rush_tensor_inspect(r->session, &y, &info));
  assert_int_equal(info.rank, 2);
  const float *at = info.data;
  for (int64_t i = 0; i < 4; i++)
    for (int64_t j = 0; j < ROWS; j++) {
      float sum = bias;
      for (int64_t k = 0; k < COLUMNS; k++) sum += element(indices[i], k) * element(j, k);
      if (at[i * ROWS + j] != sum)
        fail_msg("[%d, %d] is %g, not %g", (int)i, (int)j, at[i * ROWS + j], sum);
    }
  rush_value_release(r->session, &x);
  rush_value_release(r->session, &y);
}

/* linear(embedding(w, x), w), with the bias before or after the weight in the file. */
static void a_table_that_linear_packs_is_read_there(void **state) {
  (void)state;
  for (int bias = 0; bias < 3; bias++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    float ones[ROWS];
    for (int j = 0; j < ROWS; j++) ones[j] = 1;
    begin(r, b);
    uint32_t before = bias == 1 ? build_tensor(b, RUSH_FLOAT32, 1, SIZES(ROWS), ones) : 0;
    const uint32_t w = table(b);
    if (bias == 2) before = build_tensor(b, RUSH_FLOAT32, 1, SIZES(ROWS), ones);
    const uint32_t e = CALL("aten::embedding", TENSOR, K(w), 0);
    build_return(b, bias == 0 ? CALL("aten::linear", TENSOR, e, K(w))
                              : CALL("aten::linear", TENSOR, e, K(w), K(before)));
    rig_start(r, b);
    expect_bytes(r, BYTES, BYTES);
    expect_products(r, bias > 0);
    rig_close(r);
  }
}

/* A table of 16-bit floats. Either the whole program computes in them, or the layer takes float32.
 * The bias, also of 16-bit floats, comes after the table. */
static void a_table_of_halves_stays_one(void **state) {
  (void)state;
  for (int floats = 0; floats < 2; floats++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    float ones[ROWS];
    uint16_t halves[ROWS];
    for (int j = 0; j < ROWS; j++) halves[j] = rush_to_float16(ones[j] = 1);
    begin(r, b);
    const uint32_t w = half_table(b), to = build_int(b, RUSH_FLOAT32);
    const uint32_t bias = floats ? build_tensor(b, RUSH_FLOAT32, 1, SIZES(ROWS), ones)
                                 : build_tensor(b, RUSH_FLOAT16, 1, SIZES(ROWS), halves);
    uint32_t e = CALL("aten::embedding", TENSOR, K(w), 0);
    if (floats) e = CALL("aten::to.dtype", TENSOR, e, K(to));
    const uint32_t y = CALL("aten::linear", TENSOR, e, K(w), K(bias));
    build_return(b, CALL("aten::to.dtype", TENSOR, y, K(to)));
    rig_start(r, b);
    expect_bytes(r, BYTES / 2, BYTES / 2);
    expect_products(r, 1);
    rig_close(r);
  }
}

/* matmul, whose weight is transposed in the file, and addmm. */
static void other_products_keep_halves(void **state) {
  (void)state;
  for (int adds = 0; adds < 2; adds++) {
    rig rig_, *r = &rig_;
    builder b_, *b = &b_;
    float zeros[ROWS] = {0};
    uint16_t *w = malloc(BYTES / 2);
    for (int64_t i = 0; i < ROWS; i++)
      for (int64_t j = 0; j < COLUMNS; j++) w[j * ROWS + i] = rush_to_bfloat16(element(i, j));
    begin(r, b);
    const uint32_t rows = table(b), one = build_int(b, 1);
    const uint32_t bias = build_tensor(b, RUSH_FLOAT32, 1, SIZES(ROWS), zeros);
    const uint32_t t = build_tensor(b, RUSH_BFLOAT16, 2, SIZES(COLUMNS, ROWS), w);
    const uint32_t e = CALL("aten::embedding", TENSOR, K(rows), 0);
    build_return(b, adds ? CALL("aten::addmm", TENSOR, K(bias), e, K(t), K(one), K(one))
                         : CALL("aten::matmul", TENSOR, e, K(t)));
    rig_start(r, b);
    expect_bytes(r, BYTES + BYTES / 2, BYTES + BYTES / 2);
    expect_products(r, 0);
    rig_close(r);
    free(w);
  }
}

/* Another operator reads the weight's own bytes, so they are kept. */
static void a_weight_that_others_read_stays(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  begin(r, b);
  const uint32_t w = table(b);
  const uint32_t zero = build_int(b, 0), one = build_int(b, 1);
  const uint32_t e = CALL("aten::embedding", TENSOR, K(w), 0);
  const uint32_t y = CALL("aten::linear", TENSOR, e, K(w));
  const uint32_t row = CALL("aten::select.int", TENSOR, K(w), K(zero), K(zero));
  const uint32_t first = CALL("aten::select.int", TENSOR, row, K(zero), K(zero)); /* -5 */
  build_return(b, CALL("aten::add.Tensor", TENSOR, y, first, K(one)));
  rig_start(r, b);
  expect_bytes(r, 2 * BYTES, 2 * BYTES);
  expect_products(r, element(0, 0));
  rig_close(r);
}

/* No instruction packs the table. */
static void a_table_alone_is_plain(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  begin(r, b);
  const uint32_t w = table(b), other = table(b);
  const uint32_t e = CALL("aten::embedding", TENSOR, K(w), 0);
  build_return(b, CALL("aten::linear", TENSOR, e, K(other)));
  rig_start(r, b);
  expect_bytes(r, 2 * BYTES, 2 * BYTES);
  expect_products(r, 0);
  rig_close(r);
}

/* Calls the same linear many times, as in a program whose layers share weights. A call with a bias
 * has its own packed weight. */
static void equal_instructions_share_what_is_packed(void **state) {
  (void)state;
  rig rig_, *r = &rig_;
  builder b_, *b = &b_;
  float zeros[ROWS] = {0};
  begin(r, b);
  const uint32_t w = table(b), none = build_none(b), one = build_int(b, 1), less = build_int(b, -1);
  const uint32_t bias = build_tensor(b, RUSH_FLOAT32, 1, SIZES(ROWS), zeros);
  const uint32_t e = CALL("aten::embedding", TENSOR, K(w), 0);
  uint32_t y = CALL("aten::linear", TENSOR, e, K(w), K(bias));
  for (int i = 0; i < 6; i++) {
    const uint32_t again = CALL("aten::linear", TENSOR, e, K(w), K(none));
    y = CALL("aten::add.Tensor", TENSOR, y, again, K(i % 2 == 0 ? one : less));
  }
  build_return(b, y);
  rig_start(r, b);
  expect_bytes(r, 2 * BYTES, 2 * BYTES);
  expect_products(r, 0);
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_that_linear_packs_is_read_there),
      cmocka_unit_test(a_table_of_halves_stays_one),
      cmocka_unit_test(other_products_keep_halves),
      cmocka_unit_test(a_weight_that_others_read_stays),
      cmocka_unit_test(a_table_alone_is_plain),
      cmocka_unit_test(equal_instructions_share_what_is_packed),
  };
  return cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
