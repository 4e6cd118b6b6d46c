/* Tests calls that no exporter writes, but a file can contain. Each row calls one operator with
 * such arguments and must end with a message or an answer. Sanitizers check its memory accesses. */
#include "harness.h"

enum { ANY };

/* forward(*args): return op(*args) */
static void start_call(rig *r, const char *op, uint32_t n) {
  builder b_ = {0}, *b = &b_;
  uint32_t types[16] = {0}, in[16];
  build_type(b, RUSH_TYPE_ANY);
  build_method(b, "forward", ANY, n, types);
  for (uint32_t k = 0; k < n; k++) in[k] = k;
  build_return(b, build_call(b, op, ANY, n, in));
  rig_open(r);
  rig_start(r, b);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static rush_value full(rig *r, rush_dtype dtype, int rank, const int64_t *sizes) {
  rush_value v;
  rush_tensor_info info;
  void *data;
  OK(rush_tensor_create(r->session, dtype, rank, sizes, &v, &data));
  OK(rush_tensor_inspect(r->session, &v, &info));
  const size_t item = dtype == RUSH_UINT8 || dtype == RUSH_BOOL      ? 1
                      : dtype == RUSH_FLOAT32 || dtype == RUSH_INT32 ? 4
                                                                     : 8;
  memset(data, 0, (size_t)info.numel * item);
  return v;
}
static rush_value int64s(rig *r, int64_t v) {
  return rig_tensor(r, RUSH_INT64, 4, SIZES(1, 1, 1, 1), &v);
}

static rush_value list(rig *r, size_t n, rush_value *items) {
  rush_value v;
  OK(rush_list_create(r->session, items, n, &v));
  for (size_t k = 0; k < n; k++) rush_value_release(r->session, items + k);
  return v;
}
#define LIST(...) \
  list(r, sizeof((rush_value[]){__VA_ARGS__}) / sizeof(rush_value), (rush_value[]){__VA_ARGS__})
#define INTS1(a) LIST(rush_int(a))
#define INTS2(a, b) LIST(rush_int(a), rush_int(b))
#define F32(...) \
  full(r, RUSH_FLOAT32, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})
#define U8(...) full(r, RUSH_UINT8, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})
#define NONE rush_none()
#define I(v) rush_int(v)
#define NO rush_bool(false)

static rush_value complex_of(rig *r) {
  rush_value v;
  OK(rush_complex_create(r->session, 2, 3, &v));
  return v;
}

#define P31 INT32_MAX

/* name, operator, message or answer, arguments */
/* clang-format off */
#define ROWS(R)                                                                                    \
  R(block_diag_rows, "aten::block_diag", "uint8[1000002, 8]",                                      \
    LIST(U8(1000000, 0), U8(1, 8), U8(1, 0)))                                                      \
  R(linear_of_nothing, "aten::linear", "must match the existing size of the bias [2, 4]",          \
    F32(100, 0), F32(4, 0), F32(2, 4))                                                             \
  R(linear_of_nothing_ok, "aten::linear", "float32[3, 2](0 0 0 0 0 0)", F32(3, 0), F32(2, 0),      \
      F32(3, 2))                                                                                   \
  R(avg_pool_least, "aten::avg_pool2d", "int64[1, 1, 1, 1](-9223372036854775808)", int64s(r,       \
      INT64_MIN),                                                                                  \
    INTS1(1), INTS1(1), INTS1(0), NO, NO, I(-1))                                                   \
  R(max_pool_reach, "aten::max_pool2d", "windows of this size", U8(1, 1, 1, 4), INTS2(1, 3),       \
      INTS2(1, 1),                                                                                 \
    INTS2(0, P31), INTS2(1, P31), NO)                                                              \
  R(conv_reach, "aten::convolution", "a convolution of such a size", F32(1, 1, 64), F32(1, 1, 4),  \
      NONE, INTS1(1),                                                                              \
    INTS1(P31), INTS1(715827883), NO, INTS1(0), I(1))                                              \
  R(conv_reach_depthwise, "aten::convolution", "a convolution of such a size", F32(1, 2, 1, 4),    \
      F32(2, 1, 1, 3),                                                                             \
    NONE, INTS1(1), INTS2(0, 1610616832), INTS2(1, 1610616832), NO, INTS1(0), I(2))                \
  R(conv_phases, "aten::convolution", "whose strides multiply to more than 65536", F32(1, 1, 1,    \
      1, 1),                                                                                       \
    F32(1, 1, 1, 1, 1), NONE, INTS1(P31), INTS1(0), INTS1(1), rush_bool(true), INTS1(0), I(1))     \
  R(layer_norm_of_nothing, "aten::layer_norm", "float32[3, 0]()", F32(3, 0), INTS1(0), NONE,       \
      NONE, rush_float(1e-5),                                                                      \
    NO)                                                                                            \
  R(complex_scalar, "aten::Int.Scalar", "argument 'a' cannot be complex", complex_of(r))           \
  R(complex_operand, "aten::add.Scalar", "complex64[2](2+3j 2+3j)", F32(2), complex_of(r))         \
  R(complex_fill, "aten::full", "complex64[2](2+3j 2+3j)", INTS1(2), complex_of(r))                \
  R(one_hot_most, "aten::one_hot", "out of memory", int64s(r, INT64_MAX), I(-1))                   \
  R(expand_beyond, "aten::expand", "is too large for this machine", F32(1, 1),                     \
      INTS2((int64_t)1 << 31, (int64_t)1 << 31))                                                   \
  R(empty_beyond, "aten::zeros", "is too large for this machine", INTS2((int64_t)1 << 62, 0))      \
  R(masked_select_beyond, "aten::masked_select", "out of memory", F32(1 << 20, 1, 0),              \
    full(r, RUSH_BOOL, 4, SIZES(1 << 20, 1, 1 << 7, 0)))                                           \
  R(deform_groups, "torchvision::deform_conv2d", "offset.shape[1] is not valid", F32(1, 0, 4, 1),  \
      F32(1, 0, 4, 1),                                                                             \
    F32(1, 0, 1, 1), F32(1, 0, 1, 1), F32(1), I(1), I(1), I(0), I(0), I(1), I(1), I(1),            \
    I((int64_t)1 << 62), NO)                                                                       \
  R(embedding_offsets, "rush::embedding_rows",                                                     \
      "Expect the lengths data to be less than indices size: bag 0",                               \
    U8(2, 12), full(r, RUSH_INT64, 1, SIZES(2)),                                                   \
    rig_tensor(r, RUSH_INT64, 1, SIZES(2), ((const int64_t[]){INT64_MAX, INT64_MIN})), NONE,       \
    NONE,                                                                                          \
    I(8), NO)
/* clang-format on */

#define CALL_ROW(name, op, says, ...)                                            \
  static void name(void **state) {                                               \
    (void)state;                                                                 \
    rig rig_, *r = &rig_;                                                        \
    start_call(r, op, sizeof((rush_value[]){__VA_ARGS__}) / sizeof(rush_value)); \
    rush_value args[] = {__VA_ARGS__};                                           \
    const size_t n = sizeof args / sizeof *args;                                 \
    assert_contains(#name, run(r, 0, n, args), says);                            \
    for (size_t k = 0; k < n; k++) rush_value_release(r->session, args + k);     \
    rig_close(r);                                                                \
  }
ROWS(CALL_ROW)

/* In 32 bits, the size for 2^29 weights once wrapped to 8 bytes of scratch memory. */
static void weights_of_a_wide_row(void **state) {
  (void)state;
  if (sizeof(void *) > 4) skip();
  rig rig_, *r = &rig_;
  start_call(r, "aten::_upsample_bilinear2d_aa", 5);
  rush_value args[] = {U8(1, 1, 1, 1 << 29), INTS2(1, 1), NO, NONE, NONE};
  assert_contains("wide", run(r, 0, 5, args), "out of memory");
  for (size_t k = 0; k < 5; k++) rush_value_release(r->session, args + k);
  rig_close(r);
}

int main(void) {
#define TEST(name, op, says, ...) cmocka_unit_test(name),
  const struct CMUnitTest tests[] = {ROWS(TEST) cmocka_unit_test(weights_of_a_wide_row)};
  return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
