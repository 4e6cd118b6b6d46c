/* rush::rotate_half, which the exporter makes of the second half of rotary positions (Su et al.,
 * "RoFormer"): cat([-x[.., split:], x[.., :split]], dim). */
#include "blocks/concatenate.h"
#include "call/define.h"
#include "tensor/layout.h"

/* x and its slices [split:] and [:split] along `axis`, as headers without a reference. */
typedef struct halves {
  const rush_tensor *x;
  rush_tensor high, low;
  int axis;
} halves;

static rush_status take_halves(rush_call *c, halves *h) {
  const rush_tensor *x = arg_tensor(c, 0);
  RUSH_CHECK_ARG(x->rank > 0, "slice() cannot be applied to a 0-dim tensor.");
  RUSH_CHECK_ARG(x->dtype != RUSH_BOOL,
                 "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
                 "to invert a mask, use the `~` or `logical_not()` operator instead.");
  *h = (halves){.x = x, .high = *x, .low = *x};
  RUSH_TRY(arg_dim(c, 1, x->rank, &h->axis));
  const int64_t n = x->sizes[h->axis], split = rush_clamp_index(arg_int(c, 2), n);
  h->low.sizes[h->axis] = split;
  h->high.sizes[h->axis] = n - split;
  h->high.offset += split * x->strides[h->axis];
  h->low.numel = n == 0 ? 0 : x->numel / n * split;
  h->high.numel = x->numel - h->low.numel;
  return RUSH_OK;
}

/* ---- Rows of float32 ------------------------------------------------------------------------- */

static bool has_plain_rows(const halves *h, int dim) {
  const rush_tensor *x = h->x;
  return x->dtype == RUSH_FLOAT32 && x->numel > 0 && h->axis == x->rank - 1 && dim == h->axis &&
         (x->strides[h->axis] == 1 || x->sizes[h->axis] == 1) &&
         rush_suggest_format(&h->high) == RUSH_FORMAT_CONTIGUOUS &&
         rush_suggest_format(&h->low) == RUSH_FORMAT_CONTIGUOUS;
}

static rush_status rotate_rows(rush_call *c, const halves *h) {
  const rush_tensor *x = h->x;
  const int64_t n = x->sizes[h->axis], high = h->high.sizes[h->axis], low = n - high;
  int64_t at[RUSH_MAX_RANK] = {0};
  rush_tensor *out;
  RUSH_TRY(rush_result(c, 0, x->dtype, x->rank, x->sizes, &out));
  float *to = rush_data(out);
  for (const float *end = to + out->numel; to < end; to += n) {
    const float *from = rush_data(x);
    for (int d = 0; d < h->axis; d++) from += at[d] * x->strides[d];
    for (size_t i = 0, some; rush_next_piece(c->ctx, (size_t)high, 1, i, &some); i += some)
      for (size_t j = i; j < i + some; j++) to[j] = -from[(size_t)low + j];
    for (size_t i = 0, some; rush_next_piece(c->ctx, (size_t)low, 1, i, &some); i += some)
      memcpy(to + (size_t)high + i, from + i, some * sizeof *to);
    RUSH_TRY(rush_take_stop(c->ctx));
    for (int d = h->axis - 1; d >= 0 && ++at[d] == x->sizes[d]; d--) at[d] = 0;
  }
  return RUSH_OK;
}

/* ---- Any tensor ------------------------------------------------------------------------------ */

/* Negates an element in place. */
static void negate(rush_dtype dtype, char *at) {
  const size_t parts = rush_is_complex(dtype) ? 2 : 1, bytes = rush_dtype_size(dtype) / parts;
  if (!rush_is_integral(dtype)) { /* the sign is in the last byte */
    for (size_t k = 1; k <= parts; k++) at[k * bytes - 1] = (char)(at[k * bytes - 1] ^ 0x80);
    return;
  }
  unsigned carry = 1;
  for (size_t k = 0; k < bytes; k++, carry >>= 8) {
    carry += (unsigned char)~(unsigned char)at[k];
    at[k] = (char)carry;
  }
}

static rush_status negate_all(rush_call *c, const rush_tensor *t) {
  const int64_t item = (int64_t)rush_itemsize(t);
  int64_t at[RUSH_MAX_RANK] = {0};
  for (int64_t i = 0; i < t->numel; i++) {
    int64_t offset = 0;
    for (int d = 0; d < t->rank; d++) offset += at[d] * t->strides[d];
    negate(t->dtype, (char *)rush_data(t) + offset * item);
    RUSH_TRY(rush_charge(c->ctx, 4));
    for (int d = t->rank - 1; d >= 0 && ++at[d] == t->sizes[d]; d--) at[d] = 0;
  }
  return RUSH_OK;
}

RUSH_OP(rotate_half) {
  halves h;
  rush_tensor *out;
  RUSH_TRY(take_halves(c, &h));
  const int64_t dim = arg_int(c, 3);
  if (has_plain_rows(&h, (int)(dim < 0 ? dim + h.x->rank : dim))) return rotate_rows(c, &h);
  const rush_tensor *parts[] = {&h.high, &h.low};
  RUSH_TRY(rush_cat(c->heap, 2, parts, dim, h.x->dtype, &out));
  ret_tensor(c, 0, out);
  rush_tensor first = *out;
  const int along = (int)(dim < 0 ? dim + out->rank : dim);
  first.sizes[along] = h.high.sizes[along];
  first.numel = h.high.numel;
  return negate_all(c, &first);
}
