#include "blocks/elements/reduce.h"

enum {
  ROWS = 64,
  COLS = 64,
  BLOCK = 1024,
  STRETCH = 1 << 18, /* elements between two checks for a stop request */
  SHORT = 16         /* shorter reduced dimensions are fed as columns */
};

typedef struct axis {
  int64_t size, stride; /* stride in bytes of the input */
  int64_t out;          /* stride in elements of the output; kept axes only */
} axis;

typedef struct job {
  rush_ctx *ctx;
  const rush_reduce *row, *form; /* form: gives the argument positions of dim, keepdim and dtype */
  rush_reduce_params p;
  rush_dtype have, compute;
  rush_reduce_row *feed;
  size_t item; /* bytes per input element */
  int n_kept, n_reduced;
  axis kept[RUSH_MAX_RANK], reduced[RUSH_MAX_RANK]; /* outermost first, at least one each */
  rush_tensor *out[2];
  rush_reduce_state state[COLS];
  _Alignas(16) char block[ROWS * COLS * 8]; /* also holds BLOCK elements of a row */
  _Alignas(16) char spare[BLOCK * 8];
} job;

/* ---- Axes ------------------------------------------------------------------------------------ */

/* Sorts axes by decreasing stride. A broadcast axis (stride 0) keeps its position. */
static void sort_axes(axis *a, int n) {
  for (int i = 1; i < n; i++) {
    for (int j = i; j > 0 && a[j - 1].stride < a[j].stride; j--) {
      axis swap = a[j];
      a[j] = a[j - 1];
      a[j - 1] = swap;
    }
  }
}

static int merge_axes(axis *a, int n) {
  int last = 0;
  for (int k = 1; k < n; k++) {
    axis *o = &a[last];
    if (o->stride == a[k].stride * a[k].size && o->out == a[k].out * a[k].size) {
      *o = (axis){o->size * a[k].size, a[k].stride, a[k].out};
    } else {
      a[++last] = a[k];
    }
  }
  return n == 0 ? 0 : last + 1;
}

static void split_axes(job *j, const rush_tensor *x, uint32_t mask) {
  int64_t out = 1;
  j->n_kept = j->n_reduced = 0;
  for (int d = 0; d < x->rank; d++) {
    if (x->sizes[d] == 1) continue;
    axis a = {x->sizes[d], x->strides[d] * (int64_t)j->item, 0};
    if (mask >> d & 1)
      j->reduced[j->n_reduced++] = a;
    else
      j->kept[j->n_kept++] = a;
  }
  for (int k = j->n_kept - 1; k >= 0; k--) {
    j->kept[k].out = out;
    out *= j->kept[k].size;
  }
  if (!(j->row->flags & RUSH_RED_INDEX)) sort_axes(j->reduced, j->n_reduced);
  sort_axes(j->kept, j->n_kept);
  j->n_reduced = merge_axes(j->reduced, j->n_reduced);
  j->n_kept = merge_axes(j->kept, j->n_kept);
  const axis one = {1, (int64_t)j->item, 0};
  if (j->n_reduced == 0) j->reduced[j->n_reduced++] = one;
  if (j->n_kept == 0) j->kept[j->n_kept++] = one;
}

/* Advances the index of all but the last `skip` axes. Returns false after the last one. */
static bool next(const axis *a, int n, int skip, int64_t *index, const char **at, int64_t *out) {
  for (int k = n - 1 - skip; k >= 0; k--) {
    *at += a[k].stride;
    *out += a[k].out;
    if (++index[k] < a[k].size) return true;
    *at -= a[k].stride * a[k].size;
    *out -= a[k].out * a[k].size;
    index[k] = 0;
  }
  return false;
}

/* ---- Feeding elements ------------------------------------------------------------------------ */

/* Returns m <= BLOCK elements as contiguous elements of the compute dtype: in place, or converted
 * into `to`. */
static const char *fetch(job *j, const char *from, int64_t stride, int64_t m, char *to) {
  bool dense = stride == (int64_t)j->item;
  if (j->have == j->compute) {
    if (dense) return from;
    rush_copy_items(j->item, to, (int64_t)j->item, from, stride, m);
    return to;
  }
  if (!dense) {
    rush_copy_items(j->item, j->spare, (int64_t)j->item, from, stride, m);
    from = j->spare;
  }
  rush_convert(j->compute, to, j->have, from, m);
  return to;
}

static void feed_row(job *j, rush_reduce_state *s, const char *at, const axis *a) {
  bool direct = j->have == j->compute && (a->stride == (int64_t)j->item || a->size == 1);
  const int64_t most = direct ? STRETCH : j->item > 8 ? BLOCK / 2 : BLOCK;
  for (int64_t done = 0; done < a->size; done += most) {
    if (rush_should_stop(j->ctx, (uint64_t)most)) return;
    int64_t m = a->size - done < most ? a->size - done : most;
    const char *from = at + done * a->stride;
    if (!direct) from = fetch(j, from, a->stride, m, j->block);
    j->feed(s, (size_t)m, from, &j->p);
    s->count += m;
  }
}

static void put(job *j, const rush_reduce_state *s, int64_t at) {
  rush_reduce_value v[2] = {{0, 0, 0}, {0, 0, 0}};
  j->row->finish(s, &j->p, v);
  for (int k = 0; k < 2; k++) {
    const rush_tensor *out = j->out[k];
    if (!out) continue;
    const rush_reduce_value *value = &v[j->row->flags & RUSH_RED_SECOND_OUT ? 1 : k];
    rush_dtype dtype = out->dtype;
    char *to = (char *)rush_data(out) + (size_t)at * rush_dtype_size(dtype);
    if (dtype == RUSH_FLOAT32) {
      const float f = (float)value->f;
      memcpy(to, &f, sizeof f);
    } else if (rush_is_integral(dtype)) {
      rush_store_int(dtype, to, value->i);
    } else {
      rush_store_double(dtype, to, value->f);
      if (rush_is_complex(dtype))
        rush_store_double(rush_real_dtype(dtype), to + rush_dtype_size(dtype) / 2, value->g);
    }
  }
}

static void reset(const job *j, rush_reduce_state *s) {
  *s =
      (rush_reduce_state){j->row->init_f, j->row->init_g, 0, j->row->init_i, j->row->init_value, 0};
}

static void by_rows(job *j, const char *data) {
  int64_t index[RUSH_MAX_RANK] = {0}, out = 0;
  const axis *inner = &j->reduced[j->n_reduced - 1];
  do {
    rush_reduce_state *s = &j->state[0];
    reset(j, s);
    int64_t inside[RUSH_MAX_RANK] = {0}, none = 0;
    const char *at = data;
    do feed_row(j, s, at, inner);
    while (!j->ctx->stopped && next(j->reduced, j->n_reduced, 1, inside, &at, &none));
    put(j, s, out);
  } while (!j->ctx->stopped && next(j->kept, j->n_kept, 0, index, &data, &out));
}

/* Feeds rows x cols elements of the innermost reduced and kept axes. */
static void feed_columns(job *j, const char *at, int64_t rows, int64_t cols) {
  const axis *r = &j->reduced[j->n_reduced - 1], *k = &j->kept[j->n_kept - 1];
  if (j->row->columns && j->compute == RUSH_FLOAT32) {
    size_t stride = (size_t)(r->stride / 4);
    if (j->have != RUSH_FLOAT32 || k->stride != 4) {
      for (int64_t i = 0; i < rows; i++) {
        char *to = j->block + i * 4 * COLS;
        const char *line = fetch(j, at + i * r->stride, k->stride, cols, to);
        if (line != to) memcpy(to, line, (size_t)cols * 4);
      }
      at = j->block;
      stride = COLS;
    }
    j->row->columns(j->state, (size_t)rows, (size_t)cols, at, stride, &j->p);
    for (int64_t c = 0; c < cols; c++) j->state[c].count += rows;
    return;
  }
  const size_t width = rush_dtype_size(j->compute);
  _Alignas(8) char line[COLS * 8];
  for (int64_t i = 0; i < rows; i++) {
    const char *from = fetch(j, at + i * r->stride, k->stride, cols, line);
    char *to = j->block + (size_t)i * width;
    switch (width) {
      case 1:
        for (int64_t c = 0; c < cols; c++) to[c * ROWS] = from[c];
        break;
      case 4:
        for (int64_t c = 0; c < cols; c++) memcpy(to + c * 4 * ROWS, from + 4 * c, 4);
        break;
      default:
        for (int64_t c = 0; c < cols; c++) memcpy(to + c * 8 * ROWS, from + 8 * c, 8);
    }
  }
  for (int64_t c = 0; c < cols; c++) {
    j->feed(&j->state[c], (size_t)rows, j->block + (size_t)c * ROWS * width, &j->p);
    j->state[c].count += rows;
  }
}

static void by_columns(job *j, const char *data) {
  int64_t index[RUSH_MAX_RANK] = {0}, out = 0;
  const axis *r = &j->reduced[j->n_reduced - 1], *k = &j->kept[j->n_kept - 1];
  do {
    for (int64_t first = 0; first < k->size && !j->ctx->stopped; first += COLS) {
      int64_t cols = k->size - first < COLS ? k->size - first : COLS;
      for (int64_t c = 0; c < cols; c++) reset(j, &j->state[c]);
      int64_t inside[RUSH_MAX_RANK] = {0}, none = 0;
      const char *at = data + first * k->stride;
      do {
        for (int64_t i = 0; i < r->size && !rush_should_stop(j->ctx, ROWS * COLS); i += ROWS)
          feed_columns(j, at + i * r->stride, r->size - i < ROWS ? r->size - i : ROWS, cols);
      } while (!j->ctx->stopped && next(j->reduced, j->n_reduced, 1, inside, &at, &none));
      for (int64_t c = 0; c < cols; c++) put(j, &j->state[c], out + (first + c) * k->out);
    }
  } while (!j->ctx->stopped && next(j->kept, j->n_kept, 1, index, &data, &out));
}

/* ---- The call -------------------------------------------------------------------------------- */

static rush_status read_dims(const rush_call *c, const rush_reduce *row, const rush_tensor *x,
                             uint32_t *mask) {
  const uint32_t all = (1u << x->rank) - 1;
  *mask = all;
  if (row->dim == 0) return RUSH_OK;
  uint32_t i = (uint32_t)row->dim;
  if (c->args[i].kind != RUSH_KIND_INT) {
    RUSH_TRY(arg_dims_mask(c, i, x->rank, mask));
    *mask &= all;
    if (row->flags & RUSH_RED_NO_DIMS && c->args[i].kind == RUSH_KIND_LIST &&
        arg_list(c, i)->n == 0)
      *mask = 0;
    return RUSH_OK;
  }
  int d;
  RUSH_TRY(arg_dim(c, i, x->rank, &d));
  *mask = x->rank == 0 ? 0 : 1u << d;
  return RUSH_OK;
}

static void choose_feed(const rush_reduce *row, job *j, rush_dtype dtype) {
  if (row->flags & RUSH_RED_AS_BOOL) {
    j->compute = RUSH_BOOL;
    j->feed = row->b8;
  } else if (dtype == RUSH_FLOAT64) {
    j->compute = RUSH_FLOAT64;
    j->feed = row->f64;
  } else if (dtype == RUSH_FLOAT32 || rush_is_half(dtype)) {
    j->compute = RUSH_FLOAT32;
    j->feed = row->f32;
  } else if (rush_is_complex(dtype)) {
    j->compute = RUSH_COMPLEX128;
    j->feed = row->c128;
  } else {
    j->compute = RUSH_INT64;
    j->feed = row->i64;
  }
}

static rush_status choose_dtypes(rush_call *c, const rush_reduce *row, job *j, rush_dtype *result) {
  rush_dtype dtype = j->have;
  if (row->flags & RUSH_RED_WIDEN && rush_is_integral(dtype)) dtype = RUSH_INT64;
  if (row->flags & RUSH_RED_TO_FLOAT && rush_is_integral(dtype)) dtype = RUSH_FLOAT32;
  if (j->form->dtype) RUSH_TRY(arg_dtype(c, (uint32_t)j->form->dtype, dtype, &dtype));
  const rush_dtype counts =
      row->flags & RUSH_RED_TO_REAL && !rush_is_integral(dtype) ? j->have : dtype;
  RUSH_CHECK(c->ctx, !(row->flags & RUSH_RED_FLOAT) || !rush_is_integral(counts),
             RUSH_ERR_BAD_ARGUMENT,
             "%s(): could not infer output dtype. Input dtype must be either a floating point or "
             "complex dtype. Got: %s",
             row->name, rush_dtype_torch_name(counts));
  RUSH_CHECK(c->ctx,
             !(row->flags & RUSH_RED_TO_REAL) || rush_is_complex(dtype) == rush_is_complex(j->have),
             RUSH_ERR_BAD_ARGUMENT, "%s: dtype should be %s for such inputs, but got %s", row->name,
             rush_is_complex(j->have) ? "complex" : "real", rush_dtype_torch_name(dtype));
  RUSH_CHECK(c->ctx, !(row->flags & RUSH_RED_TO_REAL) || rush_promote(dtype, j->have) == dtype,
             RUSH_ERR_BAD_ARGUMENT,
             "%s: the dtype of the input (%s) should be convertible without narrowing to the "
             "specified dtype (%s)",
             row->name, rush_dtype_torch_name(j->have), rush_dtype_torch_name(dtype));
  *result = dtype;
  choose_feed(row, j, dtype);
  if (row->flags & RUSH_RED_TO_BOOL) *result = j->have == RUSH_UINT8 ? RUSH_UINT8 : RUSH_BOOL;
  if (row->flags & RUSH_RED_TO_INT64) *result = RUSH_INT64;
  RUSH_CHECK(c->ctx, j->feed, RUSH_ERR_BAD_ARGUMENT, "\"%s\" not implemented for '%s'", row->name,
             rush_dtype_torch_name(dtype));
  return RUSH_OK;
}

/* PyTorch converts x to `dtype` before it reduces. The difference is visible if the body computes
 * in a wider dtype: 0.5 becomes true, and half-precision numbers and small integers are rounded. */
static rush_status convert_first(rush_call *c, job *j, rush_dtype dtype, rush_tensor **x) {
  const bool once = j->row->flags & RUSH_RED_ROUNDS_ONCE;
  if (!j->form->dtype || once || dtype == j->have || dtype == j->compute) return RUSH_OK;
  RUSH_TRY(tmp_to(c, *x, dtype, x));
  j->have = dtype;
  j->item = rush_itemsize(*x);
  return RUSH_OK;
}

static rush_status check_nonempty(rush_call *c, const job *j, const rush_tensor *x, uint32_t mask) {
  const rush_reduce *row = j->row;
  if (x->numel > 0 || !(row->flags & (RUSH_RED_INDEX | RUSH_RED_NONEMPTY))) return RUSH_OK;
  const uint32_t dim = (uint32_t)j->form->dim;
  bool all = dim == 0 || c->args[dim].kind == RUSH_KIND_NONE;
  if (dim != 0 && c->args[dim].kind == RUSH_KIND_LIST) all = arg_list(c, dim)->n == 0;
  RUSH_CHECK(c->ctx, !all, RUSH_ERR_BAD_ARGUMENT,
             "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
             "reduction dim with the "
             "'dim' argument.",
             row->name);
  for (int d = 0; d < x->rank; d++) {
    RUSH_CHECK(c->ctx, !(mask >> d & 1) || x->sizes[d] > 0, RUSH_ERR_BAD_ARGUMENT,
               "%s(): Expected reduction dim %d to have non-zero size.", row->name, d);
  }
  return RUSH_OK;
}

/* Returns the number of elements per result, which is at most the number of elements of x. */
static int64_t count_reduced(const rush_tensor *x, uint32_t mask) {
  int64_t n = 1;
  for (int d = 0; d < x->rank; d++)
    if (mask >> d & 1) n *= x->sizes[d];
  return n;
}

static rush_status make_results(rush_call *c, job *j, const rush_tensor *x, uint32_t mask,
                                rush_dtype dtype) {
  const rush_reduce *row = j->row;
  const rush_dtype first = row->flags & RUSH_RED_TO_REAL ? rush_real_dtype(dtype) : dtype;
  bool keep = j->form->keepdim != 0 && arg_bool(c, (uint32_t)j->form->keepdim);
  int64_t sizes[RUSH_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < x->rank; d++) {
    bool reduced = mask >> d & 1;
    if (!reduced || keep) sizes[rank++] = reduced ? 1 : x->sizes[d];
  }
  j->out[1] = NULL;
  RUSH_TRY(rush_result(c, 0, first, rank, sizes, &j->out[0]));
  if (row->flags & RUSH_RED_SECOND_INDEX)
    return rush_result(c, 1, RUSH_INT64, rank, sizes, &j->out[1]);
  if (row->flags & RUSH_RED_SECOND_SAME) return rush_result(c, 1, dtype, rank, sizes, &j->out[1]);
  return RUSH_OK;
}

static rush_status reduce(rush_call *c, const rush_reduce *row) {
  rush_tensor *x = arg_tensor(c, 0);
  job j;
  uint32_t mask;
  rush_dtype result;
  j.ctx = c->ctx;
  j.p = (rush_reduce_params){{0, 0}, 0};
  j.form = row;
  RUSH_TRY(read_dims(c, row, x, &mask));
  j.p.n = count_reduced(x, mask);
  if (row->setup) RUSH_TRY(row->setup(c, &row, &j.p));
  j.row = row;
  j.have = x->dtype;
  j.item = rush_itemsize(x);
  RUSH_TRY(check_nonempty(c, &j, x, mask));
  RUSH_TRY(choose_dtypes(c, row, &j, &result));
  RUSH_TRY(convert_first(c, &j, result, &x));
  RUSH_TRY(make_results(c, &j, x, mask, result));
  if (j.out[0]->numel == 0) return RUSH_OK;
  if (x->numel == 0) {
    reset(&j, &j.state[0]);
    for (int64_t i = 0; i < j.out[0]->numel && !rush_should_stop(j.ctx, 8); i++)
      put(&j, &j.state[0], i);
    return RUSH_OK;
  }
  split_axes(&j, x, mask);
  const axis *r = &j.reduced[j.n_reduced - 1], *k = &j.kept[j.n_kept - 1];
  bool columns = k->size > 1 && j.compute != RUSH_COMPLEX128 &&
                 (k->stride < r->stride || r->size == 1 || (row->columns && r->size <= SHORT));
  if (columns)
    by_columns(&j, rush_data(x));
  else
    by_rows(&j, rush_data(x));
  return RUSH_OK;
}

rush_status rush_run_reduce(rush_call *c) {
  return reduce(c, c->op->family);
}

rush_status rush_reduce_on(rush_call *c, const rush_reduce *row, uint32_t n, const rush_value *args,
                           rush_tensor **out) {
  rush_value results[2] = {rush_none(), rush_none()};
  rush_call sub = *c;
  sub.n_args = n;
  sub.n_results = 2;
  sub.args = args;
  sub.results = results;
  sub.inplace = NULL;
  sub.last_use = 0;
  *out = NULL;
  rush_status st = reduce(&sub, row);
  c->tensors = sub.tensors;
  rush_drop(c->heap, &results[1]);
  if (st != RUSH_OK) {
    rush_drop(c->heap, &results[0]);
    return st;
  }
  *out = rush_as_tensor(&results[0]);
  return RUSH_OK;
}
