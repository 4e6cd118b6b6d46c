/* Sums of products of 8-bit integers, exact in int32: what quantised linear layers and convolutions
 * of one to three dimensions begin with. */
#include "blocks/packed_int8.h"
#include "call/define.h"
#include "tensor/layout.h"

enum { DIMS = 3, WEIGHT = 2, ZEROS, GROUPS = 8 };

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
  RUSH_NEED(v->zero_point >= (x->dtype == RUSH_INT8 ? INT8_MIN : 0) &&
                v->zero_point <= (x->dtype == RUSH_INT8 ? INT8_MAX : UINT8_MAX),
            "int8_conv: zero point %lld", (long long)v->zero_point);
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

/* ---- Weights --------------------------------------------------------------------------------- */

/* How a weight [groups * outs, channels, taps..] is multiplied: group by group, as matrices of
 * [outs, taps * channels]. */
typedef struct shape {
  size_t groups, outs, channels, taps, bytes; /* packed, of a group */
} shape;

/* One channel in and one out: there is nothing to share, and the weight is read as it is. */
static bool is_depthwise(const shape *s) {
  return s->channels == 1 && s->outs == 1 && s->groups > 1;
}

static bool shape_of(const rush_tensor *w, int64_t groups, shape *s) {
  if (w->rank < 2 || groups < 1 || w->sizes[0] % groups != 0) return false;
  *s = (shape){.groups = (size_t)groups,
               .outs = (size_t)(w->sizes[0] / groups),
               .channels = (size_t)w->sizes[1],
               .taps = 1};
  for (int d = 2; d < w->rank; d++) s->taps *= (size_t)w->sizes[d];
  return rush_int8_packed(s->outs, s->taps * s->channels, &s->bytes);
}

/* [rows, channels, taps] as [rows, taps, channels] */
static void arrange(const int8_t *w, size_t rows, size_t channels, size_t taps, int8_t *to) {
  for (size_t o = 0; o < rows; o++, w += channels * taps)
    for (size_t t = 0; t < taps; t++)
      for (size_t i = 0; i < channels; i++) *to++ = w[i * taps + t];
}

static void pack(const shape *s, const int8_t *arranged, const int32_t *zeros, uint8_t *packed) {
  const size_t k = s->taps * s->channels;
  for (size_t g = 0; g < s->groups; g++, packed += s->bytes, arranged += s->outs * k)
    rush_int8_pack(s->outs, k, arranged, NULL, zeros + g * s->outs, NULL, packed);
}

RUSH_PREPARE(int8_conv) {
  const rush_value *groups = p->args[GROUPS], *value = p->args[WEIGHT];
  const int rank =
      value != NULL && value->kind == RUSH_KIND_TENSOR ? rush_as_tensor(value)->rank : 0;
  const rush_tensor *w = rush_constant_of(p, WEIGHT, RUSH_INT8, rank);
  const rush_tensor *zeros = rush_constant_of(p, ZEROS, RUSH_INT32, 1);
  shape s;
  rush_packed_floats *packed;
  void *arranged;
  size_t bytes;
  if (w == NULL || zeros == NULL || groups == NULL || groups->kind != RUSH_KIND_INT ||
      !shape_of(w, groups->u.i, &s) || zeros->numel != w->sizes[0] || is_depthwise(&s))
    return RUSH_OK;
  if (!rush_mul(s.bytes, s.groups, &bytes)) return rush_fail_memory(p->ctx, SIZE_MAX);
  RUSH_TRY(rush_alloc(p->ctx, (size_t)w->numel, &arranged));
  const rush_status status = rush_packed_new(p, bytes / sizeof(float), &packed);
  if (status == RUSH_OK) {
    arrange(rush_data(w), (size_t)w->sizes[0], s.channels, s.taps, arranged);
    pack(&s, arranged, rush_data(zeros), (uint8_t *)packed->data);
    p->consumed = 1u << WEIGHT;
  }
  rush_release(p->ctx, arranged, (size_t)w->numel);
  return status;
}

/* The weight as it is multiplied: packed, or for depthwise convolutions [taps, groups] of int16. */
static rush_status weights(rush_call *c, const shape *s, const void **out) {
  rush_tensor *w, *zeros;
  void *arranged, *packed;
  *out = rush_packed_data(c->packed);
  if (*out != NULL) return RUSH_OK;
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, WEIGHT), &w));
  RUSH_TRY(tmp_contiguous(c, arg_tensor(c, ZEROS), &zeros));
  RUSH_TRY(rush_work(c->ctx, (uint64_t)w->numel));
  const int8_t *from = rush_data(w);
  const int32_t *zero = rush_data(zeros);
  if (is_depthwise(s)) {
    RUSH_TRY(tmp_items(c, w->numel, sizeof(int16_t), &packed));
    for (size_t t = 0; t < s->taps; t++)
      for (size_t g = 0; g < s->groups; g++)
        ((int16_t *)packed)[t * s->groups + g] = (int16_t)(from[g * s->taps + t] - zero[g]);
  } else {
    size_t bytes;
    if (!rush_mul(s->bytes, s->groups, &bytes)) return rush_fail_memory(c->ctx, SIZE_MAX);
    RUSH_TRY(tmp_bytes(c, (size_t)w->numel, &arranged));
    RUSH_TRY(tmp_bytes(c, bytes, &packed));
    arrange(from, (size_t)w->sizes[0], s->channels, s->taps, arranged);
    pack(s, arranged, zero, packed);
  }
  *out = packed;
  return RUSH_OK;
}

/* ---- Products -------------------------------------------------------------------------------- */

/* [M, K] times [N, K] transposed. */
static rush_status linear(rush_call *c, const int8_conv *v, const rush_tensor *x, const shape *s,
                          const void *packed, int32_t *out) {
  rush_int8_rows rows;
  RUSH_TRY(rush_int8_rows_new(c, x->sizes[0], x->sizes[1], &rows));
  rush_int8_rows_of_bytes(c->ctx, rush_data(x), x->dtype == RUSH_INT8, (int32_t)v->zero_point,
                          &rows);
  rush_int8_sums(c->ctx, &rows, s->outs, packed, out, s->outs, 1);
  return RUSH_OK;
}

/* Of output `at`: where the input's channels lie that each tap sees; NULL outside. */
static void taps_of(const int8_conv *v, const uint8_t *x, size_t pixel, int64_t at,
                    const uint8_t **taps) {
  const int64_t l = at % v->out[2], j = at / v->out[2] % v->out[1], i = at / v->out[2] / v->out[1];
  for (int64_t a = 0; a < v->kernel[0]; a++) {
    const int64_t p = place(v, 0, i, a);
    for (int64_t b = 0; b < v->kernel[1]; b++) {
      const int64_t q = p < 0 ? -1 : place(v, 1, j, b);
      for (int64_t e = 0; e < v->kernel[2]; e++) {
        const int64_t r = q < 0 ? -1 : place(v, 2, l, e);
        *taps++ = r < 0 ? NULL : x + (size_t)((p * v->size[1] + q) * v->size[2] + r) * pixel;
      }
    }
  }
}

/* Rows [taps][channels] of `m` outputs from `at` on. */
static void unfold(const int8_conv *v, const shape *s, const uint8_t *x, int64_t at, size_t m,
                   const uint8_t **taps, uint8_t *to) {
  for (size_t i = 0; i < m; i++) {
    taps_of(v, x, s->groups * s->channels, at + (int64_t)i, taps);
    for (size_t t = 0; t < s->taps; t++, to += s->channels) {
      if (taps[t] != NULL) {
        memcpy(to, taps[t], s->channels);
      } else {
        memset(to, (int)v->zero_point, s->channels);
      }
    }
  }
}

/* Whether each output sees the one place that it stands at: the input is the rows. */
static bool is_pointwise(const int8_conv *v, const shape *s) {
  return s->taps == 1 && s->groups == 1 && !v->transposed &&
         v->padding[0] + v->padding[1] + v->padding[2] == 0 &&
         memcmp(v->size, v->out, sizeof v->out) == 0;
}

/* Images of x and y, whose channels lie last. */
typedef struct images {
  size_t n, in, out; /* how many, and elements of each */
  const uint8_t *x;
  bool is_signed;
  int32_t *y;
} images;

static rush_status convolve(rush_call *c, const int8_conv *v, const shape *s, const void *packed,
                            const images *p) {
  enum { PIECE = 1 << 18 };
  const int64_t places = v->out[0] * v->out[1] * v->out[2];
  const size_t k = s->taps * s->channels, outs = s->groups * s->outs;
  const size_t room = k >= PIECE / 64 ? 64 : PIECE / (k + 1) + 1;
  const int64_t most = places < (int64_t)room ? places : (int64_t)room;
  const bool pointwise = is_pointwise(v, s);
  const uint8_t **taps;
  uint8_t *bytes;
  rush_int8_rows rows;
  RUSH_TRY(tmp_items(c, (int64_t)s->taps, sizeof *taps, (void **)&taps));
  RUSH_TRY(tmp_items(c, pointwise ? 0 : most, k, (void **)&bytes));
  RUSH_TRY(rush_int8_rows_new(c, most, (int64_t)k, &rows));
  for (size_t i = 0; i < p->n; i++)
    for (size_t g = 0; g < s->groups; g++)
      for (int64_t at = 0; at < places; at += most) {
        const uint8_t *x = p->x + i * p->in;
        rows.m = (size_t)(places - at < most ? places - at : most);
        RUSH_TRY(rush_work(c->ctx, (uint64_t)rows.m * (k / 8 + 8 * s->taps)));
        if (!pointwise) unfold(v, s, x + g * s->channels, at, rows.m, taps, bytes);
        rush_int8_rows_of_bytes(c->ctx, pointwise ? x + (size_t)at * k : bytes, p->is_signed,
                                (int32_t)v->zero_point, &rows);
        rush_int8_sums(c->ctx, &rows, s->outs, (const uint8_t *)packed + g * s->bytes,
                       p->y + i * p->out + (size_t)at * outs + g * s->outs, outs, 1);
      }
  return RUSH_OK;
}

static rush_status depthwise(rush_call *c, const int8_conv *v, const shape *s, const int16_t *w,
                             const images *p) {
  const int64_t places = v->out[0] * v->out[1] * v->out[2];
  const uint8_t **taps;
  int32_t *y = p->y;
  RUSH_TRY(tmp_items(c, (int64_t)s->taps, sizeof *taps, (void **)&taps));
  for (size_t i = 0; i < p->n; i++)
    for (int64_t at = 0; at < places; at++, y += s->groups) {
      RUSH_TRY(rush_work(c->ctx, (uint64_t)s->taps * (s->groups / 8 + 8)));
      taps_of(v, p->x + i * p->in, s->groups, at, taps);
      rush_int8_taps(s->taps, s->groups, taps, p->is_signed, (int32_t)v->zero_point, w, y);
    }
  return RUSH_OK;
}

/* input [N, C, ...] of uint8 or int8, zero_point, weight [O, C / groups, ...] of int8, zero_points [O]
 * of int32, stride, padding, dilation, output_padding, groups, transposed (the weight is for each
 * result's channel all the same) -> int32 [N, O, ...], channels last */
RUSH_OP(int8_conv) {
  int8_conv v;
  shape s;
  rush_tensor *x = arg_tensor(c, 0), *out;
  const rush_tensor *w = arg_tensor(c, WEIGHT);
  const void *packed;
  RUSH_TRY(read_args(c, &v));
  if (!shape_of(w, arg_int(c, GROUPS), &s)) return rush_fail_memory(c->ctx, SIZE_MAX);
  int64_t sizes[DIMS + 2] = {x->sizes[0], w->sizes[0]};
  memcpy(sizes + 2, v.out, (size_t)v.dims * sizeof *sizes);
  RUSH_TRY(rush_tensor_new_channels_last(c->heap, RUSH_INT32, x->rank, sizes, &out));
  ret_tensor(c, 0, out);
  if (out->numel == 0) return RUSH_OK;
  RUSH_TRY(weights(c, &s, &packed));
  RUSH_TRY(tmp_channels_last(c, x, &x));
  if (v.dims == 0) return linear(c, &v, x, &s, packed, rush_data(out));
  const size_t n = (size_t)x->sizes[0];
  const images p = {n,
                    (size_t)x->numel / n,
                    (size_t)out->numel / n,
                    rush_data(x),
                    x->dtype == RUSH_INT8,
                    rush_data(out)};
  return is_depthwise(&s) ? depthwise(c, &v, &s, packed, &p) : convolve(c, &v, &s, packed, &p);
}
