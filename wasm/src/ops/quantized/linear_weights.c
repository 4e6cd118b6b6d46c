/* linear with a weight that stays 4-bit or 8-bit in memory. The input is quantized to 16 or 8
 * bits. */
#include "blocks/packed_int8.h"
#include "blocks/packed_matmul.h"
#include "call/define.h"
#include "kernels/int4_gemm.h"
#include "tensor/layout.h"

enum { INPUT, WEIGHT, SCALES, ZEROS, BIAS, BITS, COLUMNS, GROUP, MIN, MAX, INPUT_BITS };

/* The operands that hold a weight, as contiguous tensors with checked sizes. */
typedef struct operands {
  rush_int4_matrix b;
  const rush_tensor *weight, *scales, *zeros; /* zeros may be NULL */
} operands;

/* Checks the operands and sets v->b. */
static bool is_valid(operands *v, int64_t bits, int64_t k, int64_t group, int64_t input_bits) {
  const rush_tensor *w = v->weight, *s = v->scales, *z = v->zeros;
  if (!(input_bits == 16 || (input_bits == 8 && bits == 4))) return false;
  if (!(bits == 8 || bits == 4) || k < 0 || group < 1 || w->rank != 2 || s->rank != 2) return false;
  const int64_t groups = k / group + (k % group != 0), bytes = bits == 8 ? k : k / 2 + k % 2;
  v->b = (rush_int4_matrix){(int)bits, (size_t)w->sizes[0],
                            (size_t)k, k == 0 ? 1 : (size_t)(group < k ? group : k),
                            z != NULL, (int)input_bits};
  return w->dtype == (bits == 8 ? RUSH_INT8 : RUSH_UINT8) && w->sizes[1] == bytes &&
         (s->dtype == RUSH_FLOAT32 || s->dtype == RUSH_FLOAT16) && s->sizes[0] == w->sizes[0] &&
         s->sizes[1] == groups &&
         (z == NULL || (bits == 4 && z->dtype == RUSH_UINT8 && z->rank == 2 &&
                        z->sizes[0] == w->sizes[0] && z->sizes[1] == groups));
}

/* Packs the weight block by block and converts the scales to floats. */
static rush_status pack(rush_ctx *ctx, const operands *v, const float *bias, void *packed) {
  enum { NR = 8 };
  const size_t groups = rush_int4_groups(&v->b), row = (size_t)v->weight->sizes[1];
  const uint8_t *weight = rush_data(v->weight);
  const uint8_t *zeros = v->zeros == NULL ? NULL : rush_data(v->zeros);
  const char *scales = rush_data(v->scales);
  const size_t item = rush_itemsize(v->scales);
  size_t bytes;
  void *memory;
  if (!rush_mul(groups, NR * sizeof(float), &bytes)) return rush_fail_memory(ctx, SIZE_MAX);
  RUSH_TRY(rush_alloc(ctx, bytes, &memory));
  float *floats = memory;
  for (size_t j = 0; j < v->b.n; j += NR) {
    const size_t columns = v->b.n - j < NR ? v->b.n - j : NR;
    for (size_t i = 0; i < columns * groups; i++)
      floats[i] = (float)rush_load_double(v->scales->dtype, scales + (j * groups + i) * item);
    rush_int4_pack(&v->b, j, weight + j * row, floats, zeros == NULL ? NULL : zeros + j * groups,
                   bias == NULL ? NULL : bias + j, packed);
  }
  rush_release(ctx, memory, bytes);
  return RUSH_OK;
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
  v.zeros = constant(p, ZEROS);
  if (v.weight == NULL || v.scales == NULL || p->args[ZEROS] == NULL ||
      (v.zeros == NULL && p->args[ZEROS]->kind != RUSH_KIND_NONE) ||
      !constant_int(p, BITS, &bits) || !constant_int(p, COLUMNS, &k) ||
      !constant_int(p, GROUP, &group) || !constant_int(p, INPUT_BITS, &input_bits) ||
      !is_valid(&v, bits, k, group, input_bits) ||
      !rush_constant_bias(p, BIAS, v.weight->sizes[0], &bias))
    return RUSH_OK;
  if (!rush_int4_packed(&v.b, &bytes)) return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_packed_new(p, bytes / sizeof(float), &packed));
  p->consumed = 1u << WEIGHT | 1u << SCALES | 1u << ZEROS | 1u << BIAS;
  return pack(p->ctx, &v, bias, packed->data);
}

static rush_status check(rush_call *c, const rush_tensor *x, operands *v) {
  const rush_tensor *bias = arg_tensor(c, BIAS);
  const int64_t bits = arg_int(c, BITS), k = arg_int(c, COLUMNS), group = arg_int(c, GROUP);
  const int64_t input_bits = arg_int(c, INPUT_BITS);
  *v = (operands){.weight = arg_tensor(c, WEIGHT),
                  .scales = arg_tensor(c, SCALES),
                  .zeros = arg_tensor(c, ZEROS)};
  RUSH_CHECK_ARG(is_valid(v, bits, k, group, input_bits),
                 "linear_weights: weight, scales and zero points do not fit %lld columns of "
                 "%lld bits in groups of %lld, and inputs of %lld",
                 (long long)k, (long long)bits, (long long)group, (long long)input_bits);
  RUSH_CHECK_ARG(x->rank > 0 && x->dtype == RUSH_FLOAT32,
                 "linear_weights: expected a tensor of float32");
  RUSH_CHECK_ARG(x->sizes[x->rank - 1] == k,
                 "linear_weights: the input's last dimension is %lld, the weight's %lld",
                 (long long)x->sizes[x->rank - 1], (long long)k);
  const int64_t n = v->weight->sizes[0];
  RUSH_CHECK_ARG(
      bias == NULL || (bias->rank == 1 && bias->dtype == RUSH_FLOAT32 && bias->numel == n),
      "linear_weights: expected a bias of %lld numbers", (long long)n);
  return RUSH_OK;
}

/* Packs weights that are not constant. */
static rush_status pack_call(rush_call *c, operands v, const void **out) {
  rush_tensor *weight, *scales, *zeros = NULL, *bias = NULL;
  size_t bytes;
  void *packed;
  if (!rush_int4_packed(&v.b, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, WEIGHT), &weight));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, SCALES), &scales));
  if (!arg_is_none(c, ZEROS)) RUSH_TRY(tmp_contiguous(c, arg_tensor(c, ZEROS), &zeros));
  if (!arg_is_none(c, BIAS)) RUSH_TRY(tmp_contiguous(c, arg_tensor(c, BIAS), &bias));
  RUSH_TRY(tmp_bytes(c, bytes, &packed));
  RUSH_TRY(rush_charge(c->ctx, (uint64_t)v.b.n * v.b.k));
  v.weight = weight, v.scales = scales, v.zeros = zeros;
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
 * byte, scales [n, groups] of float32 or float16, zero_points [n, groups] of uint8 or None, bias
 * [n] or None, bits (8 or 4), columns, group (columns that share a scale), min, max, input_bits
 * (16, or 8 if bits is 4). Returns [..., n] of the input's dtype: float32, or a half-precision
 * one. */
RUSH_OP(linear_weights) {
  return rush_linear_in_floats(c, compute);
}
