#include "gpu/walk.h"

/* Stores the dimensions with more than one element, from the largest stride to the smallest. */
static int sort_dims(int rank, const int64_t *sizes, const int64_t *strides, int *order) {
  int n = 0;
  for (int d = 0; d < rank; d++) {
    if (sizes[d] == 1) continue;
    int k = n++;
    for (; k > 0 && strides[order[k - 1]] < strides[d]; k--) order[k] = order[k - 1];
    order[k] = d;
  }
  return n;
}

static int64_t stride_of(const rush_tensor *t, int rank, int d) {
  const int own = d - (rank - t->rank);
  return own < 0 || t->sizes[own] == 1 ? 0 : t->strides[own];
}

/* Returns whether dimension `inner` follows the last one of the walk in all operands. */
static bool follows(const rush_gpu_walk *w, const int64_t *strides, int64_t size) {
  if (w->rank == 0) return false;
  for (int k = 0; k < w->n; k++)
    if ((int64_t)w->strides[k][w->rank - 1] != strides[k] * size) return false;
  return true;
}

bool rush_gpu_plan_walk(rush_gpu_walk *w, int rank, const int64_t *sizes, const int64_t *strides,
                        int n, const rush_tensor *const *operands) {
  int order[RUSH_MAX_RANK];
  int64_t numel;
  *w = (rush_gpu_walk){.n = n};
  if (!rush_numel(rank, sizes, &numel) || numel >= INT32_MAX || n > RUSH_GPU_OPERANDS) return false;
  w->numel = (uint32_t)numel;
  const int dims = sort_dims(rank, sizes, strides, order);
  for (int i = 0; i < dims; i++) {
    const int d = order[i];
    int64_t steps[RUSH_GPU_OPERANDS];
    for (int k = 0; k < n; k++) steps[k] = stride_of(operands[k], rank, d);
    const bool joins = follows(w, steps, sizes[d]);
    if (!joins && w->rank == RUSH_GPU_DIMS) return false;
    const int at = joins ? w->rank - 1 : w->rank++;
    w->sizes[at] = joins ? w->sizes[at] * (uint32_t)sizes[d] : (uint32_t)sizes[d];
    for (int k = 0; k < n; k++) w->strides[k][at] = (uint32_t)steps[k];
  }
  for (int k = 0; k < n; k++) w->offsets[k] = (uint32_t)operands[k]->offset;
  return true;
}

void rush_gpu_place_walk(const rush_gpu_walk *w, uint32_t *params) {
  uint32_t *at = params + RUSH_GPU_WALK;
  memcpy(at, w->offsets, sizeof w->offsets);
  at += RUSH_GPU_OPERANDS;
  memcpy(at, w->sizes, sizeof w->sizes);
  for (int k = 0; k < w->n; k++, at += RUSH_GPU_DIMS)
    memcpy(at + RUSH_GPU_DIMS, w->strides[k], sizeof w->strides[k]);
}

void rush_gpu_write_walk(rush_text *t, const rush_gpu_walk *w) {
  for (int k = 0; k < w->n; k++) rush_text_add(t, "var a%d = word(%du);\n", k, RUSH_GPU_WALK + k);
  if (w->rank > 0) rush_text_add(t, "var rest = i;\n");
  for (int d = w->rank - 1; d >= 0; d--) {
    if (d > 0)
      rush_text_add(t, "{ let size = word(%du); let at = rest %% size; rest = rest / size;\n",
                    RUSH_GPU_WALK_SIZES + d);
    else
      rush_text_add(t, "{ let at = rest;\n");
    for (int k = 0; k < w->n; k++)
      rush_text_add(t, "a%d += at * word(%du);\n", k,
                    RUSH_GPU_WALK_SIZES + RUSH_GPU_DIMS * (1 + k) + d);
    rush_text_add(t, "}\n");
  }
}

uint32_t rush_gpu_key_walk(const rush_gpu_walk *w) {
  return (uint32_t)w->rank << 8 | (uint32_t)w->n;
}
