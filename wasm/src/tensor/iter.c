#include "tensor/iter.h"

bool rush_broadcast(int rank_a, const int64_t *a, int rank_b, const int64_t *b, int *rank,
                    int64_t *out) {
  int r = rank_a > rank_b ? rank_a : rank_b;
  *rank = r;
  for (int k = 1; k <= r; k++) {
    int64_t sa = k <= rank_a ? a[rank_a - k] : 1, sb = k <= rank_b ? b[rank_b - k] : 1;
    if (sa != sb && sa != 1 && sb != 1) return false;
    out[r - k] = sa == 1 ? sb : sa;
  }
  return true;
}

static void swap_dims(rush_iter *it, int a, int b) {
  int64_t s = it->size[a];
  it->size[a] = it->size[b];
  it->size[b] = s;
  for (int k = 0; k < it->n; k++) {
    s = it->stride[k][a];
    it->stride[k][a] = it->stride[k][b];
    it->stride[k][b] = s;
  }
}

/* Returns whether dimension a belongs outside dimension b, like TensorIterator's
 * reorder_dimensions: the first operand whose strides differ decides. */
static bool belongs_outside(const rush_iter *it, int a, int b) {
  for (int k = 0; k < it->n; k++) {
    int64_t sa = it->stride[k][a], sb = it->stride[k][b];
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa > sb;
  }
  return false;
}

static bool can_merge(const rush_iter *it, int inner, int outer) {
  for (int k = 0; k < it->n; k++) {
    if (it->stride[k][outer] != it->stride[k][inner] * it->size[inner]) return false;
  }
  return true;
}

void rush_iter_init(rush_iter *it, int rank, const int64_t *sizes, int n,
                    const rush_tensor *const *tensors) {
  it->n = n;
  int r = 0;
  bool empty = false;
  for (int k = 0; k < n; k++) it->at[k] = rush_data(tensors[k]);
  for (int d = rank - 1; d >= 0; d--) { /* innermost first; dimensions of size 1 are skipped */
    empty |= sizes[d] == 0;
    if (sizes[d] == 1) continue;
    it->size[r] = sizes[d];
    for (int k = 0; k < n; k++) {
      const rush_tensor *t = tensors[k];
      int e = d - (rank - t->rank);
      it->stride[k][r] = e < 0 || t->sizes[e] == 1 ? 0 : t->strides[e] * (int64_t)rush_itemsize(t);
    }
    r++;
  }
  if (empty || r == 0) {
    it->rank = 1;
    it->size[0] = empty ? 0 : 1;
    it->index[0] = 0;
    for (int k = 0; k < n; k++) it->stride[k][0] = 0;
    return;
  }
  for (int i = 1; i < r; i++) {
    for (int j = i; j > 0 && belongs_outside(it, j - 1, j); j--) swap_dims(it, j - 1, j);
  }
  int last = 0;
  for (int d = 1; d < r; d++) {
    if (can_merge(it, last, d)) {
      it->size[last] *= it->size[d];
      continue;
    }
    last++;
    it->size[last] = it->size[d];
    for (int k = 0; k < n; k++) it->stride[k][last] = it->stride[k][d];
  }
  it->rank = last + 1;
  for (int d = 0; d < it->rank; d++) it->index[d] = 0;
}

bool rush_iter_next_from(rush_iter *it, int d) {
  for (; d < it->rank; d++) {
    for (int k = 0; k < it->n; k++) it->at[k] += it->stride[k][d];
    if (++it->index[d] < it->size[d]) return true;
    for (int k = 0; k < it->n; k++) it->at[k] -= it->stride[k][d] * it->size[d];
    it->index[d] = 0;
  }
  return false;
}
