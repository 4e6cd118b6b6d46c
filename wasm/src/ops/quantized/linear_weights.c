/* linear with a weight that the file holds in few bits, and floats multiply. */
#include "blocks/packed_int8.h"
#include "blocks/packed_matmul.h"
#include "call/define.h"
#include "kernels/gemm.h"
#include "kernels/quantise.h"
#include "tensor/layout.h"

enum { INPUT, WEIGHT, SCALES, ZEROS, BIAS, BITS, COLUMNS, GROUP, MIN, MAX, ALIGN = 64 };

/* A weight of n rows and k columns; row-major tensors, of sizes that are checked. */
typedef struct few_bits {
  int bits;
  int64_t n, k, group;
  const rush_tensor *weight, *scales, *zeros; /* zeros: or NULL */
} few_bits;

static int64_t groups_of(const few_bits *v) {
  return v->k / v->group + (v->k % v->group != 0);
}

static bool is_valid(const few_bits *v) {
  const rush_tensor *w = v->weight, *s = v->scales, *z = v->zeros;
  if (!(v->bits == 8 || v->bits == 4) || v->k < 0 || v->group < 1 || w->rank != 2 || s->rank != 2)
    return false;
  const int64_t groups = groups_of(v), bytes = v->bits == 8 ? v->k : v->k / 2 + v->k % 2;
  return w->dtype == (v->bits == 8 ? RUSH_INT8 : RUSH_UINT8) && w->sizes[1] == bytes &&
         (s->dtype == RUSH_FLOAT32 || s->dtype == RUSH_FLOAT16) && s->sizes[0] == w->sizes[0] &&
         s->sizes[1] == groups &&
         (z == NULL || (v->bits == 4 && z->dtype == RUSH_UINT8 && z->rank == 2 &&
                        z->sizes[0] == w->sizes[0] && z->sizes[1] == groups));
}

/* Floats of memory that `pack` needs besides. */
static bool scratch_of(const few_bits *v, size_t *bytes) {
  size_t floats;
  return rush_mul(rush_gemm_nr(), (size_t)v->k, &floats) &&
         rush_add(floats, (size_t)groups_of(v), &floats) && rush_mul(floats, sizeof(float), bytes);
}

/* As rush_gemm_pack, block by block. */
static void pack(const few_bits *v, const float *bias, float *scratch, float *packed) {
  const size_t nr = rush_gemm_nr(), k = (size_t)v->k, groups = (size_t)groups_of(v);
  const size_t row = (size_t)v->weight->sizes[1], n = (size_t)v->n;
  const uint8_t *weight = rush_data(v->weight);
  const uint8_t *zeros = v->zeros == NULL ? NULL : rush_data(v->zeros);
  const char *scales = rush_data(v->scales);
  const size_t item = rush_itemsize(v->scales);
  float *of_row = scratch + nr * k;
  for (size_t j = 0; j < n; j += nr, packed += nr * (k + 1)) {
    const size_t columns = n - j < nr ? n - j : nr;
    for (size_t c = 0; c < columns; c++) {
      for (size_t g = 0; g < groups; g++)
        of_row[g] =
            (float)rush_load_double(v->scales->dtype, scales + ((j + c) * groups + g) * item);
      rush_unpack_weights(v->bits, k, (size_t)v->group, weight + (j + c) * row, of_row,
                          zeros == NULL ? NULL : zeros + (j + c) * groups, scratch + c * k);
    }
    rush_gemm_pack(k, columns, scratch, 1, (ptrdiff_t)k, bias == NULL ? NULL : bias + j, packed);
  }
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
  few_bits v = {.weight = constant(p, WEIGHT), .scales = constant(p, SCALES)};
  const float *bias;
  size_t floats, bytes;
  void *scratch;
  rush_packed_floats *packed;
  int64_t bits;
  v.zeros = constant(p, ZEROS);
  if (v.weight == NULL || v.scales == NULL || p->args[ZEROS] == NULL ||
      (v.zeros == NULL && p->args[ZEROS]->kind != RUSH_KIND_NONE) ||
      !constant_int(p, BITS, &bits) || !constant_int(p, COLUMNS, &v.k) ||
      !constant_int(p, GROUP, &v.group) || bits < 0 || bits > 8)
    return RUSH_OK;
  v.bits = (int)bits;
  if (!is_valid(&v)) return RUSH_OK;
  v.n = v.weight->sizes[0];
  if (!rush_constant_bias(p, BIAS, v.n, &bias)) return RUSH_OK;
  if (!rush_gemm_packed((size_t)v.k, (size_t)v.n, &floats) || !scratch_of(&v, &bytes))
    return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_alloc(p->ctx, bytes, &scratch));
  const rush_status status = rush_packed_new(p, floats, &packed);
  if (status == RUSH_OK) {
    pack(&v, bias, scratch, packed->data);
    p->consumed = 1u << WEIGHT | 1u << SCALES | 1u << ZEROS | 1u << BIAS;
  }
  rush_release(p->ctx, scratch, bytes);
  return status;
}

static rush_status check(rush_call *c, few_bits *v) {
  const rush_tensor *x = arg_tensor(c, INPUT), *bias = arg_tensor(c, BIAS);
  const int64_t bits = arg_int(c, BITS);
  *v = (few_bits){.k = arg_int(c, COLUMNS),
                  .group = arg_int(c, GROUP),
                  .weight = arg_tensor(c, WEIGHT),
                  .scales = arg_tensor(c, SCALES),
                  .zeros = arg_tensor(c, ZEROS)};
  v->bits = bits == 8 || bits == 4 ? (int)bits : 0;
  RUSH_NEED(is_valid(v),
            "linear_weights: weight, scales and zero points do not fit %lld columns of "
            "%lld bits in groups of %lld",
            (long long)v->k, (long long)bits, (long long)v->group);
  v->n = v->weight->sizes[0];
  RUSH_NEED(x->rank > 0 && x->dtype == RUSH_FLOAT32,
            "linear_weights: a tensor of float32 was wanted");
  RUSH_NEED(x->sizes[x->rank - 1] == v->k,
            "linear_weights: the input's last dimension is %lld, the weight's %lld",
            (long long)x->sizes[x->rank - 1], (long long)v->k);
  RUSH_NEED(bias == NULL || (bias->rank == 1 && bias->dtype == RUSH_FLOAT32 && bias->numel == v->n),
            "linear_weights: a bias of %lld numbers was wanted", (long long)v->n);
  return RUSH_OK;
}

/* Of weights that are no constants. */
static rush_status pack_call(rush_call *c, few_bits v, const float **out) {
  rush_tensor *weight, *scales, *zeros = NULL, *bias = NULL;
  size_t floats, scratch_bytes, bytes;
  void *scratch, *packed;
  if (!rush_gemm_packed((size_t)v.k, (size_t)v.n, &floats) || !scratch_of(&v, &scratch_bytes) ||
      !rush_mul(floats, sizeof(float), &bytes) || !rush_add(bytes, ALIGN, &bytes))
    return rush_fail_memory(c->ctx, SIZE_MAX);
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, WEIGHT), &weight));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, SCALES), &scales));
  if (!arg_is_none(c, ZEROS)) RUSH_TRY(tmp_contiguous(c, arg_tensor(c, ZEROS), &zeros));
  if (!arg_is_none(c, BIAS)) RUSH_TRY(tmp_contiguous(c, arg_tensor(c, BIAS), &bias));
  RUSH_TRY(tmp_bytes(c, scratch_bytes, &scratch));
  RUSH_TRY(tmp_bytes(c, bytes, &packed));
  RUSH_TRY(rush_work(c->ctx, (uint64_t)v.n * (uint64_t)v.k));
  v.weight = weight, v.scales = scales, v.zeros = zeros;
  float *to = (float *)(((uintptr_t)packed + ALIGN - 1) / ALIGN * ALIGN);
  pack(&v, bias == NULL ? NULL : rush_data(bias), scratch, to);
  *out = to;
  return RUSH_OK;
}

/* input [..., columns], weight [n, columns] of int8 or [n, bytes] of uint8 with two in each, scales
 * [n, groups] of float32 or float16, zero_points [n, groups] of uint8 or None, bias [n] or None, bits
 * (8 or 4), columns, group (how many columns share a scale), min, max -> float32 [..., n] */
RUSH_OP(linear_weights) {
  few_bits v;
  RUSH_TRY(check(c, &v));
  const float *packed = rush_packed_data(c->packed);
  if (packed == NULL) RUSH_TRY(pack_call(c, v, &packed));
  return rush_linear_run(c, arg_tensor(c, INPUT), v.n, v.k, packed, (float)arg_float(c, MIN),
                         (float)arg_float(c, MAX));
}
