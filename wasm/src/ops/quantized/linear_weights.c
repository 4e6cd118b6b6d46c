/* linear with a weight that stays 4-bit or 8-bit in memory. The input is quantized to 16 or 8
 * bits. */
#include "blocks/packed_int8.h"
#include "blocks/packed_matmul.h"
#include "call/define.h"
#include "kernels/int4_gemm.h"
#include "tensor/layout.h"

enum { INPUT, WEIGHT, SCALES, OFFSETS, BIAS, BITS, COLUMNS, GROUP, MIN, MAX, INPUT_BITS };

/* The operands that hold a weight, as contiguous tensors with checked sizes. */
typedef struct operands {
  rush_int4_matrix b;
  const rush_tensor *weight, *scales, *offsets; /* offsets: zero points or minima, or NULL */
} operands;

static bool is_real(const rush_tensor *t) {
  return t->dtype == RUSH_FLOAT32 || t->dtype == RUSH_FLOAT16;
}

/* Returns whether the tensor has one element for each group of each column. */
static bool is_by_group(const rush_tensor *t, int64_t columns, int64_t groups) {
  return t->rank == 2 && t->sizes[0] == columns && t->sizes[1] == groups;
}

static rush_int4_offsets kind_of(const rush_tensor *offsets) {
  if (offsets == NULL) return RUSH_INT4_NO_OFFSETS;
  return offsets->dtype == RUSH_UINT8 ? RUSH_INT4_ZERO_POINTS : RUSH_INT4_MINIMA;
}

/* Checks the operands and sets v->b. */
static bool is_valid(operands *v, int64_t bits, int64_t k, int64_t group, int64_t input_bits) {
  const rush_tensor *w = v->weight, *s = v->scales, *offsets = v->offsets;
  if (!(input_bits == 16 || (input_bits == 8 && bits == 4))) return false;
  if (!(bits == 8 || bits == 4) || k < 0 || group < 1 || w->rank != 2) return false;
  const int64_t groups = k / group + (k % group != 0), bytes = bits == 8 ? k : k / 2 + k % 2;
  v->b = (rush_int4_matrix){(int)bits,        (size_t)w->sizes[0],
                            (size_t)k,        k == 0 ? 1 : (size_t)(group < k ? group : k),
                            kind_of(offsets), (int)input_bits};
  return w->dtype == (bits == 8 ? RUSH_INT8 : RUSH_UINT8) && w->sizes[1] == bytes && is_real(s) &&
         is_by_group(s, w->sizes[0], groups) &&
         (offsets == NULL || (is_by_group(offsets, w->sizes[0], groups) &&
                              ((bits == 4 && offsets->dtype == RUSH_UINT8) || is_real(offsets))));
}

/* Reads n elements from index `from` on as floats. */
static void read_floats(rush_ctx *ctx, const rush_tensor *t, size_t from, size_t n, float *to) {
  const size_t item = rush_itemsize(t);
  const char *at = (const char *)rush_data(t) + from * item;
  for (size_t i = 0; i < n && !rush_stops_at_step(ctx, (int64_t)i); i++)
    to[i] = (float)rush_load_double(t->dtype, at + i * item);
}

/* Packs the weight block by block and converts scales and minima to floats. */
static rush_status pack(rush_ctx *ctx, const operands *v, const float *bias, void *packed) {
  enum { NR = 8 };
  const size_t groups = rush_int4_groups(&v->b), row = (size_t)v->weight->sizes[1];
  const uint8_t *weight = rush_data(v->weight);
  size_t bytes;
  void *memory;
  if (!rush_mul(groups, 2 * NR * sizeof(float), &bytes)) return rush_fail_memory(ctx, SIZE_MAX);
  RUSH_TRY(rush_alloc(ctx, bytes, &memory));
  float *scales = memory, *minima = scales + NR * groups;
  for (size_t j = 0; j < v->b.n && !rush_should_stop(ctx, NR * (uint64_t)v->b.k); j += NR) {
    const size_t n = (v->b.n - j < NR ? v->b.n - j : NR) * groups;
    const void *offsets = minima;
    read_floats(ctx, v->scales, j * groups, n, scales);
    if (v->b.offsets == RUSH_INT4_MINIMA) read_floats(ctx, v->offsets, j * groups, n, minima);
    if (v->b.offsets == RUSH_INT4_ZERO_POINTS)
      offsets = (const uint8_t *)rush_data(v->offsets) + j * groups;
    rush_int4_pack(ctx, &v->b, j, weight + j * row, scales, offsets, bias == NULL ? NULL : bias + j,
                   packed);
  }
  rush_release(ctx, memory, bytes);
  return rush_take_stop(ctx);
}

static bool constant_int(const rush_prepare *p, uint32_t arg, int64_t *out) {
  const rush_value *v = p->args[arg];
  if (v == NULL || v->kind != RUSH_KIND_INT) return false;
  *out = v->u.i;
  return true;
}

static const rush_tensor *constant(const rush_prepare *p, uint32_t arg) {
  const rush_value *v = p->args[arg];
  return v == NULL || v->kind != RUSH_KIND_TENSOR
             ? NULL
             : rush_constant_of(p, arg, rush_as_tensor(v)->dtype, rush_as_tensor(v)->rank);
}

RUSH_PREPARE(linear_weights) {
  operands v = {.weight = constant(p, WEIGHT), .scales = constant(p, SCALES)};
  const float *bias;
  size_t bytes;
  rush_packed_floats *packed;
  int64_t bits, k, group, input_bits;
  v.offsets = constant(p, OFFSETS);
  if (v.weight == NULL || v.scales == NULL || p->args[OFFSETS] == NULL ||
      (v.offsets == NULL && p->args[OFFSETS]->kind != RUSH_KIND_NONE) ||
      !constant_int(p, BITS, &bits) || !constant_int(p, COLUMNS, &k) ||
      !constant_int(p, GROUP, &group) || !constant_int(p, INPUT_BITS, &input_bits) ||
      !is_valid(&v, bits, k, group, input_bits) ||
      !rush_constant_bias(p, BIAS, v.weight->sizes[0], &bias))
    return RUSH_OK;
  if (!rush_int4_packed(&v.b, &bytes)) return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_packed_new(p, bytes / sizeof(float), &packed));
  p->consumed = 1u << WEIGHT | 1u << SCALES | 1u << OFFSETS | 1u << BIAS;
  return pack(p->ctx, &v, bias, packed->data);
}

static rush_status check(rush_call *c, const rush_tensor *x, operands *v) {
  const rush_tensor *bias = arg_tensor(c, BIAS);
  const int64_t bits = arg_int(c, BITS), k = arg_int(c, COLUMNS), group = arg_int(c, GROUP);
  const int64_t input_bits = arg_int(c, INPUT_BITS);
  *v = (operands){.weight = arg_tensor(c, WEIGHT),
                  .scales = arg_tensor(c, SCALES),
                  .offsets = arg_tensor(c, OFFSETS)};
  RUSH_CHECK_ARG(is_valid(v, bits, k, group, input_bits),
                 "linear_weights: weight, scales and offsets do not fit %lld columns of "
                 "%lld bits in groups of %lld, and inputs of %lld",
                 (long long)k, (long long)bits, (long long)group, (long long)input_bits);
  RUSH_CHECK_ARG(x->rank > 0 && x->dtype == RUSH_FLOAT32,
                 "linear_weights: the input must be float32");
  RUSH_CHECK_ARG(x->sizes[x->rank - 1] == k,
                 "linear_weights: the last dimension of the input must be %lld, got %lld",
                 (long long)k, (long long)x->sizes[x->rank - 1]);
  const int64_t n = v->weight->sizes[0];
  RUSH_CHECK_ARG(
      bias == NULL || (bias->rank == 1 && bias->dtype == RUSH_FLOAT32 && bias->numel == n),
      "linear_weights: bias must have %lld float32 elements", (long long)n);
  return RUSH_OK;
}

/* Packs weights that are not constant. */
static rush_status pack_call(rush_call *c, operands v, const void **out) {
  rush_tensor *weight, *scales, *offsets = NULL, *bias = NULL;
  size_t bytes;
  void *packed;
  if (!rush_int4_packed(&v.b, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, WEIGHT), &weight));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, SCALES), &scales));
  if (!arg_is_none(c, OFFSETS)) RUSH_TRY(tmp_contiguous(c, arg_tensor(c, OFFSETS), &offsets));
  if (!arg_is_none(c, BIAS)) RUSH_TRY(tmp_contiguous(c, arg_tensor(c, BIAS), &bias));
  RUSH_TRY(tmp_bytes(c, bytes, &packed));
  RUSH_TRY(rush_charge(c->ctx, (uint64_t)v.b.n * v.b.k));
  v.weight = weight, v.scales = scales, v.offsets = offsets;
  *out = packed;
  return pack(c->ctx, &v, bias == NULL ? NULL : rush_data(bias), packed);
}

static rush_status compute(rush_call *c, rush_tensor *x) {
  operands v;
  rush_linear_rows r;
  size_t bytes;
  void *rows;
  RUSH_TRY(check(c, x, &v));
  const void *packed = rush_packed_data(c->packed);
  if (packed == NULL) RUSH_TRY(pack_call(c, v, &packed));
  RUSH_TRY(rush_linear_begin(c, x, v.weight->sizes[0], &r));
  if (r.y == NULL) return RUSH_OK;
  if (!rush_int4_rows(&v.b, r.m, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_bytes(c, bytes, &rows));
  rush_int4_rows_of_floats(c->ctx, &v.b, r.m, r.x, r.stride, rows);
  rush_int4_gemm(c->ctx, &v.b, r.m, rows, packed, r.y, v.b.n, (float)arg_float(c, MIN),
                 (float)arg_float(c, MAX));
  return RUSH_OK;
}

/* input [..., columns], weight [n, columns] of int8 or [n, bytes] of uint8 with two values per
 * byte, scales [n, groups] of float32 or float16, offsets [n, groups] or None, bias [n] or None,
 * bits (8 or 4), columns, group (columns that share a scale), min, max, input_bits (16, or 8 if
 * bits is 4). Returns [..., n] of the input's dtype: float32, or a half-precision one. Offsets are
 * zero points, which are uint8 and need 4 bits, or minima, which are float32 or float16
 * (kernels/int4_gemm.h). */
RUSH_OP(linear_weights) {
  return rush_linear_in_floats(c, compute);
}
