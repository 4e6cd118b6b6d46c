/* Attention: two products and a softmax. The weights are a temporary tensor. */
#include <math.h>

#include "blocks/shape.h"
#include "gpu/product.h"
#include "tensor/layout.h"

/* Headers of [batch, heads, tokens, features]. Groups of `share` heads of the queries have a head
 * of the keys and values in common. */
typedef struct attention {
  rush_tensor q, k, v;
  const rush_tensor *mask;
  int64_t share;
  bool repeated; /* expand() has repeated the heads of keys and values */
  bool causal;
  float scale;
} attention;

/* Adds dimensions of size 1 in front, so that there are four, and sets strides of size 1 to 0. */
static rush_tensor with_four(const rush_tensor *t) {
  rush_tensor x = *t;
  x.rank = 4;
  for (int d = 0; d < 4; d++) {
    const int own = d - (4 - t->rank);
    x.sizes[d] = own < 0 ? 1 : t->sizes[own];
    x.strides[d] = x.sizes[d] == 1 ? 0 : t->strides[own];
  }
  return x;
}

/* Sets the batch of a matrix: samples and heads, or, if heads share keys, groups of all samples and
 * heads of a group. Returns false if the groups of all samples have no common stride. */
static bool set_heads(const attention *a, rush_gpu_matrix *x, const rush_tensor *t) {
  const rush_tensor h = with_four(t);
  const int64_t heads = a->q.sizes[1], groups = heads / a->share;
  if (h.sizes[0] != 1 && h.sizes[0] != a->q.sizes[0]) return false;
  if (a->share == 1) {
    x->batch[0] = h.strides[0], x->batch[1] = h.strides[1];
    return h.sizes[1] == 1 || h.sizes[1] == heads;
  }
  const bool is_whole = h.sizes[1] == heads;
  if (!is_whole && h.sizes[1] != groups && h.sizes[1] != 1) return false;
  x->batch[0] = is_whole ? h.strides[1] * a->share : h.strides[1];
  x->batch[1] = is_whole ? h.strides[1] : 0;
  return a->q.sizes[0] == 1 || h.strides[0] == x->batch[0] * groups;
}

static bool set_mask(const attention *a, rush_gpu_product *p) {
  const rush_tensor *t = a->mask;
  if (!t) return true;
  p->masks = t->dtype == RUSH_BOOL;
  if (t->rank < 2 || t->rank > 4 || rush_is_turned(t)) return false;
  if (p->masks ? t->storage->bytes >= INT32_MAX : !rush_gpu_can_read(t)) return false;
  const rush_tensor m = with_four(t);
  if ((m.sizes[2] != 1 && m.sizes[2] != p->m) || (m.sizes[3] != 1 && m.sizes[3] != p->n))
    return false;
  p->added =
      (rush_gpu_matrix){.t = t, .offset = t->offset, .row = m.strides[2], .col = m.strides[3]};
  return set_heads(a, &p->added, t) && (m.sizes[1] == 1 || m.sizes[1] == a->q.sizes[1]);
}

/* Returns the two products without their results. Returns false if the kernels cannot. */
static bool plan(const attention *a, rush_gpu_product *scores, rush_gpu_product *values) {
  const int64_t tokens = a->q.sizes[2], keys = a->k.sizes[2];
  *scores = rush_gpu_plain_product(tokens, keys, a->q.sizes[3]);
  *values = rush_gpu_plain_product(tokens, a->v.sizes[3], keys);
  scores->batch[0] = a->share == 1 ? a->q.sizes[0] : a->q.sizes[0] * a->q.sizes[1] / a->share;
  scores->batch[1] = a->share == 1 ? a->q.sizes[1] : a->share;
  memcpy(values->batch, scores->batch, sizeof values->batch);
  scores->alpha = a->scale;
  scores->causal = a->causal;
  scores->a = rush_gpu_matrix_of(&a->q);
  scores->b = rush_gpu_matrix_of(&a->k);
  scores->b.row = a->k.strides[3], scores->b.col = a->k.strides[2];
  values->b = rush_gpu_matrix_of(&a->v);
  return set_heads(a, &scores->a, &a->q) && set_heads(a, &scores->b, &a->k) &&
         set_heads(a, &values->b, &a->v) && set_mask(a, scores);
}

/* Computes the strides of PyTorch's result. Its flash kernel follows the queries. */
static void result_strides(const attention *a, const int64_t *sizes, int64_t *strides) {
  const rush_tensor *all[] = {&a->q, &a->k, &a->v};
  bool flash = a->v.sizes[3] == a->q.sizes[3] && (a->share == 1 || a->repeated);
  for (int i = 0; i < 3; i++)
    flash = flash && (all[i]->sizes[3] == 1 || all[i]->strides[3] == 1 || (i > 0 && a->repeated));
  if (flash)
    rush_strides_of_copy(&a->q, strides);
  else
    rush_strides_contiguous(4, sizes, strides);
}

static rush_status attend(rush_gpu *g, rush_call *c, const attention *a, rush_gpu_product *scores,
                          rush_gpu_product *values) {
  const int64_t in_groups[] = {scores->batch[0], scores->batch[1], scores->m, scores->n};
  const int64_t sizes[] = {a->q.sizes[0], a->q.sizes[1], a->q.sizes[2], a->v.sizes[3]};
  int64_t strides[RUSH_MAX_RANK];
  rush_tensor *s, *weights;
  RUSH_TRY(rush_gpu_temporary(g, c, 4, in_groups, &s));
  rush_gpu_set_out(scores, s);
  RUSH_TRY(rush_gpu_multiply(g, c, scores));
  RUSH_TRY(rush_gpu_temporary(g, c, 4, in_groups, &weights));
  RUSH_TRY(rush_gpu_softmax_rows(g, c, s, 3, false, true, weights));
  values->a = rush_gpu_matrix_of(weights);
  values->a.batch[1] = values->m * values->k;
  values->a.batch[0] = values->batch[1] * values->a.batch[1];
  result_strides(a, sizes, strides);
  RUSH_TRY(rush_gpu_result(g, c, 4, sizes, strides));
  const rush_tensor *out = rush_as_tensor(c->results);
  values->out = rush_gpu_matrix_of(out);
  const bool has_heads = set_heads(a, &values->out, out);
  assert(has_heads); /* as q, whose order the result has */
  (void)has_heads;
  return rush_gpu_multiply(g, c, values);
}

/* Reads the arguments after query, key and value, from the mask on. Returns false if the kernels
 * cannot, or if PyTorch refuses them. */
static bool read(rush_call *c, uint32_t mask, attention *a) {
  const rush_tensor *q = &a->q, *all[] = {q, &a->k, &a->v};
  a->mask = arg_tensor(c, mask);
  a->causal = arg_bool(c, mask + 2);
  for (int i = 0; i < 3; i++) {
    const rush_tensor *t = all[i];
    if (!rush_gpu_can_multiply(t) || t->rank != 4 || t->numel == 0 || t->sizes[0] != q->sizes[0] ||
        t->sizes[1] != a->k.sizes[1] * (i == 0 ? a->share : 1))
      return false;
  }
  a->scale =
      (float)(arg_is_none(c, mask + 3) ? 1 / sqrt((double)q->sizes[3]) : arg_float(c, mask + 3));
  return arg_float(c, mask + 1) == 0 && !(a->mask && a->causal) && a->k.sizes[3] == q->sizes[3] &&
         a->v.sizes[2] == a->k.sizes[2] && q->sizes[0] * q->sizes[1] <= RUSH_GPU_GROUPS;
}

static bool run(rush_gpu *g, rush_call *c, uint32_t mask, attention *a, rush_status *st) {
  rush_gpu_product scores, values;
  if (!read(c, mask, a) || !plan(a, &scores, &values)) return false;
  *st = attend(g, c, a, &scores, &values);
  return true;
}

/* Returns how many heads of the queries have a head of the keys in common. */
static int64_t share_of(const rush_tensor *q, const rush_tensor *k) {
  const bool shares = q->rank == 4 && k->rank == 4 && k->sizes[1] > 0;
  return shares ? q->sizes[1] / k->sizes[1] : 1;
}

bool rush_gpu_attention(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  attention a = {.q = *arg_tensor(c, 0), .k = *arg_tensor(c, 1), .v = *arg_tensor(c, 2)};
  (void)row;
  a.share = arg_bool(c, 7) ? share_of(&a.q, &a.k) : 1;
  return run(g, c, 3, &a, st);
}

/* Takes argument i, a [batch, heads, repeated, tokens, features], without the repetitions. */
static bool without_repeats(rush_call *c, uint32_t i, rush_tensor *out) {
  const rush_tensor *t = arg_tensor(c, i), *q = arg_tensor(c, 0);
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  if (t->rank != 5 || q->rank != 4 || t->numel == 0 || t->strides[2] != 0 || rush_is_turned(t) ||
      arg_ints(c, i + 1, RUSH_MAX_RANK, sizes, &rank) != RUSH_OK || rank != 4 ||
      rush_infer_size(c->ctx, t->numel, rank, sizes, sizes) != RUSH_OK)
    return false;
  *out = *t;
  out->rank = 4;
  out->numel = t->numel / t->sizes[2];
  for (int d = 2; d < 4; d++) out->sizes[d] = t->sizes[d + 1], out->strides[d] = t->strides[d + 1];
  return sizes[0] == t->sizes[0] && sizes[1] == t->sizes[1] * t->sizes[2] &&
         sizes[2] == t->sizes[3] && sizes[3] == t->sizes[4] && q->sizes[1] == sizes[1];
}

/* rush::repeated_attention, whose keys and values are followed by the sizes of a reshape. */
bool rush_gpu_repeated_attention(rush_gpu *g, rush_call *c, const rush_gpu_row *row,
                                 rush_status *st) {
  attention a = {.q = *arg_tensor(c, 0), .repeated = true};
  (void)row;
  if (!without_repeats(c, 1, &a.k) || !without_repeats(c, 3, &a.v)) return false;
  a.share = share_of(&a.q, &a.k);
  return run(g, c, 5, &a, st);
}
