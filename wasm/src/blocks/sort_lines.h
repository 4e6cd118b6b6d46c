/* Putting the elements of a line in order. A line becomes pairs of a key and the element's place;
 * keys compare as int64 whatever the dtype: NaN above all numbers, -0 as 0. Descending order is the
 * ascending order of the complements.
 *
 * All of it looks whether the host wants to stop (rush_should_stop): then items are in any order. */
#ifndef RUSH_SORT_LINES_H
#define RUSH_SORT_LINES_H

#include "tensor/iter.h"

typedef struct rush_sort_item {
  int64_t key, index;
} rush_sort_item;

/* n elements from `at`, `step` bytes apart. */
void rush_sort_keys(rush_dtype dtype, const char *at, int64_t step, int64_t n, bool descending,
                    rush_sort_item *out);

/* Sorts; equal keys keep their order. `scratch` has room for n. */
void rush_sort_stable(rush_ctx *ctx, rush_sort_item *items, rush_sort_item *scratch, int64_t n);

/* The following leave equal keys in the order in which PyTorch's CPU code leaves them, so that
 * indices agree where elements tie: libstdc++'s algorithms, and quick_select_template of ATen's
 * Sorting.cpp. */

/* std::sort: what PyTorch's sort is unless it is asked to be stable. */
void rush_sort(rush_ctx *ctx, rush_sort_item *items, int64_t n);
/* The first k in order at the front (not in order where `sorted` is false). TopKImpl.h. */
void rush_top_k(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t k, bool sorted);
/* std::nth_element: items[nth] is what it would be in order. */
void rush_nth_element(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t nth);
/* The place of the element that is nth in order, the earlier of equal ones first. Destroys items.
 */
int64_t rush_nth_element_stable(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t nth);
/* The same as rush_nth_element, as kthvalue does it. */
void rush_quick_select(rush_ctx *ctx, rush_sort_item *items, int64_t n, int64_t k);

/* Walks the lines of several tensors along one dimension together:
 *
 *   rush_lines l;
 *   rush_lines_init(&l, ctx, dim, n, tensors);   // sizes agree apart from dim
 *   do { l.at[k], l.step[k] bytes from element to element } while (rush_lines_next(&l));
 *
 * A 0-d tensor is one line of one element. rush_lines_init is false where there is no line. */
typedef struct rush_lines {
  rush_ctx *ctx;
  uint64_t work; /* of a line */
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
