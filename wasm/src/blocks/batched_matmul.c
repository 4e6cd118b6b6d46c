#include "blocks/batched_matmul.h"

#include <complex.h>
#include <math.h>

#include "kernels/gemm.h"
#include "kernels/optional.h"
#include "kernels/transpose.h"
#include "tensor/iter.h"

rush_matrices rush_matrices_of(const rush_tensor *t, int rank) {
  const int own = t->rank - 2;
  rush_matrices m = {rush_data(t), t->strides[own], t->strides[own + 1], {0}};
  for (int d = 0; d < own; d++) m.batch[rank - own + d] = t->sizes[d] == 1 ? 0 : t->strides[d];
  return m;
}

/* Buffers that are kept between batches. A packed copy is only made again for a different
 * matrix. */
typedef struct scratch {
  rush_ctx *ctx;
  float *a, *b, *part;
  const char *a_of, *b_of;
} scratch;

/* Longer sums go in pieces, with a check for a stop request between them. `part` is then the
 * product of one piece. */
enum { LONG = 1 << 20 };

static const float *dense_rows(scratch *s, int64_t m, int64_t k, const rush_matrices *a,
                               const char *data, size_t *lda) {
  if (a->col == 1 || k <= 1) {
    *lda = (size_t)a->row;
    return (const float *)(const void *)data;
  }
  *lda = (size_t)k;
  if (s->a_of == data) return s->a;
  s->a_of = data;
  const float *from = (const float *)(const void *)data;
  if (a->row == 1 || m == 1) {
    size_t some;
    for (int64_t j = 0; rush_next_piece(s->ctx, (size_t)k, (size_t)m, (size_t)j, &some);
         j += (int64_t)some)
      rush_transpose(sizeof(float), (size_t)m, some, from + j * a->col, (ptrdiff_t)a->col, s->a + j,
                     (ptrdiff_t)k);
    return s->a;
  }
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < k && !rush_stops_at_step(s->ctx, j); j++)
      s->a[i * k + j] = from[i * a->row + j * a->col];
  return s->a;
}

static void product_f32(scratch *s, int64_t m, int64_t n, int64_t k, const rush_matrices *a,
                        const char *pa, const rush_matrices *b, const char *pb,
                        const rush_matrices *c, char *pc) {
  const size_t rows = (size_t)m, columns = (size_t)n, depth = (size_t)k;
  size_t lda;
  const float *from = dense_rows(s, m, k, a, pa, &lda), *right = (const float *)(const void *)pb;
  float *to = (float *)(void *)pc;
  if (s->b == NULL) {
    rush_gemm_unpacked(s->ctx, rows, columns, depth, from, lda, right, (ptrdiff_t)b->row,
                       (ptrdiff_t)b->col, to, (size_t)c->row);
    return;
  }
  if (s->b_of != pb)
    rush_gemm_pack(s->ctx, depth, columns, right, (ptrdiff_t)b->row, (ptrdiff_t)b->col, NULL, s->b);
  s->b_of = pb;
  rush_gemm_parallel(s->ctx, rows, columns, depth, from, lda, s->b, to, (size_t)c->row, -INFINITY,
                     INFINITY);
}

static void summed_f32(scratch *s, int64_t m, int64_t n, int64_t k, const rush_matrices *a,
                       const char *pa, const rush_matrices *b, const char *pb,
                       const rush_matrices *c, char *pc) {
  const rush_matrices part = {NULL, n, 1, {0}};
  int64_t p = 0;
  do {
    product_f32(s, m, n, k - p < LONG ? k - p : LONG, a, pa + p * a->col * (int64_t)sizeof(float),
                b, pb + p * b->row * (int64_t)sizeof(float), p ? &part : c,
                p ? (char *)s->part : pc);
    for (int64_t i = 0; p && i < m; i++)
      for (int64_t j = 0; j < n; j++) ((float *)(void *)pc)[i * c->row + j] += s->part[i * n + j];
  } while ((p += LONG) < k && !rush_should_stop(s->ctx, (uint64_t)m * (uint64_t)n));
}

/* Merges batches whose rows of a and c continue those of the previous batch, with the same b, into
 * one taller product. */
static int fold(int rank, const int64_t *batch, int64_t *m, const rush_matrices *a,
                const rush_matrices *b, const rush_matrices *c) {
  while (rank > 0) {
    const int d = rank - 1;
    if (batch[d] != 1 &&
        (b->batch[d] != 0 || a->batch[d] != a->row * *m || c->batch[d] != c->row * *m))
      break;
    *m *= batch[d];
    rank--;
  }
  return rank;
}

static rush_status take_floats(rush_heap *heap, size_t rows, size_t columns, float **out) {
  size_t bytes;
  if (!rush_mul(rows, columns, &bytes) || !rush_mul(bytes, sizeof(float), &bytes))
    return rush_fail_memory(heap->ctx, SIZE_MAX);
  return rush_heap_alloc(heap, bytes, (void **)out);
}

static rush_status take_scratch(rush_heap *heap, int64_t m, int64_t n, int64_t k,
                                const rush_matrices *a, const rush_matrices *b, scratch *s) {
  size_t packed;
  if (k > LONG) {
    k = LONG;
    RUSH_TRY(take_floats(heap, (size_t)m, (size_t)n, &s->part));
  }
  if (a->col != 1 && k > 1) RUSH_TRY(take_floats(heap, (size_t)m, (size_t)k, &s->a));
  if (rush_gemm_unpacked(NULL, (size_t)m, 0, 0, NULL, 0, NULL, (ptrdiff_t)b->row, (ptrdiff_t)b->col,
                         NULL, 0))
    return RUSH_OK;
  if (!rush_gemm_packed((size_t)k, (size_t)n, &packed)) packed = SIZE_MAX;
  return take_floats(heap, packed, 1, &s->b);
}

static double complex complex_at(bool wide, const char *of, int64_t at) {
  return wide ? ((const double complex *)(const void *)of)[at]
              : ((const float complex *)(const void *)of)[at];
}
/* Computes one row of a complex product. Complex products are rare, so this code is small rather
 * than fast. */
static void complex_row(rush_ctx *ctx, bool wide, int64_t n, int64_t k, const char *a,
                        const rush_matrices *as, const char *b, const rush_matrices *bs, char *c) {
  for (int64_t j = 0; j < n && !rush_should_stop(ctx, 4); j++) {
    double complex sum = 0;
    for (int64_t p = 0; p < k && !rush_stops_at_step(ctx, p); p++)
      sum += complex_at(wide, a, p * as->col) * complex_at(wide, b, p * bs->row + j * bs->col);
    if (wide)
      ((double complex *)(void *)c)[j] = sum;
    else
      ((float complex *)(void *)c)[j] = (float complex)sum;
  }
}

/* Computes one row of a product of another dtype than float32, which is not complex. */
static void any_row(rush_ctx *ctx, rush_dtype dtype, int64_t n, int64_t k, const char *a,
                    const rush_matrices *as, const char *b, const rush_matrices *bs, char *c) {
  const int64_t size = (int64_t)rush_dtype_size(dtype);
  int64_t p = 0;
  do {
    const size_t depth = (size_t)(k - p < LONG ? k - p : LONG);
    size_t some;
    for (int64_t j = 0; rush_next_piece(ctx, (size_t)n, depth + 1, (size_t)j, &some);
         j += (int64_t)some)
      rush_optional_gemm_any(dtype, p > 0, 1, some, depth, a + p * as->col * size,
                             (ptrdiff_t)as->row, (ptrdiff_t)as->col,
                             b + (p * bs->row + j * bs->col) * size, (ptrdiff_t)bs->row,
                             (ptrdiff_t)bs->col, c + j * size, 0);
  } while ((p += LONG) < k);
}

static void run_batches(rush_dtype dtype, int64_t m, int64_t n, int64_t k, int rank,
                        const int64_t *batch, const rush_matrices *a, const rush_matrices *b,
                        const rush_matrices *c, scratch *s) {
  const int64_t size = (int64_t)rush_dtype_size(dtype);
  int64_t at[RUSH_MAX_RANK] = {0};
  char *pa = a->data, *pb = b->data, *pc = c->data;
  for (;;) {
    if (dtype == RUSH_FLOAT32) {
      if (rush_should_stop(s->ctx, (uint64_t)n + (uint64_t)k)) return;
      summed_f32(s, m, n, k, a, pa, b, pb, c, pc);
    } else {
      for (int64_t i = 0; i < m; i++) { /* row by row, like the kernel */
        if (rush_should_stop(s->ctx, 16)) return;
        if (rush_is_complex(dtype)) {
          complex_row(s->ctx, dtype == RUSH_COMPLEX128, n, k, pa + i * a->row * size, a, pb, b,
                      pc + i * c->row * size);
          continue;
        }
        any_row(s->ctx, dtype, n, k, pa + i * a->row * size, a, pb, b, pc + i * c->row * size);
      }
    }
    int d = rank - 1;
    for (; d >= 0; d--) {
      pa += a->batch[d] * size, pb += b->batch[d] * size, pc += c->batch[d] * size;
      if (++at[d] < batch[d]) break;
      at[d] = 0;
      pa -= a->batch[d] * size * batch[d], pb -= b->batch[d] * size * batch[d],
          pc -= c->batch[d] * size * batch[d];
    }
    if (d < 0) return;
  }
}

rush_status rush_matmul_run(rush_heap *heap, rush_dtype dtype, int64_t m, int64_t n, int64_t k,
                            int rank, const int64_t *batch, rush_matrices a, rush_matrices b,
                            rush_matrices c) {
  RUSH_TRY(rush_charge(heap->ctx, 32)); /* lets many empty products be stopped */
  for (int d = 0; d < rank; d++)
    if (batch[d] == 0) return RUSH_OK;
  if (m == 0 || n == 0) return RUSH_OK;
  RUSH_CHECK(
      heap->ctx, dtype == RUSH_FLOAT32 || rush_optional_gemm_any, RUSH_ERR_UNSUPPORTED,
      "this runtime was slimmed, and has no matrix products of %s: slim it for this file, too",
      rush_dtype_name(dtype));
  rank = fold(rank, batch, &m, &a, &b, &c);
  scratch s = {.ctx = heap->ctx};
  rush_status st = RUSH_OK;
  if (dtype == RUSH_FLOAT32) st = take_scratch(heap, m, n, k, &a, &b, &s);
  if (st == RUSH_OK) run_batches(dtype, m, n, k, rank, batch, &a, &b, &c, &s);
  rush_heap_free(heap, s.a);
  rush_heap_free(heap, s.b);
  rush_heap_free(heap, s.part);
  return st;
}

bool rush_as_rows(const rush_tensor *t, int64_t *rows, int64_t *stride) {
  const int last = t->rank - 1;
  *rows = 1;
  *stride = t->sizes[last];
  if (t->sizes[last] > 1 && t->strides[last] != 1) return false;
  for (int d = last - 1; d >= 0; d--) {
    if (t->sizes[d] == 1) continue;
    if (*rows == 1) {
      *stride = t->strides[d];
    } else if (t->strides[d] != *stride * *rows) {
      return false;
    }
    *rows *= t->sizes[d];
  }
  /* Overlapping rows (expand, unfold) can be read, and negative strides do not exist. */
  return true;
}

static double value_double(const rush_value *v) {
  return v->kind == RUSH_KIND_FLOAT ? v->u.f : (double)v->u.i;
}
static double complex value_complex(const rush_value *v) {
  const rush_complex *z = v->u.ref;
  return v->kind == RUSH_KIND_COMPLEX ? CMPLX(z->re, z->im) : value_double(v);
}
static int64_t value_int(const rush_value *v) {
  return v->kind == RUSH_KIND_FLOAT ? rush_double_to_int(v->u.f) : v->u.i;
}

#define SCALED(type, sum_type, x, y)                                                              \
  for (int64_t i = 0; i < n; i++, o += os, s += ss) {                                             \
    const sum_type out_ = (y) == 0 ? 0 : (sum_type)(*(type *)(void *)o * (y));                    \
    *(type *)(void *)o =                                                                          \
        (type)(has ? (sum_type)(out_ + (sum_type)(*(const type *)(const void *)s * (x))) : out_); \
  }

static void scale_row(rush_dtype dtype, int64_t n, char *o, int64_t os, const char *s, int64_t ss,
                      bool has, const rush_value *beta, const rush_value *alpha) {
  const double complex bc = value_complex(beta), ac = value_complex(alpha);
  const double bf = creal(bc), af = creal(ac);
  const uint64_t bi = (uint64_t)value_int(beta), ai = (uint64_t)value_int(alpha);
  switch (dtype) {
    case RUSH_FLOAT32:
      SCALED(float, float, (float)bf, (float)af) break;
    case RUSH_FLOAT64:
      SCALED(double, double, bf, af) break;
    case RUSH_COMPLEX64:
      SCALED(float complex, double complex, bc, ac) break;
    case RUSH_COMPLEX128:
      SCALED(double complex, double complex, bc, ac) break;
    case RUSH_UINT8:
      SCALED(uint8_t, uint64_t, bi, ai) break;
    case RUSH_INT32:
      SCALED(uint32_t, uint64_t, bi, ai) break;
    default:
      SCALED(uint64_t, uint64_t, bi, ai) break;
  }
}

void rush_add_scaled(rush_ctx *ctx, rush_tensor *out, const rush_tensor *self,
                     const rush_value *beta, const rush_value *alpha) {
  const bool has = rush_is_integral(out->dtype) ? value_int(beta) != 0 : value_complex(beta) != 0;
  const rush_tensor *tensors[2] = {out, self};
  rush_iter it;
  if (!has && value_complex(alpha) == 1) return;
  rush_iter_init(&it, out->rank, out->sizes, has ? 2 : 1, tensors);
  do {
    const int64_t step = it.stride[0][0], other = has ? it.stride[1][0] : step;
    size_t some;
    for (int64_t i = 0; rush_next_piece(ctx, (size_t)it.size[0], 1, (size_t)i, &some);
         i += (int64_t)some)
      scale_row(out->dtype, (int64_t)some, it.at[0] + i * step, step, it.at[has] + i * other, other,
                has, beta, alpha);
  } while (!ctx->stopped && rush_iter_next(&it));
}
