/* pixel_shuffle, pixel_unshuffle and channel_shuffle. Each is one strided copy between two views of
 * the channels. */
#include "call/define.h"
#include "tensor/layout.h"

/* Splits one dimension of t into n parts of `sizes`. The other dimensions do not change. */
static rush_status split(rush_call *c, const rush_tensor *t, int n, const int64_t *sizes,
                         const int64_t *strides, rush_tensor **out) {
  return tmp_view(c, t, n, sizes, strides, t->offset, out);
}

static rush_status copy_between(rush_call *c, rush_tensor *out, const rush_tensor *x, int n,
                                const int64_t *sizes, const int64_t *to_strides,
                                const int64_t *from_strides) {
  rush_tensor *to, *from;
  if (out->numel == 0) return RUSH_OK;
  RUSH_TRY(split(c, out, n, sizes, to_strides, &to));
  RUSH_TRY(split(c, x, n, sizes, from_strides, &from));
  return rush_tensor_copy(c->heap, to, from);
}

/* Views the side with many channels (`deep`) and the side with H * r by W * r pixels (`wide`) as
 * [.., C, r, r, H, W]. */
static int pixel_views(const rush_tensor *deep, const rush_tensor *wide, int64_t r, int64_t *sizes,
                       int64_t *of_deep, int64_t *of_wide) {
  const int lead = deep->rank - 3;
  const int64_t *ds = deep->strides + lead, *ws = wide->strides + lead;
  for (int d = 0; d < lead; d++) {
    sizes[d] = deep->sizes[d];
    of_deep[d] = deep->strides[d];
    of_wide[d] = wide->strides[d];
  }
  const int64_t parts[5] = {wide->sizes[lead], r, r, deep->sizes[lead + 1], deep->sizes[lead + 2]};
  const int64_t deep_strides[5] = {ds[0] * r * r, ds[0] * r, ds[0], ds[1], ds[2]};
  const int64_t wide_strides[5] = {ws[0], ws[1], ws[2], ws[1] * r, ws[2] * r};
  memcpy(sizes + lead, parts, sizeof parts);
  memcpy(of_deep + lead, deep_strides, sizeof parts);
  memcpy(of_wide + lead, wide_strides, sizeof parts);
  return lead + 5;
}

/* Stores the last three sizes of the result of pixel_shuffle. */
static rush_status shuffled(rush_call *c, const int64_t *last, int64_t r, int64_t *to) {
  const int64_t square = r * r;
  RUSH_CHECK_ARG(
      last[0] % square == 0,
      "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
      "of upscale_factor, but "
      "input.size(-3)=%lld is not divisible by %lld",
      (long long)last[0], (long long)square);
  to[0] = last[0] / square;
  RUSH_CHECK_ARG(rush_mul64(last[1], r, &to[1]) && rush_mul64(last[2], r, &to[2]),
                 "pixel_shuffle: the result is too large");
  return RUSH_OK;
}

/* Does the same for pixel_unshuffle. */
static rush_status unshuffled(rush_call *c, const int64_t *last, int64_t r, int64_t *to) {
  const int64_t square = r * r;
  RUSH_CHECK_ARG(
      last[1] % r == 0 && last[2] % r == 0,
      "pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
      "input.size(-2)=%lld or "
      "input.size(-1)=%lld is not divisible by %lld",
      (long long)last[1], (long long)last[2], (long long)r);
  RUSH_CHECK_ARG(rush_mul64(last[0], square, to), "pixel_unshuffle: the result is too large");
  to[1] = last[1] / r;
  to[2] = last[2] / r;
  return RUSH_OK;
}

static rush_status pixels(rush_call *c, bool shuffle) {
  const rush_tensor *x = arg_tensor(c, 0);
  const int64_t r = arg_int(c, 1);
  const char *name = shuffle ? "pixel_shuffle" : "pixel_unshuffle";
  int64_t sizes[RUSH_MAX_RANK + 2], of_deep[RUSH_MAX_RANK + 2], of_wide[RUSH_MAX_RANK + 2];
  RUSH_CHECK_ARG(
      x->rank >= 3,
      "%s expects input to have at least 3 dimensions, but got input with %d dimension(s)", name,
      x->rank);
  RUSH_CHECK_ARG(r > 0 && r <= INT32_MAX, "%s expects a positive %s, but got %lld", name,
                 shuffle ? "upscale_factor" : "downscale_factor", (long long)r);
  RUSH_CHECK(c->ctx, x->rank + 2 <= RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "%s of %d dimensions is not supported", name, x->rank);
  memcpy(sizes, x->sizes, sizeof x->sizes);
  const int64_t *last = x->sizes + x->rank - 3;
  int64_t *to = sizes + x->rank - 3;
  RUSH_TRY((shuffle ? shuffled : unshuffled)(c, last, r, to));
  rush_tensor *out;
  if (!shuffle && x->numel == 0) memcpy(sizes, x->sizes, sizeof x->sizes); /* as in PyTorch */
  RUSH_TRY(rush_new_in_format(c->heap, x->dtype, x->rank, sizes, rush_suggest_format(x), &out));
  ret_tensor(c, 0, out);
  if (out->numel == 0) return RUSH_OK;
  const int n = pixel_views(shuffle ? x : out, shuffle ? out : x, r, sizes, of_deep, of_wide);
  return copy_between(c, out, x, n, sizes, shuffle ? of_wide : of_deep,
                      shuffle ? of_deep : of_wide);
}

RUSH_OP(pixel_shuffle) {
  return pixels(c, true);
}
RUSH_OP(pixel_unshuffle) {
  return pixels(c, false);
}

RUSH_OP(channel_shuffle) {
  const rush_tensor *x = arg_tensor(c, 0);
  const int64_t groups = arg_int(c, 1);
  char text[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(x->rank > 2,
                 "channel_shuffle expects input with > 2 dims, but got input with sizes %s",
                 rush_shape_text(x->rank, x->sizes, text));
  RUSH_CHECK_ARG(groups > 0,
                 "Number of groups to divide channels in must be positive. Value of groups:%lld",
                 (long long)groups);
  RUSH_CHECK_ARG(
      x->sizes[1] % groups == 0,
      "Number of channels must be divisible by groups. Got %lld channels and %lld groups.",
      (long long)x->sizes[1], (long long)groups);
  RUSH_CHECK(c->ctx, x->rank < RUSH_MAX_RANK, RUSH_ERR_UNSUPPORTED,
             "channel_shuffle of %d dimensions is not supported", x->rank);
  rush_tensor *out;
  RUSH_TRY(rush_new_in_format(c->heap, x->dtype, x->rank, x->sizes, rush_suggest_format(x), &out));
  ret_tensor(c, 0, out);
  /* Output channel j * groups + g is input channel g * parts + j. */
  const int64_t parts = x->sizes[1] / groups;
  int64_t sizes[RUSH_MAX_RANK] = {x->sizes[0], groups, parts};
  int64_t to[RUSH_MAX_RANK] = {out->strides[0], out->strides[1], out->strides[1] * groups};
  int64_t from[RUSH_MAX_RANK] = {x->strides[0], x->strides[1] * parts, x->strides[1]};
  for (int d = 2; d < x->rank; d++) {
    sizes[d + 1] = x->sizes[d];
    to[d + 1] = out->strides[d];
    from[d + 1] = x->strides[d];
  }
  return copy_between(c, out, x, x->rank + 1, sizes, to, from);
}
