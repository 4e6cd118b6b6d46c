#include "blocks/elements/pointwise.h"

#include "base/threads.h"

enum { BYTES = 2048 /* of a buffer */, SHORT = 16 /* rows that are put together */ };

void rush_pw_scalar(const rush_call *c, rush_pw_job *job, uint32_t arg, int k) {
  if (arg_is_none(c, arg)) return;
  if (c->args[arg].kind == RUSH_KIND_COMPLEX) {
    const rush_complex *z = (const rush_complex *)c->args[arg].u.ref;
    job->p.f[k] = z->re;
    job->p.f[k + 1] = z->im;
    return;
  }
  job->p.f[k] = arg_scalar_double(c, arg);
  if (!arg_scalar_is_float(c, arg)) {
    job->p.i[k] = arg_scalar_int(c, arg);
  } else {
    int64_t as_int;
    rush_convert(RUSH_INT64, &as_int, RUSH_FLOAT64, &job->p.f[k], 1);
    job->p.i[k] = as_int;
  }
}

float rush_pw_rounded(const rush_pw_params *p, float v) {
  return (float)rush_rounded(p->common, (double)v);
}

/* ---- Bodies that rows share ------------------------------------------------------------------ */

void rush_pw_map_f64(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const double *x = in[0];
  double *y = out;
  double (*fn)(double) = p->fn;
  for (size_t i = 0; i < n; i++) y[i] = fn(x[i]);
}
void rush_pw_map_f32(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const float *x = in[0];
  float *y = out;
  float (*fn)(float) = p->fn32;
  for (size_t i = 0; i < n; i++) y[i] = fn(x[i]);
}
void rush_pw_map2_f64(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const double *a = in[0], *b = in[1];
  double *y = out, (*fn)(double, double) = p->fn2;
  for (size_t i = 0; i < n; i++) y[i] = fn(a[i], b[i]);
}
void rush_pw_map2_f32(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const float *a = in[0], *b = in[1];
  float *y = out, (*fn)(float, float) = p->fn2_32;
  for (size_t i = 0; i < n; i++) y[i] = fn(a[i], b[i]);
}
void rush_pw_map_c128(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  const rush_c128 *x = in[0];
  rush_c128 *y = out;
  for (size_t i = 0; i < n; i++) y[i] = p->cfn(x[i]);
}
void rush_pw_copy_i64(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  (void)p;
  memmove(out, in[0], n * sizeof(int64_t));
}
void rush_pw_false(size_t n, void *out, const void *const *in, rush_pw_params *p) {
  (void)in, (void)p;
  memset(out, 0, n);
}

/* ---- Rows of elements ------------------------------------------------------------------------ */

/* Operand 0 is the destination, 1.. are the inputs. */
enum { LANES = RUSH_PW_OPERANDS + 1 };

typedef struct run {
  rush_pw_body *body;
  rush_pw_params *p;
  int n;                       /* inputs */
  int64_t block;               /* elements at a time: as many as fit into a buffer */
  rush_dtype memory[LANES];    /* dtype of what is in memory */
  rush_dtype body_type[LANES]; /* what the body reads and writes */
  rush_dtype common;
  bool wraps
      [LANES]; /* what the common dtype cannot hold is brought to it before the body's, as a 0-d
                       int64 beside uint8 elements, which wraps */
  const char *held[LANES]; /* the element that fills buffer k, or NULL */
  char *at[LANES];
  int64_t stride[LANES]; /* bytes */
  _Alignas(16) char buffer[LANES][BYTES];
  _Alignas(16) char spare[BYTES];
  _Alignas(16) char raw[LANES][BYTES]; /* of run_short_rows */
} run;

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

/* Whether n elements of operand k are in memory as the body wants them. */
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

/* What runs rows of n elements. */
typedef void row_fn(run *r, int64_t n);
static row_fn *row_of(const run *r, int64_t n) {
  for (int k = 0; k <= r->n; k++)
    if (!lies_right(r, k, n)) return run_blocks;
  return call_body;
}

/* n1 rows of n0 elements, one behind the other. */
static void gather_rows(char *to, const char *from, const int64_t *stride, size_t item, int64_t n0,
                        int64_t n1) {
  for (int64_t j = 0; j < n1; j++, from += stride[1], to += (size_t)n0 * item)
    rush_copy_items(item, to, (int64_t)item, from, stride[0], n0);
}

/* A block of n elements that lie in raw[]; the result goes to `to`, where memory is dense. */
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

static bool next_plane(rush_iter *it) {
  for (int d = 2; d < it->rank; d++) {
    for (int k = 0; k < it->n; k++) it->at[k] += it->stride[k][d];
    if (++it->index[d] < it->size[d]) return true;
    for (int k = 0; k < it->n; k++) it->at[k] -= it->stride[k][d] * it->size[d];
    it->index[d] = 0;
  }
  return false;
}

/* Where rows are short, several make a block. The destination is dense, so that it is walked in its
 * order. lane[i]: which of r's lanes operand i of the iterator is. */
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
  } while (next_plane(it));
  flush(r, fill, to);
}

/* ---- Operands and destination ---------------------------------------------------------------- */

typedef rush_pw_operands operands;

static bool same_sizes(const operands *o, const rush_tensor *t);

static rush_status broadcast_sizes(rush_call *c, const rush_pw_job *job, operands *o) {
  bool any = false;
  o->flat = true;
  o->rank = 0;
  o->turned = false;
  for (int k = 0; k < job->n; k++) {
    const rush_value *v = &c->args[job->arg[k]];
    const rush_tensor *t = o->t[k] = v->kind == RUSH_KIND_TENSOR ? rush_as_tensor(v) : NULL;
    if (!t || t->rank == 0) continue;
    o->turned = o->turned || rush_is_turned(t);
    o->flat = o->flat && rush_is_plainly_contiguous(t) && !o->turned;
    if (!any) {
      any = true;
      o->rank = t->rank;
      for (int d = 0; d < t->rank; d++) o->sizes[d] = t->sizes[d];
      continue;
    }
    if (same_sizes(o, t)) continue;
    o->flat = false;
    int64_t sizes[RUSH_MAX_RANK];
    int rank;
    if (!rush_broadcast(o->rank, o->sizes, t->rank, t->sizes, &rank, sizes)) {
      for (int d = 1;; d++) {
        int64_t a = o->sizes[o->rank - d], b = t->sizes[t->rank - d];
        if (a == b || a == 1 || b == 1) continue;
        return rush_fail(
            c->ctx, RUSH_ERR_BAD_ARGUMENT,
            "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
            "dimension %d",
            (long long)a, (long long)b, rank - d);
      }
    }
    o->rank = rank;
    memcpy(o->sizes, sizes, (size_t)rank * sizeof *sizes);
  }
  return RUSH_OK;
}

static bool same_sizes(const operands *o, const rush_tensor *t) {
  if (t->rank != o->rank) return false;
  for (int d = 0; d < o->rank; d++)
    if (t->sizes[d] != o->sizes[d]) return false;
  return true;
}

/* As TensorIterator gives them. */
static void strides_of_operands(const rush_pw_plan *plan, int64_t *strides, int64_t *nominal) {
  const rush_pw_job *job = &plan->job;
  const operands *o = &plan->o;
  int n = job->n;
  while ((job->row->flags & RUSH_PW_NUMBER_ASIDE) != 0 && n > 1 && !o->t[n - 1]) n--;
  rush_strides_of_result(o->rank, o->sizes, n, (const rush_tensor *const *)o->t, strides);
  if (!o->turned) {
    memcpy(nominal, strides, (size_t)o->rank * sizeof *nominal);
    return;
  }
  rush_tensor seen[RUSH_PW_OPERANDS];
  const rush_tensor *all[RUSH_PW_OPERANDS];
  for (int k = 0; k < n; k++) {
    if (o->t[k]) seen[k] = rush_nominal_header(o->t[k]);
    all[k] = o->t[k] ? &seen[k] : NULL;
  }
  rush_strides_of_result(o->rank, o->sizes, n, all, nominal);
}

/* But for rows whose results do not follow it. */
void rush_pw_result_strides(const rush_call *c, const rush_pw_plan *plan, int64_t *strides,
                            int64_t *nominal) {
  const operands *o = &plan->o;
  const uint32_t flags = plan->job.row->flags;
  const bool contiguous =
      (flags & RUSH_PW_CONTIGUOUS) != 0 ||
      ((flags & RUSH_PW_NUMBER_FIRST) != 0 && c->args[0].kind != RUSH_KIND_TENSOR);
  strides_of_operands(plan, strides, nominal);
  if (contiguous) {
    rush_strides_contiguous(o->rank, o->sizes, nominal);
  } else if (flags & RUSH_PW_LIKE_SELF) {
    const rush_tensor seen = rush_nominal_header(arg_tensor(c, 0));
    rush_strides_of_copy(&seen, nominal);
  } else {
    return;
  }
  if (!o->turned) memcpy(strides, nominal, (size_t)o->rank * sizeof *strides);
}

static rush_status check_inplace(rush_call *c, const operands *o, rush_dtype dtype) {
  const rush_tensor *dst = c->inplace;
  char want[RUSH_SHAPE_TEXT], have[RUSH_SHAPE_TEXT];
  RUSH_CHECK(c->ctx, same_sizes(o, dst), RUSH_ERR_BAD_ARGUMENT,
             "output with shape %s doesn't match the broadcast shape %s",
             rush_shape_text(dst->rank, dst->sizes, have),
             rush_shape_text(o->rank, o->sizes, want));
  RUSH_CHECK(c->ctx, rush_can_cast(dtype, dst->dtype), RUSH_ERR_BAD_ARGUMENT,
             "result type %s can't be cast to the desired output type %s",
             rush_dtype_torch_name(dtype), rush_dtype_torch_name(dst->dtype));
  return rush_check_write(c->ctx, dst);
}

/* Whether element i of `dst` may be written as soon as element i of operand k is read: *safe. Where the
 * two share some elements in other places it is an error, as far as PyTorch sees it (both dense).
 */
static rush_status check_beside(rush_ctx *ctx, const rush_tensor *dst, const rush_pw_plan *plan,
                                int k, bool *safe) {
  const rush_tensor *t = plan->o.t[k];
  if (!t || !rush_may_overlap(dst, t)) return RUSH_OK;
  if (dst->offset == t->offset && dst->dtype == t->dtype && rush_same_strides(dst, t))
    return RUSH_OK;
  *safe = false;
  return k == 1 && (plan->job.row->flags & RUSH_PW_ITEM) ? RUSH_OK
                                                         : rush_check_no_overlap(ctx, dst, t);
}

/* The tensor to write, set as the result. */
static rush_status destination(rush_call *c, const rush_pw_plan *plan, rush_tensor **out) {
  const rush_pw_job *job = &plan->job;
  const operands *o = &plan->o;
  const rush_dtype dtype = plan->result;
  if (c->inplace) {
    RUSH_TRY(check_inplace(c, o, dtype));
    bool safe = true;
    for (int k = 0; k < job->n; k++) RUSH_TRY(check_beside(c->ctx, c->inplace, plan, k, &safe));
    if (safe) {
      *out = c->inplace;
      c->results[0] = rush_of_tensor(rush_tensor_retain(c->inplace));
      return RUSH_OK;
    }
  }
  for (int k = 0; k < job->n && o->flat && !c->inplace; k++) {
    rush_tensor *t = o->t[k];
    if (!t || t->rank != o->rank || t->dtype != dtype || !rush_can_reuse(c, job->arg[k])) continue;
    *out = t;
    c->results[0] = rush_of_tensor(rush_tensor_retain(t));
    return RUSH_OK;
  }
  if (o->flat) return rush_result(c, 0, dtype, o->rank, o->sizes, out);
  int64_t strides[RUSH_MAX_RANK], nominal[RUSH_MAX_RANK];
  rush_pw_result_strides(c, plan, strides, nominal);
  for (int k = 0; k < job->n && !c->inplace; k++) {
    rush_tensor *t = o->t[k];
    if (!t || !same_sizes(o, t) || t->dtype != dtype || !rush_can_reuse_turned(c, job->arg[k]))
      continue;
    if (memcmp(rush_nominal(t), nominal, (size_t)o->rank * sizeof *nominal) != 0) continue;
    *out = t;
    c->results[0] = rush_of_tensor(rush_tensor_retain(t));
    return RUSH_OK;
  }
  return rush_result_turned(c, 0, dtype, o->rank, o->sizes, strides, nominal, out);
}

/* ---- The call -------------------------------------------------------------------------------- */

static rush_pw_body *choose_body(const rush_pw_job *job, rush_dtype *compute) {
  const rush_pointwise *row = job->row;
  if (row->flags & RUSH_PW_AS_BOOL) return *compute = RUSH_BOOL, row->b8;
  if (RUSH_LIKELY(job->common == RUSH_FLOAT32)) return *compute = RUSH_FLOAT32, row->f32;
  switch (job->common) {
    case RUSH_FLOAT16:
    case RUSH_BFLOAT16:
      return *compute = RUSH_FLOAT32, row->f32;
    case RUSH_FLOAT64:
      return *compute = RUSH_FLOAT64, row->f64;
    case RUSH_COMPLEX64:
      if (row->c64) return *compute = RUSH_COMPLEX64, row->c64;
      /* fallthrough */
    case RUSH_COMPLEX128:
      return *compute = RUSH_COMPLEX128, row->c128;
    case RUSH_BOOL:
      if (row->flags & RUSH_PW_NO_BOOL) return NULL;
      if (row->b8) return *compute = RUSH_BOOL, row->b8;
      break;
    case RUSH_INT32:
      if (row->i32) return *compute = RUSH_INT32, row->i32;
      break;
    default:
      break;
  }
  return *compute = RUSH_INT64, row->i64;
}

static bool is_exact(const rush_pw_job *job, uint32_t arg) {
  return (job->row->flags & RUSH_PW_EXACT) != 0 && job->arg[job->n - 1] == arg;
}

void rush_pw_place_scalar(const rush_call *c, const rush_pw_plan *plan, int k, int64_t to[2]) {
  const rush_pw_job *job = &plan->job;
  const uint32_t arg = job->arg[k];
  const rush_dtype compute = rush_pw_operand_dtype(plan, k);
  const rush_value *v = &c->args[arg];
  int64_t wide;
  if (v->kind == RUSH_KIND_COMPLEX) {
    rush_convert(compute, to, RUSH_COMPLEX128, &((const rush_complex *)v->u.ref)->re, 1);
    return;
  }
  const bool is_float = v->kind == RUSH_KIND_FLOAT;
  const bool narrows =
      is_float ? rush_is_half(job->common) && !is_exact(job, arg) : rush_is_int(job->common);
  if (compute != job->common && narrows) { /* wraps, or is rounded, first */
    rush_convert(job->common, &wide, is_float ? RUSH_FLOAT64 : RUSH_INT64, &v->u, 1);
    rush_convert(compute, to, job->common, &wide, 1);
  } else {
    rush_convert(compute, to, is_float ? RUSH_FLOAT64 : RUSH_INT64, &v->u, 1);
  }
}

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
static void give_fault(const walk *w, const rush_pw_params *p) {
  if (p->fault) __atomic_store_n(&w->r->p->fault, p->fault, __ATOMIC_RELAXED);
}

static void some_lines(const void *arg, size_t begin, size_t end, unsigned who) {
  const walk *w = arg;
  run r;
  rush_pw_params p;
  (void)who;
  copy_run(&r, &p, w->r);
  const int64_t first = (int64_t)begin * LINE, last = (int64_t)end * LINE;
  for (int k = 0; k <= r.n; k++) r.at[k] += r.stride[k] * first;
  const int64_t n = (last < w->n ? last : w->n) - first;
  row_of(&r, n)(&r, n);
  give_fault(w, &p);
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

/* Of the outermost dimension. */
static void some_planes(const void *arg, size_t begin, size_t end, unsigned who) {
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
  give_fault(w, &p);
}

static void run_all(rush_ctx *ctx, run *r, const operands *o, const int64_t scalar[][2],
                    rush_tensor *dst) {
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
    r->at[0] = rush_data(dst);
    r->stride[0] = (int64_t)rush_itemsize(dst);
    if (few) {
      row_of(r, w.n)(r, w.n);
    } else {
      rush_parallel(ctx, (size_t)((w.n - 1) / LINE) + 1, LINE, some_lines, &w);
    }
    return;
  }
  rush_iter_init(&w.it, dst->rank, dst->sizes, n_walked, walked);
  w.short_rows = w.it.size[0] <= SHORT && w.it.rank > 1 && rush_is_dense(dst);
  for (int k = 0; k < n_walked; k++) r->stride[w.lane[k]] = w.it.stride[k][0];
  if (few) {
    walk_rows(r, &w.it, &w);
    return;
  }
  const int64_t planes = w.it.size[w.it.rank - 1];
  rush_parallel(ctx, (size_t)planes, (uint64_t)(dst->numel / planes), some_planes, &w);
}

/* Of an operand that the body takes in a dtype other than the common one. */
static bool wraps(const rush_pw_job *job, uint32_t arg, const rush_tensor *t) {
  if (t->dtype == job->common || rush_itemsize(t) < rush_dtype_size(job->common)) return false;
  return rush_is_int(job->common) ||
         (rush_is_half(job->common) && !(t->rank == 0 && is_exact(job, arg)));
}

rush_dtype rush_pw_operand_dtype(const rush_pw_plan *plan, int k) {
  return k == 0 && (plan->job.row->flags & RUSH_PW_MASK) != 0 ? RUSH_BOOL : plan->compute;
}

static rush_status run_plan(rush_call *c, rush_pw_plan *plan) {
  rush_pw_job *job = &plan->job;
  const operands *o = &plan->o;
  int64_t scalar[RUSH_PW_OPERANDS][2];
  run r;
  rush_tensor *dst;
  RUSH_TRY(destination(c, plan, &dst));
  if (dst->numel == 0) return RUSH_OK;
  size_t greatest = sizeof(float);
  r.body = plan->body;
  r.p = &job->p;
  r.n = job->n;
  r.common = job->common;
  r.memory[0] = dst->dtype;
  r.body_type[0] = plan->written;
  r.wraps[0] = false;
  for (int k = 0; k < job->n; k++) {
    const bool mask = k == 0 && (job->row->flags & RUSH_PW_MASK) != 0;
    r.body_type[k + 1] = rush_pw_operand_dtype(plan, k);
    r.memory[k + 1] = o->t[k] ? o->t[k]->dtype : r.body_type[k + 1];
    r.held[k + 1] = NULL;
    r.wraps[k + 1] =
        plan->compute != job->common && !mask && o->t[k] && wraps(job, job->arg[k], o->t[k]);
    if (!o->t[k]) rush_pw_place_scalar(c, plan, k, scalar[k]);
  }
  for (int k = 0; k <= r.n; k++) {
    const size_t item = rush_dtype_size(r.memory[k]), wide = rush_dtype_size(r.body_type[k]);
    if (item > greatest) greatest = item;
    if (wide > greatest) greatest = wide;
  }
  r.block = (int64_t)(sizeof r.spare / greatest);
  run_all(c->ctx, &r, o, scalar, dst);
  if (job->p.fault) {
    rush_drop(c->heap, &c->results[0]);
    return rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT, "%s", job->p.fault);
  }
  return RUSH_OK;
}

/* Complex numbers are operands of rows that have a body for them; other numbers may be complex where the
 * row says so, and the common dtype is. */
static rush_status check_numbers(const rush_call *c, const rush_pw_job *job) {
  const bool others = (job->row->flags & RUSH_PW_COMPLEX_NUMBERS) != 0;
  for (uint32_t k = 0; k < c->n_args; k++) {
    if (c->args[k].kind != RUSH_KIND_COMPLEX) continue;
    RUSH_CHECK(c->ctx, (others || (int)k < job->row->operands) && job->row->c128,
               RUSH_ERR_UNSUPPORTED, "a complex number is given where a real one is expected");
    RUSH_TRY(arg_check_number(c, k, job->common));
  }
  return RUSH_OK;
}

static rush_status plan_job(rush_call *c, rush_pw_plan *plan) {
  rush_pw_job *job = &plan->job;
  const rush_pointwise *row = job->row;
  plan->body = choose_body(job, &plan->compute);
  RUSH_CHECK(c->ctx, plan->body, RUSH_ERR_BAD_ARGUMENT, "not implemented for '%s'",
             rush_dtype_torch_name(job->common));
  RUSH_TRY(broadcast_sizes(c, job, &plan->o));
  const bool to_bool = (row->flags & (RUSH_PW_TO_BOOL | RUSH_PW_AS_BOOL)) != 0;
  const bool to_real = (row->flags & RUSH_PW_TO_REAL) != 0 && rush_is_complex(job->common);
  plan->result = to_bool ? RUSH_BOOL : to_real ? rush_real_dtype(job->common) : job->common;
  plan->written = to_bool ? RUSH_BOOL : to_real ? rush_real_dtype(plan->compute) : plan->compute;
  job->p.fault = NULL;
  job->p.fn = row->fn;
  job->p.fn32 = row->fn32;
  job->p.fn2 = row->fn2;
  job->p.fn2_32 = row->fn2_32;
  job->p.cfn = row->cfn;
  job->p.common = job->common;
  if (rush_is_integral(job->common)) {
    job->p.bits = job->common == RUSH_BOOL ? 1 : 8 * (int)rush_dtype_size(job->common);
    job->p.is_signed = job->common != RUSH_UINT8;
  }
  return RUSH_OK;
}

rush_status rush_pw_plan_call(rush_call *c, const rush_pointwise *row, rush_pw_plan *plan) {
  rush_pw_job *job = &plan->job;
  uint32_t mask = 0;
  *job = (rush_pw_job){.row = row, .n = row->operands};
  for (int k = 0; k < job->n; k++) {
    job->arg[k] = (uint32_t)k;
    if (k > 0 || (row->flags & RUSH_PW_MASK) == 0) mask |= 1u << k;
  }
  if (row->flags & RUSH_PW_KEEP_SELF) {
    job->common = arg_tensor(c, 0)->dtype;
  } else {
    job->common = arg_result_type(c, mask);
  }
  if ((row->flags & RUSH_PW_TO_FLOAT) && rush_is_integral(job->common)) job->common = RUSH_FLOAT32;
  RUSH_TRY(check_numbers(c, job));
  if (row->setup) RUSH_TRY(row->setup(c, job));
  return plan_job(c, plan);
}

rush_status rush_pointwise_call(rush_call *c, const rush_pointwise *row) {
  rush_pw_plan plan;
  RUSH_TRY(rush_pw_plan_call(c, row, &plan));
  return run_plan(c, &plan);
}

rush_status rush_pointwise_on(rush_call *c, const rush_pointwise *row, uint32_t n,
                              const rush_value *args, rush_tensor **out) {
  rush_value result = rush_none();
  rush_call sub = *c;
  sub.n_args = n;
  sub.n_results = 1;
  sub.args = args;
  sub.results = &result;
  sub.inplace = NULL;
  sub.last_use = 0;
  *out = NULL;
  RUSH_TRY(rush_pointwise_call(&sub, row));
  *out = rush_as_tensor(&result);
  return RUSH_OK;
}

static rush_status run_into(rush_call *c, const rush_pointwise *row) {
  c->inplace = arg_tensor(c, 0);
  RUSH_TRY(rush_pointwise_call(c, row));
  if (rush_as_tensor(&c->results[0]) == c->inplace) return RUSH_OK;
  rush_status st = rush_copy_into(c->heap, c->inplace, rush_as_tensor(&c->results[0]));
  rush_drop(c->heap, &c->results[0]);
  if (st == RUSH_OK) ret_retained(c, 0, &c->args[0]);
  return st;
}

rush_status rush_run_pointwise(rush_call *c) {
  const rush_pointwise *row = c->op->family;
  return row->flags & RUSH_PW_INTO ? run_into(c, row) : rush_pointwise_call(c, row);
}
