/* Sorting of lines along a dimension. A line becomes an array of keys with indices. Keys compare as
 * int64 for every dtype: NaN is greater than all numbers, and -0 equals 0. Descending order is the
 * ascending order of the complements.
 *
 * All functions check for a stop request (rush_should_stop). The order of the items is then
 * unspecified. */
#ifndef RUSH_SORT_LINES_H
#define RUSH_SORT_LINES_H

#include "tensor/iter.h"

typedef struct rush_sort_item {
  int64_t key, index;
} rush_sort_item;

/* Makes the keys of n elements that are `step` bytes apart, starting at `at`. After a stop request,
 * some items are not set. */
void rush_sort_keys(rush_ctx *ctx, rush_dtype dtype, const char *at, int64_t step, int64_t n,
                    bool descending, rush_sort_item *out);

/* Sorts stably. `scratch` has room for n items. */
void rush_sort_stable(rush_ctx *ctx, rush_sort_item *items, rush_sort_item *scratch, int64_t n);

/* The following functions order equal keys as PyTorch's CPU code does, so that indices of equal
 * elements agree. They follow libstdc++'s algorithms and quick_select_template of ATen's
 * Sorting.cpp. */

/* Follows std::sort, which PyTorch uses unless a stable sort is requested. */
void rush_sort(rush_ctx *ctx, rush_sort_item *items, int64_t n);
/* Moves the first k items to the front, in order if `sorted`. Follows TopKImpl.h. */
void rush_top_k(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t k, bool sorted);
/* Follows std::nth_element: items[nth] gets the item that sorting would put there. */
void rush_nth_element(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t nth);
/* Returns the index of the nth element. Of equal elements, the first comes first. Destroys
 * items. */
int64_t rush_nth_element_stable(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t nth);
/* Does the same as rush_nth_element, with the algorithm of kthvalue. */
void rush_quick_select(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t k);

/* Iterates over the lines of several tensors along one dimension:
 *
 *   rush_lines l;
 *   rush_lines_init(&l, ctx, dim, n, tensors);   // sizes agree except in dim
 *   do { l.at[k], l.step[k] bytes between elements } while (rush_lines_next(&l));
 *
 * A 0-d tensor is one line of one element. rush_lines_init returns false if there is no line. */
typedef struct rush_lines {
  rush_ctx *ctx;
  uint64_t work; /* work per line */
  int n;
  rush_iter it;
  int64_t done;
  char *at[RUSH_ITER_MAX];
  int64_t step[RUSH_ITER_MAX];
} rush_lines;
bool rush_lines_init(rush_lines *l, rush_ctx *ctx, int dim, int n,
                     const rush_tensor *const *tensors);
bool rush_lines_next(rush_lines *l);

#endif
