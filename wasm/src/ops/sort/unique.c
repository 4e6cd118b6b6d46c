/* unique, unique_consecutive, unique_dim and bincount. */
#include "blocks/sort_lines.h"
#include "call/define.h"
#include "tensor/layout.h"

/* Returns results 1 and 2: the group of each element, and the size of each group. They are empty if
 * not wanted. `rank` and `sizes` describe the first of them. */
static rush_status ret_groups(rush_call *c, uint32_t i, bool wanted, int rank, const int64_t *sizes,
                              const int64_t *numbers) {
  rush_tensor *out;
  int64_t none = 0;
  if (i >= c->n_results) return RUSH_OK;
  RUSH_TRY(rush_result(c, i, RUSH_INT64, wanted ? rank : 1, wanted ? sizes : &none, &out));
  return wanted ? rush_copy_bytes(c->ctx, rush_data(out), numbers,
                                  (size_t)out->numel * sizeof *numbers)
                : RUSH_OK;
}

/* Groups equal elements that are adjacent in `items`. Writes the group of each element to inverse[]
 * and the sizes to counts[], collects the elements, and returns the number of groups. NaN equals
 * nothing. */
static int64_t group(rush_ctx *ctx, const rush_sort_item *items, int64_t n, bool floats,
                     int64_t *inverse, int64_t *counts, char *values, const char *from,
                     size_t item) {
  int64_t groups = 0;
  for (int64_t i = 0; i < n && !rush_stops_at_step(ctx, i); i++) {
    bool same = i > 0 && items[i].key == items[i - 1].key && !(floats && items[i].key == INT64_MAX);
    if (!same) {
      memcpy(values + (size_t)groups * item, from + (size_t)items[i].index * item, item);
      counts[groups++] = 0;
    }
    counts[groups - 1]++;
    inverse[items[i].index] = groups - 1;
  }
  return groups;
}

static rush_status unique(rush_call *c, bool sort, bool want_inverse, bool want_counts) {
  rush_tensor *t = arg_tensor(c, 0), *row, *values, *kept;
  rush_dtype dtype = t->dtype;
  int64_t n = t->numel, *numbers, groups;
  rush_sort_item *items;
  RUSH_TRY(tmp_contiguous(c, t, &row));
  RUSH_TRY(tmp_new(c, dtype, 1, &n, &values));
  RUSH_TRY(tmp_items(c, n, 2 * sizeof *items, (void **)&items));
  RUSH_TRY(tmp_items(c, n, 2 * sizeof *numbers, (void **)&numbers));
  rush_sort_keys(c->ctx, dtype, rush_data(row), (int64_t)rush_itemsize(t), n, false, items);
  RUSH_TRY(rush_take_stop(c->ctx));
  if (sort) rush_sort_stable(c->ctx, items, items + n, n);
  groups = group(c->ctx, items, n, rush_is_float(dtype), numbers, numbers + n, rush_data(values),
                 rush_data(row), rush_itemsize(t));
  RUSH_TRY(rush_take_stop(c->ctx));
  RUSH_TRY(rush_result(c, 0, dtype, 1, &groups, &kept));
  RUSH_TRY(rush_copy_bytes(c->ctx, rush_data(kept), rush_data(values),
                           (size_t)groups * rush_itemsize(t)));
  RUSH_TRY(ret_groups(c, 1, want_inverse, t->rank, t->sizes, numbers));
  return ret_groups(c, 2, want_counts, 1, &groups, numbers + n);
}

/* self, sorted, return_inverse, return_counts. The result is always sorted, as on PyTorch's CPU. */
RUSH_OP(unique2) {
  return unique(c, true, arg_bool(c, 2), c->n_args > 3 && arg_bool(c, 3));
}

/* ---- Slices along a dimension ---------------------------------------------------------------- */

typedef struct slices {
  rush_dtype dtype;
  size_t item;
  int64_t n, width; /* n slices of `width` elements */
  const char *data;
  rush_ctx *ctx;
} slices;

static const char *slice_at(const slices *s, int64_t i) {
  return s->data + (size_t)(i * s->width) * s->item;
}

/* Returns -1, 0 or 1, or anything after a stop request. NaN is unequal to everything and sorts
 * before nothing. */
static int compare(const slices *s, int64_t a, int64_t b, bool *equal) {
  *equal = true;
  for (int64_t k = 0; k < s->width && !rush_stops_at_step(s->ctx, k); k++) {
    const char *p = slice_at(s, a) + (size_t)k * s->item, *q = slice_at(s, b) + (size_t)k * s->item;
    if (rush_is_float(s->dtype)) {
      double x = rush_load_double(s->dtype, p), y = rush_load_double(s->dtype, q);
      *equal = x == y;
      if (x < y || x > y) return x < y ? -1 : 1;
    } else {
      int64_t x = rush_load_int(s->dtype, p), y = rush_load_int(s->dtype, q);
      *equal = x == y;
      if (x != y) return x < y ? -1 : 1;
    }
    if (!*equal) return 0;
  }
  return 0;
}

static void sort_slices(rush_ctx *ctx, const slices *s, int64_t *order, int64_t *scratch) {
  bool equal;
  for (int64_t width = 1; width < s->n; width *= 2) {
    for (int64_t at = 0; at < s->n; at += 2 * width) {
      int64_t mid = at + width < s->n ? at + width : s->n,
              end = mid + width < s->n ? mid + width : s->n, i = at, j = mid;
      for (int64_t k = at; k < end; k++) {
        if (rush_should_stop(ctx, 2 * (uint64_t)s->width + 4)) return;
        scratch[k] = i < mid && (j >= end || compare(s, order[j], order[i], &equal) >= 0)
                         ? order[i++]
                         : order[j++];
      }
    }
    for (size_t k = 0, some; rush_next_piece(ctx, (size_t)s->n, 1, k, &some); k += some)
      memcpy(order + k, scratch + k, some * sizeof *order);
  }
}

/* Returns the first slice of each group, with the dimension moved back to its place. */
static rush_status ret_slices(rush_call *c, const slices *s, const rush_tensor *moved, int dim,
                              const int64_t *first, int64_t groups) {
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK];
  rush_tensor *out;
  memcpy(sizes, moved->sizes, sizeof sizes);
  sizes[0] = groups;
  RUSH_TRY(tmp_new(c, s->dtype, moved->rank, sizes, &out));
  for (int64_t g = 0; g < groups; g++)
    RUSH_TRY(rush_copy_bytes(c->ctx, (char *)rush_data(out) + (size_t)(g * s->width) * s->item,
                             slice_at(s, first[g]), (size_t)s->width * s->item));
  for (int d = 0, k = 1; d < moved->rank; d++) {
    int from = d == dim ? 0 : k++;
    sizes[d] = out->sizes[from];
    strides[d] = out->strides[from];
  }
  return rush_result_view(c, 0, out, moved->rank, sizes, strides, 0);
}

static rush_status group_slices(rush_call *c, const slices *s, const rush_tensor *moved, int dim,
                                bool sort) {
  int64_t *order, *inverse, *first, *counts, groups = 0;
  RUSH_TRY(tmp_items(c, s->n, 4 * sizeof *order, (void **)&order));
  inverse = order + s->n, first = inverse + s->n, counts = first + s->n;
  for (int64_t i = 0; i < s->n; i++) {
    RUSH_TRY(rush_charge_steps(c->ctx, i, s->n));
    order[i] = i;
  }
  if (sort) sort_slices(c->ctx, s, order, inverse);
  for (int64_t i = 0; i < s->n; i++) {
    bool equal = false;
    RUSH_TRY(rush_take_stop(c->ctx));
    RUSH_TRY(rush_charge(c->ctx, 2 * (uint64_t)s->width + 4));
    if (i > 0) (void)compare(s, order[i - 1], order[i], &equal);
    if (!equal) {
      first[groups] = order[i];
      counts[groups++] = 0;
    }
    counts[groups - 1]++;
    inverse[order[i]] = groups - 1;
  }
  RUSH_TRY(ret_slices(c, s, moved, dim, first, groups));
  RUSH_TRY(ret_groups(c, 1, true, 1, &s->n, inverse)); /* PyTorch also returns it unconditionally */
  return ret_groups(c, 2, true, 1, &groups, counts);
}

static rush_status unique_along(rush_call *c, uint32_t dim_arg, bool sort) {
  const rush_tensor *t = arg_tensor(c, 0);
  int dim;
  RUSH_TRY(arg_dim(c, dim_arg, t->rank, &dim));
  RUSH_CHECK_ARG(t->rank > 0, "unique() with dim cannot be applied to a 0-dim tensor.");
  bool zeros = false;
  for (int d = 0; d < t->rank; d++) zeros = zeros || (d != dim && t->sizes[d] == 0);
  RUSH_CHECK_ARG(
      !zeros,
      "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  rush_tensor turned = *t, *moved;
  for (int d = dim; d > 0; d--)
    turned.sizes[d] = turned.sizes[d - 1], turned.strides[d] = turned.strides[d - 1];
  turned.sizes[0] = t->sizes[dim], turned.strides[0] = t->strides[dim];
  RUSH_TRY(rush_clone(c->heap, &turned, RUSH_FORMAT_CONTIGUOUS, &moved));
  tmp_take(c, moved);
  slices s = {t->dtype,         rush_itemsize(t),
              t->sizes[dim],    t->sizes[dim] > 0 ? t->numel / t->sizes[dim] : 0,
              rush_data(moved), c->ctx};
  return group_slices(c, &s, moved, dim, sort);
}

/* self, dim, sorted, return_inverse, return_counts */
RUSH_OP(unique_dim) {
  return unique_along(c, 1, true);
}
RUSH_OP(unique_dim_consecutive) {
  return unique_along(c, 1, false);
}

/* self, return_inverse, return_counts, dim */
RUSH_OP(unique_consecutive) {
  const rush_tensor *t = arg_tensor(c, 0);
  if (arg_is_none(c, 3) || (t->rank == 1 && arg_int(c, 3) == 0))
    return unique(c, false, arg_bool(c, 1), arg_bool(c, 2));
  return unique_along(c, 3, false);
}

/* ---- bincount -------------------------------------------------------------------------------- */

/* Element i of a flat tensor */
static const char *flat_at(const rush_tensor *t, int64_t i) {
  const int64_t step = t->rank > 0 ? t->strides[0] * (int64_t)rush_itemsize(t) : 0;
  return (const char *)rush_data(t) + i * step;
}

static rush_status find_most(rush_call *c, const rush_tensor *t, int64_t *most) {
  *most = -1;
  for (int64_t i = 0; i < t->numel; i++) {
    if (i % 4096 == 0) RUSH_TRY(rush_charge(c->ctx, 8 * 4096));
    const int64_t v = rush_load_int(t->dtype, flat_at(t, i));
    RUSH_CHECK_ARG(v >= 0, "bincount only supports 1-d non-negative integral inputs.");
    if (v > *most) *most = v;
  }
  return RUSH_OK;
}

static rush_status add_counts(rush_call *c, const rush_tensor *t, const rush_tensor *weights,
                              rush_tensor *out) {
  void *sums = rush_data(out);
  for (int64_t i = 0; i < t->numel; i++) {
    if (i % 4096 == 0) RUSH_TRY(rush_charge(c->ctx, 8 * 4096));
    const int64_t v = rush_load_int(t->dtype, flat_at(t, i));
    if (out->dtype == RUSH_INT64) {
      ((int64_t *)sums)[v]++;
      continue;
    }
    const double w = rush_load_double(weights->dtype, flat_at(weights, i));
    if (out->dtype == RUSH_FLOAT32)
      ((float *)sums)[v] += (float)w;
    else
      ((double *)sums)[v] += w;
  }
  return RUSH_OK;
}

RUSH_OP(bincount) {
  rush_tensor *t = arg_tensor(c, 0), *weights = arg_tensor(c, 1), *out;
  int64_t least = arg_int(c, 2), most;
  RUSH_CHECK_ARG(!rush_is_float(t->dtype), "\"bincount_cpu\" not implemented for '%s'",
                 rush_dtype_torch_name(t->dtype));
  RUSH_CHECK_ARG(least >= 0, "minlength should be >= 0");
  RUSH_CHECK_ARG(t->rank == 1 || (t->numel == 0 && t->rank == 0),
                 "bincount only supports 1-d non-negative integral inputs.");
  RUSH_CHECK_ARG(weights == NULL || (weights->rank == 1 && weights->numel == t->numel),
                 "weights should be 1-d and have the same length as input");
  RUSH_TRY(find_most(c, t, &most));
  RUSH_CHECK(c->ctx, most < RUSH_MAX_NUMEL, RUSH_ERR_NO_MEMORY,
             "out of memory: %lld bins are too many", (long long)most);
  int64_t n = most + 1 > least ? most + 1 : least;
  rush_dtype result = weights == NULL || t->numel == 0 ? RUSH_INT64
                      : weights->dtype == RUSH_FLOAT32 ? RUSH_FLOAT32
                                                       : RUSH_FLOAT64;
  RUSH_TRY(rush_result(c, 0, result, 1, &n, &out));
  RUSH_TRY(rush_set_bytes(c->ctx, rush_data(out), 0, (size_t)n * rush_itemsize(out)));
  return add_counts(c, t, weights, out);
}
