/* Comparisons, logical and bitwise operators, selection by mask, and clamp. */
#include <math.h>

#include "blocks/elements/pointwise.h"

/* ---- Comparisons ----------------------------------------------------------------------------- */

#define COMPARISON(id, op)                        \
  RUSH_BODY_2(id##_f32, float, uint8_t, x op y)   \
  RUSH_BODY_2(id##_f64, double, uint8_t, x op y)  \
  RUSH_BODY_2(id##_i64, int64_t, uint8_t, x op y) \
  RUSH_POINTWISE(id) = {                          \
      .operands = 2, .flags = RUSH_PW_TO_BOOL, .f32 = id##_f32, .f64 = id##_f64, .i64 = id##_i64};
#define EQUALITY(id, op)                             \
  RUSH_BODY_2(id##_f32, float, uint8_t, x op y)      \
  RUSH_BODY_2(id##_f64, double, uint8_t, x op y)     \
  RUSH_BODY_2(id##_i64, int64_t, uint8_t, x op y)    \
  RUSH_BODY_2(id##_c128, rush_c128, uint8_t, x op y) \
  RUSH_POINTWISE(id) = {.operands = 2,               \
                        .flags = RUSH_PW_TO_BOOL,    \
                        .f32 = id##_f32,             \
                        .f64 = id##_f64,             \
                        .i64 = id##_i64,             \
                        .c128 = id##_c128};
EQUALITY(eq, ==)
EQUALITY(ne, !=)
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)

/* ---- Logical and bitwise operators ----------------------------------------------------------- */

RUSH_BODY_2(and_b8, uint8_t, uint8_t, x &y)
RUSH_BODY_2(or_b8, uint8_t, uint8_t, x | y)
RUSH_BODY_2(xor_b8, uint8_t, uint8_t, x ^ y)
RUSH_BODY_1(not_b8, uint8_t, uint8_t, x ^ 1)
RUSH_POINTWISE(logical_and) = {.operands = 2, .flags = RUSH_PW_AS_BOOL, .b8 = and_b8};
RUSH_POINTWISE(logical_or) = {.operands = 2, .flags = RUSH_PW_AS_BOOL, .b8 = or_b8};
RUSH_POINTWISE(logical_xor) = {.operands = 2, .flags = RUSH_PW_AS_BOOL, .b8 = xor_b8};
RUSH_POINTWISE(logical_not) = {.operands = 1, .flags = RUSH_PW_AS_BOOL, .b8 = not_b8};

RUSH_BODY_2(and_i64, int64_t, int64_t, x &y)
RUSH_BODY_2(or_i64, int64_t, int64_t, x | y)
RUSH_BODY_2(xor_i64, int64_t, int64_t, x ^ y)
RUSH_BODY_1(not_i64, int64_t, int64_t, ~x)
RUSH_POINTWISE(bitwise_and) = {.operands = 2, .i64 = and_i64, .b8 = and_b8};
RUSH_POINTWISE(bitwise_or) = {.operands = 2, .i64 = or_i64, .b8 = or_b8};
RUSH_POINTWISE(bitwise_xor) = {.operands = 2, .i64 = xor_i64, .b8 = xor_b8};
RUSH_POINTWISE(bitwise_not) = {.operands = 1, .i64 = not_i64, .b8 = not_b8};

/* A shift by a negative amount, or by at least the number of bits, gives 0 or fills with the
 * sign. */
static int64_t shift_left(int64_t x, int64_t y, int bits) {
  return y < 0 || y >= bits ? 0 : (int64_t)((uint64_t)x << y);
}
static int64_t shift_right(int64_t x, int64_t y, int bits, bool is_signed) {
  const int most = bits - is_signed;
  return x >> (y < 0 || y >= most ? (most < 63 ? most : 63) : y);
}
RUSH_BODY_2(shift_left_i64, int64_t, int64_t, shift_left(x, y, p->bits))
RUSH_BODY_2(shift_right_i64, int64_t, int64_t, shift_right(x, y, p->bits, p->is_signed))
RUSH_POINTWISE(bitwise_left_shift) = {
    .operands = 2, .flags = RUSH_PW_NO_BOOL, .i64 = shift_left_i64};
RUSH_POINTWISE(bitwise_right_shift) = {
    .operands = 2, .flags = RUSH_PW_NO_BOOL, .i64 = shift_right_i64};
RUSH_POINTWISE(lshift) = {.operands = 2, .flags = RUSH_PW_NO_BOOL, .i64 = shift_left_i64};
RUSH_POINTWISE(rshift) = {.operands = 2, .flags = RUSH_PW_NO_BOOL, .i64 = shift_right_i64};

/* Python's &=, |=, ^=, <<=, >>= */
#define INTO(id, ...) RUSH_POINTWISE(id) = __VA_ARGS__;
#define BITS_INTO(id, i64_, b8_) \
  INTO(id, {.operands = 2, .flags = RUSH_PW_INTO, .i64 = i64_, .b8 = b8_})
#define SHIFT_INTO(id, i64_) \
  INTO(id, {.operands = 2, .flags = RUSH_PW_INTO | RUSH_PW_NO_BOOL, .i64 = i64_})
BITS_INTO(bitwise_and_into, and_i64, and_b8)
BITS_INTO(bitwise_or_into, or_i64, or_b8)
BITS_INTO(bitwise_xor_into, xor_i64, xor_b8)
SHIFT_INTO(lshift_into, shift_left_i64)
SHIFT_INTO(rshift_into, shift_right_i64)

/* ---- Classification: isnan, isinf and others ------------------------------------------------- */

static void all_true(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  (void)in, (void)p;
  memset(out, 1, n);
}
#define TEST_OF(id, expr, ints, c128_)            \
  RUSH_BODY_1(id##_f32, float, uint8_t, expr)     \
  RUSH_BODY_1(id##_f64, double, uint8_t, expr)    \
  RUSH_POINTWISE(id) = {.operands = 1,            \
                        .flags = RUSH_PW_TO_BOOL, \
                        .f32 = id##_f32,          \
                        .f64 = id##_f64,          \
                        .i64 = ints,              \
                        .c128 = c128_};
#define TEST(id, expr, ints) TEST_OF(id, expr, ints, NULL)
/* For complex numbers, tests either part (join is |) or both parts (join is &). */
#define TEST_PARTS(id, expr, test, join, ints)                                                \
  RUSH_BODY_1(id##_c128, rush_c128, uint8_t, (test(creal(x)) != 0) join(test(cimag(x)) != 0)) \
  TEST_OF(id, expr, ints, id##_c128)
RUSH_BODY_1(negative_i64, int64_t, uint8_t, x < 0)
TEST_PARTS(isnan, x != x, isnan, |, rush_pw_false)
TEST_PARTS(isinf, x == (float)INFINITY || x == -(float)INFINITY, isinf, |, rush_pw_false)
TEST_PARTS(isfinite, x - x == 0, isfinite, &, all_true)
TEST(isposinf, x == (float)INFINITY, rush_pw_false)
TEST(isneginf, x == -(float)INFINITY, rush_pw_false)
TEST(signbit, signbit(x) != 0, negative_i64)

/* ---- Selection ------------------------------------------------------------------------------- */

#define CHOICE(id, expr)                      \
  RUSH_BODY_3(id##_f32, float, float, expr)   \
  RUSH_BODY_3(id##_f64, double, double, expr) \
  RUSH_BODY_3(id##_i64, int64_t, int64_t, expr)

/* The mask has one byte per element and the operands are wider, so RUSH_BODY_3 does not fit. */
#define SELECT(name, T)                                                             \
  static void name(size_t n, void *out, const void *const *in, rush_pw_params *p) { \
    const uint8_t *m = in[0];                                                       \
    const T *a = in[1], *b = in[2];                                                 \
    T *o = out;                                                                     \
    (void)p;                                                                        \
    RUSH_EACH for (size_t i = 0; i < n; i++) o[i] = m[i] ? a[i] : b[i];             \
  }
SELECT(select_f32, float)
SELECT(select_f64, double)
SELECT(select_i64, int64_t)
SELECT(select_b8, uint8_t)
SELECT(select_c128, rush_c128)
#define SELECTS                                                                            \
  .operands = 3, .f32 = select_f32, .f64 = select_f64, .i64 = select_i64, .b8 = select_b8, \
  .c128 = select_c128

static rush_status setup_where(rush_call *c, rush_pw_job *job) {
  (void)job;
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  RUSH_CHECK(c->ctx, dtype == RUSH_BOOL || dtype == RUSH_UINT8, RUSH_ERR_BAD_ARGUMENT,
             "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
             rush_dtype_torch_name(dtype));
  return RUSH_OK;
}
RUSH_POINTWISE(where) = {SELECTS, .flags = RUSH_PW_MASK, .setup = setup_where};

/* self, mask, value. The operands are mask, value, self, and the result has self's dtype. */
static rush_status setup_masked_fill(rush_call *c, rush_pw_job *job) {
  const rush_tensor *mask = arg_tensor(c, 1);
  RUSH_CHECK(c->ctx, mask->dtype == RUSH_BOOL, RUSH_ERR_BAD_ARGUMENT,
             "masked_fill_ only supports boolean masks, but got mask with dtype %s",
             rush_dtype_name(mask->dtype));
  job->arg[0] = 1;
  job->arg[1] = 2;
  job->arg[2] = 0;
  const rush_value *value = &c->args[2];
  if (value->kind == RUSH_KIND_TENSOR) {
    const rush_tensor *t = rush_as_tensor(value);
    RUSH_CHECK(c->ctx, t->rank == 0, RUSH_ERR_BAD_ARGUMENT,
               "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
               "dimension(s).",
               t->rank);
  } else if (value->kind == RUSH_KIND_FLOAT && rush_is_int(job->common)) {
    double v = value->u.f;
    RUSH_CHECK(c->ctx, v > -9.3e18 && v < 9.3e18, RUSH_ERR_BAD_ARGUMENT,
               "value cannot be converted to type %s without overflow",
               rush_dtype_name(job->common));
  }
  return RUSH_OK;
}
RUSH_POINTWISE(masked_fill) = {
    SELECTS, .flags = RUSH_PW_MASK | RUSH_PW_KEEP_SELF | RUSH_PW_CONTIGUOUS | RUSH_PW_ITEM,
    .setup = setup_masked_fill};

/* ---- Clamping -------------------------------------------------------------------------------- */

#define LIMIT_LOW(x, y) ((((x) >= (y)) | ((x) != (x))) ? (x) : (y))
#define LIMIT_HIGH(x, y) ((((x) <= (y)) | ((x) != (x))) ? (x) : (y))
CHOICE(clamp3, LIMIT_HIGH(LIMIT_LOW(x, y), z))
RUSH_BODY_2(at_least_f32, float, float, LIMIT_LOW(x, y))
RUSH_BODY_2(at_least_f64, double, double, LIMIT_LOW(x, y))
RUSH_BODY_2(at_least_i64, int64_t, int64_t, x < y ? y : x)
RUSH_BODY_2(at_most_f32, float, float, LIMIT_HIGH(x, y))
RUSH_BODY_2(at_most_f64, double, double, LIMIT_HIGH(x, y))
RUSH_BODY_2(at_most_i64, int64_t, int64_t, x > y ? y : x)
/* A single Scalar limit of clamp that is NaN has no effect. A NaN in a tensor limit propagates, and
 * so does a NaN in one of two Scalar limits, and the Scalar of clamp_min and clamp_max. */
RUSH_BODY_2(scalar_low_f32, float, float, x < y ? y : x)
RUSH_BODY_2(scalar_low_f64, double, double, x < y ? y : x)
RUSH_BODY_2(scalar_high_f32, float, float, x > y ? y : x)
RUSH_BODY_2(scalar_high_f64, double, double, x > y ? y : x)
#define LIMITS(f32_, f64_, i64_, flags_) \
  {.operands = 2, .flags = flags_, .f32 = f32_, .f64 = f64_, .i64 = i64_}
static const rush_pointwise at_least = LIMITS(at_least_f32, at_least_f64, at_least_i64, 0);
static const rush_pointwise at_most = LIMITS(at_most_f32, at_most_f64, at_most_i64, 0);
static const rush_pointwise scalar_low =
    LIMITS(scalar_low_f32, scalar_low_f64, at_least_i64, RUSH_PW_NO_BOOL | RUSH_PW_NUMBER_ASIDE);
static const rush_pointwise scalar_high =
    LIMITS(scalar_high_f32, scalar_high_f64, at_most_i64, RUSH_PW_NO_BOOL | RUSH_PW_NUMBER_ASIDE);
#define BETWEEN (x < s ? s : x > t ? t : x)
RUSH_BODY_1(between_f32, float, float, BETWEEN)
RUSH_BODY_1(between_f64, double, double, BETWEEN)
RUSH_BODY_1(between_i64, int64_t, int64_t, BETWEEN)
static const rush_pointwise between = {.operands = 1,
                                       .flags = RUSH_PW_NO_BOOL,
                                       .f32 = between_f32,
                                       .f64 = between_f64,
                                       .i64 = between_i64};
static rush_status setup_clamp(rush_call *c, rush_pw_job *job) {
  bool low = !arg_is_none(c, 1), high = !arg_is_none(c, 2);
  RUSH_CHECK(c->ctx, low || high, RUSH_ERR_BAD_ARGUMENT,
             "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (low && high) {
    if (c->args[1].kind == RUSH_KIND_TENSOR || c->args[2].kind == RUSH_KIND_TENSOR) return RUSH_OK;
    if (rush_is_half(job->common) || (rush_is_int(job->common) && job->common != RUSH_INT64))
      return RUSH_OK; /* the limits may wrap or be rounded */
    rush_pw_scalar(c, job, 1, 0);
    rush_pw_scalar(c, job, 2, 1);
    if (!(job->p.f[0] <= job->p.f[1]) || arg_scalar_is_float(c, 1) != arg_scalar_is_float(c, 2))
      return RUSH_OK;
    job->n = 1;
    job->row = &between;
    return RUSH_OK;
  }
  job->n = 2;
  bool scalar = c->args[low ? 1 : 2].kind != RUSH_KIND_TENSOR;
  if (low)
    job->row = scalar ? &scalar_low : &at_least;
  else
    job->row = scalar ? &scalar_high : &at_most;
  if (!low) job->arg[1] = 2;
  return RUSH_OK;
}
RUSH_POINTWISE(clamp) = {.operands = 3,
                         .flags = RUSH_PW_NO_BOOL | RUSH_PW_NUMBER_ASIDE,
                         .f32 = clamp3_f32,
                         .f64 = clamp3_f64,
                         .i64 = clamp3_i64,
                         .setup = setup_clamp};
static bool is_number(const rush_value *limit) {
  return limit->kind != RUSH_KIND_TENSOR && !(limit->kind == RUSH_KIND_FLOAT && isnan(limit->u.f));
}
static rush_status setup_clamp_min(rush_call *c, rush_pw_job *job) {
  job->row = is_number(&c->args[1]) ? &scalar_low : &at_least;
  return RUSH_OK;
}
static rush_status setup_clamp_max(rush_call *c, rush_pw_job *job) {
  job->row = is_number(&c->args[1]) ? &scalar_high : &at_most;
  return RUSH_OK;
}
RUSH_POINTWISE(clamp_min) = {.operands = 2, .setup = setup_clamp_min};
RUSH_POINTWISE(clamp_max) = {.operands = 2, .setup = setup_clamp_max};
