/* Sums of products of 8-bit integers, exact in int32: what quantised linear layers and convolutions
 * of one to three dimensions begin with. */
#include "call/define.h"
#include "kernels/quantise.h"
#include "tensor/layout.h"

enum { DIMS = 3 };

/* Lists hold one number for each spatial dimension, the others are 1 (of padding 0). */
typedef struct int8_conv {
  rush_ctx *ctx;
  int dims;
  int64_t size[DIMS], kernel[DIMS], out[DIMS];
  int64_t stride[DIMS], padding[DIMS], dilation[DIMS], output_padding[DIMS];
  bool transposed;
  int64_t zero_point;
} int8_conv;

static rush_status read_list(rush_call *c, uint32_t arg, int dims, int64_t least, int64_t *out) {
  int n;
  RUSH_TRY(arg_ints(c, arg, DIMS, out, &n));
  RUSH_NEED(n == dims, "int8_conv: a list of %d numbers was wanted, one of %d came", dims, n);
  for (int d = 0; d < dims; d++)
    RUSH_NEED(out[d] >= least && out[d] <= INT32_MAX, "int8_conv: %lld is out of range",
              (long long)out[d]);
  for (int d = dims; d < DIMS; d++) out[d] = least;
  return RUSH_OK;
}

static rush_status read_args(rush_call *c, int8_conv *v) {
  const rush_tensor *x = arg_tensor(c, 0), *w = arg_tensor(c, 2), *zeros = arg_tensor(c, 3);
  const int64_t groups = arg_int(c, 8);
  *v = (int8_conv){.ctx = c->ctx,
                   .dims = x->rank - 2,
                   .zero_point = arg_int(c, 1),
                   .transposed = arg_bool(c, 9)};
  RUSH_NEED(x->rank >= 2 && x->rank <= DIMS + 2 && w->rank == x->rank,
            "int8_conv: an input of %d and a weight of %d dimensions", x->rank, w->rank);
  RUSH_NEED(x->dtype == RUSH_UINT8 || x->dtype == RUSH_INT8, "int8_conv: an input of %s",
            rush_dtype_word(x->dtype));
  RUSH_NEED(w->dtype == RUSH_INT8 && zeros->dtype == RUSH_INT32 && zeros->rank == 1 &&
                zeros->numel == w->sizes[0],
            "int8_conv: a weight of int8 and as many zero points as it has channels were wanted");
  RUSH_NEED(groups > 0 && w->sizes[0] % groups == 0 && x->sizes[1] % groups == 0 &&
                x->sizes[1] / groups == w->sizes[1],
            "int8_conv: %lld channels, a weight for %lld and %lld groups", (long long)x->sizes[1],
            (long long)w->sizes[1], (long long)groups);
  RUSH_NEED(v->zero_point >= INT8_MIN && v->zero_point <= UINT8_MAX, "int8_conv: zero point %lld",
            (long long)v->zero_point);
  for (int64_t i = 0; i < zeros->numel; i++) {
    const int64_t zero =
        rush_load_int(RUSH_INT32, (const int32_t *)rush_data(zeros) + i * zeros->strides[0]);
    RUSH_NEED(zero >= INT8_MIN && zero <= INT8_MAX, "int8_conv: zero point %lld", (long long)zero);
  }
  RUSH_TRY(read_list(c, 4, v->dims, 1, v->stride));
  RUSH_TRY(read_list(c, 5, v->dims, 0, v->padding));
  RUSH_TRY(read_list(c, 6, v->dims, 1, v->dilation));
  RUSH_TRY(read_list(c, 7, v->dims, 0, v->output_padding));
  for (int d = 0; d < DIMS; d++) {
    const bool there = d < v->dims;
    v->size[d] = there ? x->sizes[2 + d] : 1;
    v->kernel[d] = there ? w->sizes[2 + d] : 1;
    int64_t far, room;
    RUSH_NEED(rush_mul64(v->dilation[d], v->kernel[d] - 1, &far) &&
                  rush_mul64(v->transposed ? v->size[d] - 1 : 1, v->stride[d], &room),
              "int8_conv: a kernel that is too large");
    if (v->transposed) {
      v->out[d] = room - 2 * v->padding[d] + far + v->output_padding[d] + 1;
    } else {
      room = v->size[d] + 2 * v->padding[d] - far - 1;
      v->out[d] = room < 0 ? 0 : room / v->stride[d] + 1;
    }
    RUSH_NEED(v->kernel[d] > 0 && v->out[d] > 0, "int8_conv: the output would be empty");
  }
  return RUSH_OK;
}

/* Which place of the input, along dimension d, tap k of place o sees; -1 outside. */
static int64_t place(const int8_conv *v, int d, int64_t o, int64_t k) {
  int64_t at = v->transposed ? o + v->padding[d] - k * v->dilation[d]
                             : o * v->stride[d] - v->padding[d] + k * v->dilation[d];
  if (v->transposed) {
    if (at < 0 || at % v->stride[d] != 0) return -1;
    at /= v->stride[d];
  }
  return at >= 0 && at < v->size[d] ? at : -1;
}

static int16_t element(const int8_conv *v, const rush_tensor *x, int64_t at) {
  const void *data = rush_data(x);
  const int value =
      x->dtype == RUSH_INT8 ? ((const int8_t *)data)[at] : ((const uint8_t *)data)[at];
  return (int16_t)(value - v->zero_point);
}

/* rows[out][channels][kernel] of `channels` planes of x that begin at `from`. */
static rush_status unfold(const int8_conv *v, const rush_tensor *x, int64_t from, int64_t channels,
                          int16_t *rows) {
  const int64_t plane = v->size[0] * v->size[1] * v->size[2];
  for (int64_t i = 0; i < v->out[0]; i++)
    for (int64_t j = 0; j < v->out[1]; j++)
      for (int64_t l = 0; l < v->out[2]; l++)
        for (int64_t c = 0; c < channels; c++) {
          RUSH_TRY(rush_work(v->ctx, 2 * (uint64_t)(v->kernel[0] * v->kernel[1] * v->kernel[2])));
          for (int64_t a = 0; a < v->kernel[0]; a++) {
            const int64_t p = place(v, 0, i, a);
            for (int64_t b = 0; b < v->kernel[1]; b++) {
              const int64_t q = place(v, 1, j, b);
              for (int64_t e = 0; e < v->kernel[2]; e++) {
                const int64_t r = place(v, 2, l, e);
                const bool inside = p >= 0 && q >= 0 && r >= 0;
                *rows++ =
                    inside ? element(v, x, from + c * plane + (p * v->size[1] + q) * v->size[2] + r)
                           : 0;
              }
            }
          }
        }
  return RUSH_OK;
}

/* [M, K] times [N, K] transposed, some rows at a time. */
static rush_status linear(rush_call *c, const int8_conv *v, const rush_tensor *x,
                          const rush_tensor *w, const int32_t *zeros, rush_tensor *out) {
  enum { ROWS = 64 };
  const int64_t m = x->sizes[0], k = x->sizes[1], n = w->sizes[0];
  const int64_t room = m < ROWS ? m : ROWS;
  int16_t *rows;
  RUSH_TRY(tmp_items(c, (room + 1) * k, sizeof *rows, (void **)&rows));
  for (int64_t i = 0; i < m; i += room) {
    const int64_t count = m - i < room ? m - i : room;
    RUSH_TRY(rush_work(c->ctx, (uint64_t)count * (uint64_t)k * (uint64_t)n / 8));
    for (int64_t p = 0; p < count * k; p++) rows[p] = element(v, x, i * k + p);
    rush_int8_product((size_t)count, (size_t)n, (size_t)k, rows, rush_data(w), zeros,
                      (int32_t *)rush_data(out) + i * n, (size_t)n, 1, rows + room * k);
  }
  return RUSH_OK;
}

static rush_status convolve(rush_call *c, const int8_conv *v, const rush_tensor *x,
                            const rush_tensor *w, const int32_t *zeros, rush_tensor *out) {
  const int64_t groups = arg_int(c, 8), channels = w->sizes[1], outs = w->sizes[0] / groups;
  const int64_t plane = v->size[0] * v->size[1] * v->size[2];
  const int64_t places = v->out[0] * v->out[1] * v->out[2];
  const int64_t k = w->numel / w->sizes[0];
  int16_t *rows;
  size_t items;
  RUSH_NEED(rush_mul((size_t)places, (size_t)k, &items) && items <= (size_t)RUSH_MAX_NUMEL,
            "int8_conv: an input that is too large");
  RUSH_TRY(tmp_items(c, (int64_t)items + k, sizeof *rows, (void **)&rows));
  for (int64_t i = 0; i < x->sizes[0]; i++)
    for (int64_t g = 0; g < groups; g++) {
      RUSH_TRY(unfold(v, x, (i * groups + g) * channels * plane, channels, rows));
      for (int64_t o = 0; o < outs; o++) {
        const int64_t at = g * outs + o;
        RUSH_TRY(rush_work(c->ctx, (uint64_t)items / 4));
        rush_int8_product((size_t)places, 1, (size_t)k, rows, (const int8_t *)rush_data(w) + at * k,
                          zeros + at, (int32_t *)rush_data(out) + (i * groups * outs + at) * places,
                          1, 1, rows + items);
      }
    }
  return RUSH_OK;
}

/* input [N, C, ...] of uint8 or int8, zero_point, weight [O, C / groups, ...] of int8, zero_points [O]
 * of int32, stride, padding, dilation, output_padding, groups, transposed (the weight is for each
 * result's channel all the same) -> int32 [N, O, ...] */
RUSH_OP(int8_conv) {
  int8_conv v;
  rush_tensor *x, *w, *zeros, *out;
  RUSH_TRY(read_args(c, &v));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 0), &x));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 2), &w));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, 3), &zeros));
  int64_t sizes[DIMS + 2] = {x->sizes[0], w->sizes[0]};
  memcpy(sizes + 2, v.out, (size_t)v.dims * sizeof *sizes);
  RUSH_TRY(rush_result(c, 0, RUSH_INT32, x->rank, sizes, &out));
  if (out->numel == 0) return RUSH_OK;
  return v.dims == 0 ? linear(c, &v, x, w, rush_data(zeros), out)
                     : convolve(c, &v, x, w, rush_data(zeros), out);
}
