/* Matrix products: linear, mm, bmm, matmul and addmm, and whatever else uses their kernels. */
#include <math.h>

#include "gpu/product.h"
#include "tensor/layout.h"

enum { MANY_TILES = 256 /* large tiles, from which they keep a device busy */ };

void rush_gpu_place_matrix(const rush_gpu_matrix *x, uint32_t *words) {
  words[0] = (uint32_t)x->offset;
  words[1] = (uint32_t)x->row;
  words[2] = (uint32_t)x->col;
  words[3] = (uint32_t)x->batch[0];
  words[4] = (uint32_t)x->batch[1];
}

static void put_number(uint32_t *at, float v) {
  memcpy(at, &v, sizeof v);
}

void rush_gpu_place_product(const rush_gpu_product *p, uint32_t *w) {
  w[0] = (uint32_t)p->m, w[1] = (uint32_t)p->n, w[2] = (uint32_t)p->k;
  w[3] = (uint32_t)p->batch[1];
  rush_gpu_place_matrix(&p->a, w + 4);
  rush_gpu_place_matrix(&p->b, w + 9);
  rush_gpu_place_matrix(&p->added, w + 16);
  put_number(w + 21, p->alpha), put_number(w + 22, p->beta);
  put_number(w + 23, p->min), put_number(w + 24, p->max);
  rush_gpu_place_matrix(&p->out, w + 25);
  w[63] = (uint32_t)p->share;
}

/* Returns the type of elements of an operand whose fours are vectors. */
static char letter_of(const rush_tensor *t, bool wide) {
  const char letter = rush_gpu_letter(t);
  return wide && letter == 'f' ? 'v' : letter;
}

/* Binds the buffers of a product, and writes the types of their elements. */
static rush_status bind_all(rush_gpu_job *job, const rush_gpu_product *p, const rush_gpu_form *f,
                            char *types) {
  const rush_gpu_quantized *q = p->quantized;
  const struct {
    const rush_tensor *t;
    char type;
  } buffers[] = {
      {p->a.t, letter_of(p->a.t, f->wide_a)},
      {p->b.t, q ? 'u' : letter_of(p->b.t, f->wide_b)},
      {p->added.t, p->masks ? 'u' : 'f'},
      {q ? q->scales : NULL, q ? rush_gpu_letter(q->scales) : 0},
      {q ? q->offsets : NULL, !q || q->kind != RUSH_GPU_MINIMA ? 'u' : rush_gpu_letter(q->offsets)},
      {p->out.t, 'f'}};
  for (size_t k = 0; k < sizeof buffers / sizeof *buffers; k++) {
    if (!buffers[k].t) continue;
    *types++ = buffers[k].type;
    RUSH_TRY(rush_gpu_bind(job, buffers[k].t));
  }
  *types = 0;
  return RUSH_OK;
}

bool rush_gpu_is_wide(const rush_gpu_matrix *x, int64_t size, int64_t step, int64_t other) {
  return step == 1 && (size | other | x->offset | x->batch[0] | x->batch[1]) % 4 == 0;
}

static rush_gpu_form form_of(const rush_gpu_product *p) {
  const rush_gpu_quantized *q = p->quantized;
  const bool along_n = p->b.row != 1 && p->b.col == 1;
  rush_gpu_form f = {.adds = p->added.t != NULL && !p->masks,
                     .masks = p->masks,
                     .clamps = p->min != -INFINITY || p->max != INFINITY,
                     .causal = p->causal,
                     .channels_last = p->pixels && p->pixels->channels_last,
                     .letter_a = rush_gpu_letter(p->a.t),
                     .letter_b = rush_gpu_letter(p->b.t),
                     .rows = p->m <= 4 && !p->pixels ? (uint32_t)p->m : 0,
                     .lanes = p->k >= 1024  ? 64
                              : p->k >= 128 ? 32
                                            : 16,
                     .quantized = q};
  const uint64_t tiles =
      (uint64_t)((p->m + 63) / 64) * (uint64_t)((p->n + 63) / 64 * p->batch[0] * p->batch[1]);
  f.large = tiles >= MANY_TILES;
  f.second = q           ? RUSH_GPU_BITS
             : p->pixels ? RUSH_GPU_PIXELS
             : along_n   ? RUSH_GPU_ALONG_N
                         : RUSH_GPU_ALONG_K;
  f.wide_a = rush_gpu_is_wide(&p->a, p->k, p->a.col, p->a.row) && !(f.rows && along_n && !q);
  if (q && !rush_gpu_has_fast_step(&f)) f.wide_a = false;
  if (f.second == RUSH_GPU_ALONG_K) f.wide_b = rush_gpu_is_wide(&p->b, p->k, p->b.row, p->b.col);
  if (f.second == RUSH_GPU_ALONG_N) f.wide_b = rush_gpu_is_wide(&p->b, p->n, p->b.col, p->b.row);
  return f;
}

/* Returns how many elements of the result a workgroup computes, as columns and lines. */
static void cut(const rush_gpu_form *f, uint32_t *columns, uint32_t *lines) {
  const rush_gpu_tile tile = rush_gpu_tile_of(f->large);
  const bool rounded = f->quantized && !rush_gpu_has_fast_step(f);
  *lines = f->rows ? 4 : tile.m;
  *columns = !f->rows ? tile.n : f->second == RUSH_GPU_ALONG_N ? 16 : 64 / f->lanes;
  if (!rounded) return;
  *lines = f->rows ? 1 : 32;
  *columns = f->rows ? 8 : 32;
}

rush_status rush_gpu_multiply(rush_gpu *g, rush_call *c, const rush_gpu_product *p) {
  rush_gpu_job job = {.g = g, .c = c};
  char types[RUSH_GPU_BUFFERS + 1];
  const rush_gpu_form f = form_of(p);
  const uint32_t key[] = {'m',
                          f.adds + 2u * f.masks + 4u * f.clamps + 8u * f.causal + 16u * f.wide_a +
                              32u * f.wide_b + 64u * f.large + 128u * f.channels_last,
                          (uint32_t)f.letter_a | (uint32_t)f.letter_b << 8,
                          (uint32_t)f.second,
                          f.rows,
                          f.lanes,
                          p->quantized ? rush_gpu_key_quantized(p) : 0};
  uint32_t columns, lines;
  if (p->out.t->numel == 0) return RUSH_OK;
  RUSH_TRY(bind_all(&job, p, &f, types));
  RUSH_TRY(rush_gpu_find_pipeline(&job, key, 7, types, rush_gpu_write_product, &f));
  cut(&f, &columns, &lines);
  rush_gpu_place_product(p, job.params);
  job.params[14] = (uint32_t)((p->n + columns - 1) / columns);
  job.params[15] = (uint32_t)((p->m + lines - 1) / lines);
  if (p->quantized) rush_gpu_place_quantized(p, job.params);
  if (p->pixels) memcpy(job.params + 30, p->pixels->words, sizeof p->pixels->words);
  return rush_gpu_dispatch(&job, (uint64_t)job.params[14] * job.params[15],
                           (uint32_t)(p->batch[0] * p->batch[1]),
                           (rush_gpu_work){(uint64_t)p->out.t->numel, (uint64_t)p->k});
}

/* ---- Operands -------------------------------------------------------------------------------- */

bool rush_gpu_can_multiply(const rush_tensor *t) {
  return rush_gpu_can_read(t) && !rush_is_turned(t) && t->rank <= 4;
}

rush_gpu_matrix rush_gpu_matrix_of(const rush_tensor *t) {
  rush_gpu_matrix x = {.t = t, .offset = t->offset};
  x.row = t->rank > 1 ? t->strides[t->rank - 2] : 0;
  x.col = t->rank > 0 ? t->strides[t->rank - 1] : 0;
  return x;
}

/* Sets the strides of a matrix that broadcasts in up to two dimensions of a batch. */
static bool set_batch(rush_gpu_matrix *x, const int64_t batch[2]) {
  const rush_tensor *t = x->t;
  for (int b = 0; b < 2; b++) {
    const int d = t->rank - 4 + b;
    const int64_t size = d < 0 ? 1 : t->sizes[d];
    if (size != 1 && size != batch[b]) return false;
    x->batch[b] = size == 1 ? 0 : t->strides[d];
  }
  return true;
}

rush_gpu_product rush_gpu_plain_product(int64_t m, int64_t n, int64_t k) {
  return (rush_gpu_product){.m = m,
                            .n = n,
                            .k = k,
                            .batch = {1, 1},
                            .share = 1,
                            .alpha = 1,
                            .beta = 1,
                            .min = -INFINITY,
                            .max = INFINITY};
}

void rush_gpu_set_out(rush_gpu_product *p, const rush_tensor *t) {
  p->out = (rush_gpu_matrix){.t = t, .offset = t->offset, .row = p->n, .col = 1};
  p->out.batch[1] = p->m * p->n;
  p->out.batch[0] = p->batch[1] * p->out.batch[1];
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Returns whether a term of this shape broadcasts to the result of linear. */
static bool is_bias(const rush_tensor *t, int64_t n) {
  return rush_gpu_can_multiply(t) && t->rank == 1 && t->sizes[0] == n;
}

rush_status rush_gpu_multiply_rows(rush_gpu *g, rush_call *c, rush_gpu_product *p) {
  const rush_tensor *x = rush_as_tensor(c->args);
  int64_t sizes[RUSH_MAX_RANK];
  memcpy(sizes, x->sizes, sizeof sizes);
  sizes[x->rank - 1] = p->n;
  RUSH_TRY(rush_gpu_result(g, c, x->rank, sizes, NULL));
  rush_gpu_set_out(p, rush_as_tensor(c->results));
  return rush_gpu_multiply(g, c, p);
}

static rush_status run_linear(rush_gpu *g, rush_call *c, rush_gpu_product *p, rush_tensor *x) {
  if (x->rank != 2) RUSH_TRY(rush_gpu_row_major(g, c, x, &x));
  p->a = rush_gpu_matrix_of(x);
  if (x->rank != 2) p->a.row = p->k; /* all dimensions but the last are rows */
  return rush_gpu_multiply_rows(g, c, p);
}

/* aten::linear and rush::linear, whose limits are arguments 3 and 4. */
bool rush_gpu_linear(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  rush_tensor *x = arg_tensor(c, 0);
  const rush_tensor *w = arg_tensor(c, 1), *bias = arg_tensor(c, 2);
  if (!rush_gpu_can_multiply(x) || !rush_gpu_can_read_real(w) || rush_is_turned(w) ||
      w->rank != 2 || x->rank < 1 || x->numel == 0 || x->sizes[x->rank - 1] != w->sizes[1] ||
      (bias && !is_bias(bias, w->sizes[0])))
    return false;
  rush_gpu_product p = rush_gpu_plain_product(x->numel / w->sizes[1], w->sizes[0], w->sizes[1]);
  p.b = (rush_gpu_matrix){.t = w, .offset = w->offset, .row = w->strides[1], .col = w->strides[0]};
  if (bias) p.added = (rush_gpu_matrix){.t = bias, .offset = bias->offset, .col = bias->strides[0]};
  if (row->number) {
    p.min = (float)arg_float(c, 3);
    p.max = (float)arg_float(c, 4);
  }
  *st = run_linear(g, c, &p, x);
  return true;
}

/* mm, bmm and matmul of matrices with at most two dimensions of a batch. */
bool rush_gpu_matmul(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
  int64_t sizes[RUSH_MAX_RANK] = {0};
  if (!rush_gpu_can_multiply(a) || !rush_gpu_can_multiply(b) || a->rank < 2 || b->rank < 2)
    return false;
  if (row->number && (a->rank != row->number || b->rank != row->number)) return false;
  if (a->sizes[a->rank - 1] != b->sizes[b->rank - 2]) return false;
  rush_gpu_product p =
      rush_gpu_plain_product(a->sizes[a->rank - 2], b->sizes[b->rank - 1], a->sizes[a->rank - 1]);
  const int rank = a->rank > b->rank ? a->rank : b->rank;
  for (int d = 0; d < 2; d++) {
    const int64_t sa = a->rank - 4 + d < 0 ? 1 : a->sizes[a->rank - 4 + d];
    const int64_t sb = b->rank - 4 + d < 0 ? 1 : b->sizes[b->rank - 4 + d];
    p.batch[d] = sa == 1 ? sb : sa;
    if (rank - 4 + d >= 0) sizes[rank - 4 + d] = p.batch[d];
  }
  if (row->number == 3 && a->sizes[0] != b->sizes[0]) return false;
  sizes[rank - 2] = p.m, sizes[rank - 1] = p.n;
  p.a = rush_gpu_matrix_of(a), p.b = rush_gpu_matrix_of(b);
  if (!set_batch(&p.a, p.batch) || !set_batch(&p.b, p.batch)) return false;
  if (p.batch[0] * p.batch[1] > RUSH_GPU_GROUPS) return false;
  *st = rush_gpu_result(g, c, rank, sizes, NULL);
  if (*st != RUSH_OK) return true;
  rush_gpu_set_out(&p, rush_as_tensor(c->results));
  *st = rush_gpu_multiply(g, c, &p);
  return true;
}

/* addmm. A term with the factor zero is not read, as in PyTorch. */
bool rush_gpu_addmm(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *self = arg_tensor(c, 0), *a = arg_tensor(c, 1), *b = arg_tensor(c, 2);
  (void)row;
  if (!rush_gpu_can_multiply(self) || !rush_gpu_can_multiply(a) || !rush_gpu_can_multiply(b) ||
      a->rank != 2 || b->rank != 2 || self->rank > 2 || a->sizes[1] != b->sizes[0] ||
      c->args[3].kind == RUSH_KIND_COMPLEX || c->args[4].kind == RUSH_KIND_COMPLEX)
    return false;
  rush_gpu_product p = rush_gpu_plain_product(a->sizes[0], b->sizes[1], a->sizes[1]);
  const int64_t sizes[2] = {p.m, p.n};
  for (int d = 0; d < self->rank; d++) {
    const int64_t size = self->sizes[self->rank - 1 - d];
    if (size != 1 && size != sizes[1 - d]) return false;
  }
  p.a = rush_gpu_matrix_of(a), p.b = rush_gpu_matrix_of(b);
  p.beta = (float)arg_scalar_double(c, 3), p.alpha = (float)arg_scalar_double(c, 4);
  if (p.beta != 0) {
    p.added = rush_gpu_matrix_of(self);
    if (self->rank < 2 || self->sizes[0] == 1) p.added.row = 0;
    if (self->rank < 1 || self->sizes[self->rank - 1] == 1) p.added.col = 0;
  }
  *st = rush_gpu_result(g, c, 2, sizes, NULL);
  if (*st != RUSH_OK) return true;
  rush_gpu_set_out(&p, rush_as_tensor(c->results));
  *st = rush_gpu_multiply(g, c, &p);
  return true;
}
