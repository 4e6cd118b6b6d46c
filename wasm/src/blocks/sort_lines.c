#include "blocks/sort_lines.h"

/* ---- Keys ------------------------------------------------------------------------------------ */

static int64_t key_of_double(double v) {
  if (v != v) return INT64_MAX;
  if (v == 0) return 0;
  int64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

#define RANK(T, KEY)                            \
  for (; i < end; i++, at += step) {            \
    T v;                                        \
    memcpy(&v, at, sizeof v);                   \
    out[i] = (rush_sort_item){(KEY) ^ flip, i}; \
  }                                             \
  return

/* Makes the keys from element i, at `at`, to the end. */
static void keys_of(rush_dtype dtype, const char *at, int64_t step, int64_t i, int64_t end,
                    int64_t flip, rush_sort_item *out) {
  switch (dtype) {
    case RUSH_FLOAT32:
      RANK(float, key_of_double((double)v));
    case RUSH_FLOAT64:
      RANK(double, key_of_double(v));
    case RUSH_INT64:
      RANK(int64_t, v);
    case RUSH_INT32:
      RANK(int32_t, (int64_t)v);
    case RUSH_BOOL:
      RANK(uint8_t, (int64_t)(v != 0));
    default:
      for (; i < end; i++, at += step) {
        int64_t key = rush_is_float(dtype) ? key_of_double(rush_load_double(dtype, at))
                                           : rush_load_int(dtype, at);
        out[i] = (rush_sort_item){key ^ flip, i};
      }
  }
}

void rush_sort_keys(rush_ctx *ctx, rush_dtype dtype, const char *at, int64_t step, int64_t n,
                    bool descending, rush_sort_item *out) {
  size_t some;
  for (int64_t i = 0; rush_next_piece(ctx, (size_t)n, 2, (size_t)i, &some); i += (int64_t)some)
    keys_of(dtype, at + i * step, step, i, i + (int64_t)some, descending ? -1 : 0, out);
}

/* ---- A stable sort --------------------------------------------------------------------------- */

enum { RUN = 16 };

static void insertion_runs(rush_ctx *ctx, rush_sort_item *items, int64_t n) {
  for (int64_t from = 0; from < n && !rush_stops_at_step(ctx, from); from += RUN) {
    int64_t to = from + RUN < n ? from + RUN : n;
    for (int64_t i = from + 1; i < to; i++) {
      rush_sort_item v = items[i];
      int64_t k = i;
      for (; k > from && items[k - 1].key > v.key; k--) items[k] = items[k - 1];
      items[k] = v;
    }
  }
}

void rush_sort_stable(rush_ctx *ctx, rush_sort_item *items, rush_sort_item *scratch, int64_t n) {
  rush_sort_item *from = items, *to = scratch;
  insertion_runs(ctx, items, n);
  for (int64_t width = RUN; width < n; width *= 2) {
    for (int64_t at = 0; at < n; at += 2 * width) {
      int64_t mid = at + width < n ? at + width : n, end = mid + width < n ? mid + width : n;
      int64_t i = at, j = mid;
      if (rush_should_stop(ctx, 4 * (uint64_t)(end - at))) return;
      for (int64_t k = at; k < end; k++) {
        if (rush_stops_at_counted_step(ctx, k + 1)) return;
        to[k] = i < mid && (j >= end || from[i].key <= from[j].key) ? from[i++] : from[j++];
      }
    }
    rush_sort_item *swap = from;
    from = to;
    to = swap;
  }
  if (from == items) return;
  for (size_t i = 0, some; rush_next_piece(ctx, (size_t)n, 2, i, &some); i += some)
    memcpy(items + i, from + i, some * sizeof *items);
}

/* ---- libstdc++'s algorithms (bits/stl_heap.h, bits/stl_algo.h), over [0, n) ------------------ */

enum { HEAP_WORK = 64 }; /* work to pop one element from a heap */

static bool before(const rush_sort_item *a, const rush_sort_item *b) {
  return a->key < b->key;
}

static void swap(rush_sort_item *a, rush_sort_item *b) {
  rush_sort_item v = *a;
  *a = *b;
  *b = v;
}

static void push_heap(rush_sort_item *p, int64_t hole, int64_t top, rush_sort_item v) {
  for (int64_t parent; hole > top && before(&p[parent = (hole - 1) / 2], &v); hole = parent)
    p[hole] = p[parent];
  p[hole] = v;
}

static void adjust_heap(rush_sort_item *p, int64_t hole, int64_t n, rush_sort_item v) {
  int64_t top = hole, child = hole;
  while (child < (n - 1) / 2) {
    child = 2 * (child + 1);
    if (before(&p[child], &p[child - 1])) child--;
    p[hole] = p[child];
    hole = child;
  }
  if (n % 2 == 0 && child == (n - 2) / 2) {
    child = 2 * (child + 1);
    p[hole] = p[child - 1];
    hole = child - 1;
  }
  push_heap(p, hole, top, v);
}

static void pop_heap(rush_sort_item *p, int64_t n, rush_sort_item *result) {
  rush_sort_item v = *result;
  *result = p[0];
  adjust_heap(p, 0, n, v);
}

static void heap_select(rush_ctx *ctx, rush_sort_item *p, int64_t middle, int64_t n) {
  for (int64_t parent = (middle - 2) / 2; middle >= 2 && parent >= 0; parent--) {
    if (rush_stops_at_step(ctx, parent)) return;
    adjust_heap(p, parent, middle, p[parent]);
  }
  for (int64_t i = middle; i < n && !rush_stops_at_step(ctx, i); i++) {
    if (!before(&p[i], &p[0])) continue;
    if (rush_should_stop(ctx, HEAP_WORK)) return;
    pop_heap(p, middle, &p[i]);
  }
}

static void partial_sort(rush_ctx *ctx, rush_sort_item *p, int64_t middle, int64_t n) {
  if (middle == 0) return;
  heap_select(ctx, p, middle, n);
  for (int64_t last = middle - 1; last > 0 && !rush_should_stop(ctx, HEAP_WORK); last--)
    pop_heap(p, last, &p[last]);
}

static void median_to_first(rush_sort_item *result, rush_sort_item *a, rush_sort_item *b,
                            rush_sort_item *c) {
  if (before(a, b))
    swap(result, before(b, c) ? b : before(a, c) ? c : a);
  else
    swap(result, before(a, c) ? a : before(b, c) ? c : b);
}

/* Returns the start of the second part, or any place after a stop request. The caller has counted
 * the steps. */
static int64_t partition(rush_ctx *ctx, rush_sort_item *p, int64_t first, int64_t last) {
  int64_t i = first + 1, j = last;
  median_to_first(&p[first], &p[first + 1], &p[first + (last - first) / 2], &p[last - 1]);
  for (;;) {
    while (before(&p[i], &p[first]))
      if (rush_stops_at_counted_step(ctx, ++i)) return i;
    j--;
    while (before(&p[first], &p[j]))
      if (rush_stops_at_counted_step(ctx, --j)) return i;
    if (i >= j) return i;
    swap(&p[i], &p[j]);
    if (rush_stops_at_counted_step(ctx, ++i)) return i;
  }
}

static void linear_insert(rush_sort_item *p, int64_t at, int64_t first) {
  rush_sort_item v = p[at];
  for (; at > first && before(&v, &p[at - 1]); at--) p[at] = p[at - 1];
  p[at] = v;
}

/* Gives the same result as std's guarded and unguarded insertion. */
static void insertion_sort(rush_ctx *ctx, rush_sort_item *p, int64_t first, int64_t last) {
  for (int64_t i = first + 1; i < last && !rush_stops_at_step(ctx, i); i++)
    linear_insert(p, i, first);
}

static int log2_of(int64_t n) {
  return 63 - __builtin_clzll((unsigned long long)n);
}

enum { THRESHOLD = 16 };

static void introsort(rush_ctx *ctx, rush_sort_item *p, int64_t first, int64_t last, int depth) {
  while (last - first > THRESHOLD && !rush_should_stop(ctx, 4 * (uint64_t)(last - first))) {
    if (depth-- == 0) {
      partial_sort(ctx, p + first, last - first, last - first);
      return;
    }
    int64_t cut = partition(ctx, p, first, last);
    introsort(ctx, p, cut, last, depth); /* at most 2 log2(n) deep */
    last = cut;
  }
}

void rush_sort(rush_ctx *ctx, rush_sort_item *items, int64_t n) {
  if (n < 2) return;
  introsort(ctx, items, 0, n, 2 * log2_of(n));
  if (!ctx->stopped) insertion_sort(ctx, items, 0, n);
}

void rush_nth_element(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t nth) {
  if (n == 0 || nth >= n) return;
  int64_t first = 0, last = n;
  for (int depth = 2 * log2_of(n); last - first > 3; depth--) {
    if (rush_should_stop(ctx, 4 * (uint64_t)(last - first))) return;
    if (depth == 0) {
      heap_select(ctx, items + first, nth + 1 - first, last - first);
      swap(&items[first], &items[nth]);
      return;
    }
    int64_t cut = partition(ctx, items, first, last);
    if (cut <= nth)
      first = cut;
    else
      last = cut;
  }
  insertion_sort(ctx, items, first, last);
}

int64_t rush_nth_element_stable(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t nth) {
  rush_nth_element(ctx, items, n, nth);
  if (ctx->stopped) return 0;
  int64_t key = items[nth].key, less = 0, same = 0;
  for (int64_t i = 0; i < n; i++) {
    if (rush_stops_at_step(ctx, i)) return 0;
    less += items[i].key < key;
    if (items[i].key == key) items[same++] = (rush_sort_item){items[i].index, items[i].index};
  }
  rush_nth_element(ctx, items, same, nth - less);
  return items[nth - less].index;
}

void rush_top_k(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t k, bool sorted) {
  if (k == 0) return;
  if (k <= n / 64) {
    partial_sort(ctx, items, k, n);
    return;
  }
  rush_nth_element(ctx, items, n, k - 1);
  if (sorted) rush_sort(ctx, items, k - 1);
}

/* ---- ATen's quick_select_template ------------------------------------------------------------ */

void rush_quick_select(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t k) {
  int64_t left = 0, right = n - 1;
  while (right > left + 1) {
    if (rush_should_stop(ctx, 4 * (uint64_t)(right - left))) return;
    swap(&items[left + (right - left) / 2], &items[left + 1]);
    if (before(&items[right], &items[left + 1])) swap(&items[left + 1], &items[right]);
    if (before(&items[right], &items[left])) swap(&items[left], &items[right]);
    if (before(&items[left], &items[left + 1])) swap(&items[left + 1], &items[left]);
    int64_t i = left + 1, j = right;
    rush_sort_item pivot = items[left];
    for (;;) {
      do
        if (rush_stops_at_counted_step(ctx, ++i)) return;
      while (before(&items[i], &pivot));
      do
        if (rush_stops_at_counted_step(ctx, --j)) return;
      while (before(&pivot, &items[j]));
      if (j < i) break;
      swap(&items[i], &items[j]);
    }
    swap(&items[left], &items[j]);
    if (j <= k) left = i;
    if (j >= k) right = j - 1;
  }
  if (right == left + 1 && before(&items[right], &items[left])) swap(&items[left], &items[right]);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

enum { LINE_WORK = 16 }; /* work per line, besides its elements */

static void set_line(rush_lines *l) {
  for (int k = 0; k < l->n; k++) l->at[k] = l->it.at[k] + l->done * l->it.stride[k][0];
}

bool rush_lines_init(rush_lines *l, rush_ctx *ctx, int dim, int n,
                     const rush_tensor *const *tensors) {
  rush_tensor flat[RUSH_ITER_MAX];
  const rush_tensor *operands[RUSH_ITER_MAX];
  l->ctx = ctx;
  l->n = n;
  l->done = 0;
  l->work = LINE_WORK + 4 * (uint64_t)(tensors[0]->rank > 0 ? tensors[0]->sizes[dim] : 1);
  for (int k = 0; k < n; k++) {
    flat[k] = *tensors[k];
    operands[k] = &flat[k];
    l->step[k] = 0;
    if (flat[k].rank == 0) continue;
    l->step[k] = flat[k].strides[dim] * (int64_t)rush_itemsize(&flat[k]);
    flat[k].sizes[dim] = 1;
  }
  rush_iter_init(&l->it, flat[0].rank, flat[0].sizes, n, operands);
  set_line(l);
  return l->it.size[0] > 0;
}

bool rush_lines_next(rush_lines *l) {
  if (rush_should_stop(l->ctx, l->work)) return false;
  if (++l->done == l->it.size[0]) {
    if (!rush_iter_next(&l->it)) return false;
    l->done = 0;
  }
  set_line(l);
  return true;
}
