#include "kernels/gemm_half.h"

#include "base/threads.h"
#include "kernels/fp16.h"
#include "kernels/fp16_lanes.h"
#include "kernels/gemv.h"
#include "kernels/xnn_config.h"

/* ---- Widening -------------------------------------------------------------------------------- */

RUSH_INLINE f8 of_bfloat16(const char *w) {
  const h8 v = h8_load(w);
  return (f8){{(f4)h8_behind_zeros(v, 0), (f4)h8_behind_zeros(v, 1)}};
}
/* Widens finite numbers, in units of 2^112. */
RUSH_INLINE f8 of_float16(const char *w) {
  const h8 v = h8_load(w);
  return (f8){{h8_float16(h8_behind_zeros(v, 0)), h8_float16(h8_behind_zeros(v, 1))}};
}
static const float unit = 0x1p112f;

bool rush_half_is_finite(rush_dtype dtype, size_t n, const uint16_t *x) {
  bool finite = true;
  for (size_t i = 0; i < n && dtype == RUSH_FLOAT16; i++) finite &= (x[i] & 0x7c00) != 0x7c00;
  return finite;
}

/* ---- The product ----------------------------------------------------------------------------- */

/* A work item is a block of rows times a block of columns. It widens its columns once, a few at a
 * time. */
typedef struct product {
  rush_half_product p;
  size_t nr, rows, columns, down; /* down: number of items with the same columns */
  bool one_row;                   /* multiplies while widening, without storing the floats */
  size_t some, each; /* columns that are widened at a time, and floats of scratch per thread */
  float *scratch;
} product;

static bool plan(const rush_ctx *ctx, const rush_half_product *p, product *t) {
  enum { PRODUCTS = 1 << 25, MIN_ROWS = 32, EACH = 4, CACHE = 24 * 1024, ALIGN = 16 };
  const size_t threads = rush_threads(ctx), nr = rush_gemm_nr(), cut = 4 * nr;
  *t = (product){.p = *p, .nr = nr};
  t->columns = rush_gemm_columns(p->k, p->n) / cut * cut;
  if (t->columns < cut) t->columns = cut;
  /* Enough rows to make the cost of widening negligible. */
  const size_t most = PRODUCTS / (t->columns * (p->k + 1)),
               rows = most < MIN_ROWS ? MIN_ROWS : most;
  t->down = (p->m - 1) / rows + 1;
  t->rows = (p->m - 1) / t->down + 1;
  const size_t wanted = EACH * threads / t->down + 1;
  if (threads > 1 && t->columns > p->n / wanted) t->columns = (p->n / wanted / cut + 1) * cut;
  t->some = CACHE / sizeof(float) / (p->k + 1) / nr * nr;
  if (t->some < nr) t->some = nr;
  if (p->m == 1) t->some = cut; /* as xnn_gemm.c splits a row */
  /* Rounded for alignment. */
  if (!rush_gemm_packed(p->k, t->some, &t->each) ||
      __builtin_add_overflow(t->each, (size_t)ALIGN, &t->each))
    return false;
  t->each = t->each / ALIGN * ALIGN;
  return true;
}

bool rush_half_scratch(const rush_ctx *ctx, const rush_half_product *p, size_t *floats) {
  product t;
  return plan(ctx, p, &t) && !__builtin_mul_overflow(t.each, (size_t)rush_threads(ctx), floats);
}

/* Returns whether a row can be multiplied directly, without an overflow. */
static bool is_in_range(const rush_half_product *p) {
  if (p->dtype == RUSH_BFLOAT16) return true;
  bool small = p->finite;
  /* Finite after scaling by 2^112. */
  for (size_t i = 0; i < p->k; i++) small &= fabsf(p->a[i]) < 0x1p16f;
  return small;
}

static void one_row(const rush_half_product *p, size_t columns, const float *packed, float *c) {
  if (p->dtype == RUSH_FLOAT16) {
    rush_gemv(2, of_float16, unit, columns, p->k, p->a, packed, c, p->min, p->max);
  } else {
    rush_gemv(2, of_bfloat16, 1, columns, p->k, p->a, packed, c, p->min, p->max);
  }
}

static void run_items(const void *arg, size_t begin, size_t end, unsigned who) {
  const product *t = arg;
  const rush_half_product *p = &t->p;
  const size_t block = t->nr * (rush_gemm_rows(sizeof(uint16_t), p->k) + 1);
  float *wide = t->scratch + who * t->each;
  for (size_t item = begin; item < end; item++) {
    const size_t i = item % t->down * t->rows, left = item / t->down * t->columns;
    const size_t right = p->n - left < t->columns ? p->n : left + t->columns;
    const size_t rows = p->m - i < t->rows ? p->m - i : t->rows;
    const float *packed = p->packed + left / t->nr * block;
    if (t->one_row) {
      one_row(p, right - left, packed, p->c + left);
      continue;
    }
    for (size_t j = left; j < right; j += t->some) {
      const size_t columns = right - j < t->some ? right - j : t->some;
      float *to = wide;
      for (size_t c = 0; c < columns; c += t->nr, packed += block, to += t->nr * (p->k + 1)) {
        memcpy(to, packed, t->nr * sizeof *to);
        rush_widen_halves(p->dtype, t->nr * p->k, packed + t->nr, to + t->nr);
      }
      rush_gemm(rows, columns, p->k, p->a + i * p->lda, p->lda, wide, p->c + i * p->ldc + j, p->ldc,
                p->min, p->max);
    }
  }
}

void rush_half_gemm(rush_ctx *ctx, const rush_half_product *p, float *scratch) {
  product t;
  if (p->k == 0) { /* only the biases remain */
    rush_gemm_parallel(ctx, p->m, p->n, 0, p->a, p->lda, p->packed, p->c, p->ldc, p->min, p->max);
    return;
  }
  plan(ctx, p, &t);
  t.scratch = scratch;
  if (p->m == 1 && t.nr == 8 && is_in_range(p)) {
    t.one_row = true;
    t.columns = rush_gemm_columns_of_few(1, p->n, p->k, rush_threads(ctx));
  }
  rush_parallel(ctx, t.down * ((p->n - 1) / t.columns + 1),
                (uint64_t)t.rows * t.columns * (p->k + 1) / 8, run_items, &t);
}
