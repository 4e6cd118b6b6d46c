/* sort, argsort, topk, kthvalue, median and mode along one dimension. */
#include "blocks/sort_lines.h"
#include "call/define.h"
#include "tensor/layout.h"

static int64_t line_length(const rush_tensor *t, int dim) {
  return t->rank > 0 ? t->sizes[dim] : 1;
}

/* Writes the values and indices of the first k `items` to two rows. */
static void put_line(size_t item, const rush_lines *l, const rush_sort_item *items, int64_t k) {
  enum { WORK = 16 }; /* for an element, which is seldom in the cache */
  size_t some;
  for (int64_t at = 0; rush_next_piece(l->ctx, (size_t)k, WORK, (size_t)at, &some);
       at += (int64_t)some)
    for (int64_t i = at; i < at + (int64_t)some; i++) {
      if (l->at[1] != NULL)
        memcpy(l->at[1] + i * l->step[1], l->at[0] + items[i].index * l->step[0], item);
      memcpy(l->at[2] + i * l->step[2], &items[i].index, sizeof items[i].index);
    }
}

static rush_status check_no_bool(rush_call *c, const char *name, const rush_tensor *t) {
  RUSH_CHECK_ARG(t->dtype != RUSH_BOOL, "\"%s_cpu\" not implemented for 'Bool'", name);
  return RUSH_OK;
}

/* ---- sort ------------------------------------------------------------------------------------ */

typedef struct order {
  bool descending, stable;
} order;

static rush_status sort_lines(rush_call *c, const rush_tensor *t, int dim, order h,
                              rush_tensor *values, rush_tensor *indices) {
  int64_t n = line_length(t, dim);
  rush_sort_item *items;
  RUSH_TRY(tmp_items(c, n, 2 * sizeof *items, (void **)&items));
  const rush_tensor *tensors[] = {t, values, indices};
  rush_lines l;
  if (t->numel > 0 && rush_lines_init(&l, c->ctx, dim, 3, tensors)) {
    do {
      rush_sort_keys(c->ctx, t->dtype, l.at[0], l.step[0], n, h.descending, items);
      if (h.stable)
        rush_sort_stable(c->ctx, items, items + n, n);
      else
        rush_sort(c->ctx, items, n);
      put_line(rush_itemsize(t), &l, items, n);
    } while (rush_lines_next(&l));
  }
  return RUSH_OK;
}

typedef enum which { BOTH, VALUES, INDICES } which;

static rush_status sorted(rush_call *c, int64_t dim_given, order h, which what) {
  const rush_tensor *t = arg_tensor(c, 0);
  rush_tensor *values, *indices;
  int rank = t->rank > 0 ? t->rank : 1;
  RUSH_CHECK_ARG(dim_given >= -rank && dim_given < rank,
                 "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                 -rank, rank - 1, (long long)dim_given);
  RUSH_TRY(rush_tensor_new_like(c->heap, t, t->dtype, &values));
  tmp_take(c, values);
  RUSH_TRY(rush_tensor_new_like(c->heap, t, RUSH_INT64, &indices));
  tmp_take(c, indices);
  RUSH_TRY(
      sort_lines(c, t, (int)(dim_given < 0 ? dim_given + rank : dim_given), h, values, indices));
  if (what != INDICES) ret_tensor(c, 0, rush_tensor_retain(values));
  if (what != VALUES) ret_tensor(c, what == BOTH ? 1 : 0, rush_tensor_retain(indices));
  return RUSH_OK;
}

/* sort takes (self, dim, descending) or (self, stable, dim, descending). argsort has one result. */
RUSH_OP(sort) {
  uint32_t at = c->n_args == 4 ? 2 : 1;
  order h = {.descending = arg_bool(c, at + 1),
             .stable = at == 2 && !arg_is_none(c, 1) && arg_bool(c, 1)};
  return sorted(c, arg_int(c, at), h, c->n_results == 1 ? INDICES : BOTH);
}

RUSH_OP(msort) {
  return sorted(c, 0, (order){false, false}, VALUES);
}

/* ---- topk, kthvalue, median ------------------------------------------------------------------ */

/* Allocates results 0 and 1 like `like`, with `size` elements along dim. A size of 0 removes the
 * dimension. */
static rush_status two_results(rush_call *c, const rush_tensor *like, int dim, int64_t size,
                               bool keep, rush_tensor **values, rush_tensor **indices) {
  int64_t sizes[RUSH_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < like->rank; d++) {
    if (d == dim && !keep) continue;
    sizes[rank++] = d == dim ? size : like->sizes[d];
  }
  RUSH_TRY(rush_result(c, 0, like->dtype, rank, sizes, values));
  return rush_result(c, 1, RUSH_INT64, rank, sizes, indices);
}

/* self, k, dim, largest, sorted */
RUSH_OP(topk) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t k = arg_int(c, 1);
  int dim;
  rush_tensor *values, *indices;
  rush_sort_item *items;
  RUSH_TRY(arg_dim(c, 2, t->rank, &dim));
  int64_t n = line_length(t, dim);
  RUSH_CHECK_ARG(k >= 0 && k <= n, "selected index k out of range");
  RUSH_TRY(check_no_bool(c, "topk", t));
  RUSH_TRY(two_results(c, t, dim, k, true, &values, &indices));
  if (t->rank > 0 && values->numel == 0) return RUSH_OK;
  RUSH_TRY(tmp_items(c, n, sizeof *items, (void **)&items));
  const rush_tensor *tensors[] = {t, values, indices};
  rush_lines l;
  if (rush_lines_init(&l, c->ctx, dim, 3, tensors)) {
    do {
      rush_sort_keys(c->ctx, t->dtype, l.at[0], l.step[0], n, arg_bool(c, 3), items);
      if (c->ctx->stopped) break;
      rush_top_k(c->ctx, items, n, k, arg_bool(c, 4));
      put_line(rush_itemsize(t), &l, items, t->rank > 0 ? k : 1);
    } while (rush_lines_next(&l));
  }
  return RUSH_OK;
}

typedef enum pick { KTH, MEDIAN, NANMEDIAN, MODE } pick;

/* Returns the index of the least of the most frequent elements. Among equal elements it is the one
 * that std::sort puts last. */
static int64_t most_frequent(rush_call *c, rush_sort_item *items, int64_t n) {
  int64_t most = 0, run = 0, found = 0;
  rush_sort(c->ctx, items, n);
  for (int64_t i = 0; i < n && !rush_stops_at_step(c->ctx, i); i++) {
    run++;
    if (i + 1 < n && items[i].key == items[i + 1].key) continue;
    if (run > most) {
      most = run;
      found = items[i].index;
    }
    run = 0;
  }
  return found;
}

/* Returns the index of the selected element of a row. `nth` is zero-based and only used by
 * kthvalue. */
static int64_t pick_one(rush_call *c, pick how, bool floats, rush_sort_item *items, int64_t n,
                        int64_t nth) {
  if (how == KTH) {
    rush_quick_select(c->ctx, items, n, nth);
    return items[nth].index;
  }
  if (how == MODE) return most_frequent(c, items, n);
  int64_t nans = 0;
  for (int64_t i = 0; i < n && floats; i++) { /* integer keys are never NaN */
    if (rush_stops_at_step(c->ctx, i)) return 0;
    if (items[i].key != INT64_MAX) continue;
    if (how == MEDIAN) return i;
    nans++;
  }
  if (n > nans) return rush_nth_element_stable(c->ctx, items, n, (n - nans - 1) / 2);
  rush_nth_element(c->ctx, items, n, 0);
  return items[0].index;
}

/* k counts from 1. */
static rush_status pick_along_dim(rush_call *c, pick how, const char *name, uint32_t dim_arg,
                                  int64_t k, bool keep) {
  const rush_tensor *t = arg_tensor(c, 0);
  int dim;
  rush_tensor *values, *indices;
  rush_sort_item *items;
  RUSH_TRY(arg_dim(c, dim_arg, t->rank, &dim));
  int64_t n = line_length(t, dim);
  RUSH_CHECK_ARG(n > 0, "%s(): Expected reduction dim %d to have non-zero size.", name, dim);
  RUSH_CHECK_ARG(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension %d",
                 dim);
  if (how != MODE) RUSH_TRY(check_no_bool(c, name, t));
  RUSH_TRY(two_results(c, t, dim, 1, keep, &values, &indices));
  if (t->numel == 0) return RUSH_OK;
  bool floats = rush_is_float(t->dtype);
  rush_tensor in = *t, v = *values, x = *indices;
  if (!keep && t->rank > 0) { /* restores the dimension with size 1 */
    for (int d = t->rank - 1; d > dim; d--)
      v.strides[d] = v.strides[d - 1], x.strides[d] = x.strides[d - 1];
    v.strides[dim] = x.strides[dim] = 0;
    v.rank = x.rank = t->rank;
    memcpy(v.sizes, t->sizes, sizeof v.sizes);
    memcpy(x.sizes, t->sizes, sizeof x.sizes);
  }
  RUSH_TRY(tmp_items(c, n, sizeof *items, (void **)&items));
  const rush_tensor *tensors[] = {&in, &v, &x};
  rush_lines l;
  if (rush_lines_init(&l, c->ctx, dim, 3, tensors)) {
    do {
      rush_sort_keys(c->ctx, t->dtype, l.at[0], l.step[0], n, false, items);
      if (c->ctx->stopped) break;
      rush_sort_item found = {0, pick_one(c, how, floats, items, n, k - 1)};
      put_line(rush_itemsize(t), &l, &found, 1);
    } while (rush_lines_next(&l));
  }
  return RUSH_OK;
}

/* self, k, dim, keepdim */
RUSH_OP(kthvalue) {
  return pick_along_dim(c, KTH, "kthvalue", 2, arg_int(c, 1), arg_bool(c, 3));
}
RUSH_OP(median_dim) {
  return pick_along_dim(c, MEDIAN, "median", 1, 1, arg_bool(c, 2));
}
RUSH_OP(mode) {
  return pick_along_dim(c, MODE, "mode", 1, 1, arg_bool(c, 2));
}
RUSH_OP(nanmedian_dim) {
  return pick_along_dim(c, NANMEDIAN, "median", 1, 1, arg_bool(c, 2));
}

/* Computes the median of all elements, which is NaN for an empty tensor. */
static rush_status median_of_all(rush_call *c, pick how) {
  rush_tensor *t = arg_tensor(c, 0), *row, *out;
  rush_dtype dtype = t->dtype;
  rush_sort_item *items;
  RUSH_TRY(check_no_bool(c, "median", t));
  RUSH_TRY(rush_result(c, 0, dtype, 0, NULL, &out));
  if (t->numel == 0) {
    rush_store_double(dtype, rush_data(out), __builtin_nan(""));
    return RUSH_OK;
  }
  RUSH_TRY(tmp_contiguous(c, t, &row));
  RUSH_TRY(tmp_items(c, t->numel, sizeof *items, (void **)&items));
  const size_t item = rush_itemsize(t);
  rush_sort_keys(c->ctx, dtype, rush_data(row), (int64_t)item, t->numel, false, items);
  RUSH_TRY(rush_take_stop(c->ctx));
  const int64_t at = pick_one(c, how, rush_is_float(dtype), items, t->numel, 0);
  memcpy(rush_data(out), (const char *)rush_data(row) + (size_t)at * item, item);
  return RUSH_OK;
}

RUSH_OP(median) {
  return median_of_all(c, MEDIAN);
}
RUSH_OP(nanmedian) {
  return median_of_all(c, NANMEDIAN);
}
