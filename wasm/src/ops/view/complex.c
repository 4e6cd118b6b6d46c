/* Complex numbers and their real and imaginary parts. */
#include <math.h>

#include "call/define.h"
#include "tensor/layout.h"

/* Returns a copy. PyTorch returns a view with a conjugate bit. Neither is ever written (see
 * check_written), so the two do not differ. */
RUSH_OP(conj) {
  rush_tensor *t = arg_tensor(c, 0), *out;
  if (!rush_is_complex(t->dtype)) {
    ret_retained(c, 0, &c->args[0]);
    return RUSH_OK;
  }
  RUSH_TRY(rush_conjugate(c->heap, t, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}

RUSH_OP(resolve_conj) {
  rush_tensor *t = arg_tensor(c, 0), *out;
  if (!rush_is_complex(t->dtype) || !t->storage->is_conjugate) {
    ret_retained(c, 0, &c->args[0]);
    return RUSH_OK;
  }
  RUSH_TRY(rush_clone(c->heap, t, RUSH_FORMAT_PRESERVE, &out));
  ret_tensor(c, 0, out);
  return RUSH_OK;
}
RUSH_OP(is_conj) {
  const rush_tensor *t = arg_tensor(c, 0);
  ret_bool(c, 0, rush_is_complex(t->dtype) && t->storage->is_conjugate);
  return RUSH_OK;
}
/* PyTorch sets the negative bit on imaginary parts of a conjugate. */
RUSH_OP(is_neg) {
  const rush_tensor *t = arg_tensor(c, 0);
  RUSH_CHECK(c->ctx, rush_is_complex(t->dtype) || !t->storage->is_conjugate, RUSH_ERR_UNSUPPORTED,
             "is_neg() is not supported for the parts of conj()");
  ret_bool(c, 0, false);
  return RUSH_OK;
}

static rush_status ret_part(rush_call *c, int index) {
  const rush_tensor part = rush_complex_part(arg_tensor(c, 0), index);
  return rush_result_view(c, 0, &part, part.rank, part.sizes, part.strides, part.offset);
}
RUSH_OP(real) {
  if (rush_is_complex(arg_tensor(c, 0)->dtype)) return ret_part(c, 0);
  ret_retained(c, 0, &c->args[0]);
  return RUSH_OK;
}
RUSH_OP(imag) {
  RUSH_CHECK_ARG(rush_is_complex(arg_tensor(c, 0)->dtype),
                 "imag is not implemented for tensors with non-complex dtypes.");
  return ret_part(c, 1);
}

RUSH_OP(view_as_real) {
  const rush_tensor *t = arg_tensor(c, 0);
  RUSH_CHECK_ARG(rush_is_complex(t->dtype), "view_as_real is only supported for complex tensors");
  RUSH_CHECK_ARG(t->rank < RUSH_MAX_RANK, "the result must have at most %d dimensions, got %d",
                 RUSH_MAX_RANK, t->rank + 1);
  rush_tensor part = rush_complex_part(t, 0);
  part.sizes[t->rank] = 2;
  part.strides[t->rank] = 1;
  return rush_result_view(c, 0, &part, t->rank + 1, part.sizes, part.strides, part.offset);
}

RUSH_OP(view_as_complex) {
  const rush_tensor *t = arg_tensor(c, 0);
  const int last = t->rank - 1;
  RUSH_CHECK_ARG(t->dtype == RUSH_FLOAT32 || t->dtype == RUSH_FLOAT64,
                 "view_as_complex is only supported for half, float and double tensors, but got a "
                 "tensor of scalar type: %s",
                 rush_dtype_torch_name(t->dtype));
  RUSH_CHECK_ARG(last >= 0, "Input tensor must have one or more dimensions");
  RUSH_CHECK_ARG(t->sizes[last] == 2, "Tensor must have a last dimension of size 2");
  RUSH_CHECK_ARG(t->strides[last] == 1, "Tensor must have a last dimension with stride 1");
  RUSH_CHECK_ARG(t->offset % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  rush_tensor whole = *t;
  whole.dtype = t->dtype == RUSH_FLOAT32 ? RUSH_COMPLEX64 : RUSH_COMPLEX128;
  for (int d = 0; d < last; d++) {
    RUSH_CHECK_ARG(t->sizes[d] <= 1 || t->strides[d] % 2 == 0,
                   "Tensor must have a stride divisible by 2 for all but last dimension");
    whole.strides[d] = t->strides[d] / 2;
  }
  return rush_result_view(c, 0, &whole, last, whole.sizes, whole.strides, t->offset / 2);
}

/* Broadcasts two operands of the same floating-point dtype. `polar` converts each pair to real and
 * imaginary parts. */
static rush_status joined(rush_call *c, const char *name, bool polar) {
  const rush_tensor *a = arg_tensor(c, 0), *b = arg_tensor(c, 1);
  int64_t sizes[RUSH_MAX_RANK];
  int rank;
  rush_tensor *out;
  RUSH_CHECK_ARG(
      (a->dtype == RUSH_FLOAT32 || a->dtype == RUSH_FLOAT64) && a->dtype == b->dtype,
      "Expected both inputs of %s to be Float or Double tensors of one dtype but got %s and "
      "%s",
      name, rush_dtype_torch_name(a->dtype), rush_dtype_torch_name(b->dtype));
  RUSH_CHECK_ARG(rush_broadcast(a->rank, a->sizes, b->rank, b->sizes, &rank, sizes),
                 "The sizes of the tensors of %s do not broadcast", name);
  RUSH_TRY(rush_result(c, 0, a->dtype == RUSH_FLOAT32 ? RUSH_COMPLEX64 : RUSH_COMPLEX128, rank,
                       sizes, &out));
  rush_tensor real = rush_complex_part(out, 0), imaginary = rush_complex_part(out, 1);
  RUSH_TRY(rush_tensor_copy(c->heap, &real, a));
  RUSH_TRY(rush_tensor_copy(c->heap, &imaginary, b));
  const size_t item = rush_dtype_size(a->dtype);
  char *at = rush_data(out);
  for (int64_t i = 0; i < out->numel && polar && !rush_should_stop(c->ctx, 32);
       i++, at += 2 * item) {
    const double size = rush_load_double(a->dtype, at),
                 turn = rush_load_double(a->dtype, at + item);
    rush_store_double(a->dtype, at, size * cos(turn));
    rush_store_double(a->dtype, at + item, size * sin(turn));
  }
  return RUSH_OK;
}
RUSH_OP(complex) {
  return joined(c, "complex", false);
}
RUSH_OP(polar) {
  return joined(c, "polar", true);
}
