/* Tensors with PyTorch's semantics: sizes, strides, offset and a shared storage. */
#ifndef RUSH_TENSOR_H
#define RUSH_TENSOR_H

#include "tensor/value.h"

/* ---- Making; every new tensor comes with one reference --------------------------------------- */

/* Makes a row-major tensor. Fails with BAD_ARGUMENT for a negative size, and with NO_MEMORY also if
 * the size overflows. */
rush_status rush_tensor_new(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                            rush_tensor **out);
/* Does the same for a dtype from outside. Fails with UNSUPPORTED if this runtime lacks the
 * dtype. */
rush_status rush_tensor_new_checked(rush_heap *heap, rush_dtype dtype, int rank,
                                    const int64_t *sizes, rush_tensor **out);
/* Makes a channels-last tensor of rank 3 (N,C,L), 4 (N,C,H,W) or 5. */
rush_status rush_tensor_new_channels_last(rush_heap *heap, rush_dtype dtype, int rank,
                                          const int64_t *sizes, rush_tensor **out);
/* Makes a view on base's storage, and fails with BAD_ARGUMENT if the view does not stay inside. If
 * the storage is turned, the strides are also the nominal ones until the caller sets others. */
rush_status rush_tensor_new_view(rush_heap *heap, const rush_tensor *base, int rank,
                                 const int64_t *sizes, const int64_t *strides, int64_t offset,
                                 rush_tensor **out);
static inline rush_tensor *rush_tensor_retain(rush_tensor *t) {
  return t->object.refs++, t;
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* Returns whether the elements lie in another order than PyTorch's would (turned.h). */
static inline bool rush_is_turned(const rush_tensor *t) {
  return t->storage != NULL && t->storage->turned != NULL;
}
static inline size_t rush_itemsize(const rush_tensor *t) {
  return rush_dtype_size(t->dtype);
}
static inline void *rush_data(const rush_tensor *t) {
  return (char *)t->storage->data + (size_t)t->offset * rush_itemsize(t);
}
/* Returns false for a weight that was packed for the kernels when it was loaded. Only its shape is
 * left. */
static inline bool rush_has_elements(const rush_tensor *t) {
  return t->storage->data || t->storage->on_device || t->storage->bytes == 0;
}
/* Returns whether the only holder may write anything there: nothing else refers to the tensor or to
 * its storage, the tensor begins with the storage, and the storage is not a weight. */
static inline bool rush_is_unshared(const rush_tensor *t) {
  return t->object.refs == 1 && t->storage->refs == 1 && t->offset == 0 && !t->storage->borrowed &&
         !t->storage->has_conjugate && !t->storage->growable;
}
/* Returns a header of the real (0) or imaginary (1) parts of a complex tensor. It holds no
 * reference. */
rush_tensor rush_complex_part(const rush_tensor *t, int which);
/* Returns the tensor as the public header shows it. */
static inline rush_tensor_info rush_tensor_info_of(const rush_tensor *t) {
  return (rush_tensor_info){t->dtype,         t->rank,  t->sizes,
                            t->strides,       t->numel, t->storage->data ? rush_data(t) : NULL,
                            t->storage->quant};
}
/* Tensor.is_contiguous(): row-major without gaps; dimensions of size 1 do not count. */
bool rush_is_contiguous(const rush_tensor *t);
/* Returns whether the strides are those of rush_strides_contiguous, also in dimensions of size
 * 1. */
bool rush_is_plainly_contiguous(const rush_tensor *t);
/* is_contiguous(memory_format=channels_last) for rank 4 and its like for 3 and 5. */
bool rush_is_channels_last(const rush_tensor *t);
/* is_non_overlapping_and_dense(). */
bool rush_is_dense(const rush_tensor *t);
bool rush_same_sizes(const rush_tensor *a, const rush_tensor *b);
/* Dimensions of size 1 are ignored. */
bool rush_same_strides(const rush_tensor *a, const rush_tensor *b);
/* Returns whether two tensors may share bytes. It is conservative: it compares byte ranges of one
 * storage. */
bool rush_may_overlap(const rush_tensor *a, const rush_tensor *b);
/* Stores row-major strides. They are unspecified if the sizes exceed the limits of a tensor. */
void rush_strides_contiguous(int rank, const int64_t *sizes, int64_t *strides);
/* Stores the strides of channels-last memory of rank 3 (N,C,L), 4 (N,C,H,W) or 5. */
void rush_strides_channels_last(int rank, const int64_t *sizes, int64_t *strides);
/* Stores the strides of a new dense tensor with the operands' order of dimensions. The operands
 * broadcast to `sizes`, and NULL is skipped. Follows TensorIterator::reorder_dimensions. */
void rush_strides_like(int rank, const int64_t *sizes, int n, const rush_tensor *const *like,
                       int64_t *strides);
/* Stores the strides of a dense copy that keeps the order of dimensions, as empty_like does. */
void rush_strides_of_copy(const rush_tensor *like, int64_t *strides);
/* Stores the strides that TensorIterator gives a new result of the operands. NULL stands for a
 * number. */
void rush_strides_of_result(int rank, const int64_t *sizes, int n,
                            const rush_tensor *const *operands, int64_t *strides);
/* The maximum number of elements of a tensor, and of their bytes. Elements that a view repeats
 * count as often as they occur. Larger tensors could be neither stored nor iterated over. Sizes and
 * products of sizes of one tensor, also times the size of an item, therefore fit size_t and
 * ptrdiff_t. All other products and sums of sizes use rush_to_size, rush_mul, rush_add and their
 * siblings. */
#define RUSH_MAX_NUMEL (sizeof(size_t) > 4 ? (int64_t)1 << 34 : (int64_t)PTRDIFF_MAX)
/* Returns a stride as a tensor stores it. The stride of a dimension with one element may be
 * anything, and becomes small enough to be multiplied by sizes. */
static inline int64_t rush_clamped_stride(int64_t stride) {
  return stride < RUSH_MAX_NUMEL ? stride : RUSH_MAX_NUMEL;
}
/* Stores the product of sizes. Returns false if it exceeds the maximum of a tensor, or if a size is
 * negative. A size of 0 counts as 1 for the maximum, so that the strides of an empty tensor cannot
 * overflow either. */
bool rush_numel(int rank, const int64_t *sizes, int64_t *out);
/* Writes a text such as "[2, 3]" to a buffer of RUSH_SHAPE_TEXT bytes, and returns the buffer. */
enum { RUSH_SHAPE_TEXT = 192 };
const char *rush_shape_text(int rank, const int64_t *sizes, char *buffer);

/* ---- Moving elements ------------------------------------------------------------------------- */

/* Copies n items of one size. The steps are in bytes, and the memory does not overlap. */
static inline void rush_copy_items(size_t item, char *to, int64_t to_step, const char *from,
                                   int64_t from_step, int64_t n) {
#define MOVE(BYTES) \
  for (int64_t i = 0; i < n; i++, to += to_step, from += from_step) memcpy(to, from, BYTES)
  if (RUSH_LIKELY(item == 4)) {
    MOVE(4);
    return;
  }
  switch (item) {
    case 1:
      MOVE(1);
      return;
    case 2:
      MOVE(2);
      return;
    case 8:
      MOVE(8);
      return;
    default:
      MOVE(item);
  }
#undef MOVE
}

/* dst[...] = src[...] with broadcasting of src and conversion of dtype as Tensor.copy_ does.
 * Handles any strides and overlap. The sizes must broadcast (the caller checked). */
rush_status rush_tensor_copy(rush_heap *heap, rush_tensor *dst, const rush_tensor *src);
/* Makes a conjugated copy of a complex tensor and of all else in its storage, with the same sizes,
 * strides and offset. Neither may be written afterwards: in PyTorch they are one. */
rush_status rush_conjugate(rush_heap *heap, const rush_tensor *t, rush_tensor **out);
/* Stores the tensor itself (one more reference) if it is contiguous, or a row-major copy. */
rush_status rush_tensor_contiguous(rush_heap *heap, rush_tensor *t, rush_tensor **out);
/* Stores the tensor itself (one more reference) if it has the dtype, or a converted dense copy. */
rush_status rush_tensor_to(rush_heap *heap, rush_tensor *t, rush_dtype dtype, rush_tensor **out);
/* Converts n elements, both dense, as static_cast in PyTorch (float to int truncates; to bool is !=
 * 0; of complex numbers the real part). The ranges do not overlap. */
void rush_convert(rush_dtype to, void *dst, rush_dtype from, const void *src, int64_t n);
/* The element at `at` as double or int64 (of a complex one the real part), and such an element. */
double rush_load_double(rush_dtype dtype, const void *at);
int64_t rush_load_int(rush_dtype dtype, const void *at);
/* `v` as an element of a dtype holds it. */
double rush_rounded(rush_dtype dtype, double v);
void rush_store_double(rush_dtype dtype, void *at, double v);
void rush_store_int(rush_dtype dtype, void *at, int64_t v);

#endif
