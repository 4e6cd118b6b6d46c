#include "kernels/gemm.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernels/tile.h"
#include "kernels/xnn_config.h"

size_t rush_gemm_nr(void) {
  return rush_xnn_gemm()->nr;
}

bool rush_gemm_packed(size_t k, size_t n, size_t *floats) {
  size_t nr = rush_gemm_nr(), columns, rows;
  if (__builtin_add_overflow(n, nr - 1, &columns) || __builtin_add_overflow(k, (size_t)1, &rows))
    return false;
  return !__builtin_mul_overflow(columns / nr * nr, rows, floats);
}

/* Columns j.. of b, at most four, as rows of the packed block: to[i * nr + 0..3]. */
static void pack_transposed(size_t k, size_t columns, const float *b, size_t stride_n, size_t nr,
                            float *to) {
  size_t i = 0;
  if (columns == 4) {
    for (; i + 4 <= k; i += 4, b += 4, to += 4 * nr) {
      f4 v0 = f4_load(b), v1 = f4_load(b + stride_n), v2 = f4_load(b + 2 * stride_n),
         v3 = f4_load(b + 3 * stride_n);
      f4_transpose(&v0, &v1, &v2, &v3);
      f4_store(to, v0);
      f4_store(to + nr, v1);
      f4_store(to + 2 * nr, v2);
      f4_store(to + 3 * nr, v3);
    }
  }
  for (; i < k; i++, b++, to += nr)
    for (size_t j = 0; j < 4; j++) to[j] = j < columns ? b[j * stride_n] : 0;
}

static void pack_block(size_t k, size_t columns, const float *b, ptrdiff_t stride_k,
                       ptrdiff_t stride_n, size_t nr, float *to) {
  if (stride_k == 1 && stride_n >= 0) {
    for (size_t j = 0; j < nr; j += 4) {
      size_t n = j >= columns ? 0 : columns - j < 4 ? columns - j : 4;
      pack_transposed(n == 0 ? 0 : k, n, b + (n == 0 ? 0 : j * (size_t)stride_n), (size_t)stride_n,
                      nr, to + j);
      if (n == 0)
        for (size_t i = 0; i < k; i++) memset(to + j + i * nr, 0, 4 * sizeof *to);
    }
  } else if (stride_n == 1 && columns == nr) {
    for (size_t i = 0; i < k; i++, b += stride_k, to += nr)
      for (size_t j = 0; j < nr; j += 4) f4_store(to + j, f4_load(b + j));
  } else {
    for (size_t i = 0; i < k; i++, b += stride_k, to += nr)
      for (size_t j = 0; j < nr; j++) to[j] = j < columns ? b[(ptrdiff_t)j * stride_n] : 0;
  }
}

void rush_gemm_pack_bias(size_t k, size_t n, const float *bias, float *packed) {
  const size_t nr = rush_gemm_nr();
  for (size_t j = 0; j < n; j += nr, packed += nr * (k + 1))
    for (size_t i = 0; i < nr; i++) packed[i] = bias != NULL && j + i < n ? bias[j + i] : 0;
}

void rush_gemm_pack_rows(size_t k, size_t first, size_t rows, size_t n, const float *b,
                         ptrdiff_t stride_k, ptrdiff_t stride_n, float *packed) {
  const size_t nr = rush_gemm_nr();
  if (rows == 0) return;
  for (size_t j = 0; j < n; j += nr, packed += nr * (k + 1)) {
    pack_block(rows, n - j < nr ? n - j : nr, b + (ptrdiff_t)j * stride_n, stride_k, stride_n, nr,
               packed + (first + 1) * nr);
  }
}

void rush_gemm_pack(size_t k, size_t n, const float *b, ptrdiff_t stride_k, ptrdiff_t stride_n,
                    const float *bias, float *packed) {
  rush_gemm_pack_bias(k, n, bias, packed);
  rush_gemm_pack_rows(k, 0, k, n, b, stride_k, stride_n, packed);
}

/* A block is never shorter packed than plain, so no block is written over rows that are still to
 * come: only over its own, which are taken out first. */
void rush_gemm_pack_placed(size_t k, size_t n, const float *bias, float *scratch, float *packed) {
  const size_t nr = rush_gemm_nr(), blocks = (n + nr - 1) / nr;
  const float *rows = packed + (blocks * nr * (k + 1) - n * k);
  for (size_t j = 0; j < n; j += nr, packed += nr * (k + 1)) {
    const size_t columns = n - j < nr ? n - j : nr;
    memcpy(scratch, rows + j * k, columns * k * sizeof *rows);
    for (size_t i = 0; i < nr; i++) packed[i] = bias != NULL && i < columns ? bias[j + i] : 0;
    pack_block(k, columns, scratch, 1, (ptrdiff_t)k, nr, packed + nr);
  }
}

void rush_gemm_packed_row(size_t k, const float *packed, size_t j, float *to) {
  const size_t nr = rush_gemm_nr();
  packed += j / nr * nr * (k + 1) + nr + j % nr;
  for (size_t i = 0; i < k; i++, packed += nr) to[i] = *packed;
}

/* No product to make: the biases. */
static void only_bias(size_t m, size_t n, const float *packed, float *c, size_t ldc, float min,
                      float max) {
  const size_t nr = rush_gemm_nr();
  for (size_t j = 0; j < n; j++) {
    float v = packed[j / nr * nr + j % nr];
    v = v < min ? min : v;
    v = v > max ? max : v;
    for (size_t i = 0; i < m; i++) c[i * ldc + j] = v;
  }
}

static void store_block(size_t left, const f4 sum[2], float *c, float min, float max) {
  for (size_t h = 0; h < 2 && 4 * h < left; h++) {
    const f4 v = f4_clamp(sum[h], f4_set(min), f4_set(max));
    f4_store_up_to(c + 4 * h, v, left - 4 * h);
  }
}

/* One row, by four quarters of the columns beside each other: memory gives more to streams that are far
 * apart than to one, or to some that are near; and XNNPACK's kernel waits for each of its two sums, where
 * eight do not wait. What is left, fewer than four blocks, has two sums for each vector. */
static void one_row(size_t n, size_t k, const float *a, const float *packed, float *c, float min,
                    float max) {
  enum { NR = 8, WAYS = 4 };
  const size_t block = NR * (k + 1), blocks = (n + NR - 1) / NR;
  const size_t part = blocks / WAYS, far = part * block;
  f4 sum[WAYS][2];
  for (size_t j = 0; j < part; j++) {
    const float *w = packed + j * block;
    for (size_t t = 0; t < WAYS; t++)
      for (size_t h = 0; h < 2; h++) sum[t][h] = f4_load(w + t * far + 4 * h);
    for (size_t i = 0; i < k; i++) {
      const f4 x = f4_splat(a + i);
      w += NR;
      for (size_t t = 0; t < WAYS; t++)
        for (size_t h = 0; h < 2; h++)
          sum[t][h] = f4_madd(x, f4_load(w + t * far + 4 * h), sum[t][h]);
    }
    for (size_t t = 0; t < WAYS; t++) {
      const size_t at = (t * part + j) * NR;
      store_block(n - at, sum[t], c + at, min, max);
    }
  }
  for (size_t j = WAYS * part; j < blocks; j++) {
    const float *w = packed + j * block + NR;
    f4 even[2] = {f4_load(w - NR), f4_load(w - 4)}, odd[2] = {f4_set(0), f4_set(0)};
    size_t i = 0;
    for (; i + 2 <= k; i += 2, w += 2 * NR) {
      const f4 x = f4_splat(a + i), y = f4_splat(a + i + 1);
      for (size_t h = 0; h < 2; h++) even[h] = f4_madd(x, f4_load(w + 4 * h), even[h]);
      for (size_t h = 0; h < 2; h++) odd[h] = f4_madd(y, f4_load(w + NR + 4 * h), odd[h]);
    }
    if (i < k)
      for (size_t h = 0; h < 2; h++)
        even[h] = f4_madd(f4_splat(a + i), f4_load(w + 4 * h), even[h]);
    for (size_t h = 0; h < 2; h++) sum[0][h] = even[h] + odd[h];
    store_block(n - j * NR, sum[0], c + j * NR, min, max);
  }
}

size_t rush_gemm_columns(size_t k, size_t n) {
  /* Of the packed matrix, what stays in the second-level cache while all rows pass by. */
  enum { CACHE = 256 * 1024 };
  const size_t nr = rush_gemm_nr();
  size_t columns = CACHE / sizeof(float) / (k + 1) / nr * nr;
  if (columns < 4 * nr) columns = 4 * nr;
  return columns < n ? columns : n;
}

/* An item is some rows times a block of columns; `down` items have the same columns, and those of one
 * stack of rows come one behind the other: its rows of a stay in the cache. */
typedef struct product {
  size_t m, n, k, lda, ldc, rows, columns, down, across;
  const float *a, *packed;
  float *c, min, max;
  rush_xnn_gemm_fn kernel; /* NULL: one_row */
  size_t mr, nr;
} product;

static void run_items(const void *arg, size_t begin, size_t end, unsigned who) {
  const product *p = arg;
  const union xnn_f32_minmax_params params = {{p->min, p->max}};
  (void)who;
  for (size_t t = begin; t < end; t++) {
    const size_t stack = t / (p->down * p->across), within = t % (p->down * p->across);
    const size_t j = within / p->down * p->columns;
    size_t i = (stack * p->down + within % p->down) * p->rows;
    const size_t columns = p->n - j < p->columns ? p->n - j : p->columns;
    const size_t last = i >= p->m ? i : p->m - i < p->rows ? p->m : i + p->rows;
    const float *packed = p->packed + j * (p->k + 1);
    if (p->kernel == NULL) {
      one_row(columns, p->k, p->a, packed, p->c + j, p->min, p->max);
      continue;
    }
    for (; i < last; i += p->mr) {
      p->kernel(last - i < p->mr ? last - i : p->mr, columns, p->k * sizeof(float),
                p->a + i * p->lda, p->lda * sizeof(float), packed, p->c + i * p->ldc + j,
                p->ldc * sizeof(float), p->nr * sizeof(float), &params);
    }
  }
}

static size_t multiple(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

/* Columns of an item with few rows: what takes half a millisecond, and enough items for all threads.
 * one_row adds up what is left behind four blocks in another order, so that items are cut at four. */
static size_t columns_of_few(const product *p, size_t threads) {
  enum { ITEM = 1 << 22, CUT = 32, EACH = 4 };
  size_t columns = ITEM / (p->m * (p->k + 1)) / CUT * CUT;
  if (threads > 1 && columns > p->n / (EACH * threads))
    columns = multiple(p->n / (EACH * threads) + 1, CUT);
  if (columns < CUT) columns = CUT;
  return columns < p->n ? columns : p->n;
}

/* Rows of a stack: some milliseconds with all columns. */
static size_t stack_of(const product *p) {
  enum { PRODUCTS = 1 << 27, LEAST = 128 };
  const size_t rows = PRODUCTS / (p->n * (p->k + 1));
  return rows < LEAST ? LEAST : rows;
}

void rush_gemm_long(rush_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda,
                    const float *packed, float *c, size_t ldc, float min, float max) {
  enum { TILES = 8, EACH = 4 };
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (!rush_stops(ctx, m * n / 8)) only_bias(m, n, packed, c, ldc, min, max);
    return;
  }
  const rush_xnn_kernels *config = rush_xnn_gemm();
  const bool clamped = !(min == -INFINITY && max == INFINITY);
  const size_t threads = rush_threads(ctx);
  product p = {.m = m, .n = n, .k = k, .lda = lda, .ldc = ldc, .a = a, .packed = packed, .c = c};
  p.min = min, p.max = max;
  p.nr = config->nr;
  p.mr = m == 1 ? 1 : config->gemm_mr;
  if (!(m == 1 && config->nr == 8)) p.kernel = config->gemm[clamped][m == 1 ? 0 : 1];
  size_t stacks = 1;
  if (m <= p.mr) {
    p.rows = m;
    p.down = 1;
    p.columns = columns_of_few(&p, threads);
  } else {
    p.rows = TILES * p.mr;
    p.down = multiple(stack_of(&p), p.rows) / p.rows;
    if (p.down > (m - 1) / p.rows + 1) p.down = (m - 1) / p.rows + 1;
    stacks = (m - 1) / (p.rows * p.down) + 1;
    p.columns = rush_gemm_columns(k, n);
    const size_t wanted = EACH * threads / (stacks * p.down) + 1;
    if (threads > 1 && p.columns > n / wanted) p.columns = multiple(n / wanted + 1, 4 * p.nr);
    if (p.columns > n) p.columns = n;
  }
  p.across = (n - 1) / p.columns + 1;
  rush_parallel(ctx, stacks * p.down * p.across, (uint64_t)p.rows * p.columns * (k + 1) / 8,
                run_items, &p);
}

void rush_gemm(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *packed,
               float *c, size_t ldc, float min, float max) {
  rush_gemm_long(NULL, m, n, k, a, lda, packed, c, ldc, min, max);
}

/* c[n] = sum of a[i] * b[i][n]: 32 columns at a time stay in registers. */
static void row_times_rows(size_t n, size_t k, const float *a, const float *b, ptrdiff_t stride_k,
                           float *c) {
  size_t j = 0;
  for (; j + 32 <= n; j += 32) {
    f4 sum[8];
    for (int t = 0; t < 8; t++) sum[t] = f4_set(0);
    const float *p = b + j;
    for (size_t i = 0; i < k; i++, p += stride_k) {
      f4 x = f4_set(a[i]);
      for (int t = 0; t < 8; t++) sum[t] = f4_madd(x, f4_load(p + 4 * t), sum[t]);
    }
    for (int t = 0; t < 8; t++) f4_store(c + j + 4 * t, sum[t]);
  }
  for (; j + 4 <= n; j += 4) {
    f4 even = f4_set(0), odd = even;
    const float *p = b + j;
    size_t i = 0;
    for (; i + 2 <= k; i += 2, p += 2 * stride_k) {
      even = f4_madd(f4_set(a[i]), f4_load(p), even);
      odd = f4_madd(f4_set(a[i + 1]), f4_load(p + stride_k), odd);
    }
    if (i < k) even = f4_madd(f4_set(a[i]), f4_load(p), even);
    f4_store(c + j, even + odd);
  }
  for (; j < n; j++) {
    float sum = 0;
    for (size_t i = 0; i < k; i++) sum += a[i] * b[(ptrdiff_t)i * stride_k + (ptrdiff_t)j];
    c[j] = sum;
  }
}

/* c[n] = sum of a[i] * b[n][i]: four columns at a time share the loads of a. */
static void row_times_columns(size_t n, size_t k, const float *a, const float *b,
                              ptrdiff_t stride_n, float *c) {
  for (size_t j = 0; j < n; j += 4) {
    size_t columns = n - j < 4 ? n - j : 4;
    const float *p[4];
    f4 sum[4], more[4];
    for (size_t t = 0; t < 4; t++) {
      p[t] = b + (ptrdiff_t)(j + (t < columns ? t : 0)) * stride_n;
      sum[t] = more[t] = f4_set(0);
    }
    size_t i = 0;
    for (; i + 8 <= k; i += 8) {
      f4 x = f4_load(a + i), y = f4_load(a + i + 4);
      for (size_t t = 0; t < 4; t++) {
        sum[t] = f4_madd(x, f4_load(p[t] + i), sum[t]);
        more[t] = f4_madd(y, f4_load(p[t] + i + 4), more[t]);
      }
    }
    float total[4];
    for (size_t t = 0; t < 4; t++) total[t] = f4_sum(sum[t] + more[t]);
    for (; i < k; i++)
      for (size_t t = 0; t < 4; t++) total[t] += a[i] * p[t][i];
    for (size_t t = 0; t < columns; t++) c[j + t] = total[t];
  }
}

typedef struct unpacked {
  size_t m, n, k, lda, ldc, columns;
  const float *a, *b;
  ptrdiff_t stride_k, stride_n;
  float *c;
} unpacked;

static void run_unpacked(const void *arg, size_t begin, size_t end, unsigned who) {
  const unpacked *p = arg;
  (void)who;
  const size_t first = begin * p->columns;
  const size_t last = p->n / p->columns < end ? p->n : end * p->columns;
  const float *b = p->b + (ptrdiff_t)first * p->stride_n;
  for (size_t i = 0; i < p->m; i++) {
    float *c = p->c + i * p->ldc + first;
    if (p->stride_n == 1) {
      row_times_rows(last - first, p->k, p->a + i * p->lda, b, p->stride_k, c);
    } else {
      row_times_columns(last - first, p->k, p->a + i * p->lda, b, p->stride_n, c);
    }
  }
}

bool rush_gemm_unpacked(rush_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda,
                        const float *b, ptrdiff_t stride_k, ptrdiff_t stride_n, float *c,
                        size_t ldc) {
  enum { COLUMNS = 32 }; /* behind the last so many at a time sums are made in another order */
  if (m > 3 || (stride_k != 1 && stride_n != 1)) return false;
  const unpacked p = {m, n, k, lda, ldc, COLUMNS, a, b, stride_k, stride_n, c};
  rush_parallel(ctx, (n + COLUMNS - 1) / COLUMNS, (uint64_t)m * k * COLUMNS / 4, run_unpacked, &p);
  return true;
}
