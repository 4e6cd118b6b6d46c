/* Follows aten/src/ATen/native/Dropout.cpp: the identity in eval mode, a random mask in training
 * mode. */
#include <math.h>

#include "blocks/random_fill.h"
#include "call/define.h"

static rush_status need_float(rush_call *c, const rush_tensor *t) {
  RUSH_CHECK_ARG(rush_is_float(t->dtype),
                 "result type Float can't be cast to the desired output type %s",
                 rush_dtype_name(t->dtype));
  return RUSH_OK;
}

/* out = x * (m * scale) + (m * slope + shift), where m is 0 or 1. mask broadcasts to x. */
typedef struct affine {
  double scale, slope, shift;
} affine;

static void apply(rush_ctx *ctx, rush_tensor *out, const rush_tensor *x, const rush_tensor *mask,
                  affine f) {
  const rush_dtype dtype = x->dtype;
  const rush_tensor *operands[] = {out, x, mask};
  rush_iter it;
  rush_iter_init(&it, x->rank, x->sizes, 3, operands);
  do {
    for (int64_t i = 0; i < it.size[0] && !rush_should_stop(ctx, 8); i++) {
      const double v = rush_load_double(dtype, it.at[1] + i * it.stride[1][0]);
      const double m = rush_load_double(mask->dtype, it.at[2] + i * it.stride[2][0]);
      rush_store_double(dtype, it.at[0] + i * it.stride[0][0],
                        v * (m * f.scale) + (m * f.slope + f.shift));
    }
  } while (!ctx->stopped && rush_iter_next(&it));
}

/* input, p, train. `features` draws one number for each pair of indices of the first two dimensions
 * instead of one per element. `alpha` preserves the mean and standard deviation of SELU's
 * output. */
static rush_status dropout(rush_call *c, bool features, bool alpha) {
  const rush_tensor *x = arg_tensor(c, 0);
  const double p = arg_float(c, 1), kept = 1 - p;
  RUSH_CHECK_ARG(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got %g", p);
  if (p == 0 || !arg_bool(c, 2) || x->numel == 0) {
    ret_retained(c, 0, &c->args[0]);
    return RUSH_OK;
  }
  RUSH_TRY(need_float(c, x));
  RUSH_TRY(rush_turn_back(c->heap, x->storage)); /* numbers are drawn in memory order */
  RUSH_CHECK_ARG(!features || p == 1 || x->rank >= 2,
                 "Feature dropout requires at least 2 dimensions in the input");
  rush_tensor *mask, *out;
  if (features && p < 1) {
    int64_t sizes[RUSH_MAX_RANK];
    for (int d = 0; d < x->rank; d++) sizes[d] = d < 2 ? x->sizes[d] : 1;
    RUSH_TRY(rush_tensor_new(c->heap, RUSH_BOOL, x->rank, sizes, &mask));
  } else {
    RUSH_TRY(rush_tensor_new_like(c->heap, x, RUSH_BOOL, &mask));
  }
  tmp_take(c, mask);
  if (p < 1)
    rush_random_fill_bernoulli(c, mask, kept);
  else
    RUSH_TRY(rush_set_bytes(c->ctx, rush_data(mask), 0, (size_t)mask->numel)); /* without drawing */
  affine f = {p < 1 ? 1 / kept : 0, 0, 0};
  if (alpha && p < 1) {
    const double least = 1.7580993408473766, a = 1 / sqrt((least * least * p + 1) * kept);
    f = (affine){a, least * a, least * a * (p - 1)};
  }
  RUSH_TRY(rush_result_like(c, 0, x, x->dtype, &out));
  apply(c->ctx, out, x, mask, f);
  return RUSH_OK;
}

RUSH_OP(dropout) {
  return dropout(c, false, false);
}
RUSH_OP(feature_dropout) {
  return dropout(c, true, false);
}
RUSH_OP(alpha_dropout) {
  return dropout(c, false, true);
}
RUSH_OP(feature_alpha_dropout) {
  return dropout(c, true, true);
}

/* Also returns the mask. A `train` of None means training mode. */
RUSH_OP(native_dropout) {
  const rush_tensor *x = arg_tensor(c, 0);
  const double p = arg_float(c, 1), kept = 1 - p;
  const bool train = arg_is_none(c, 2) || arg_bool(c, 2);
  rush_tensor *out, *mask;
  RUSH_TRY(rush_result_like(c, 0, x, x->dtype, &out));
  RUSH_TRY(rush_result_like(c, 1, x, RUSH_BOOL, &mask));
  if (x->numel == 0) return RUSH_OK;
  if (!train) {
    RUSH_TRY(rush_set_bytes(c->ctx, rush_data(mask), 1, (size_t)mask->numel));
    return rush_tensor_copy(c->heap, out, x);
  }
  RUSH_TRY(need_float(c, x));
  RUSH_CHECK_ARG(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=%g", kept);
  rush_random_fill_bernoulli(c, mask, kept);
  apply(c->ctx, out, x, mask, (affine){kept == 0 ? 0 : 1 / kept, 0, 0});
  return RUSH_OK;
}
