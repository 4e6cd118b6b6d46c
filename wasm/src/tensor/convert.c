/* Conversion between dtypes, and strided copies. Each dtype has one loader and one storer for a
 * wide type (int64 for integers and bool, double for floats), so a new dtype adds two lines instead
 * of a row and a column. Complex numbers are converted part by part.
 *
 * Converting a float that does not fit an integer is undefined in C++, so PyTorch's results depend
 * on the processor. Here, int64 gets the result of x86 (INT64_MIN), int32 gets INT32_MIN, and
 * smaller integers get the low bits of that int64. */
#include <math.h>

#include "base/half.h"
#include "base/threads.h"
#include "kernels/transpose.h"
#include "tensor/copy_row.h"
#include "tensor/iter.h"
#include "tensor/turned.h"

enum {
  BLOCK = 256,
  STRETCH = 1 << 18 /* STRETCH: elements between two checks for a stop request */
};

/* Converts like rush_double_to_int. */
static int32_t to_int32(double v) {
  return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN;
}

#define LOAD(T, W)                              \
  for (int64_t i = 0; i < n; i++, at += step) { \
    T v;                                        \
    memcpy(&v, at, sizeof v);                   \
    out[i] = W(v);                              \
  }                                             \
  return
#define STORE(T, CAST)                          \
  for (int64_t i = 0; i < n; i++, at += step) { \
    T v = (T)CAST(in[i]);                       \
    memcpy(at, &v, sizeof v);                   \
  }                                             \
  return
#define NONZERO(x) ((x) != 0)

/* One loop serves both half-precision dtypes. */
static double of_half(rush_dtype dtype, uint16_t bits) {
  return (double)(dtype == RUSH_FLOAT16 ? rush_from_float16(bits) : rush_from_bfloat16(bits));
}
static uint16_t to_half(rush_dtype dtype, float v) {
  return dtype == RUSH_FLOAT16 ? rush_to_float16(v) : rush_to_bfloat16(v);
}
#define OF_HALF(x) of_half(dtype, x)
#define TO_HALF(x) to_half(dtype, (float)(x))

static void load_ints(rush_dtype dtype, const char *at, int64_t step, int64_t n, int64_t *out) {
  switch (dtype) {
    case RUSH_UINT8:
      LOAD(uint8_t, (int64_t));
    case RUSH_INT8:
      LOAD(int8_t, (int64_t));
    case RUSH_INT16:
      LOAD(int16_t, (int64_t));
    case RUSH_BOOL:
      for (int64_t i = 0; i < n; i++, at += step) out[i] = *at != 0;
      return;
    case RUSH_INT32:
      LOAD(int32_t, (int64_t));
    default:
      LOAD(int64_t, (int64_t));
  }
}

static void load_doubles(rush_dtype dtype, const char *at, int64_t step, int64_t n, double *out) {
  switch (dtype) {
    case RUSH_FLOAT16:
    case RUSH_BFLOAT16:
      LOAD(uint16_t, OF_HALF);
    case RUSH_FLOAT32:
      LOAD(float, (double));
    default:
      LOAD(double, (double));
  }
}

static void store_ints(rush_dtype dtype, char *at, int64_t step, int64_t n, const int64_t *in) {
  switch (dtype) {
    case RUSH_UINT8:
    case RUSH_INT8:
      STORE(uint8_t, );
    case RUSH_INT16:
      STORE(int16_t, );
    case RUSH_FLOAT16:
    case RUSH_BFLOAT16:
      STORE(uint16_t, TO_HALF);
    case RUSH_BOOL:
      STORE(uint8_t, NONZERO);
    case RUSH_INT32:
      STORE(int32_t, );
    case RUSH_FLOAT32:
      STORE(float, );
    case RUSH_FLOAT64:
      STORE(double, );
    default:
      STORE(int64_t, );
  }
}

static void store_doubles(rush_dtype dtype, char *at, int64_t step, int64_t n, const double *in) {
  switch (dtype) {
    case RUSH_UINT8:
    case RUSH_INT8:
      STORE(uint8_t, rush_double_to_int);
    case RUSH_INT16:
      STORE(int16_t, rush_double_to_int);
    case RUSH_FLOAT16:
    case RUSH_BFLOAT16:
      STORE(uint16_t, TO_HALF);
    case RUSH_BOOL:
      STORE(uint8_t, NONZERO);
    case RUSH_INT32:
      STORE(int32_t, to_int32);
    case RUSH_FLOAT32:
      STORE(float, );
    case RUSH_FLOAT64:
      STORE(double, );
    default:
      STORE(int64_t, rush_double_to_int);
  }
}

double rush_load_double(rush_dtype dtype, const void *at) {
  if (rush_is_quantized(dtype)) dtype = rush_integer_dtype(dtype);
  dtype = rush_real_dtype(dtype);
  if (!rush_is_float(dtype)) return (double)rush_load_int(dtype, at);
  double v;
  load_doubles(dtype, at, 0, 1, &v);
  return v;
}

int64_t rush_load_int(rush_dtype dtype, const void *at) {
  if (!rush_is_integral(dtype)) return rush_double_to_int(rush_load_double(dtype, at));
  int64_t v;
  load_ints(dtype, at, 0, 1, &v);
  return v;
}

double rush_rounded(rush_dtype dtype, double v) {
  double held[2]; /* room for an element of any dtype */
  rush_store_double(dtype, held, v);
  return rush_load_double(dtype, held);
}

/* Returns the dtype of the real part, and zeros the imaginary part. */
static rush_dtype open_parts(rush_dtype dtype, void *at) {
  if (rush_is_complex(dtype)) memset(at, 0, rush_dtype_size(dtype));
  return rush_real_dtype(dtype);
}
void rush_store_double(rush_dtype dtype, void *at, double v) {
  store_doubles(open_parts(dtype, at), at, 0, 1, &v);
}
void rush_store_int(rush_dtype dtype, void *at, int64_t v) {
  store_ints(open_parts(dtype, at), at, 0, 1, &v);
}

static void copy_same(size_t item, char *to, int64_t to_step, const char *from, int64_t from_step,
                      int64_t n) {
  if (to_step == (int64_t)item && from_step == (int64_t)item)
    memcpy(to, from, (size_t)n * item);
  else
    rush_copy_items(item, to, to_step, from, from_step, n);
}

/* Copies if one dtype, or both, are complex. */
static void copy_parts(rush_dtype td, char *to, int64_t to_step, rush_dtype fd, const char *from,
                       int64_t from_step, int64_t n) {
  const rush_dtype tr = rush_real_dtype(td), fr = rush_real_dtype(fd);
  const size_t part = rush_dtype_size(tr), other = rush_dtype_size(fr);
  if (tr != td && fr != fd && to_step == 2 * (int64_t)part && from_step == 2 * (int64_t)other) {
    rush_copy_row(tr, to, (int64_t)part, fr, from, (int64_t)other, 2 * n);
    return;
  }
  rush_copy_row(tr, to, to_step, fr, from, from_step, n);
  if (td == RUSH_BOOL) {
    for (int64_t i = 0; i < n; i++, to += to_step, from += from_step)
      *to = (char)(*to | (rush_load_double(fr, from + other) != 0));
  } else if (tr != td && fr != fd) {
    rush_copy_row(tr, to + part, to_step, fr, from + other, from_step, n);
  } else if (tr != td) {
    for (int64_t i = 0; i < n; i++, to += to_step) memset(to + part, 0, part);
  }
}

void rush_copy_row(rush_dtype td, char *to, int64_t to_step, rush_dtype fd, const char *from,
                   int64_t from_step, int64_t n) {
  if (td == fd) {
    copy_same(rush_dtype_size(td), to, to_step, from, from_step, n);
    return;
  }
  if (rush_is_complex(td) || rush_is_complex(fd)) {
    copy_parts(td, to, to_step, fd, from, from_step, n);
    return;
  }
  if ((rush_is_half(td) || rush_is_half(fd)) && rush_optional_copy_halves) {
    rush_optional_copy_halves(td, to, to_step, fd, from, from_step, n);
    return;
  }
  union {
    int64_t i[BLOCK];
    double f[BLOCK];
  } wide;
  const int64_t item = sizeof(double);
  for (int64_t done = 0; done < n; done += BLOCK) {
    int64_t m = n - done < BLOCK ? n - done : BLOCK;
    const char *src = from + done * from_step;
    char *dst = to + done * to_step;
    if (rush_is_float(fd)) {
      /* Contiguous float64 elements need no copy. */
      const bool has = fd == RUSH_FLOAT64 && from_step == item;
      const bool wants = td == RUSH_FLOAT64 && to_step == item;
      double *in = wants ? (void *)dst : wide.f;
      if (!has) load_doubles(fd, src, from_step, m, in);
      if (!wants) store_doubles(td, dst, to_step, m, has ? (const void *)src : in);
    } else {
      load_ints(fd, src, from_step, m, wide.i);
      store_ints(td, dst, to_step, m, wide.i);
    }
  }
}

void rush_convert(rush_dtype to, void *dst, rush_dtype from, const void *src, int64_t n) {
  rush_copy_row(to, dst, (int64_t)rush_dtype_size(to), from, src, (int64_t)rush_dtype_size(from),
                n);
}

/* Returns a dimension along which the source is contiguous while the destination is contiguous
 * along another one, or 0. */
static int transposed_dim(const rush_iter *it, int64_t item) {
  if (it->stride[0][0] != item || it->stride[1][0] == item) return 0;
  for (int d = 1; d < it->rank; d++) {
    if (it->stride[1][d] == item) return d;
  }
  return 0;
}

/* One matrix transposition, over dimensions 0 and d, for each index of the other dimensions. A work
 * item is a few rows. */
typedef struct matrices {
  rush_ctx *ctx;
  rush_iter it;
  size_t item, rows, columns, blocks; /* blocks: work items per matrix */
  ptrdiff_t from_row, to_row;
} matrices;

enum { ROWS = 32, COLUMNS = 1 << 15 /* between two checks for a stop request */ };

static void transpose_some(const void *arg, size_t begin, size_t end, unsigned who) {
  const matrices *m = arg;
  const rush_iter *it = &m->it;
  for (size_t i = begin; i < end; i++) {
    int64_t index = (int64_t)(i / m->blocks);
    const size_t row = i % m->blocks * ROWS, left = m->rows - row;
    char *to = it->at[0] + (ptrdiff_t)row * m->to_row * (ptrdiff_t)m->item;
    const char *from = it->at[1] + row * m->item;
    for (int k = 1; k < it->rank; index /= it->size[k], k++) {
      to += index % it->size[k] * it->stride[0][k];
      from += index % it->size[k] * it->stride[1][k];
    }
    for (size_t j = 0; j < m->columns; j += COLUMNS) {
      if (j > 0 && who == 0 && rush_poll_should_stop(m->ctx)) return;
      const size_t n = m->columns - j < COLUMNS ? m->columns - j : COLUMNS;
      rush_transpose(m->item, left < ROWS ? left : ROWS, n,
                     from + (ptrdiff_t)(j * m->item) * m->from_row, m->from_row, to + j * m->item,
                     m->to_row);
    }
  }
}

static rush_status copy_transposed(rush_ctx *ctx, const rush_iter *it, int d, int64_t item) {
  matrices m = {.ctx = ctx, .it = *it, .item = (size_t)item};
  size_t n = 1;
  m.rows = (size_t)it->size[d];
  m.columns = (size_t)it->size[0];
  m.blocks = (m.rows - 1) / ROWS + 1;
  m.from_row = (ptrdiff_t)(it->stride[1][0] / item);
  m.to_row = (ptrdiff_t)(it->stride[0][d] / item);
  m.it.size[d] = 1;
  for (int k = 1; k < it->rank; k++) n *= (size_t)m.it.size[k];
  rush_parallel(ctx, n * m.blocks, (uint64_t)m.columns * (m.rows < ROWS ? m.rows : ROWS),
                transpose_some, &m);
  return rush_take_stop(ctx);
}

static rush_status copy_apart(rush_ctx *ctx, rush_tensor *dst, const rush_tensor *src) {
  const rush_tensor *operands[] = {dst, src};
  rush_iter it;
  rush_iter_init(&it, dst->rank, dst->sizes, 2, operands);
  if (it.size[0] == 0) return RUSH_OK;
  const int64_t item = (int64_t)rush_itemsize(dst);
  const bool same = dst->dtype == src->dtype;
  const int d = same ? transposed_dim(&it, item) : 0;
  if (d > 0) return copy_transposed(ctx, &it, d, item);
  do {
    for (int64_t done = 0; done < it.size[0]; done += STRETCH) {
      const int64_t n = it.size[0] - done < STRETCH ? it.size[0] - done : STRETCH;
      RUSH_TRY(rush_charge(ctx, (uint64_t)n));
      char *to = it.at[0] + done * it.stride[0][0];
      const char *from = it.at[1] + done * it.stride[1][0];
      if (same)
        copy_same((size_t)item, to, it.stride[0][0], from, it.stride[1][0], n);
      else
        rush_copy_row(dst->dtype, to, it.stride[0][0], src->dtype, from, it.stride[1][0], n);
    }
  } while (rush_iter_next(&it));
  return RUSH_OK;
}

rush_status rush_tensor_copy(rush_heap *heap, rush_tensor *dst, const rush_tensor *src) {
  if (!rush_may_overlap(dst, src)) {
    return copy_apart(heap->ctx, dst, src);
  }
  if (dst->dtype == src->dtype && dst->offset == src->offset && rush_same_strides(dst, src))
    return RUSH_OK;
  rush_tensor *apart;
  RUSH_TRY(rush_tensor_new(heap, src->dtype, src->rank, src->sizes, &apart));
  rush_status st = copy_apart(heap->ctx, apart, src);
  if (st == RUSH_OK) st = copy_apart(heap->ctx, dst, apart);
  rush_tensor_drop(heap, apart);
  return st;
}

rush_status rush_conjugate(rush_heap *heap, const rush_tensor *t, rush_tensor **out) {
  rush_storage *from = t->storage;
  const size_t item = rush_itemsize(t);
  const int64_t n = (int64_t)(from->bytes / item);
  rush_tensor *all;
  *out = NULL;
  RUSH_TRY(rush_tensor_new(heap, t->dtype, 1, &n, &all));
  uint8_t *to = rush_data(all);
  rush_status st = rush_copy_bytes(heap->ctx, to, from->data, (size_t)n * item);
  to += item - 1; /* the sign of an imaginary part is in its last byte */
  for (int64_t i = 0; i < n && st == RUSH_OK; i++) {
    st = rush_charge(heap->ctx, 1);
    to[(size_t)i * item] ^= 0x80;
  }
  if (st == RUSH_OK)
    st = rush_tensor_new_view(heap, all, t->rank, t->sizes, t->strides, t->offset, out);
  rush_tensor_drop(heap, all);
  if (st != RUSH_OK) return st;
  (*out)->storage->has_conjugate = true;
  (*out)->storage->is_conjugate = !from->is_conjugate;
  if (!from->borrowed) from->has_conjugate = true; /* borrowed storages are never written */
  return RUSH_OK;
}

rush_status rush_tensor_contiguous(rush_heap *heap, rush_tensor *t, rush_tensor **out) {
  *out = NULL;
  if (rush_is_contiguous(t)) {
    *out = rush_tensor_retain(t);
    return RUSH_OK;
  }
  rush_tensor *copy;
  RUSH_TRY(rush_tensor_new(heap, t->dtype, t->rank, t->sizes, &copy));
  rush_status st = rush_tensor_copy(heap, copy, t);
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, copy);
    return st;
  }
  *out = copy;
  return RUSH_OK;
}

rush_status rush_tensor_to(rush_heap *heap, rush_tensor *t, rush_dtype dtype, rush_tensor **out) {
  *out = NULL;
  if (t->dtype == dtype) {
    *out = rush_tensor_retain(t);
    return RUSH_OK;
  }
  rush_tensor *copy;
  RUSH_TRY(rush_tensor_new_like(heap, t, dtype, &copy));
  rush_status st = rush_tensor_copy(heap, copy, t);
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, copy);
    return st;
  }
  *out = copy;
  return RUSH_OK;
}
