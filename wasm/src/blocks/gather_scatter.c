#include "blocks/gather_scatter.h"

#include "kernels/reduction.h"
#include "tensor/layout.h"

enum { BLOCK = 256, COLUMNS = 64 /* the limit of rush_sum_columns_f32 */ };

rush_status rush_fail_index(rush_ctx *ctx, int64_t index, int dim, int64_t size) {
  return rush_fail(ctx, RUSH_ERR_BAD_ARGUMENT,
                   "index %lld is out of bounds for dimension %d with size %lld", (long long)index,
                   dim, (long long)size);
}

/* ---- Combining ------------------------------------------------------------------------------- */

#define ROW(T, EXPR)                                 \
  for (int64_t k = 0; k < n; k++, src += src_step) { \
    T a, b;                                          \
    memcpy(&a, dst + at[k], sizeof a);               \
    memcpy(&b, src, sizeof b);                       \
    a = (T)(EXPR);                                   \
    memcpy(dst + at[k], &a, sizeof a);               \
  }                                                  \
  return
#define ROWS(NAME, INT, FLOAT, BOOL)                                                \
  static void NAME(rush_dtype dtype, char *dst, const int64_t *at, const char *src, \
                   int64_t src_step, int64_t n) {                                   \
    switch (dtype) {                                                                \
      case RUSH_FLOAT32:                                                            \
        ROW(float, FLOAT);                                                          \
      case RUSH_FLOAT64:                                                            \
        ROW(double, FLOAT);                                                         \
      case RUSH_UINT8:                                                              \
        ROW(uint8_t, INT);                                                          \
      case RUSH_BOOL:                                                               \
        ROW(uint8_t, BOOL);                                                         \
      case RUSH_INT32:                                                              \
        ROW(int32_t, INT);                                                          \
      default:                                                                      \
        ROW(int64_t, INT);                                                          \
    }                                                                               \
  }
/* Integers wrap around, as in PyTorch, so they are computed as unsigned. */
ROWS(add_row, (uint64_t)a + (uint64_t)b, a + b, (a | b) != 0)
ROWS(mul_row, (uint64_t)a *(uint64_t)b, a *b, a != 0 && b != 0)
ROWS(max_row, a < b ? b : a, b != b || a < b ? b : a, (a | b) != 0)
ROWS(min_row, b < a ? b : a, b != b || b < a ? b : a, a != 0 && b != 0)

static double combine_floats(rush_combine how, double a, double b) {
  switch (how) {
    case RUSH_COMBINE_ADD:
      return a + b;
    case RUSH_COMBINE_MUL:
      return a * b;
    case RUSH_COMBINE_MAX:
      return b != b || a < b ? b : a;
    default:
      return b != b || b < a ? b : a;
  }
}

/* Handles rare dtypes element by element. 16-bit integers and their products are exact as doubles,
 * and wrap when they are stored. */
static void combine_rare(rush_combine how, rush_dtype dtype, char *dst, const int64_t *at,
                         const char *src, int64_t src_step, int64_t n) {
  const rush_dtype part = rush_real_dtype(dtype);
  const size_t size = rush_dtype_size(part);
  for (int64_t k = 0; k < n; k++, src += src_step) {
    char *to = dst + at[k];
    const double a = rush_load_double(part, to), b = rush_load_double(part, src);
    double v = combine_floats(how, a, b);
    if (part != dtype) { /* complex supports only sums and products */
      const double ai = rush_load_double(part, to + size), bi = rush_load_double(part, src + size);
      const bool product = how == RUSH_COMBINE_MUL;
      rush_store_double(part, to + size, product ? a * bi + ai * b : ai + bi);
      if (product) v -= ai * bi;
    }
    rush_store_double(part, to, v);
  }
}

static void set_row(size_t item, char *dst, const int64_t *at, const char *src, int64_t src_step,
                    int64_t n) {
#define SET(BYTES) \
  for (int64_t k = 0; k < n; k++, src += src_step) memcpy(dst + at[k], src, BYTES)
  switch (item) {
    case 1:
      SET(1);
      return;
    case 2:
      SET(2);
      return;
    case 4:
      SET(4);
      return;
    case 8:
      SET(8);
      return;
    default:
      SET(16);
  }
}

void rush_combine_row(rush_combine how, rush_dtype dtype, char *dst, const int64_t *at,
                      const char *src, int64_t src_step, int64_t n) {
  if (how != RUSH_COMBINE_SET && rush_is_one_of(dtype, RUSH_RARE)) {
    combine_rare(how, dtype, dst, at, src, src_step, n);
    return;
  }
  switch (how) {
    case RUSH_COMBINE_SET:
      set_row(rush_dtype_size(dtype), dst, at, src, src_step, n);
      return;
    case RUSH_COMBINE_ADD:
      add_row(dtype, dst, at, src, src_step, n);
      return;
    case RUSH_COMBINE_MUL:
      mul_row(dtype, dst, at, src, src_step, n);
      return;
    case RUSH_COMBINE_MAX:
      max_row(dtype, dst, at, src, src_step, n);
      return;
    case RUSH_COMBINE_MIN:
      min_row(dtype, dst, at, src, src_step, n);
      return;
  }
}

static void set_line(char *dst, const char *src, size_t size, size_t known) {
  for (memcpy(dst, src, known); known < size; known *= 2) /* doubles the filled part */
    memcpy(dst + known, dst, known < size - known ? known : size - known);
}
static void set_lines(rush_ctx *ctx, char *dst, const char *src, bool repeated, size_t item,
                      size_t n) {
  for (size_t k = 0, some; rush_next_piece(ctx, n, 1, k, &some); k += some)
    set_line(dst + k * item, repeated ? src : src + k * item, some * item,
             repeated ? item : some * item);
}
static void add_line(rush_ctx *ctx, float *dst, const float *src, int64_t n) {
  for (int64_t k = 0; k < n && !rush_stops_at_step(ctx, k); k += COLUMNS)
    rush_sum_columns_f32(1, n - k < COLUMNS ? (size_t)(n - k) : COLUMNS, src + k, 0, dst + k);
}

bool rush_combine_line(rush_ctx *ctx, rush_combine how, rush_dtype dtype, char *dst,
                       int64_t dst_step, const char *src, int64_t src_step, int64_t n) {
  const int64_t item = (int64_t)rush_dtype_size(dtype);
  if (dst_step != item || (src_step != item && src_step != 0)) return false;
  if (how == RUSH_COMBINE_SET) {
    set_lines(ctx, dst, src, src_step == 0, (size_t)item, (size_t)n);
    return true;
  }
  if (how != RUSH_COMBINE_ADD || dtype != RUSH_FLOAT32 || src_step == 0) return false;
  add_line(ctx, (float *)(void *)dst, (const float *)(const void *)src, n);
  return true;
}

/* ---- Iteration ------------------------------------------------------------------------------- */

/* Returns a header of `t` with index's sizes. Its own dimension `dim`, if any, gets stride 0. */
static rush_tensor seen_as(const rush_tensor *t, const rush_tensor *index, int dim) {
  rush_tensor view = *t;
  view.rank = index->rank;
  view.numel = index->numel;
  memcpy(view.sizes, index->sizes, sizeof view.sizes);
  if (dim >= 0 && dim < view.rank) view.strides[dim] = 0;
  return view;
}

typedef struct walk {
  rush_dtype index_dtype;
  int dim;
  int64_t size, stride; /* size of `dim`; its stride in bytes */
  bool wrap;
} walk;

static walk walk_of(const rush_tensor *t, int dim, const rush_tensor *index, bool wrap) {
  walk w = {index->dtype, dim, 1, 0, wrap};
  if (t->rank > 0) {
    w.size = t->sizes[dim];
    w.stride = t->strides[dim] * (int64_t)rush_itemsize(t);
  }
  return w;
}

/* Computes the byte offsets of n elements. The other dimensions advance by `step` bytes per
 * element. */
static rush_status resolve(rush_ctx *ctx, const walk *w, const char *index, int64_t index_step,
                           int64_t step, int64_t n, int64_t *at) {
  RUSH_TRY(rush_charge(ctx, 4 * (uint64_t)n));
  for (int64_t k = 0; k < n; k++, index += index_step) {
    int64_t i;
    if (w->index_dtype == RUSH_INT64) {
      memcpy(&i, index, sizeof i);
    } else {
      int32_t narrow;
      memcpy(&narrow, index, sizeof narrow);
      i = narrow;
    }
    int64_t from_start = w->wrap && i < 0 ? i + w->size : i;
    if (RUSH_UNLIKELY(from_start < 0 || from_start >= w->size))
      return rush_fail_index(ctx, i, w->dim, w->size);
    at[k] = from_start * w->stride + k * step;
  }
  return RUSH_OK;
}

rush_status rush_scatter(rush_ctx *ctx, rush_tensor *dst, int dim, const rush_tensor *index,
                         const rush_tensor *src, rush_combine how, bool wrap) {
  if (index->numel == 0) return RUSH_OK;
  walk w = walk_of(dst, dim, index, wrap);
  rush_tensor to = seen_as(dst, index, dim), from = seen_as(src, index, -1);
  const rush_tensor *operands[] = {&to, index, &from};
  int64_t at[BLOCK];
  rush_iter it;
  rush_iter_init(&it, index->rank, index->sizes, 3, operands);
  do {
    if (it.stride[1][0] == 0) { /* the whole line shares one offset */
      RUSH_TRY(resolve(ctx, &w, it.at[1], 0, 0, 1, at));
      const bool done = rush_combine_line(ctx, how, dst->dtype, it.at[0] + at[0], it.stride[0][0],
                                          it.at[2], it.stride[2][0], it.size[0]);
      RUSH_TRY(rush_take_stop(ctx));
      if (done) continue;
    }
    for (int64_t done = 0; done < it.size[0]; done += BLOCK) {
      int64_t n = it.size[0] - done < BLOCK ? it.size[0] - done : BLOCK;
      RUSH_TRY(resolve(ctx, &w, it.at[1] + done * it.stride[1][0], it.stride[1][0], it.stride[0][0],
                       n, at));
      rush_combine_row(how, dst->dtype, it.at[0] + done * it.stride[0][0], at,
                       it.at[2] + done * it.stride[2][0], it.stride[2][0], n);
    }
  } while (rush_iter_next(&it));
  return RUSH_OK;
}

static void get_row(size_t item, char *out, int64_t out_step, const char *src, const int64_t *at,
                    int64_t n) {
#define GET(BYTES) \
  for (int64_t k = 0; k < n; k++, out += out_step) memcpy(out, src + at[k], BYTES)
  switch (item) {
    case 1:
      GET(1);
      return;
    case 2:
      GET(2);
      return;
    case 4:
      GET(4);
      return;
    case 8:
      GET(8);
      return;
    default:
      GET(16);
  }
}

rush_status rush_gather(rush_ctx *ctx, rush_tensor *out, const rush_tensor *self, int dim,
                        const rush_tensor *index) {
  if (index->numel == 0) return RUSH_OK;
  walk w = walk_of(self, dim, index, false);
  rush_tensor from = seen_as(self, index, dim);
  const rush_tensor *operands[] = {out, index, &from};
  int64_t at[BLOCK];
  rush_iter it;
  rush_iter_init(&it, index->rank, index->sizes, 3, operands);
  do {
    for (int64_t done = 0; done < it.size[0]; done += BLOCK) {
      int64_t n = it.size[0] - done < BLOCK ? it.size[0] - done : BLOCK;
      RUSH_TRY(resolve(ctx, &w, it.at[1] + done * it.stride[1][0], it.stride[1][0], it.stride[2][0],
                       n, at));
      get_row(rush_itemsize(out), it.at[0] + done * it.stride[0][0], it.stride[0][0],
              it.at[2] + done * it.stride[2][0], at, n);
    }
  } while (rush_iter_next(&it));
  return RUSH_OK;
}

rush_tensor rush_index_along(const rush_tensor *index, const rush_tensor *like, int dim) {
  rush_tensor view = *index;
  view.rank = like->rank;
  view.numel = like->numel;
  for (int d = 0; d < like->rank; d++) {
    view.sizes[d] = like->sizes[d];
    view.strides[d] = d == dim && index->rank > 0 ? index->strides[0] : 0;
  }
  return view;
}

/* ---- Destinations ---------------------------------------------------------------------------- */

static bool is_named_again(const rush_call *c, const rush_tensor *t) {
  for (uint32_t i = 1; i < c->n_args; i++) {
    const rush_value *v = &c->args[i];
    if (v->kind == RUSH_KIND_TENSOR && rush_as_tensor(v) == t) return true;
  }
  return false; /* a list would hold its own reference */
}

/* Mimics ATen's clone_preserve_strides. */
static rush_status copy_storage(rush_call *c, const rush_tensor *t, rush_tensor **out) {
  const int64_t n = (int64_t)(t->storage->bytes / rush_itemsize(t));
  rush_tensor *whole;
  *out = NULL;
  for (int d = 0; d < t->rank; d++)
    if (t->strides[d] == 0 && t->sizes[d] > 1)
      return rush_clone(c->heap, t, RUSH_FORMAT_PRESERVE, out);
  RUSH_TRY(tmp_new(c, t->dtype, 1, &n, &whole));
  RUSH_TRY(
      rush_copy_bytes(c->ctx, rush_data(whole), t->storage->data, (size_t)n * rush_itemsize(t)));
  return rush_tensor_new_view(c->heap, whole, t->rank, t->sizes, t->strides, t->offset, out);
}

rush_status rush_result_or_inplace(rush_call *c, rush_copy_strides strides, rush_tensor **out) {
  rush_tensor *t = arg_tensor(c, 0);
  const bool fits =
      strides == RUSH_COPY_CONTIGUOUS ? rush_is_plainly_contiguous(t) : rush_is_dense(t);
  if (c->inplace != NULL || (rush_can_reuse(c, 0) && fits && !is_named_again(c, t))) {
    RUSH_TRY((strides == RUSH_COPY_LOOSE ? rush_check_weight : rush_check_write)(c->ctx, t));
    ret_retained(c, 0, &c->args[0]);
    *out = t;
    return RUSH_OK;
  }
  RUSH_TRY(strides == RUSH_COPY_ALL
               ? copy_storage(c, t, out)
               : rush_clone(c->heap, t,
                            strides == RUSH_COPY_CONTIGUOUS ? RUSH_FORMAT_CONTIGUOUS
                                                            : RUSH_FORMAT_PRESERVE,
                            out));
  ret_tensor(c, 0, *out);
  return RUSH_OK;
}

rush_tensor rush_scalar_tensor(rush_dtype dtype, rush_storage *storage, void *at) {
  *storage =
      (rush_storage){.refs = 1, .borrowed = true, .bytes = rush_dtype_size(dtype), .data = at};
  rush_tensor t = {.object = {RUSH_KIND_TENSOR, 1}, .dtype = dtype, .numel = 1, .storage = storage};
  return t;
}
