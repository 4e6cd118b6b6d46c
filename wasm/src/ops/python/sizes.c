/* Properties of a tensor as Python values: sizes, strides, dtype, device. */
#include "call/define.h"

static rush_status return_ints(rush_call *c, int n, const int64_t *ints) {
  rush_value items[RUSH_MAX_RANK];
  for (int d = 0; d < n; d++) items[d] = rush_int(ints[d]);
  return rush_new_list(c->heap, RUSH_KIND_LIST, c->result_types ? c->result_types[0] : RUSH_NONE,
                       items, (size_t)n, &c->results[0]);
}

RUSH_OP(size) {
  return return_ints(c, arg_tensor(c, 0)->rank, arg_tensor(c, 0)->sizes);
}
RUSH_OP(stride) {
  return return_ints(c, arg_tensor(c, 0)->rank, rush_nominal(arg_tensor(c, 0)));
}

static rush_status some_dim(rush_call *c, int *dim) {
  int rank = arg_tensor(c, 0)->rank;
  RUSH_CHECK_ARG(rank > 0, "Dimension specified as %lld but tensor has no dimensions",
                 (long long)arg_int(c, 1));
  return arg_dim(c, 1, rank, dim);
}

RUSH_OP(size_dim) {
  int dim;
  RUSH_TRY(some_dim(c, &dim));
  return return_int(c, arg_tensor(c, 0)->sizes[dim]);
}

RUSH_OP(stride_dim) {
  int dim;
  RUSH_TRY(some_dim(c, &dim));
  return return_int(c, rush_nominal(arg_tensor(c, 0))[dim]);
}

RUSH_OP(len_tensor) {
  RUSH_CHECK_ARG(arg_tensor(c, 0)->rank > 0, "len() of a 0-d tensor");
  return return_int(c, arg_tensor(c, 0)->sizes[0]);
}

RUSH_OP(rank) {
  return return_int(c, arg_tensor(c, 0)->rank);
}
RUSH_OP(numel) {
  return return_int(c, arg_tensor(c, 0)->numel);
}
RUSH_OP(storage_offset) {
  return return_int(c, arg_tensor(c, 0)->offset);
}
RUSH_OP(itemsize) {
  return return_int(c, (int64_t)rush_itemsize(arg_tensor(c, 0)));
}
RUSH_OP(nbytes) {
  return return_int(c, arg_tensor(c, 0)->numel * (int64_t)rush_itemsize(arg_tensor(c, 0)));
}
RUSH_OP(dtype) {
  return return_int(c, arg_tensor(c, 0)->dtype);
}
RUSH_OP(is_floating_point) {
  return return_bool(c, rush_is_float(arg_tensor(c, 0)->dtype));
}
RUSH_OP(is_complex) {
  return return_bool(c, rush_is_complex(arg_tensor(c, 0)->dtype));
}
RUSH_OP(is_signed) {
  const rush_dtype dtype = arg_tensor(c, 0)->dtype;
  return return_bool(c, dtype != RUSH_UINT8 && dtype != RUSH_BOOL);
}
RUSH_OP(is_same_size) {
  return return_bool(c, rush_same_sizes(arg_tensor(c, 0), arg_tensor(c, 1)));
}

RUSH_OP(is_set_to) {
  const rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
  bool same = a->storage == b->storage && a->offset == b->offset && rush_same_sizes(a, b);
  for (int d = 0; d < a->rank && same; d++) same = a->strides[d] == b->strides[d];
  return return_bool(c, same);
}

/* torch.result_type of tensors and Scalars */
RUSH_OP(result_type) {
  return return_int(c, arg_result_type(c, 3));
}
RUSH_OP(can_cast) {
  int64_t from = arg_int(c, 0), to = arg_int(c, 1);
  RUSH_CHECK(c->ctx,
             from >= 0 && to >= 0 && from < 256 && to < 256 && rush_dtype_known((int)from) &&
                 rush_dtype_known((int)to),
             RUSH_ERR_UNSUPPORTED, "can_cast() is not supported for such a dtype");
  return return_bool(c, rush_can_cast((rush_dtype)from, (rush_dtype)to));
}

RUSH_OP(promote_types) {
  rush_dtype a, b;
  RUSH_TRY(arg_dtype(c, 0, RUSH_FLOAT32, &a));
  RUSH_TRY(arg_dtype(c, 1, RUSH_FLOAT32, &b));
  return return_int(c, rush_promote(a, b));
}

/* Returns the sizes that two shapes broadcast to. */
RUSH_OP(infer_size) {
  int64_t a[RUSH_MAX_RANK], b[RUSH_MAX_RANK], out[RUSH_MAX_RANK];
  int m, n, rank;
  RUSH_TRY(arg_ints(c, 0, RUSH_MAX_RANK, a, &m));
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, b, &n));
  for (int k = 1; k <= m && k <= n; k++)
    RUSH_CHECK_ARG(
        a[m - k] == b[n - k] || a[m - k] == 1 || b[n - k] == 1,
        "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
        "dimension %d",
        (long long)a[m - k], (long long)b[n - k], (m > n ? m : n) - k);
  (void)rush_broadcast(m, a, n, b, &rank, out);
  return return_ints(c, rank, out);
}

/* ---- Device ---------------------------------------------------------------------------------- */

RUSH_OP(always_false) {
  return return_bool(c, false);
}
RUSH_OP(always_true) {
  return return_bool(c, true);
}
RUSH_OP(always_none) {
  ret_value(c, 0, rush_none());
  return RUSH_OK;
}
RUSH_OP(get_device) {
  return return_int(c, -1);
}
/* Operators without an effect here: warnings, gradient modes and hints. */
RUSH_OP(nothing) {
  (void)c;
  return RUSH_OK;
}

static rush_status return_device(rush_call *c, const char *text, size_t n) {
  RUSH_TRY(rush_new_str(c->heap, text, n, &c->results[0]));
  c->results[0].kind = RUSH_KIND_DEVICE;
  rush_as_str(&c->results[0])->object.kind = RUSH_KIND_DEVICE;
  return RUSH_OK;
}

RUSH_OP(device) {
  return return_device(c, "cpu", 3);
}
RUSH_OP(device_of_str) {
  return return_device(c, arg_str(c, 0)->bytes, arg_str(c, 0)->size);
}

/* device(type, index) */
RUSH_OP(device_with_index) {
  rush_text text = {.ctx = c->ctx};
  rush_text_add(&text, "%s:%lld", arg_str(c, 0)->bytes, (long long)arg_int(c, 1));
  rush_status st = text.failed ? text.why : return_device(c, text.data, text.size);
  rush_release(c->ctx, text.data, text.capacity);
  return st;
}

/* Device.type and Device.index for names like "cpu" and "cuda:1" */
RUSH_OP(device_type) {
  const rush_str *s = arg_str(c, 0);
  const char *colon = memchr(s->bytes, ':', s->size);
  return rush_new_str(c->heap, s->bytes, colon != NULL ? (size_t)(colon - s->bytes) : s->size,
                      &c->results[0]);
}

RUSH_OP(device_index) {
  const char *colon = strchr(arg_str(c, 0)->bytes, ':');
  if (colon == NULL) return RUSH_OK;
  int64_t v = 0;
  for (const char *p = colon + 1; *p >= '0' && *p <= '9' && v < 1000000; p++)
    v = v * 10 + (*p - '0');
  return return_int(c, v);
}
