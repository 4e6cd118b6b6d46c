/* scaled_dot_product_attention. For each head and block of queries, the weights are computed,
 * normalized and used while they are in cache. The inputs are usually transposed views, which are
 * read in place. Keys and values are packed if there are several queries. A single query, such as a
 * token with a KV cache, reads them unpacked. Very long rows, and those of float64, are computed
 * query by query by the blocks that matmul and softmax use. The result is stored as
 * [batch, tokens, heads, features], so that the transpose and reshape that usually follow need no
 * copy. */
#include <math.h>

#include "base/threads.h"
#include "blocks/batched_matmul.h"
#include "blocks/shape.h"
#include "call/define.h"
#include "kernels/gemm.h"
#include "kernels/normalize.h"
#include "kernels/single_query_attention.h"
#include "tensor/layout.h"

enum { BLOCK = 32 }; /* maximum number of queries */

typedef struct attention {
  /* q, k, v: same dtype, contiguous features. mask may be NULL */
  rush_tensor *q, *k, *v, *mask, *out;
  int64_t batch[RUSH_MAX_RANK]; /* broadcast batch sizes, including heads */
  int rank;                     /* rank of batch; its last dimension is heads */
  int64_t l, s, e, ev;          /* queries, keys, features of keys and of values */
  int64_t block;                /* queries per block */
  int64_t share;                /* query heads per key head (enable_gqa, repeated) */
  double scale;
  bool causal, repeated; /* repeated: PyTorch sees k and v with the heads of q */
} attention;

/* Returns a pointer to the matrix of t at a batch index. The leading dimensions of t broadcast. */
static char *matrix_at(const rush_tensor *t, const attention *a, const int64_t *at, int64_t share) {
  const int own = t->rank - 2;
  int64_t offset = 0;
  for (int d = 0; d < own; d++) {
    const int full = d + a->rank - own;
    const int64_t i = full == a->rank - 1 ? at[full] / share : at[full];
    if (t->sizes[d] != 1) offset += i * t->strides[d];
  }
  return (char *)rush_data(t) + offset * (int64_t)rush_itemsize(t);
}

static int64_t row_stride(const rush_tensor *t) {
  return t->strides[t->rank - 2];
}

/* Returns row i of the mask, and the stride of its elements. */
static const char *mask_at(const attention *a, const char *mask, int64_t i, int64_t *step) {
  const rush_tensor *t = a->mask;
  const int64_t rows = t->rank > 1 && t->sizes[t->rank - 2] != 1 ? t->strides[t->rank - 2] : 0;
  *step = t->sizes[t->rank - 1] != 1 ? t->strides[t->rank - 1] : 0;
  return mask + i * rows * (int64_t)rush_itemsize(t);
}

/* Returns row i of the mask with unit stride: a pointer into the mask, or a copy in `copy`. */
static const void *mask_row(const attention *a, const char *mask, int64_t i, void *copy) {
  int64_t step;
  const size_t item = rush_itemsize(a->mask);
  const char *from = mask_at(a, mask, i, &step);
  if (step == 1) return from;
  char *to = copy;
  for (int64_t j = 0; j < a->s; j++)
    memcpy(to + (size_t)j * item, from + j * step * (int64_t)item, item);
  return copy;
}

/* ---- Masked keys ----------------------------------------------------------------------------- */

/* A static cache has room for keys that no query sees yet, and the mask hides them. The last keys
 * that are hidden from all queries are not read. Their weights are exactly zero: a mask of -inf
 * hides a key always, and one of at most HIDDEN hides it from a row that also has a value of at
 * least PLAIN, because float32 rounds the score away. (transformers masks by the least finite
 * number. A row of nothing else gives all keys the same weight.) Unlike in PyTorch, a NaN in a
 * hidden value does not reach the result. Fewer keys than FEWEST are not worth a search. */
#define HIDDEN -1e30
#define PLAIN -1e20
enum { FEWEST = 16 };

static double mask_value(const rush_tensor *mask, const char *at) {
  double value;
  float single;
  if (mask->dtype == RUSH_BOOL) return *at ? 0 : -INFINITY;
  if (mask->dtype == RUSH_FLOAT32) return memcpy(&single, at, sizeof single), single;
  rush_convert(RUSH_FLOAT64, &value, mask->dtype, at, 1);
  return value;
}

/* Returns the number of leading keys, at least `least`, that a row of the mask does not hide. */
static int64_t seen_in_row(rush_ctx *ctx, const attention *a, const char *row, int64_t least) {
  const rush_tensor *t = a->mask;
  const int64_t step = t->sizes[t->rank - 1] == 1 ? 0 : t->strides[t->rank - 1];
  const int64_t bytes = step * (int64_t)rush_itemsize(t);
  int64_t n = a->s;
  double last = -INFINITY;
  while (n > least && !rush_stops_at_step(ctx, n) &&
         (last = mask_value(t, row + (n - 1) * bytes)) == -INFINITY)
    n--;
  if (n == least || last > HIDDEN) return n;
  for (int64_t j = 0; j < n && !rush_stops_at_step(ctx, j); j++) {
    if (mask_value(t, row + j * bytes) < PLAIN) continue;
    while (n > least && !rush_stops_at_step(ctx, n) && n > j + 1 &&
           mask_value(t, row + (n - 1) * bytes) <= HIDDEN)
      n--;
    return n;
  }
  return n;
}

/* Does the same for queries i to i + rows - 1. `mask` is the mask of their head. */
static int64_t seen_by(rush_ctx *ctx, const attention *a, const char *mask, int64_t i,
                       int64_t rows) {
  const rush_tensor *t = a->mask;
  const bool same = t->sizes[t->rank - 2] == 1 || t->strides[t->rank - 2] == 0;
  int64_t seen = 1;
  for (int64_t r = same ? 0 : rows - 1; r >= 0 && seen + FEWEST <= a->s; r--)
    seen = seen_in_row(
        ctx, a, mask + (i + r) * (same ? 0 : t->strides[t->rank - 2]) * (int64_t)rush_itemsize(t),
        seen);
  return seen + FEWEST <= a->s ? seen : a->s;
}

/* Reduces a->s to the keys that any query sees. */
static rush_status skip_hidden_keys(rush_call *c, attention *a) {
  const rush_tensor *t = a->mask;
  int64_t at[RUSH_MAX_RANK] = {0}, seen = 1;
  if (t == NULL || t->numel == 0) return RUSH_OK;
  for (;;) {
    int d = t->rank - 3;
    int64_t offset = 0;
    for (int k = 0; k <= d; k++) offset += at[k] * t->strides[k];
    const char *mask = (const char *)rush_data(t) + offset * (int64_t)rush_itemsize(t);
    const int64_t here = seen_by(c->ctx, a, mask, 0, a->l);
    RUSH_TRY(rush_charge(c->ctx, (uint64_t)(a->l * (a->s - here + 1))));
    if (here > seen) seen = here;
    for (; d >= 0 && (t->strides[d] == 0 || ++at[d] == t->sizes[d]); d--) at[d] = 0;
    if (d < 0 || seen == a->s) break;
  }
  a->s = seen;
  return RUSH_OK;
}

/* ---- Blocks of queries ----------------------------------------------------------------------- */

/* Buffers of one thread. Keys and values are packed once for all query heads that share them. */
typedef struct buffers {
  const char *k_of, *v_of; /* the current head, packed into k and v if `packs` */
  float *k, *v, *logits;
  void *mask;
} buffers;

static bool packs(const attention *a) {
  return a->l > 1;
}

/* Computes a block of queries of one head, starting with query i. */
static void one_block(rush_ctx *ctx, const attention *a, const int64_t *at, const buffers *b,
                      int64_t i) {
  const size_t s = (size_t)a->s, e = (size_t)a->e, ev = (size_t)a->ev;
  const float *q = (const float *)(void *)matrix_at(a->q, a, at, 1);
  float *out = (float *)(void *)matrix_at(a->out, a, at, 1);
  const char *mask = a->mask ? matrix_at(a->mask, a, at, 1) : NULL;
  const size_t rows = (size_t)(a->l - i < a->block ? a->l - i : a->block);
  float factor[BLOCK];
  /* Keys that are hidden from the whole block are skipped. */
  const size_t seen = mask ? (size_t)seen_by(ctx, a, mask, i, (int64_t)rows)
                      : a->causal && (size_t)i + rows < s ? (size_t)i + rows
                                                          : s;
  if (packs(a))
    rush_gemm(rows, seen, e, q + i * row_stride(a->q), (size_t)row_stride(a->q), b->k, b->logits, s,
              -INFINITY, INFINITY);
  else
    rush_attention_scores(seen, e, q, (const float *)(const void *)b->k_of,
                          (ptrdiff_t)row_stride(a->k), b->logits);
  for (size_t r = 0; r < rows; r++) {
    float *x = b->logits + r * s;
    if (rush_should_stop(ctx, s)) return;
    const size_t own = a->causal && (size_t)i + r + 1 < seen ? (size_t)i + r + 1 : seen;
    const void *m = mask ? mask_row(a, mask, i + (int64_t)r, b->mask) : NULL;
    const bool keeps = m != NULL && a->mask->dtype == RUSH_BOOL;
    factor[r] = rush_attention_row(own, x, (float)a->scale, keeps ? NULL : m, keeps ? m : NULL);
    memset(x + own, 0, (s - own) * sizeof *x);
  }
  if (rush_should_stop(ctx, s)) return;
  if (packs(a))
    rush_gemm(rows, ev, s, b->logits, s, b->v, out + i * row_stride(a->out),
              (size_t)row_stride(a->out), -INFINITY, INFINITY);
  else
    rush_attention_sum(seen, ev, b->logits, (const float *)(const void *)b->v_of,
                       (ptrdiff_t)row_stride(a->v), out);
  for (size_t r = 0; r < rows; r++) {
    float *y = out + (i + (int64_t)r) * row_stride(a->out);
    rush_affine_f32(ev, y, y, factor[r], 0);
  }
}

static void pack_head(rush_ctx *ctx, const attention *a, const int64_t *at, buffers *b) {
  const char *k = matrix_at(a->k, a, at, a->share), *v = matrix_at(a->v, a, at, a->share);
  if (packs(a) && k != b->k_of)
    rush_gemm_pack(ctx, (size_t)a->e, (size_t)a->s, (const float *)(const void *)k, 1,
                   (ptrdiff_t)row_stride(a->k), NULL, b->k);
  if (packs(a) && v != b->v_of)
    rush_gemm_pack(ctx, (size_t)a->s, (size_t)a->ev, (const float *)(const void *)v,
                   (ptrdiff_t)row_stride(a->v), 1, NULL, b->v);
  b->k_of = k;
  b->v_of = v;
}

typedef struct loop {
  rush_ctx *ctx;
  const attention *a;
  buffers *of;    /* one per thread */
  int64_t blocks; /* blocks per head */
} loop;

/* Sets the index of a head. */
static void find_head(const attention *a, int64_t head, int64_t *at) {
  for (int d = a->rank - 1; d >= 0; head /= a->batch[d], d--) at[d] = head % a->batch[d];
}

static void some_blocks(const void *arg, size_t begin, size_t end, unsigned who) {
  const loop *l = arg;
  const attention *a = l->a;
  for (int64_t t = (int64_t)begin; t < (int64_t)end; t++) {
    int64_t at[RUSH_MAX_RANK] = {0};
    find_head(a, t / l->blocks, at);
    rush_ctx *ctx = who == 0 ? l->ctx : NULL;
    pack_head(ctx, a, at, &l->of[who]);
    one_block(ctx, a, at, &l->of[who], t % l->blocks * a->block);
  }
}

static rush_status run(rush_call *c, const attention *a) {
  enum { LINE = 64 };
  size_t k = 0, v = 0, logits, floats, bytes, mask = 0;
  const unsigned threads = rush_threads(c->ctx);
  if (a->mask != NULL && !rush_mul((size_t)a->s, rush_itemsize(a->mask), &mask))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  if ((packs(a) && (!rush_gemm_packed((size_t)a->e, (size_t)a->s, &k) ||
                    !rush_gemm_packed((size_t)a->s, (size_t)a->ev, &v))) ||
      !rush_mul((size_t)a->s, (size_t)a->block, &logits) || !rush_add(k, v, &floats) ||
      !rush_add(floats, logits, &floats) || !rush_mul(floats, sizeof(float), &bytes) ||
      !rush_add(bytes, mask, &bytes) || !rush_add(bytes, LINE - 1, &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  bytes -= bytes % LINE;
  char *scratch;
  buffers *of;
  RUSH_TRY(tmp_items(c, threads, bytes, (void **)&scratch));
  RUSH_TRY(tmp_items(c, threads, sizeof *of, (void **)&of));
  for (unsigned i = 0; i < threads; i++, scratch += bytes) {
    float *at = (float *)(void *)scratch;
    of[i] = (buffers){NULL, NULL, at, at + k, at + k + v, at + k + v + logits};
  }
  const int64_t blocks = (a->l - 1) / a->block + 1;
  const loop l = {c->ctx, a, of, blocks};
  const int64_t rows = a->l < a->block ? a->l : a->block;
  rush_parallel(c->ctx, (size_t)(a->out->numel / (a->l * a->ev) * blocks),
                (uint64_t)(a->e + a->ev + 8) * (uint64_t)(a->s * rows) / 8, some_blocks, &l);
  return RUSH_OK;
}

/* ---- Query by query -------------------------------------------------------------------------- */

/* Replaces the scores x[n] of query i by the weights of its keys. A row of -infinity becomes
 * zeros. */
static rush_status weigh(rush_call *c, const attention *a, const char *mask, int64_t i, int64_t n,
                         void *x) {
  const bool is_double = a->q->dtype == RUSH_FLOAT64;
  int64_t step = 0;
  double most = (double)-INFINITY;
  if (mask != NULL) mask = mask_at(a, mask, i, &step);
  for (int64_t j = 0; j < n; j++) {
    RUSH_TRY(rush_charge_steps(c->ctx, j, n));
    double v = (is_double ? ((double *)x)[j] : (double)((float *)x)[j]) * a->scale;
    if (mask != NULL) {
      const double m = mask_value(a->mask, mask + j * step * (int64_t)rush_itemsize(a->mask));
      v = a->mask->dtype == RUSH_BOOL && m != 0 ? m : v + m;
    }
    most = v > most || v != v ? v : most;
    if (is_double) {
      ((double *)x)[j] = v;
    } else {
      ((float *)x)[j] = (float)v;
    }
  }
  if (most == (double)-INFINITY)
    return rush_set_bytes(c->ctx, x, 0, (size_t)n * rush_itemsize(a->q));
  if (is_double) {
    rush_softmax_row_f64(c->ctx, (size_t)n, x, x, false);
  } else {
    rush_softmax_row_f32(c->ctx, (size_t)n, x, x, false);
  }
  return rush_take_stop(c->ctx);
}

static rush_status run_queries(rush_call *c, const attention *a) {
  const int64_t item = (int64_t)rush_itemsize(a->q);
  void *x;
  RUSH_TRY(tmp_items(c, a->s, (size_t)item, &x));
  for (int64_t t = 0; t < a->out->numel / a->ev; t++) {
    int64_t at[RUSH_MAX_RANK] = {0};
    const int64_t i = t % a->l, n = a->causal && i + 1 < a->s ? i + 1 : a->s;
    find_head(a, t / a->l, at);
    const rush_matrices q = {matrix_at(a->q, a, at, 1) + i * row_stride(a->q) * item, 0, 1, {0}};
    const rush_matrices k = {matrix_at(a->k, a, at, a->share), 1, row_stride(a->k), {0}};
    const rush_matrices v = {matrix_at(a->v, a, at, a->share), row_stride(a->v), 1, {0}};
    const rush_matrices y = {
        matrix_at(a->out, a, at, 1) + i * row_stride(a->out) * item, 0, 1, {0}};
    const rush_matrices weights = {x, 0, 1, {0}};
    RUSH_TRY(rush_matmul_run(c->heap, a->q->dtype, 1, n, a->e, 0, NULL, q, k, weights));
    RUSH_TRY(weigh(c, a, a->mask ? matrix_at(a->mask, a, at, 1) : NULL, i, n, x));
    RUSH_TRY(rush_matmul_run(c->heap, a->q->dtype, 1, a->ev, n, 0, NULL, weights, v, y));
  }
  return RUSH_OK;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static rush_status check_mask(rush_call *c, const attention *a) {
  const rush_tensor *m = a->mask;
  if (m == NULL) return RUSH_OK;
  RUSH_CHECK_ARG(m->dtype == RUSH_BOOL || m->dtype == a->q->dtype,
                 "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                 "attn_mask.dtype: %s and  "
                 "query.dtype: %s instead.",
                 rush_dtype_name(m->dtype), rush_dtype_name(a->q->dtype));
  int64_t full[RUSH_MAX_RANK], got[RUSH_MAX_RANK];
  char ta[RUSH_SHAPE_TEXT], tb[RUSH_SHAPE_TEXT];
  int rank;
  memcpy(full, a->batch, sizeof a->batch);
  full[a->rank] = a->l;
  full[a->rank + 1] = a->s;
  RUSH_CHECK_ARG(
      m->rank > 1 && m->rank <= a->rank + 2 &&
          rush_broadcast(a->rank + 2, full, m->rank, m->sizes, &rank, got) &&
          memcmp(full, got, (size_t)rank * sizeof *got) == 0,
      "The expanded size of the attention mask must match the size of the scores. Target "
      "sizes: %s.  Tensor sizes: %s",
      rush_shape_text(a->rank + 2, full, ta), rush_shape_text(m->rank, m->sizes, tb));
  return RUSH_OK;
}

/* Keys and values get the heads of queries. */
static rush_status share_heads(rush_call *c, attention *a, int64_t *ks, int64_t *vs) {
  const rush_tensor *q = a->q, *k = a->k, *v = a->v;
  RUSH_CHECK_ARG(q->rank >= 3 && k->rank >= 3 && v->rank >= 3,
                 "grouped queries need tensors with heads");
  const int64_t heads = q->sizes[q->rank - 3], shared = k->sizes[k->rank - 3];
  RUSH_CHECK_ARG(shared > 0 && v->sizes[v->rank - 3] == shared && heads % shared == 0,
                 "Number of heads in key and value must divide the number of heads in query: %lld, "
                 "%lld and %lld",
                 (long long)shared, (long long)v->sizes[v->rank - 3], (long long)heads);
  a->share = heads / shared;
  ks[k->rank - 3] = vs[v->rank - 3] = heads;
  return RUSH_OK;
}

/* Checks that the sizes broadcast. With enable_gqa, keys and values may have fewer heads. */
static rush_status check_sizes(rush_call *c, attention *a, bool gqa) {
  const rush_tensor *q = a->q, *k = a->k, *v = a->v;
  RUSH_CHECK_ARG(
      q->rank >= 2 && k->rank >= 2 && v->rank >= 2,
      "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
      "%d key.dim: %d and "
      "value.dim: %d instead.",
      q->rank, k->rank, v->rank);
  a->l = q->sizes[q->rank - 2];
  a->s = k->sizes[k->rank - 2];
  a->e = q->sizes[q->rank - 1];
  a->ev = v->sizes[v->rank - 1];
  RUSH_CHECK_ARG(k->sizes[k->rank - 1] == a->e,
                 "mat1 and mat2 shapes cannot be multiplied: query has %lld features, key %lld",
                 (long long)a->e, (long long)k->sizes[k->rank - 1]);
  RUSH_CHECK_ARG(v->sizes[v->rank - 2] == a->s,
                 "mat1 and mat2 shapes cannot be multiplied: %lld keys and %lld values",
                 (long long)a->s, (long long)v->sizes[v->rank - 2]);
  a->share = 1;
  int64_t ks[RUSH_MAX_RANK], vs[RUSH_MAX_RANK], first[RUSH_MAX_RANK];
  memcpy(ks, k->sizes, sizeof ks);
  memcpy(vs, v->sizes, sizeof vs);
  if (gqa) RUSH_TRY(share_heads(c, a, ks, vs));
  int rank;
  char ta[RUSH_SHAPE_TEXT], tb[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(
      rush_broadcast(q->rank - 2, q->sizes, k->rank - 2, ks, &rank, first) &&
          rush_broadcast(rank, first, v->rank - 2, vs, &a->rank, a->batch),
      "The size of query %s must match the size of key %s and of value at non-singleton dimensions",
      rush_shape_text(q->rank, q->sizes, ta), rush_shape_text(k->rank, k->sizes, tb));
  return check_mask(c, a);
}

/* Returns whether PyTorch uses its flash kernel. It requires four dimensions without broadcasting,
 * and contiguous features. */
static bool is_flash(const attention *a) {
  const rush_tensor *q = a->q;
  const rush_tensor *all[] = {q, a->k, a->v};
  for (int i = 0; i < 3; i++) {
    const rush_tensor *t = all[i];
    const int64_t heads = t->rank == 4 ? t->sizes[1] * (i > 0 && a->repeated ? a->share : 1) : 0;
    if (t->rank != 4 || t->sizes[0] != q->sizes[0] || heads != q->sizes[1] ||
        t->sizes[3] != q->sizes[3] || t->sizes[2] == 0)
      return false;
    if (t->sizes[3] != 1 && rush_nominal(t)[3] != 1 && !(i > 0 && a->repeated)) return false;
  }
  return true;
}

/* Computes the strides of PyTorch's result. The flash kernel's result has the memory order of the
 * queries. */
static void nominal_strides(const attention *a, int rank, const int64_t *sizes, int64_t *strides) {
  if (!is_flash(a)) {
    rush_strides_contiguous(rank, sizes, strides);
    return;
  }
  const rush_tensor q = rush_nominal_header(a->q);
  rush_strides_of_copy(&q, strides);
}

/* Allocates [.., heads, tokens, features], stored as [.., tokens, heads, features]. */
static rush_status make_result(rush_call *c, attention *a) {
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK], nominal[RUSH_MAX_RANK];
  const int rank = a->rank + 2;
  memcpy(sizes, a->batch, sizeof sizes);
  sizes[rank - 2] = a->l;
  sizes[rank - 1] = a->ev;
  nominal_strides(a, rank, sizes, nominal);
  memcpy(strides, nominal, sizeof strides);
  if (rank == 4) {
    const int64_t order[4] = {sizes[0], sizes[2], sizes[1], sizes[3]};
    int64_t own[4];
    rush_strides_contiguous(4, order, own);
    for (int d = 0; d < 4; d++) strides[d] = own[d == 1 || d == 2 ? 3 - d : d];
  }
  return rush_result_turned(c, 0, a->q->dtype, rank, sizes, strides, nominal, &a->out);
}

/* Returns t with contiguous features. */
static rush_status dense(rush_call *c, rush_tensor *t, rush_tensor **out) {
  const int last = t->rank - 1;
  if (t->sizes[last] > 1 && t->strides[last] != 1) return tmp_contiguous(c, t, out);
  *out = t;
  return RUSH_OK;
}

static rush_status attend(rush_call *c, attention *a) {
  RUSH_TRY(make_result(c, a));
  RUSH_TRY(dense(c, a->q, &a->q));
  RUSH_TRY(dense(c, a->k, &a->k));
  RUSH_TRY(dense(c, a->v, &a->v));
  RUSH_TRY(skip_hidden_keys(c, a));
  if (a->out->numel == 0) return RUSH_OK;
  if (a->s == 0) return rush_set_bytes(c->ctx, a->out->storage->data, 0, a->out->storage->bytes);
  /* A block of queries over very many keys or features would take too long for a stop request.
   * Products of few columns take as long as those of COLUMNS. */
  enum { COLUMNS = 16 };
  const int64_t work = a->e + a->ev + 2 * COLUMNS, keys = a->s + COLUMNS;
  if (a->q->dtype != RUSH_FLOAT32 || keys > (1 << 26) / work) return run_queries(c, a);
  if (keys > (1 << 22) / work) a->block = (int64_t)rush_gemm_mr();
  return run(c, a);
}

/* Computes attention where q, k, v, share and repeated are set. attn_mask is argument `at`, and
 * dropout_p, is_causal and scale follow it. */
static rush_status compute(rush_call *c, attention *a, uint32_t at, bool gqa) {
  a->mask = arg_tensor(c, at);
  a->causal = arg_bool(c, at + 2);
  a->block =
      BLOCK / (int64_t)rush_gemm_mr() * (int64_t)rush_gemm_mr(); /* a whole number of tiles */
  RUSH_CHECK_ARG(a->q->dtype == a->k->dtype && a->k->dtype == a->v->dtype,
                 "Expected query, key, and value to have the same dtype, but got query.dtype: %s "
                 "key.dtype: %s and value.dtype: "
                 "%s instead.",
                 rush_dtype_name(a->q->dtype), rush_dtype_name(a->k->dtype),
                 rush_dtype_name(a->v->dtype));
  RUSH_CHECK_ARG(rush_is_float(a->q->dtype), "expected scalar type Float but found %s",
                 rush_dtype_torch_name(a->q->dtype));
  RUSH_CHECK(c->ctx, arg_float(c, at + 1) == 0, RUSH_ERR_UNSUPPORTED,
             "dropout in attention is not supported");
  RUSH_TRY(check_sizes(c, a, gqa));
  a->scale = arg_is_none(c, at + 3) ? 1 / sqrt((double)a->e) : arg_float(c, at + 3);
  return attend(c, a);
}

RUSH_OP(scaled_dot_product_attention) {
  attention a = {.q = arg_tensor(c, 0), .k = arg_tensor(c, 1), .v = arg_tensor(c, 2)};
  return compute(c, &a, 3, arg_bool(c, 7));
}

/* ---- Repeated heads -------------------------------------------------------------------------- */

/* Returns whether argument i, a [batch, heads, repeated, tokens, features] with the stride 0 in its
 * third dimension, becomes [batch, heads * repeated, tokens, features] as the queries have it. */
static bool is_repeated(const rush_call *c, uint32_t i, int rank, const int64_t *sizes) {
  const rush_tensor *t = arg_tensor(c, i), *q = arg_tensor(c, 0);
  return t->rank == 5 && rank == 4 && q->rank == 4 && t->numel > 0 && t->strides[2] == 0 &&
         sizes[0] == t->sizes[0] && sizes[1] == t->sizes[1] * t->sizes[2] &&
         sizes[2] == t->sizes[3] && sizes[3] == t->sizes[4] && q->sizes[1] == sizes[1];
}

static rush_status without_repeats(rush_call *c, uint32_t i, rush_tensor **out) {
  const rush_tensor *t = arg_tensor(c, i);
  const int64_t sizes[] = {t->sizes[0], t->sizes[1], t->sizes[3], t->sizes[4]};
  const int64_t strides[] = {t->strides[0], t->strides[1], t->strides[3], t->strides[4]};
  return tmp_view(c, t, 4, sizes, strides, t->offset, out);
}

/* Attention of query, key.reshape(key_sizes) and value.reshape(value_sizes), which the exporter
 * makes of transformers' repeat_kv. The heads are not copied if expand() repeated them. */
RUSH_OP(repeated_attention) {
  enum { KEY = 1, VALUE = 3, MASK = 5 };
  attention a = {.q = arg_tensor(c, 0), .repeated = true};
  rush_tensor **out[] = {&a.k, &a.v};
  int64_t sizes[2][RUSH_MAX_RANK];
  int ranks[2];
  for (uint32_t k = 0; k < 2; k++) {
    const uint32_t i = k == 0 ? KEY : VALUE;
    RUSH_TRY(arg_ints(c, i + 1, RUSH_MAX_RANK, sizes[k], ranks + k));
    RUSH_TRY(rush_infer_size(c->ctx, arg_tensor(c, i)->numel, ranks[k], sizes[k], sizes[k]));
    a.repeated = a.repeated && is_repeated(c, i, ranks[k], sizes[k]);
  }
  a.repeated = a.repeated && arg_tensor(c, KEY)->sizes[2] == arg_tensor(c, VALUE)->sizes[2];
  for (uint32_t k = 0; k < 2; k++) {
    const uint32_t i = k == 0 ? KEY : VALUE;
    if (a.repeated) {
      RUSH_TRY(without_repeats(c, i, out[k]));
      continue;
    }
    RUSH_TRY(rush_reshape(c->heap, arg_tensor(c, i), ranks[k], sizes[k], out[k]));
    tmp_take(c, *out[k]);
  }
  return compute(c, &a, MASK, a.repeated);
}
