/* linear with an int8 weight and an input that is dynamically quantized per tensor: PyTorch's
 * quantized::linear_dynamic. */
#include "blocks/packed_int8.h"
#include "blocks/packed_matmul.h"
#include "call/define.h"

enum { INPUT, WEIGHT, SCALES, ZEROS, BIAS, LEVELS };

/* Converts float64 scales to float32. */
static void narrow(int64_t n, const double *from, float *to) {
  for (int64_t i = 0; i < n; i++) to[i] = (float)from[i];
}

RUSH_PREPARE(linear_dynamic) {
  const rush_tensor *w = rush_constant_of(p, WEIGHT, RUSH_INT8, 2);
  const rush_tensor *scales = rush_constant_of(p, SCALES, RUSH_FLOAT64, 1);
  const rush_tensor *zeros = rush_constant_of(p, ZEROS, RUSH_INT32, 1);
  const float *bias;
  void *floats;
  if (w == NULL || scales == NULL || zeros == NULL || scales->numel != w->sizes[0] ||
      zeros->numel != w->sizes[0] || !rush_constant_bias(p, BIAS, w->sizes[0], &bias))
    return RUSH_OK;
  size_t n = (size_t)w->sizes[0], bytes;
  if (!rush_mul(n, sizeof(float), &bytes)) return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_alloc(p->ctx, bytes, &floats));
  narrow(w->sizes[0], rush_data(scales), floats);
  const rush_status status =
      rush_int8_prepare(p, n, (size_t)w->sizes[1], rush_data(w), floats, rush_data(zeros), bias);
  if (status == RUSH_OK) p->consumed = 1u << WEIGHT | 1u << SCALES | 1u << ZEROS | 1u << BIAS;
  rush_release(p->ctx, floats, bytes);
  return status;
}

static rush_status check(rush_call *c) {
  const rush_tensor *x = arg_tensor(c, INPUT), *w = arg_tensor(c, WEIGHT);
  const rush_tensor *scales = arg_tensor(c, SCALES), *zeros = arg_tensor(c, ZEROS);
  const rush_tensor *bias = arg_tensor(c, BIAS);
  const int64_t levels = arg_int(c, LEVELS);
  RUSH_CHECK_ARG(x->dtype == RUSH_FLOAT32 && x->rank > 0,
                 "linear_dynamic: the input must be float32");
  RUSH_CHECK_ARG(w->rank == 2 && w->dtype == RUSH_INT8,
                 "linear_dynamic: the weight must be a matrix of int8");
  RUSH_CHECK_ARG(x->sizes[x->rank - 1] == w->sizes[1],
                 "linear_dynamic: the last dimension of the input must be %lld, got %lld",
                 (long long)w->sizes[1], (long long)x->sizes[x->rank - 1]);
  RUSH_CHECK_ARG(scales->rank == 1 && scales->dtype == RUSH_FLOAT64 &&
                     scales->numel == w->sizes[0] && zeros->rank == 1 &&
                     zeros->dtype == RUSH_INT32 && zeros->numel == w->sizes[0],
                 "linear_dynamic: there must be a scale and a zero point for each of %lld rows",
                 (long long)w->sizes[0]);
  RUSH_CHECK_ARG(bias == NULL ||
                     (bias->rank == 1 && bias->dtype == RUSH_FLOAT32 && bias->numel == w->sizes[0]),
                 "linear_dynamic: bias must have %lld float32 elements", (long long)w->sizes[0]);
  RUSH_CHECK_ARG(levels >= 1 && levels <= UINT8_MAX,
                 "linear_dynamic: levels must be between 1 and 255, got %lld", (long long)levels);
  return RUSH_OK;
}

static rush_status pack(rush_call *c, const void **packed) {
  rush_tensor *w, *scales, *zeros, *bias = NULL;
  void *floats;
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, WEIGHT), &w));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, SCALES), &scales));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, ZEROS), &zeros));
  if (!arg_is_none(c, BIAS)) RUSH_TRY(tmp_contiguous(c, arg_tensor(c, BIAS), &bias));
  RUSH_TRY(tmp_items(c, w->sizes[0], sizeof(float), &floats));
  narrow(w->sizes[0], rush_data(scales), floats);
  return rush_int8_pack_call(c, (size_t)w->sizes[0], (size_t)w->sizes[1], rush_data(w), floats,
                             rush_data(zeros), bias == NULL ? NULL : rush_data(bias), packed);
}

/* input [..., k], weight [n, k] of int8, scales [n] of float64, zero_points [n] of int32, bias [n]
 * or None, levels. Returns float32 [..., n]. levels (127 or 255) is the range of the input's
 * integers. */
RUSH_OP(linear_dynamic) {
  const rush_tensor *w = arg_tensor(c, WEIGHT);
  RUSH_TRY(check(c));
  const int64_t n = w->sizes[0], k = w->sizes[1];
  const void *packed = rush_packed_data(c->packed);
  rush_linear_rows r;
  rush_int8_rows rows;
  if (packed == NULL) RUSH_TRY(pack(c, &packed));
  RUSH_TRY(rush_linear_begin(c, arg_tensor(c, INPUT), n, &r));
  if (r.y == NULL) return RUSH_OK;
  RUSH_TRY(rush_int8_rows_new(c, (int64_t)r.m, k, &rows));
  return rush_int8_dynamic(c->ctx, arg_int(c, LEVELS), r.x, r.stride, &rows, (size_t)n, packed,
                           r.y);
}
