/* clone, contiguous, copy_ and the operators that resize a tensor or replace its storage. */
#include "call/define.h"
#include "tensor/layout.h"

RUSH_OP(clone) {
  rush_tensor *out;
  int64_t format = c->n_args < 2 || arg_is_none(c, 1) ? RUSH_FORMAT_PRESERVE : arg_int(c, 1);
  RUSH_TRY(rush_clone(c->heap, arg_tensor(c, 0), format, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

RUSH_OP(contiguous) {
  const rush_tensor *t = arg_tensor(c, 0);
  int64_t format = arg_int(c, 1);
  RUSH_CHECK_ARG(format != RUSH_FORMAT_PRESERVE,
                 "preserve memory format is unsupported by the contiguous operator");
  if (rush_is_in_format(t, format)) {
    ret_retained(c, 0, &c->args[0]);
    return RUSH_OK;
  }
  rush_tensor *out;
  RUSH_TRY(rush_clone(c->heap, t, format, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

RUSH_OP(is_contiguous) {
  ret_bool(
      c, 0,
      rush_is_in_format(arg_tensor(c, 0), c->n_args > 1 ? arg_int(c, 1) : RUSH_FORMAT_CONTIGUOUS));
  return RUSH_OK;
}

RUSH_OP(copy_into) {
  RUSH_TRY(rush_copy_into(c->heap, arg_tensor(c, 0), arg_tensor(c, 1)));
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

/* copy_.int and copy_.float. */
RUSH_OP(copy_scalar) {
  double f = arg_scalar_double(c, 1);
  int64_t i = arg_scalar_int(c, 1);
  bool is_float = arg_scalar_is_float(c, 1);
  rush_storage storage = {
      .refs = 1, .borrowed = true, .bytes = 8, .data = is_float ? (void *)&f : (void *)&i};
  rush_tensor value = {
      .dtype = is_float ? RUSH_FLOAT64 : RUSH_INT64, .numel = 1, .storage = &storage};
  RUSH_TRY(rush_copy_into(c->heap, arg_tensor(c, 0), &value));
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

/* aten::copy: returns `src` with the shape and dtype of `self`. */
RUSH_OP(copy_functional) {
  const rush_tensor *t = arg_tensor(c, 0);
  rush_tensor *out;
  RUSH_TRY(rush_result_like(c, 0, t, t->dtype, &out));
  return rush_copy_into(c->heap, out, arg_tensor(c, 1));
}

static rush_status need_cast(rush_call *c, const rush_tensor *out, const rush_tensor *value) {
  RUSH_CHECK_ARG(rush_can_cast(value->dtype, out->dtype),
                 "result type %s can't be cast to the desired output type %s",
                 rush_dtype_torch_name(value->dtype), rush_dtype_torch_name(out->dtype));
  return RUSH_OK;
}

/* rush::copy_out: writes the result of an operator into its `out=` argument, which may be
 * resized. */
RUSH_OP(copy_out) {
  rush_tensor *out = arg_tensor(c, 0);
  const rush_tensor *value = arg_tensor(c, 1);
  RUSH_TRY(need_cast(c, out, value));
  if (out != value) {
    RUSH_TRY(rush_resize(c->heap, out, value->rank, value->sizes, NULL));
    RUSH_TRY(rush_copy_into(c->heap, out, value));
  }
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

/* rush::copy_in_place: writes the result of an operator into `self`, for its in-place form. */
RUSH_OP(copy_in_place) {
  rush_tensor *to = arg_tensor(c, 0);
  const rush_tensor *value = arg_tensor(c, 1);
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  RUSH_CHECK_ARG(
      rush_same_sizes(to, value), "output with shape %s doesn't match the broadcast shape %s",
      rush_shape_text(to->rank, to->sizes, a), rush_shape_text(value->rank, value->sizes, b));
  RUSH_TRY(need_cast(c, to, value));
  RUSH_TRY(rush_copy_into(c->heap, to, value));
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

/* A memory format recomputes the strides even if the sizes do not change. */
static rush_status resized(rush_call *c, int rank, const int64_t *sizes, int64_t format) {
  int64_t strides[RUSH_MAX_RANK];
  const int last = format == RUSH_FORMAT_CHANNELS_LAST      ? 4
                   : format == RUSH_FORMAT_CHANNELS_LAST_3D ? 5
                                                            : 0;
  RUSH_CHECK_ARG(last == 0 || rank == last, "required rank %d tensor to use channels_last format",
                 last);
  (last != 0 ? rush_strides_channels_last : rush_strides_contiguous)(rank, sizes, strides);
  const bool anew = format != RUSH_FORMAT_PRESERVE;
  RUSH_TRY(rush_resize(c->heap, arg_tensor(c, 0), rank, sizes, anew ? strides : NULL));
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}

RUSH_OP(resize) {
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  RUSH_TRY(arg_ints(c, 1, RUSH_MAX_RANK, sizes, &rank));
  RUSH_CHECK_ARG(arg_is_none(c, 2) || arg_int(c, 2) != RUSH_FORMAT_PRESERVE,
                 "Unsupported memory formatPreserve");
  return resized(c, rank, sizes, arg_is_none(c, 2) ? RUSH_FORMAT_PRESERVE : arg_int(c, 2));
}

RUSH_OP(resize_as) {
  const rush_tensor *like = arg_tensor(c, 1);
  const bool given = !arg_is_none(c, 2);
  int64_t format = given ? arg_int(c, 2) : RUSH_FORMAT_PRESERVE;
  if (given && format == RUSH_FORMAT_PRESERVE) format = rush_suggest_format(like);
  return resized(c, like->rank, like->sizes, format);
}

/* set_(source): the tensor becomes an alias of source. */
RUSH_OP(set_source) {
  rush_tensor *t = arg_tensor(c, 0);
  const rush_tensor *source = arg_tensor(c, 1);
  RUSH_CHECK_ARG(t->dtype == source->dtype,
                 "Could not set tensor of type %s to a tensor of type %s",
                 rush_dtype_torch_name(source->dtype), rush_dtype_torch_name(t->dtype));
  if (t != source) {
    rush_tensor *view; /* a private header, whose contents are swapped with those of t */
    RUSH_TRY(
        tmp_view(c, source, source->rank, source->sizes, source->strides, source->offset, &view));
    rush_tensor old = *t;
    *t = *view;
    t->object = old.object;
    view->storage = old.storage;
  }
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}
