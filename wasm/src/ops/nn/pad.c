/* Constant, reflect, replicate and circular padding of any number of last dimensions. Negative
 * amounts crop. */
#include "blocks/elements/fill.h"
#include "blocks/variants.h"
#include "call/define.h"
#include "tensor/layout.h"

typedef enum mode {
  CONSTANT = RUSH_PAD_CONSTANT,
  REFLECT = RUSH_PAD_REFLECT,
  REPLICATE = RUSH_PAD_REPLICATE,
  CIRCULAR = RUSH_PAD_CIRCULAR,
} mode;

typedef struct padding {
  mode mode;
  int n; /* number of padded dimensions, counted from the last */
  int64_t front[RUSH_MAX_RANK], back[RUSH_MAX_RANK]; /* indexed by dimension of the tensor */
} padding;

/* Returns the slice at index `i` of dimension d, as a header that holds no reference. */
static rush_tensor slice(const rush_tensor *t, int d, int64_t i) {
  rush_tensor part = *t;
  part.offset += i * t->strides[d];
  part.numel /= t->sizes[d];
  part.sizes[d] = 1;
  return part;
}

/* Returns the region that input and result share: between the paddings of the result, or the
 * cropped input. */
static rush_status middle(rush_call *c, const rush_tensor *t, const padding *p, int sign,
                          rush_tensor **out) {
  int64_t sizes[RUSH_MAX_RANK], offset = t->offset;
  for (int d = 0; d < t->rank; d++) {
    const int64_t front = sign * p->front[d] > 0 ? sign * p->front[d] : 0;
    const int64_t back = sign * p->back[d] > 0 ? sign * p->back[d] : 0;
    sizes[d] = t->sizes[d] - front - back;
    offset += sizes[d] > 0 ? front * t->strides[d] : 0;
    if (sizes[d] < 0) sizes[d] = 0;
  }
  RUSH_TRY(rush_tensor_new_part(c->heap, t, sizes, offset, out));
  tmp_take(c, *out);
  return RUSH_OK;
}

/* Returns the position in the middle that position i takes its value from. Positions count from the
 * start of the middle. */
static int64_t source(mode m, int64_t i, int64_t size) {
  if (m == REPLICATE) return i < 0 ? 0 : size - 1;
  if (m == CIRCULAR) return i < 0 ? i + size : i - size;
  return i < 0 ? -i : 2 * (size - 1) - i;
}

/* Fills both paddings of dimension d from the result itself, slice by slice. */
static rush_status mirror(rush_call *c, rush_tensor *out, const padding *p, int d) {
  const int64_t front = p->front[d] > 0 ? p->front[d] : 0, back = p->back[d] > 0 ? p->back[d] : 0;
  const int64_t size = out->sizes[d] - front - back;
  for (int64_t i = -front; i < size + back; i++) {
    if (i == 0) i = size;
    if (i >= size + back) break;
    rush_tensor to = slice(out, d, front + i);
    const rush_tensor from = slice(out, d, front + source(p->mode, i, size));
    RUSH_TRY(rush_tensor_copy(c->heap, &to, &from));
  }
  return RUSH_OK;
}

static bool any_positive(const padding *p, int rank) {
  for (int d = 0; d < rank; d++)
    if (p->front[d] > 0 || p->back[d] > 0) return true;
  return false;
}

/* Returns the memory format of PyTorch's result. */
static int result_format(const rush_tensor *x, const padding *p) {
  return p->mode == CIRCULAR ? RUSH_FORMAT_CONTIGUOUS : rush_suggest_format(x);
}

static rush_status pad(rush_call *c, const rush_tensor *x, const padding *p,
                       const rush_value *value) {
  int64_t sizes[RUSH_MAX_RANK];
  rush_tensor *out, *to, *from;
  for (int d = 0; d < x->rank; d++) sizes[d] = x->sizes[d] + p->front[d] + p->back[d];
  const bool last = !rush_is_contiguous(x) && rush_is_channels_last(x);
  RUSH_TRY(rush_new_in_layout(c->heap, x->dtype, x->rank, sizes, last, result_format(x, p), &out));
  ret_tensor(c, 0, out);
  if (out->numel == 0) return RUSH_OK;
  if (p->mode == CONSTANT && value->kind == RUSH_KIND_NONE)
    rush_fill_zero(c->ctx, out);
  else if (p->mode == CONSTANT)
    rush_fill(c->ctx, out, value);
  RUSH_TRY(middle(c, out, p, 1, &to));
  RUSH_TRY(middle(c, x, p, -1, &from));
  if (from->numel > 0) RUSH_TRY(rush_tensor_copy(c->heap, to, from));
  for (int d = 0; p->mode != CONSTANT && d < x->rank; d++) RUSH_TRY(mirror(c, out, p, d));
  return RUSH_OK;
}

/* Returns a clone of the cropped input if no dimension is padded. */
static rush_status crop(rush_call *c, const rush_tensor *x, const padding *p) {
  rush_tensor *left, *out;
  RUSH_TRY(middle(c, x, p, -1, &left));
  RUSH_TRY(rush_clone(c->heap, left, RUSH_FORMAT_PRESERVE, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

/* ---- Arguments and checks -------------------------------------------------------------------- */

static rush_status read(rush_call *c, const rush_tensor *x, mode m, padding *p) {
  int64_t list[2 * RUSH_MAX_RANK];
  int n;
  *p = (padding){.mode = m};
  RUSH_TRY(arg_ints(c, 1, 2 * RUSH_MAX_RANK, list, &n));
  RUSH_CHECK_ARG(n % 2 == 0, "Length of pad must be even but instead it equals %d", n);
  RUSH_CHECK_ARG(
      n / 2 <= x->rank,
      "Length of pad should be no more than twice the number of dimensions of the input. Pad "
      "length is %d while the "
      "input has %d dimensions.",
      n, x->rank);
  p->n = n / 2;
  for (int k = 0; k < p->n; k++) {
    const int d = x->rank - 1 - k;
    RUSH_CHECK_ARG(list[2 * k] >= INT32_MIN && list[2 * k] <= INT32_MAX &&
                       list[2 * k + 1] >= INT32_MIN && list[2 * k + 1] <= INT32_MAX,
                   "each padding must fit in 32 bits, got %lld and %lld", (long long)list[2 * k],
                   (long long)list[2 * k + 1]);
    p->front[d] = list[2 * k];
    p->back[d] = list[2 * k + 1];
  }
  return RUSH_OK;
}

static rush_status constant(rush_call *c, const rush_value *value) {
  const rush_tensor *x = arg_tensor(c, 0);
  padding p;
  RUSH_TRY(read(c, x, CONSTANT, &p));
  const bool grows = any_positive(&p, x->rank);
  for (int d = x->rank - p.n; d < x->rank; d++) {
    const int64_t front = p.front[d] < 0 ? p.front[d] : 0, back = p.back[d] < 0 ? p.back[d] : 0;
    const int64_t size = x->sizes[d] + p.front[d] + p.back[d];
    RUSH_CHECK_ARG(x->sizes[d] + front + back >= 0, "narrow(): length must be non-negative.");
    RUSH_CHECK_ARG(
        size > 0 || !grows,
        "The input size %lld, plus negative padding %lld and %lld resulted in a negative "
        "output size, which is "
        "invalid. Check dimension %d of your input.",
        (long long)x->sizes[d], (long long)p.front[d], (long long)p.back[d], d);
  }
  return grows ? pad(c, x, &p, value) : crop(c, x, &p);
}

static rush_status check_side(rush_call *c, const rush_tensor *x, const padding *p, int d) {
  char text[RUSH_SHAPE_TEXT];
  const int64_t size = x->sizes[d], most = p->front[d] > p->back[d] ? p->front[d] : p->back[d];
  RUSH_CHECK_ARG(p->mode != REFLECT || most < size,
                 "Argument #4: Padding size should be less than the corresponding input dimension, "
                 "but got: padding (%lld, "
                 "%lld) at dimension %d of input %s",
                 (long long)p->front[d], (long long)p->back[d], d,
                 rush_shape_text(x->rank, x->sizes, text));
  RUSH_CHECK_ARG(p->mode != CIRCULAR || most <= size,
                 "Padding value causes wrapping around more than once.");
  const int64_t cropped =
      size + (p->front[d] < 0 ? p->front[d] : 0) + (p->back[d] < 0 ? p->back[d] : 0);
  const int64_t padded = size + p->front[d] + p->back[d];
  const bool nothing = p->mode == CIRCULAR && padded == 0;
  RUSH_CHECK_ARG(nothing || (padded > 0 && (cropped > 0 || p->mode == CIRCULAR)),
                 "input (size %lld at dimension %d) is too small. Calculated output size: %lld",
                 (long long)size, d, (long long)padded);
  /* After a crop, the reflection may need elements that were removed. */
  RUSH_CHECK(c->ctx, p->mode != REFLECT || most < cropped, RUSH_ERR_UNSUPPORTED,
             "reflecting %lld elements of the %lld that negative padding leaves is not supported",
             (long long)most, (long long)cropped);
  RUSH_CHECK(c->ctx, p->mode != CIRCULAR || most <= cropped || nothing, RUSH_ERR_UNSUPPORTED,
             "circular padding by %lld elements of the %lld that negative padding leaves is not "
             "supported",
             (long long)most, (long long)cropped);
  return RUSH_OK;
}

/* PyTorch pads the last n dimensions of tensors of rank n + 1 and n + 2. */
static rush_status check_border(rush_call *c, const rush_tensor *x, const padding *p) {
  static const char *const names[] = {"", "reflection_pad", "replication_pad", "circular"};
  const int n = p->n;
  char text[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(
      n >= 1 && n <= 3 && (x->rank == n + 1 || x->rank == n + 2),
      "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: padding "
      "of %d dimensions for an "
      "input of %s",
      n, rush_shape_text(x->rank, x->sizes, text));
  RUSH_CHECK_ARG(x->dtype != RUSH_BOOL || p->mode == CIRCULAR,
                 "\"%s%dd\" not implemented for 'Bool'", names[p->mode], n);
  for (int d = x->rank == n + 2 ? 1 : 0; d < x->rank; d++)
    RUSH_CHECK_ARG(x->sizes[d] > 0 || (p->mode == CIRCULAR && d < x->rank - n),
                   "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other "
                   "non-zero dimensions for input, "
                   "but got: %s",
                   n + 1, n + 2, rush_shape_text(x->rank, x->sizes, text));
  for (int d = x->rank - n; d < x->rank; d++) RUSH_TRY(check_side(c, x, p, d));
  return RUSH_OK;
}

/* If negative padding removes a whole dimension, the other side is filled with copies of the last
 * removed element. That element is kept instead, and one copy less is made. */
static void keep_one(padding *p, const rush_tensor *x) {
  for (int d = 0; d < x->rank; d++) {
    const int64_t most = x->sizes[d] - 1;
    int64_t *cropped = p->front[d] < p->back[d] ? p->front + d : p->back + d;
    int64_t *grown = cropped == p->front + d ? p->back + d : p->front + d;
    if (most < 0 || *cropped >= -most) continue;
    *grown += *cropped + most;
    *cropped = -most;
  }
}

static rush_status border(rush_call *c, mode m, int n) {
  const rush_tensor *x = arg_tensor(c, 0);
  padding p;
  RUSH_TRY(read(c, x, m, &p));
  RUSH_CHECK_ARG(n == 0 || p.n == n, "padding size is expected to be %d, but got: %d", 2 * n,
                 2 * p.n);
  if (m == REPLICATE) keep_one(&p, x);
  RUSH_TRY(check_border(c, x, &p));
  const rush_value zero = rush_int(0);
  return pad(c, x, &p, &zero);
}

RUSH_OP(pad) {
  static const char *const names[] = {"constant", "reflect", "replicate", "circular"};
  const rush_str *name = arg_str(c, 2);
  if (strcmp(name->bytes, names[CONSTANT]) == 0) return constant(c, &c->args[3]);
  RUSH_CHECK_ARG(arg_is_none(c, 3) || (c->args[3].kind == RUSH_KIND_FLOAT && c->args[3].u.f == 0),
                 "Padding mode \"%s\" doesn't take in value argument", name->bytes);
  for (int m = REFLECT; m <= CIRCULAR; m++)
    if (strcmp(name->bytes, names[m]) == 0) return border(c, (mode)m, 0);
  return rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT, "Unrecognised padding mode %s", name->bytes);
}

RUSH_OP(constant_pad_nd) {
  RUSH_TRY(arg_check_number(c, 2, arg_tensor(c, 0)->dtype));
  return constant(c, &c->args[2]);
}

RUSH_OP(border_pad) {
  return border(c, (mode)rush_kind_of(c), rush_dims(c));
}
