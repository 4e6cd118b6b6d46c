#include "blocks/elements/pointwise_rows.h"

#include "tensor/planes.h"

enum { LANES = RUSH_PW_LANES, SHORT = 16 /* rows that are put together */ };

typedef rush_pw_run run;

/* ---- Rows of elements ------------------------------------------------------------------------ */

/* Brings m elements of input k, from `from` on, into its buffer, as the body wants them. */
static void fetch(run *r, int k, const char *from, int64_t m) {
  rush_dtype have = r->memory[k], want = r->body_type[k];
  size_t item = rush_dtype_size(have);
  int64_t stride = r->stride[k];
  if (have == want && stride == 0 && item == sizeof(int32_t)) {
    rush_pw_fill_words(r->buffer[k], from, m);
  } else if (have == want) {
    rush_copy_items(item, r->buffer[k], (int64_t)item, from, stride, m);
  } else {
    if (stride != (int64_t)item) {
      rush_copy_items(item, r->spare, (int64_t)item, from, stride, m);
      from = r->spare;
    }
    rush_convert(want, r->buffer[k], have, from, m);
  }
  if (r->wraps[k]) {
    rush_convert(r->common, r->spare, want, r->buffer[k], m);
    rush_convert(want, r->buffer[k], r->common, r->spare, m);
  }
}

/* Returns whether n elements of operand k are in memory in the form that the body takes. */
static bool lies_right(const run *r, int k, int64_t n) {
  return r->memory[k] == r->body_type[k] && !r->wraps[k] &&
         (n == 1 || r->stride[k] == (int64_t)rush_dtype_size(r->memory[k]));
}

static void call_body(run *r, int64_t n) {
  const void *in[RUSH_PW_OPERANDS];
  for (int k = 1; k <= r->n; k++) in[k - 1] = r->at[k];
  r->body((size_t)n, r->at[0], in, r->p);
}

static void run_blocks(run *r, int64_t n) {
  bool direct[LANES];
  const void *in[RUSH_PW_OPERANDS];
  for (int k = 0; k <= r->n; k++) direct[k] = lies_right(r, k, n);
  size_t item = rush_dtype_size(r->memory[0]);
  for (int64_t done = 0; done < n; done += r->block) {
    int64_t m = n - done < r->block ? n - done : r->block;
    for (int k = 1; k <= r->n; k++) {
      const char *from = r->at[k] + done * r->stride[k];
      if (direct[k]) {
        in[k - 1] = from;
        continue;
      }
      in[k - 1] = r->buffer[k];
      if (r->stride[k] == 0 && r->held[k] == from) continue;
      fetch(r, k, from, m);
      r->held[k] = r->stride[k] == 0 ? from : NULL;
    }
    char *to = r->at[0] + done * r->stride[0];
    if (direct[0]) {
      r->body((size_t)m, to, in, r->p);
      continue;
    }
    r->body((size_t)m, r->buffer[0], in, r->p);
    const char *from = r->buffer[0];
    if (r->memory[0] != r->body_type[0]) {
      bool dense = r->stride[0] == (int64_t)item;
      rush_convert(r->memory[0], dense ? to : r->spare, r->body_type[0], from, m);
      if (dense) continue;
      from = r->spare;
    }
    rush_copy_items(item, to, r->stride[0], from, (int64_t)item, m);
  }
}

/* A function that runs a row of n elements. */
typedef void row_fn(run *r, int64_t n);
static row_fn *row_of(const run *r, int64_t n) {
  for (int k = 0; k <= r->n; k++)
    if (!lies_right(r, k, n)) return run_blocks;
  return call_body;
}

/* n1 rows of n0 elements, one after the other. */
static void gather_rows(char *to, const char *from, const int64_t *stride, size_t item, int64_t n0,
                        int64_t n1) {
  for (int64_t j = 0; j < n1; j++, from += stride[1], to += (size_t)n0 * item)
    rush_copy_items(item, to, (int64_t)item, from, stride[0], n0);
}

/* Computes a block of n elements from raw[], and writes the result to `to`. */
static void flush(run *r, int64_t n, char *to) {
  const void *in[RUSH_PW_OPERANDS];
  for (int k = 1; k <= r->n; k++) {
    in[k - 1] = r->raw[k];
    if (r->held[k]) { /* a Scalar fills the buffer already */
      in[k - 1] = r->buffer[k];
    } else if (r->memory[k] != r->body_type[k] || r->wraps[k]) {
      r->stride[k] = (int64_t)rush_dtype_size(r->memory[k]);
      fetch(r, k, r->raw[k], n);
      in[k - 1] = r->buffer[k];
    }
  }
  if (r->memory[0] == r->body_type[0]) {
    r->body((size_t)n, to, in, r->p);
  } else {
    r->body((size_t)n, r->buffer[0], in, r->p);
    rush_convert(r->memory[0], to, r->body_type[0], r->buffer[0], n);
  }
}

/* Runs short rows, several in one block. The destination is dense, and the iterator follows its
 * order. lane[i] is the lane of r for operand i of the iterator. */
RUSH_RARE __attribute__((noinline)) static void run_short_rows(run *r, rush_iter *it,
                                                               const int *lane) {
  bool walked[LANES] = {true};
  for (int i = 1; i < it->n; i++) walked[lane[i]] = true;
  for (int k = 1; k <= r->n; k++) {
    if (walked[k]) continue;
    r->stride[k] = 0;
    fetch(r, k, r->at[k], r->block);
    r->held[k] = r->at[k];
  }
  const int64_t n0 = it->size[0], n1 = it->size[1];
  char *to = it->at[0];
  int64_t fill = 0;
  do {
    for (int64_t j = 0; j < n1;) {
      int64_t rows = (r->block - fill) / n0;
      if (rows == 0) {
        flush(r, fill, to);
        to += (size_t)fill * rush_dtype_size(r->memory[0]);
        fill = 0;
        continue;
      }
      if (rows > n1 - j) rows = n1 - j;
      for (int i = 1; i < it->n; i++) {
        const size_t item = rush_dtype_size(r->memory[lane[i]]);
        gather_rows(r->raw[lane[i]] + (size_t)fill * item, it->at[i] + j * it->stride[i][1],
                    it->stride[i], item, n0, rows);
      }
      fill += rows * n0;
      j += rows;
    }
  } while (rush_iter_next_from(it, 2));
  flush(r, fill, to);
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* A loop over elements, of which each thread does some with buffers and parameters of its own. */
typedef struct walk {
  run *r;
  int64_t n;    /* elements, where all tensors are walked alike */
  rush_iter it; /* else */
  int lane[LANES];
  bool short_rows;
} walk;

enum { LINE = 1024, FEW = 4096 /* are not worth a copy of all this */ };

static void copy_run(run *to, rush_pw_params *p, const run *from) {
  memcpy(to, from, offsetof(run, buffer));
  *p = *from->p;
  to->p = p;
  for (int k = 0; k <= to->n; k++) to->held[k] = NULL;
}
static void report_fault(const walk *w, const rush_pw_params *p) {
  if (p->fault) __atomic_store_n(&w->r->p->fault, p->fault, __ATOMIC_RELAXED);
}

static void run_lines(const void *arg, size_t begin, size_t end, unsigned who) {
  const walk *w = arg;
  run r;
  rush_pw_params p;
  (void)who;
  copy_run(&r, &p, w->r);
  const int64_t first = (int64_t)begin * LINE, last = (int64_t)end * LINE;
  for (int k = 0; k <= r.n; k++) r.at[k] += r.stride[k] * first;
  const int64_t n = (last < w->n ? last : w->n) - first;
  row_of(&r, n)(&r, n);
  report_fault(w, &p);
}

static void walk_rows(run *r, rush_iter *it, const walk *w) {
  if (w->short_rows) {
    run_short_rows(r, it, w->lane);
    return;
  }
  row_fn *const row = row_of(r, it->size[0]);
  do {
    for (int k = 0; k < it->n; k++) r->at[w->lane[k]] = it->at[k];
    row(r, it->size[0]);
  } while (rush_iter_next(it));
}

/* Runs a range of the outermost dimension. */
static void run_planes(const void *arg, size_t begin, size_t end, unsigned who) {
  const walk *w = arg;
  run r;
  rush_pw_params p;
  rush_iter it = w->it;
  const int d = it.rank - 1;
  (void)who;
  copy_run(&r, &p, w->r);
  for (int k = 0; k < it.n; k++) it.at[k] += it.stride[k][d] * (int64_t)begin;
  it.size[d] = (int64_t)(end - begin);
  walk_rows(&r, &it, w);
  report_fault(w, &p);
}

/* Runs tensors whose elements all lie in the order of the result's. */
static void run_line(rush_ctx *ctx, const walk *w, const rush_tensor *dst) {
  run *r = w->r;
  r->at[0] = rush_data(dst);
  r->stride[0] = (int64_t)rush_itemsize(dst);
  if (w->n <= FEW) {
    row_of(r, w->n)(r, w->n);
  } else {
    rush_parallel(ctx, (size_t)((w->n - 1) / LINE) + 1, LINE, run_lines, w);
  }
}

void rush_pw_run_all(rush_ctx *ctx, rush_pw_run *r, const rush_pw_operands *o,
                     const int64_t scalar[][2], rush_tensor *dst) {
  const rush_tensor *walked[LANES] = {dst};
  walk w;
  const bool few = dst->numel <= FEW;
  int n_walked = 1;
  w.r = r;
  w.n = dst->numel;
  w.lane[0] = 0;
  bool linear = o->flat ? rush_is_contiguous(dst) : rush_is_dense(dst);
  if (few && rush_should_stop(ctx, (uint64_t)w.n)) return;
  for (int k = 0; k < r->n; k++) {
    const rush_tensor *t = o->t[k];
    r->at[k + 1] = t ? rush_data(t) : (char *)(uintptr_t)scalar[k];
    r->stride[k + 1] = 0;
    if (!t) continue;
    w.lane[n_walked] = k + 1;
    walked[n_walked++] = t;
    if (t->numel == 1) continue;
    r->stride[k + 1] = (int64_t)rush_itemsize(t);
    linear = linear && (o->flat || rush_same_strides(dst, t));
  }
  if (linear) {
    run_line(ctx, &w, dst);
    return;
  }
  rush_iter_init(&w.it, dst->rank, dst->sizes, n_walked, walked);
  w.short_rows = w.it.size[0] <= SHORT && w.it.rank > 1 && rush_is_dense(dst);
  for (int k = 0; k < n_walked; k++) r->stride[w.lane[k]] = w.it.stride[k][0];
  if (few) {
    walk_rows(r, &w.it, &w);
    return;
  }
  rush_parallel_planes(ctx, &w.it, dst->numel, 1, run_planes, &w);
}
