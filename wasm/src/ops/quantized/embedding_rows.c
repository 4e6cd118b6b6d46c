/* Sums of rows of a quantized table: PyTorch's quantized::embedding_bag_byte, _4bit and _2bit. */
#include "base/half.h"
#include "call/define.h"
#include "tensor/layout.h"

enum { TABLE, INDICES, OFFSETS, FACTORS, MAPPING, BITS, INCLUDE_LAST_OFFSET };

/* A table of rows. Each row has its integers, the first one in the lowest bits of a byte, followed
 * by a scale and a bias. Scale and bias are float32 for 8-bit integers and float16 otherwise. */
typedef struct table {
  const uint8_t *rows;
  int64_t n;               /* number of rows */
  size_t width, bits, row; /* bytes of integers, bits per integer, bytes per row */
} table;

/* A contiguous 1-d tensor of int32 or int64. */
typedef struct ints {
  bool given;
  const void *at;
  rush_dtype dtype;
  int64_t n;
} ints;

static int64_t at(const ints *v, int64_t i) {
  return v->dtype == RUSH_INT64 ? ((const int64_t *)v->at)[i] : ((const int32_t *)v->at)[i];
}

static rush_status read_ints(rush_call *c, uint32_t arg, const char *what, ints *out) {
  rush_tensor *t = arg_tensor(c, arg);
  *out = (ints){0};
  if (t == NULL) return RUSH_OK;
  RUSH_CHECK_ARG(t->dtype == RUSH_INT64 || t->dtype == RUSH_INT32,
                 "Expect 32 or 64 bit %s, but found torch.%s", what, rush_dtype_name(t->dtype));
  RUSH_CHECK_ARG(t->rank == 1, "embedding_rows: %s of %d dimensions", what, t->rank);
  RUSH_TRY(tmp_contiguous(c, t, &t));
  *out = (ints){.given = true, .at = rush_data(t), .dtype = t->dtype, .n = t->numel};
  return RUSH_OK;
}

static rush_status read_table(rush_call *c, table *out) {
  rush_tensor *t = arg_tensor(c, TABLE);
  const int64_t bits = arg_int(c, BITS);
  RUSH_CHECK_ARG(bits == 8 || bits == 4 || bits == 2, "embedding_rows: %lld bits", (long long)bits);
  const int64_t least = bits == 8 ? 8 : 4;
  RUSH_CHECK_ARG(
      t->dtype == RUSH_UINT8 && t->rank == 2 && t->sizes[1] >= least,
      "embedding_rows: the table must be uint8, and its rows must end with a scale and a bias");
  RUSH_TRY(tmp_contiguous(c, t, &t));
  *out = (table){.rows = rush_data(t),
                 .n = t->sizes[0],
                 .width = (size_t)(t->sizes[1] - least),
                 .bits = (size_t)bits,
                 .row = (size_t)t->sizes[1]};
  return RUSH_OK;
}

/* Returns the row for an index, or -1 if the row was pruned. */
static rush_status row_of(rush_call *c, const table *t, const ints *mapping, int64_t index,
                          int64_t *out) {
  *out = index;
  if (mapping->given) {
    RUSH_CHECK_ARG(index >= 0 && index < mapping->n,
                   "Invalid indices data for Sparse Op: %lld of %lld", (long long)index,
                   (long long)mapping->n);
    *out = at(mapping, index);
    if (*out == -1) return RUSH_OK;
  }
  RUSH_CHECK_ARG(*out >= 0 && *out < t->n, "Invalid indices data: index %lld, %lld rows",
                 (long long)*out, (long long)t->n);
  return RUSH_OK;
}

/* Computes y += factor * row. Each step is rounded like std::fma. */
static void add_row(const table *t, int64_t i, float factor, float *y) {
  const uint8_t *row = t->rows + (size_t)i * t->row;
  const size_t each = 8 / t->bits;
  const unsigned mask = (1u << t->bits) - 1;
  float pair[2];
  if (t->bits == 8) {
    memcpy(pair, row + t->width, sizeof pair);
  } else {
    uint16_t halves[2];
    memcpy(halves, row + t->width, sizeof halves);
    pair[0] = rush_from_float16(halves[0]);
    pair[1] = rush_from_float16(halves[1]);
  }
  const float scale = factor * pair[0], bias = factor * pair[1];
  for (size_t j = 0; j < t->width; j++)
    for (size_t k = 0; k < each; k++, y++) {
      const double product = (double)scale * (row[j] >> (k * t->bits) & mask); /* exact */
      *y = (float)(product + (*y + bias));
    }
}

/* table [R, bytes] of uint8, indices [N], offsets [B] or [B + 1], factors [N] of float32, mapping
 * [M] of int32. Returns [B, D]. Offsets give the first index of each bag. With include_last_offset,
 * the last offset is the end. Without offsets, each index is a bag. mapping gives the row of each
 * index, or -1 for a pruned row. */
RUSH_OP(embedding_rows) {
  table t;
  ints indices, offsets, mapping;
  rush_tensor *factors = arg_tensor(c, FACTORS), *out;
  RUSH_TRY(read_table(c, &t));
  RUSH_TRY(read_ints(c, INDICES, "indices", &indices));
  RUSH_TRY(read_ints(c, OFFSETS, "offsets", &offsets));
  RUSH_TRY(read_ints(c, MAPPING, "rows of indices", &mapping));
  if (factors != NULL) {
    RUSH_CHECK_ARG(
        factors->dtype == RUSH_FLOAT32 && factors->rank == 1 && factors->numel == indices.n,
        "Expect fp32 weights, one for each index, but found torch.%s",
        rush_dtype_name(factors->dtype));
    RUSH_TRY(tmp_contiguous(c, factors, &factors));
  }
  const bool last = offsets.given && arg_bool(c, INCLUDE_LAST_OFFSET);
  RUSH_CHECK_ARG(!last || offsets.n > 0,
                 "include_last_offset: number of offsets should be at least 1");
  const int64_t bags = !offsets.given ? indices.n : offsets.n - last;
  const int64_t sizes[2] = {bags, (int64_t)(t.width * (8 / t.bits))};
  RUSH_TRY(rush_result(c, 0, RUSH_FLOAT32, 2, sizes, &out));
  float *y = rush_data(out);
  RUSH_TRY(rush_set_bytes(c->ctx, y, 0, (size_t)out->numel * sizeof *y));
  for (int64_t b = 0, i = 0; b < bags; b++, y += sizes[1]) {
    int64_t n = 1, row;
    const int64_t next = b + 1 < offsets.n ? at(&offsets, b + 1) : indices.n;
    RUSH_TRY(rush_charge(c->ctx, 4));
    RUSH_CHECK_ARG(
        (!offsets.given || rush_sub64(next, at(&offsets, b), &n)) && n >= 0 && n <= indices.n - i,
        "Expect the lengths data to be less than indices size: bag %lld", (long long)b);
    for (const int64_t end = i + n; i < end; i++) {
      RUSH_TRY(rush_charge(c->ctx, (uint64_t)sizes[1] + 8));
      RUSH_TRY(row_of(c, &t, &mapping, at(&indices, i), &row));
      if (row >= 0) add_row(&t, row, factors ? ((const float *)rush_data(factors))[i] : 1, y);
    }
  }
  return RUSH_OK;
}
