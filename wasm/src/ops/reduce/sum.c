/* Sums, and reductions that are based on sums: mean, prod, any, all and count_nonzero. */
#include <math.h>

#include "blocks/elements/reduce.h"
#include "kernels/reduction.h"

static void finish_plain(const rush_reduce_state *s, const rush_reduce_params *p,
                         rush_reduce_value *v) {
  (void)p;
  v[0] = (rush_reduce_value){s->f, s->i, s->g};
}

/* ---- sum, mean ------------------------------------------------------------------------------- */

static void sum_f32(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  (void)p;
  s->f += rush_sum_f32(n, x);
}
static void sum_f64(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  (void)p;
  s->f += rush_sum_f64(n, x);
}
static void sum_i64(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const int64_t *v = x;
  uint64_t sum = (uint64_t)s->i;
  (void)p;
  for (size_t i = 0; i < n; i++) sum += (uint64_t)v[i];
  s->i = (int64_t)sum;
}
static void sum_c128(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++) {
    s->f += v[2 * i];
    s->g += v[2 * i + 1];
  }
}
static void sum_columns(rush_reduce_state *s, size_t rows, size_t cols, const void *x,
                        size_t stride, const rush_reduce_params *p) {
  float acc[64] = {0};
  (void)p;
  rush_sum_columns_f32(rows, cols, x, stride, acc);
  for (size_t c = 0; c < cols; c++) s[c].f += (double)acc[c];
}
static void finish_mean(const rush_reduce_state *s, const rush_reduce_params *p,
                        rush_reduce_value *v) {
  v[0].f = s->f / (double)p->n;
  v[0].g = s->g / (double)p->n;
}
#define SUM(d, k, t)        \
  {.dim = d,                \
   .keepdim = k,            \
   .dtype = t,              \
   .flags = RUSH_RED_WIDEN, \
   .f32 = sum_f32,          \
   .f64 = sum_f64,          \
   .i64 = sum_i64,          \
   .c128 = sum_c128,        \
   .columns = sum_columns,  \
   .finish = finish_plain,  \
   .name = "sum"}
#define MEAN(d, k, t)                              \
  {.dim = d,                                       \
   .keepdim = k,                                   \
   .dtype = t,                                     \
   .flags = RUSH_RED_FLOAT | RUSH_RED_ROUNDS_ONCE, \
   .f32 = sum_f32,                                 \
   .f64 = sum_f64,                                 \
   .c128 = sum_c128,                               \
   .columns = sum_columns,                         \
   .finish = finish_mean,                          \
   .name = "mean"}
RUSH_REDUCE(sum) = SUM(0, 0, 1);
RUSH_REDUCE(sum_dim) = SUM(1, 2, 3);
RUSH_REDUCE(mean) = MEAN(0, 0, 1);
RUSH_REDUCE(mean_dim) = MEAN(1, 2, 3);

/* Skips NaNs. */
static void nansum_f32(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const float *v = x;
  float kept[256];
  (void)p;
  for (size_t at = 0; at < n; at += 256) {
    size_t m = n - at < 256 ? n - at : 256;
    for (size_t i = 0; i < m; i++) kept[i] = v[at + i] != v[at + i] ? 0 : v[at + i];
    s->f += rush_sum_f32(m, kept);
  }
}
static void nansum_f64(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++) s->f += v[i] != v[i] ? 0 : v[i];
}
/* Integers have no NaN and use sum, even if dtype is complex. */
static rush_status setup_nansum(rush_call *c, const rush_reduce **row, rush_reduce_params *p) {
  (void)p;
  const rush_dtype have = arg_tensor(c, 0)->dtype;
  rush_dtype dtype;
  RUSH_TRY(arg_dtype(c, 3, have, &dtype));
  RUSH_CHECK_ARG(rush_is_integral(have) || rush_is_float(dtype),
                 "\"nansum_cpu\" not implemented for '%s'", rush_dtype_torch_name(dtype));
  if (rush_is_integral(have)) *row = &rush_reduce_sum_dim;
  return RUSH_OK;
}
RUSH_REDUCE(nansum) = {.dim = 1,
                       .keepdim = 2,
                       .dtype = 3,
                       .flags = RUSH_RED_WIDEN,
                       .f32 = nansum_f32,
                       .f64 = nansum_f64,
                       .i64 = sum_i64,
                       .finish = finish_plain,
                       .name = "nansum",
                       .setup = setup_nansum};

/* ---- prod ------------------------------------------------------------------------------------ */

static void prod_f32(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const float *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++) s->f *= (double)v[i];
}
static void prod_f64(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++) s->f *= v[i];
}
static void prod_i64(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const int64_t *v = x;
  uint64_t product = (uint64_t)s->i;
  (void)p;
  for (size_t i = 0; i < n; i++) product *= (uint64_t)v[i];
  s->i = (int64_t)product;
}
static void prod_c128(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const double *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++, v += 2) {
    const double f = s->f * v[0] - s->g * v[1];
    s->g = s->f * v[1] + s->g * v[0];
    s->f = f;
  }
}
#define PROD(d, k, t)       \
  {.dim = d,                \
   .keepdim = k,            \
   .dtype = t,              \
   .flags = RUSH_RED_WIDEN, \
   .init_f = 1,             \
   .init_i = 1,             \
   .f32 = prod_f32,         \
   .f64 = prod_f64,         \
   .i64 = prod_i64,         \
   .c128 = prod_c128,       \
   .finish = finish_plain,  \
   .name = "prod"}
RUSH_REDUCE(prod) = PROD(0, 0, 1);
RUSH_REDUCE(prod_dim) = PROD(1, 2, 3);

/* ---- any, all, count_nonzero ----------------------------------------------------------------- */

static void any_b8(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  (void)p;
  if (!s->i) s->i = memchr(x, 1, n) != NULL;
}
static void all_b8(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  (void)p;
  if (s->i) s->i = memchr(x, 0, n) == NULL;
}
static void count_b8(rush_reduce_state *s, size_t n, const void *x, const rush_reduce_params *p) {
  const uint8_t *v = x;
  (void)p;
  for (size_t i = 0; i < n; i++) s->i += v[i];
}
#define TRUTH(d, k, one, fn, flag)   \
  {.dim = d,                         \
   .keepdim = k,                     \
   .flags = RUSH_RED_AS_BOOL | flag, \
   .init_i = one,                    \
   .b8 = fn,                         \
   .finish = finish_plain}
RUSH_REDUCE(any) = TRUTH(0, 0, 0, any_b8, RUSH_RED_TO_BOOL);
RUSH_REDUCE(any_dim) = TRUTH(1, 2, 0, any_b8, RUSH_RED_TO_BOOL | RUSH_RED_NO_DIMS);
RUSH_REDUCE(all) = TRUTH(0, 0, 1, all_b8, RUSH_RED_TO_BOOL);
RUSH_REDUCE(all_dim) = TRUTH(1, 2, 1, all_b8, RUSH_RED_TO_BOOL | RUSH_RED_NO_DIMS);
RUSH_REDUCE(count_nonzero) = TRUTH(1, 0, 0, count_b8, RUSH_RED_TO_INT64);
