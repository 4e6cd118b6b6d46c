/* Rows that gather by indices. Indices are in memory too, where they are checked. */
#include "gpu/device.h"

/* clang-format off */
#define WGSL(...) #__VA_ARGS__ "\n"
/* Parameters: 0 elements of the result, 1 of a row, 2 offset and 3, 4 strides of the matrix, 5 the
 * first index and 6 the words of an index. */
static const char embedding[] = WGSL(
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let i = group_of(g, ng) * 64u + l;
  if (i >= word(0u)) { return; }
  let row = in1[(word(5u) + i / word(1u)) * word(6u)];
  out[i] = in0[word(2u) + row * word(3u) + i % word(1u) * word(4u)];
}
);
/* The input is [outer, size, inner]. 1 inner, 2 offset, 3 size, 4 rows of the result; 7 is 1 if
 * each element has an index. */
static const char selection[] = WGSL(
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(num_workgroups) ng: vec3<u32>,
        @builtin(local_invocation_index) l: u32) {
  let i = group_of(g, ng) * 64u + l;
  if (i >= word(0u)) { return; }
  let k = select(i / word(1u) % word(4u), i, word(7u) == 1u);
  let row = in1[(word(5u) + k) * word(6u)];
  out[i] = in0[word(2u) + (i / (word(1u) * word(4u)) * word(3u) + row) * word(1u) + i % word(1u)];
}
);
/* clang-format on */

static void write_gather(rush_text *t, const void *what) {
  rush_text_add(t, "%s", (const char *)what);
}

enum { PIECE = 1 << 12 /* indices whose work is counted in one step */ };

/* Returns whether all indices are rows. *st is RUSH_PENDING if they are not in memory yet, and an
 * error if the host has stopped it. */
static bool are_rows(rush_call *c, const rush_tensor *t, int64_t rows, rush_status *st) {
  if ((t->dtype != RUSH_INT64 && t->dtype != RUSH_INT32) || !rush_is_contiguous(t) ||
      rush_is_turned(t) || t->storage->bytes > INT32_MAX)
    return false;
  *st = rush_gpu_fetch_storage(c->heap, t->storage);
  if (*st != RUSH_OK) return false;
  for (int64_t i = 0; i < t->numel; i++) {
    if (i % PIECE == 0) *st = rush_charge(c->ctx, PIECE);
    if (*st != RUSH_OK) return false;
    const int64_t row =
        rush_load_int(t->dtype, (const char *)rush_data(t) + i * (int64_t)rush_itemsize(t));
    if (row < 0 || row >= rows) return false;
  }
  return true;
}

static rush_status dispatch(rush_gpu_job *job, const char *text, const rush_tensor *from,
                            const rush_tensor *indices, const rush_tensor *out) {
  const uint32_t key[] = {'e', text == embedding};
  RUSH_TRY(rush_gpu_bind(job, from));
  RUSH_TRY(rush_gpu_bind(job, indices));
  RUSH_TRY(rush_gpu_bind(job, out));
  RUSH_TRY(rush_gpu_find_pipeline(job, key, 2, "fuf", write_gather, text));
  job->params[0] = (uint32_t)out->numel;
  job->params[2] = (uint32_t)from->offset;
  job->params[5] = (uint32_t)indices->offset;
  job->params[6] = (uint32_t)rush_itemsize(indices) / 4;
  return rush_gpu_dispatch_elements(job, (uint64_t)out->numel, 1);
}

static rush_status run_gather(rush_gpu *g, rush_call *c, const rush_tensor *w,
                              const rush_tensor *indices) {
  rush_gpu_job job = {.g = g, .c = c};
  int64_t sizes[RUSH_MAX_RANK];
  memcpy(sizes, indices->sizes, indices->rank * sizeof *sizes);
  sizes[indices->rank] = w->sizes[1];
  RUSH_TRY(rush_gpu_result(g, c, indices->rank + 1, sizes, NULL));
  const rush_tensor *out = rush_as_tensor(c->results);
  if (out->numel == 0) return RUSH_OK;
  job.params[1] = (uint32_t)w->sizes[1];
  job.params[3] = (uint32_t)w->strides[0], job.params[4] = (uint32_t)w->strides[1];
  return dispatch(&job, embedding, w, indices, out);
}

bool rush_gpu_embedding(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *w = arg_tensor(c, 0), *indices = arg_tensor(c, 1);
  int64_t numel, sizes[2] = {indices->numel, w->rank == 2 ? w->sizes[1] : 0};
  (void)row;
  if (!rush_gpu_can_read(w) || rush_is_turned(w) || w->rank != 2 ||
      indices->rank >= RUSH_MAX_RANK || !rush_numel(2, sizes, &numel) || numel >= INT32_MAX ||
      !are_rows(c, indices, w->sizes[0], st))
    return *st != RUSH_OK;
  *st = run_gather(g, c, w, indices);
  return true;
}

/* Computes the result's sizes. Returns false for whatever is not plain. */
static bool select_sizes(const rush_tensor *t, const rush_tensor *index, int dim, bool each,
                         int64_t *sizes) {
  if (!each && index->rank > 1) return false;
  if (each && (index->rank != t->rank || index->dtype != RUSH_INT64)) return false;
  for (int d = 0; each && d < t->rank; d++)
    if (d != dim && index->sizes[d] != t->sizes[d]) return false;
  memcpy(sizes, t->sizes, (size_t)t->rank * sizeof *sizes);
  sizes[dim] = each ? index->sizes[dim] : index->numel;
  int64_t numel;
  return rush_numel(t->rank, sizes, &numel) && numel < INT32_MAX;
}

/* number: 1 for index_select, and 2 for gather, where each element has an index. */
bool rush_gpu_index_select(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *t = arg_tensor(c, 0), *index = arg_tensor(c, 2);
  const bool each = row->number == 2;
  rush_gpu_job job = {.g = g, .c = c};
  int64_t sizes[RUSH_MAX_RANK];
  int dim;
  if (!rush_gpu_can_read(t) || t->rank == 0 || t->numel == 0 || !rush_is_contiguous(t) ||
      rush_is_turned(t) || arg_dim(c, 1, t->rank, &dim) != RUSH_OK ||
      !select_sizes(t, index, dim, each, sizes) || !are_rows(c, index, t->sizes[dim], st))
    return *st != RUSH_OK;
  job.params[1] = 1;
  for (int d = dim + 1; d < t->rank; d++) job.params[1] *= (uint32_t)t->sizes[d];
  job.params[3] = (uint32_t)t->sizes[dim];
  job.params[4] = (uint32_t)sizes[dim];
  job.params[7] = each;
  *st = rush_gpu_result(g, c, t->rank, sizes, NULL);
  const rush_tensor *out = *st == RUSH_OK ? rush_as_tensor(c->results) : NULL;
  if (out && out->numel > 0) *st = dispatch(&job, selection, t, index, out);
  return true;
}

/* ---- index ----------------------------------------------------------------------------------- */

/* The indices of a call: one tensor for each dimension from `dim` on, all of the same sizes. */
typedef struct indexing {
  int dim, n;
  const rush_tensor *tensors[RUSH_MAX_RANK];
} indexing;

/* Reads argument 1. Returns false unless the dimensions with an index follow each other. */
static bool read_indices(rush_call *c, const rush_tensor *t, indexing *x) {
  const rush_list *list = arg_list(c, 1);
  *x = (indexing){.dim = -1};
  for (size_t k = 0; k < list->n; k++) {
    if (list->items[k].kind == RUSH_KIND_NONE) continue;
    if (list->items[k].kind != RUSH_KIND_TENSOR || k >= t->rank) return false;
    if (x->n == 0) x->dim = (int)k;
    if ((int)k != x->dim + x->n) return false;
    x->tensors[x->n++] = rush_as_tensor(list->items + k);
    if (!rush_same_sizes(x->tensors[0], rush_as_tensor(list->items + k))) return false;
  }
  return x->n > 0;
}

/* Returns whether all indices are at places of their dimensions, as are_rows does. */
static bool are_places(rush_call *c, const rush_tensor *t, const indexing *x, rush_status *st) {
  for (int k = 0; k < x->n; k++)
    if (x->tensors[k]->dtype != RUSH_INT64 || !are_rows(c, x->tensors[k], t->sizes[x->dim + k], st))
      return false;
  return true;
}

/* Makes one tensor of several: the place among the elements of all their dimensions. */
static rush_status join_indices(rush_call *c, const rush_tensor *t, const indexing *x,
                                const rush_tensor **out) {
  rush_tensor *joined;
  *out = x->tensors[0];
  if (x->n == 1) return RUSH_OK;
  RUSH_TRY(rush_tensor_new(c->heap, RUSH_INT64, (*out)->rank, (*out)->sizes, &joined));
  tmp_take(c, joined);
  int64_t *to = rush_data(joined);
  for (int64_t i = 0; i < joined->numel; i++) {
    if (i % PIECE == 0) RUSH_TRY(rush_charge(c->ctx, PIECE));
    to[i] = 0;
    for (int k = 0; k < x->n; k++)
      to[i] = to[i] * t->sizes[x->dim + k] + ((const int64_t *)rush_data(x->tensors[k]))[i];
  }
  *out = joined;
  return RUSH_OK;
}

static rush_status run_index(rush_gpu *g, rush_call *c, const indexing *x, int rank,
                             const int64_t *sizes) {
  const rush_tensor *t = arg_tensor(c, 0), *index;
  rush_gpu_job job = {.g = g, .c = c};
  RUSH_TRY(join_indices(c, t, x, &index));
  job.params[1] = job.params[3] = 1;
  for (int d = x->dim; d < t->rank; d++)
    job.params[d < x->dim + x->n ? 3 : 1] *= (uint32_t)t->sizes[d];
  job.params[4] = (uint32_t)index->numel;
  RUSH_TRY(rush_gpu_result(g, c, rank, sizes, NULL));
  const rush_tensor *out = rush_as_tensor(c->results);
  return out->numel > 0 ? dispatch(&job, selection, t, index, out) : RUSH_OK;
}

bool rush_gpu_index(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t sizes[RUSH_MAX_RANK], numel;
  indexing x;
  int rank = 0;
  (void)row;
  if (!t->storage->on_device || !rush_gpu_can_read(t) || t->numel == 0 || !rush_is_contiguous(t) ||
      rush_is_turned(t) || !read_indices(c, t, &x) ||
      t->rank - x.n + x.tensors[0]->rank > RUSH_MAX_RANK)
    return false;
  for (int d = 0; d < x.dim; d++) sizes[rank++] = t->sizes[d];
  for (int d = 0; d < x.tensors[0]->rank; d++) sizes[rank++] = x.tensors[0]->sizes[d];
  for (int d = x.dim + x.n; d < t->rank; d++) sizes[rank++] = t->sizes[d];
  if (!rush_numel(rank, sizes, &numel) || numel >= INT32_MAX || !are_places(c, t, &x, st))
    return *st != RUSH_OK;
  *st = run_index(g, c, &x, rank, sizes);
  return true;
}
