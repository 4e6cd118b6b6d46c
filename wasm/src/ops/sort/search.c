/* searchsorted, bucketize and isin: binary search for each value in sorted rows. */
#include "blocks/gather_scatter.h"
#include "blocks/sort_lines.h"
#include "call/define.h"
#include "tensor/layout.h"

enum { SEARCH_WORK = 64 /* per value */, SOME = 256 /* values per batch */ };

typedef struct search {
  rush_dtype dtype;
  bool right;
  const char *line;     /* sorted, contiguous */
  const int64_t *order; /* index of the i-th smallest element, or NULL */
  int64_t n;
} search;

/* Returns whether the bound is after element `mid`. The comparisons are written so that NaN sorts
 * last. */
static bool is_bound_after(const search *s, int64_t mid, const char *value) {
  const char *at =
      s->line + (size_t)(s->order != NULL ? s->order[mid] : mid) * rush_dtype_size(s->dtype);
  if (rush_is_float(s->dtype)) {
    double m = rush_load_double(s->dtype, at), v = rush_load_double(s->dtype, value);
    return s->right ? !(m > v) : !(m >= v);
  }
  int64_t m = rush_load_int(s->dtype, at), v = rush_load_int(s->dtype, value);
  return s->right ? m <= v : m < v;
}

/* Finds the bounds of n contiguous values. */
static void find_any(const search *s, const char *values, int64_t n, int64_t *found) {
  for (int64_t i = 0; i < n; i++, values += rush_dtype_size(s->dtype)) {
    int64_t from = 0, to = s->n;
    while (from < to) {
      int64_t mid = from + (to - from) / 2;
      if (is_bound_after(s, mid, values))
        from = mid + 1;
      else
        to = mid;
    }
    found[i] = from;
  }
}

/* Specialized for one type. It takes the same steps as find_any, because the result for NaN depends
 * on them. */
#define FIND(name, T)                                                                       \
  static void name(const search *s, const char *values, int64_t n, int64_t *found) {        \
    const T *line = (const T *)(const void *)s->line, *v = (const T *)(const void *)values; \
    const int64_t *order = s->order;                                                        \
    const bool right = s->right;                                                            \
    for (int64_t i = 0; i < n; i++) {                                                       \
      const T value = v[i];                                                                 \
      int64_t from = 0, to = s->n;                                                          \
      while (from < to) {                                                                   \
        const int64_t mid = from + (to - from) / 2;                                         \
        const T m = line[order != NULL ? order[mid] : mid];                                 \
        const bool on = right ? !(m > value) : !(m >= value);                               \
        from = on ? mid + 1 : from;                                                         \
        to = on ? to : mid;                                                                 \
      }                                                                                     \
      found[i] = from;                                                                      \
    }                                                                                       \
  }
FIND(find_f32, float)
FIND(find_i64, int64_t)

/* All operands are contiguous and have the same dtype. `sorter` is int64 or NULL. */
static rush_status search_lines(rush_call *c, const rush_tensor *sorted, const rush_tensor *values,
                                const rush_tensor *sorter, bool right, rush_tensor *out) {
  bool one_line = sorted->rank == 1;
  int64_t n = sorted->sizes[sorted->rank - 1],
          width = one_line ? values->numel : values->sizes[values->rank - 1];
  size_t item = rush_itemsize(sorted), out_item = rush_itemsize(out);
  search s = {sorted->dtype, right, rush_data(sorted), sorter != NULL ? rush_data(sorter) : NULL,
              n};
  for (int64_t i = 0; s.order != NULL && i < sorter->numel; i++) {
    RUSH_TRY(rush_charge_steps(c->ctx, i, sorter->numel));
    RUSH_CHECK_ARG(s.order[i] >= 0 && s.order[i] < n,
                   "torch.searchsorted(): sorter index out of range");
  }
  void (*const find)(const search *, const char *, int64_t, int64_t *) =
      s.dtype == RUSH_FLOAT32 ? find_f32
      : s.dtype == RUSH_INT64 ? find_i64
                              : find_any;
  for (int64_t at = 0; at < values->numel;) {
    int64_t found[SOME], left = width - at % width, m = left < SOME ? left : SOME;
    int64_t line = one_line ? 0 : at / width;
    RUSH_TRY(rush_charge(c->ctx, SEARCH_WORK * (uint64_t)m));
    s.line = (const char *)rush_data(sorted) + (size_t)(line * n) * item;
    if (sorter != NULL) s.order = (const int64_t *)rush_data(sorter) + line * n;
    find(&s, (const char *)rush_data(values) + (size_t)at * item, m, found);
    rush_convert(out->dtype, (char *)rush_data(out) + (size_t)at * out_item, RUSH_INT64, found, m);
    at += m;
  }
  return RUSH_OK;
}

static rush_status to_dense(rush_call *c, rush_tensor *t, rush_dtype dtype, rush_tensor **out) {
  rush_tensor *cast;
  RUSH_TRY(tmp_to(c, t, dtype, &cast));
  return tmp_contiguous(c, cast, out);
}

static rush_status search_sorted(rush_call *c, rush_tensor *sorted, rush_tensor *values,
                                 rush_tensor *sorter, rush_dtype dtype, bool right, bool int32) {
  rush_tensor *out, *line, *what, *order = NULL;
  RUSH_TRY(rush_result(c, 0, int32 ? RUSH_INT32 : RUSH_INT64, values->rank, values->sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  RUSH_TRY(to_dense(c, sorted, dtype, &line));
  RUSH_TRY(to_dense(c, values, dtype, &what));
  if (sorter != NULL) RUSH_TRY(tmp_contiguous(c, sorter, &order));
  return search_lines(c, line, what, order, right, out);
}

/* Returns a Scalar as a 0-d tensor on the stack. */
static rush_tensor scalar_value(rush_call *c, uint32_t i, rush_storage *storage, char *bytes) {
  rush_dtype dtype = arg_scalar_is_float(c, i)           ? RUSH_FLOAT64
                     : c->args[i].kind == RUSH_KIND_BOOL ? RUSH_BOOL
                                                         : RUSH_INT64;
  if (dtype == RUSH_FLOAT64)
    rush_store_double(dtype, bytes, arg_scalar_double(c, i));
  else
    rush_store_int(dtype, bytes, arg_scalar_int(c, i));
  return rush_scalar_tensor(dtype, storage, bytes);
}

static rush_status check_lines(rush_call *c, const rush_tensor *sorted, const rush_tensor *values,
                               const rush_tensor *sorter) {
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(
      sorted->rank > 0,
      "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
      "dimension");
  RUSH_CHECK_ARG(values->rank > 0 || sorted->rank == 1,
                 "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
                 "dimension is 1, but we got "
                 "boundaries tensor dim(%d) and input value's dim(0) numel(1)",
                 sorted->rank);
  bool fits = sorted->rank == 1 || sorted->rank == values->rank;
  for (int d = 0; fits && sorted->rank > 1 && d < sorted->rank - 1; d++)
    fits = sorted->sizes[d] == values->sizes[d];
  RUSH_CHECK_ARG(
      fits,
      "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
      "dimensions of boundaries tensor "
      "and input value tensor must match, but we got boundaries tensor %s and input value "
      "tensor %s",
      rush_shape_text(sorted->rank, sorted->sizes, a),
      rush_shape_text(values->rank, values->sizes, b));
  if (sorter == NULL) return RUSH_OK;
  RUSH_CHECK_ARG(
      rush_same_sizes(sorted, sorter),
      "torch.searchsorted(): boundary and sorter must have the same size, but got %s and %s",
      rush_shape_text(sorted->rank, sorted->sizes, a),
      rush_shape_text(sorter->rank, sorter->sizes, b));
  RUSH_CHECK_ARG(sorter->dtype == RUSH_INT64,
                 "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype %s",
                 rush_dtype_torch_name(sorter->dtype));
  return RUSH_OK;
}

/* sorted_sequence, self (Tensor or Scalar), out_int32, right, side, sorter */
RUSH_OP(searchsorted) {
  rush_storage storage;
  char bytes[16];
  rush_tensor scalar, *values = &scalar;
  if (c->args[1].kind == RUSH_KIND_TENSOR)
    values = arg_tensor(c, 1);
  else
    scalar = scalar_value(c, 1, &storage, bytes);
  bool right = arg_bool(c, 3);
  if (!arg_is_none(c, 4)) {
    const char *side = arg_str(c, 4)->bytes;
    bool is_right = strcmp(side, "right") == 0;
    RUSH_CHECK_ARG(is_right || strcmp(side, "left") == 0,
                   "torch.searchsorted(): side can only be 'left' or 'right' but got %s", side);
    RUSH_CHECK_ARG(
        is_right || !right,
        "torch.searchsorted(): side and right can't be set to opposites, got side of left "
        "while right was True");
    right = is_right;
  }
  RUSH_TRY(check_lines(c, arg_tensor(c, 0), values, arg_tensor(c, 5)));
  return search_sorted(c, arg_tensor(c, 0), values, arg_tensor(c, 5), arg_result_type(c, 3), right,
                       arg_bool(c, 2));
}

/* self (Tensor or Scalar), boundaries, out_int32, right */
RUSH_OP(bucketize) {
  rush_storage storage;
  char bytes[16];
  rush_tensor scalar, *values = &scalar, *boundaries = arg_tensor(c, 1);
  if (c->args[0].kind == RUSH_KIND_TENSOR)
    values = arg_tensor(c, 0);
  else
    scalar = scalar_value(c, 0, &storage, bytes);
  RUSH_CHECK_ARG(boundaries->rank == 1, "boundaries tensor must be 1 dimension, but got dim(%d)",
                 boundaries->rank);
  return search_sorted(c, boundaries, values, NULL, arg_result_type(c, 3), arg_bool(c, 3),
                       arg_bool(c, 2));
}

/* ---- isin ------------------------------------------------------------------------------------ */

static bool is_among(const rush_sort_item *items, int64_t n, int64_t key) {
  int64_t from = 0, to = n;
  while (from < to) {
    int64_t mid = from + (to - from) / 2;
    if (items[mid].key < key)
      from = mid + 1;
    else
      to = mid;
  }
  return from < n && items[from].key == key;
}

static rush_status mark_members(rush_call *c, const rush_tensor *values, const rush_tensor *members,
                                bool invert, rush_tensor *out) {
  rush_sort_item *items, one;
  size_t item = rush_itemsize(values);
  rush_dtype dtype = values->dtype;
  int64_t n = members->numel;
  RUSH_TRY(tmp_items(c, n, 2 * sizeof *items, (void **)&items));
  rush_sort_keys(c->ctx, dtype, rush_data(members), (int64_t)item, n, false, items);
  rush_sort_stable(c->ctx, items, items + n, n);
  RUSH_TRY(rush_take_stop(c->ctx));
  bool floats = rush_is_float(dtype);
  for (int64_t i = 0; i < values->numel; i++) {
    RUSH_TRY(rush_charge(c->ctx, SEARCH_WORK));
    rush_sort_keys(c->ctx, dtype, (const char *)rush_data(values) + (size_t)i * item, 0, 1, false,
                   &one);
    RUSH_TRY(rush_take_stop(c->ctx));
    /* NaN equals nothing, not even NaN. */
    bool found = !(floats && one.key == INT64_MAX) && is_among(items, n, one.key);
    ((uint8_t *)rush_data(out))[i] = found != invert;
  }
  return RUSH_OK;
}

/* elements, test_elements (each a Tensor or a Scalar), assume_unique, invert */
RUSH_OP(isin) {
  rush_storage storages[2];
  char bytes[2][16];
  rush_tensor scalars[2], *given[2], *dense[2], *out;
  for (uint32_t k = 0; k < 2; k++) {
    given[k] = &scalars[k];
    if (c->args[k].kind == RUSH_KIND_TENSOR)
      given[k] = arg_tensor(c, k);
    else
      scalars[k] = scalar_value(c, k, &storages[k], bytes[k]);
  }
  rush_dtype dtype = arg_result_type(c, 3);
  RUSH_TRY(rush_result(c, 0, RUSH_BOOL, given[0]->rank, given[0]->sizes, &out));
  for (int k = 0; k < 2; k++) RUSH_TRY(to_dense(c, given[k], dtype, &dense[k]));
  return mark_members(c, dense[0], dense[1], arg_bool(c, 3), out);
}
