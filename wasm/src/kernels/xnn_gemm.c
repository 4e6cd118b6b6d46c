#include "kernels/gemm.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "kernels/gemv.h"
#include "kernels/transpose.h"
#include "kernels/xnn_config.h"

size_t rush_gemm_nr(void) {
  return rush_xnn_gemm()->nr;
}
size_t rush_gemm_mr(void) {
  return rush_xnn_gemm()->mr;
}

bool rush_gemm_packed(size_t k, size_t n, size_t *floats) {
  size_t nr = rush_gemm_nr(), columns, rows;
  if (__builtin_add_overflow(n, nr - 1, &columns) || __builtin_add_overflow(k, (size_t)1, &rows))
    return false;
  columns -= columns % nr;
  return !__builtin_mul_overflow(columns, rows, floats);
}

/* Packs `columns` columns of b, all in one block: to[i * nr + 0..nr - 1]. */
RUSH_ALONE static void pack_block(size_t item, size_t k, size_t columns, const char *b,
                                  ptrdiff_t stride_k, ptrdiff_t stride_n, size_t nr, char *to) {
  enum { VECTOR = 16 };
  const size_t row = nr * item;
  if (columns < nr) memset(to, 0, k * row);
  if (stride_k == 1) {
    rush_transpose(item, k, columns, b, stride_n, to, (ptrdiff_t)nr);
  } else if (stride_n == 1 && columns == nr && row % VECTOR == 0) {
    for (size_t i = 0; i < k; i++, b += stride_k * (ptrdiff_t)item, to += row)
      for (size_t j = 0; j < row; j += VECTOR) memcpy(to + j, b + j, VECTOR);
  } else {
    for (size_t i = 0; i < k; i++, b += stride_k * (ptrdiff_t)item, to += row)
      for (size_t j = 0; j < columns; j++) {
        const char *from = b + (ptrdiff_t)(j * item) * stride_n;
        if (item == sizeof(float)) {
          memcpy(to + j * item, from, sizeof(float));
        } else {
          memcpy(to + j * item, from, sizeof(uint16_t));
        }
      }
  }
}

void rush_gemm_pack_bias(size_t k, size_t n, const float *bias, float *packed) {
  const size_t nr = rush_gemm_nr();
  for (size_t j = 0; j < n; j += nr, packed += nr * (k + 1))
    for (size_t i = 0; i < nr; i++) packed[i] = bias != NULL && j + i < n ? bias[j + i] : 0;
}

RUSH_ALONE RUSH_RARE static void pack_rows(rush_ctx *ctx, size_t item, size_t k, size_t first,
                                           size_t rows, size_t n, const char *b, ptrdiff_t stride_k,
                                           ptrdiff_t stride_n, float *packed) {
  const size_t nr = rush_gemm_nr(), block = nr * (rush_gemm_rows(item, k) + 1);
  if (rows == 0) return;
  for (size_t j = 0; j < n; j += nr, packed += block)
    for (size_t i = 0, some; rush_next_piece(ctx, rows, nr, i, &some); i += some)
      pack_block(item, some, n - j < nr ? n - j : nr,
                 b + (ptrdiff_t)item * ((ptrdiff_t)j * stride_n + (ptrdiff_t)i * stride_k),
                 stride_k, stride_n, nr, (char *)(packed + nr) + (first + i) * nr * item);
}

RUSH_RARE void rush_gemm_pack_rows(struct rush_ctx *ctx, size_t k, size_t first, size_t rows,
                                   size_t n, const float *b, ptrdiff_t stride_k, ptrdiff_t stride_n,
                                   float *packed) {
  pack_rows(ctx, sizeof *b, k, first, rows, n, (const char *)b, stride_k, stride_n, packed);
}

RUSH_RARE void rush_gemm_pack_items(struct rush_ctx *ctx, size_t item, size_t k, size_t n,
                                    const void *b, ptrdiff_t stride_k, ptrdiff_t stride_n,
                                    const float *bias, float *packed) {
  rush_gemm_pack_bias(rush_gemm_rows(item, k), n, bias, packed);
  pack_rows(ctx, item, k, 0, k, n, b, stride_k, stride_n, packed);
}

/* A packed block is at least as large as its plain rows. A block can therefore only overwrite its
 * own rows, which are copied out first, and not rows that come later. */
RUSH_RARE void rush_gemm_pack_placed(struct rush_ctx *ctx, size_t item, size_t k, size_t n,
                                     const float *bias, void *scratch, float *packed) {
  const size_t nr = rush_gemm_nr(), blocks = (n + nr - 1) / nr;
  const size_t block = nr * (rush_gemm_rows(item, k) + 1);
  const char *rows = (const char *)(packed + blocks * block) - n * k * item;
  for (size_t j = 0; j < n && !rush_should_stop(ctx, nr * k); j += nr, packed += block) {
    const size_t columns = n - j < nr ? n - j : nr;
    memcpy(scratch, rows + j * k * item, columns * k * item);
    for (size_t i = 0; i < nr; i++) packed[i] = bias != NULL && i < columns ? bias[j + i] : 0;
    pack_block(item, k, columns, scratch, 1, (ptrdiff_t)k, nr, (char *)(packed + nr));
  }
}

void rush_gemm_scale_rows(size_t k, size_t n, const float *packed, const float *scale, float *to) {
  const size_t nr = rush_gemm_nr();
  for (size_t j = 0; j < n; j += nr) {
    memcpy(to, packed, nr * sizeof *to);
    packed += nr, to += nr;
    for (size_t i = 0; i < k; i++, packed += nr, to += nr) {
      const f4 by = f4_set(scale[i]);
      for (size_t v = 0; v < nr; v += 4) f4_store(to + v, f4_load(packed + v) * by);
    }
  }
}

RUSH_RARE void rush_gemm_packed_row(struct rush_ctx *ctx, size_t item, size_t k,
                                    const float *packed, size_t j, void *row) {
  const size_t nr = rush_gemm_nr();
  const char *from = (const char *)(packed + j / nr * nr * (rush_gemm_rows(item, k) + 1) + nr);
  from += j % nr * item;
  for (size_t at = 0, some; rush_next_piece(ctx, k, 1, at, &some); at += some)
    rush_transpose(item, 1, some, from + at * nr * item, (ptrdiff_t)nr, (char *)row + at * item,
                   (ptrdiff_t)some);
}

/* Handles k = 0, where the result is the bias. */
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

RUSH_INLINE f8 load_floats(const char *w) {
  const float *v = (const float *)(const void *)w;
  return (f8){{f4_load(v), f4_load(v + 4)}};
}
static void one_row(size_t n, size_t k, const float *a, const float *packed, float *c, float min,
                    float max) {
  rush_gemv(sizeof(float), load_floats, 1, n, k, a, packed, c, min, max);
}

enum { LONG = 1 << 17 }; /* larger tiles do not make sums faster */

size_t rush_gemm_columns(size_t k, size_t n) {
  /* The part of the packed matrix that stays in the L2 cache while all rows pass by. */
  enum { CACHE = 256 * 1024 };
  const size_t nr = rush_gemm_nr(), least = k > LONG ? nr : 4 * nr;
  size_t columns = CACHE / sizeof(float) / (k + 1) / nr * nr;
  if (columns < least) columns = least;
  return columns < n ? columns : n;
}

/* A work item is a block of rows times a block of columns. `down` items share a block of columns.
 * The items of one stack of rows are adjacent, so that its rows of a stay in cache. */
typedef struct product {
  size_t m, n, k, lda, ldc, rows, columns, down, across;
  const float *a, *packed;
  float *c, min, max;
  rush_xnn_gemm_fn kernel; /* NULL for one_row */
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

/* A work item takes about half a millisecond, and there are enough items for all threads. rush_gemv
 * sums its remaining blocks (fewer than four) in another order, so items are split at multiples of
 * four blocks. */
size_t rush_gemm_columns_of_few(size_t m, size_t n, size_t k, size_t threads) {
  enum { ITEM = 1 << 22, CUT = 32, EACH = 4 };
  size_t columns = ITEM / (m * (k + 1)) / CUT * CUT;
  if (threads > 1 && columns > n / (EACH * threads))
    columns = multiple(n / (EACH * threads) + 1, CUT);
  if (columns < CUT) columns = CUT;
  return columns < n ? columns : n;
}

/* Returns the rows of a stack, which take a few milliseconds with all columns. */
static size_t stack_of(const product *p) {
  enum { PRODUCTS = 1 << 27, MIN_ROWS = 128 };
  const size_t rows = PRODUCTS / (p->n * (p->k + 1));
  return rows < MIN_ROWS ? MIN_ROWS : rows;
}

void rush_gemm_parallel(rush_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda,
                        const float *packed, float *c, size_t ldc, float min, float max) {
  enum { TILES = 8, EACH = 4 };
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (!rush_should_stop(ctx, m * n / 8)) only_bias(m, n, packed, c, ldc, min, max);
    return;
  }
  const rush_xnn_kernels *config = rush_xnn_gemm();
  const bool clamped = !(min == -INFINITY && max == INFINITY);
  const size_t threads = rush_threads(ctx);
  product p = {.m = m, .n = n, .k = k, .lda = lda, .ldc = ldc, .a = a, .packed = packed, .c = c};
  p.min = min, p.max = max;
  p.nr = config->nr;
  p.mr = m == 1 ? 1 : config->mr;
  p.kernel = config->gemm[clamped][m > 1];
  size_t stacks = 1;
  if (m <= p.mr) {
    p.rows = m;
    p.down = 1;
    p.columns = rush_gemm_columns_of_few(m, n, k, threads);
  } else {
    p.rows = k > LONG ? p.mr : TILES * p.mr;
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
  rush_gemm_parallel(NULL, m, n, k, a, lda, packed, c, ldc, min, max);
}

/* Computes c[n] = sum of a[i] * b[i][n], with 32 columns in registers at a time. */
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

/* Computes c[n] = sum of a[i] * b[n][i]. Four columns at a time share the loads of a. */
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
  enum { COLUMNS = 32 }; /* the sums after the last full group are added in another order */
  if (m > 3 || (stride_k != 1 && stride_n != 1)) return false;
  const unpacked p = {m, n, k, lda, ldc, COLUMNS, a, b, stride_k, stride_n, c};
  rush_parallel(ctx, (n + COLUMNS - 1) / COLUMNS, (uint64_t)m * k * COLUMNS / 4, run_unpacked, &p);
  return true;
}
