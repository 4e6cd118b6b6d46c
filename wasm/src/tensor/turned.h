/* Storages whose elements lie in another order than PyTorch's would.
 *
 * Convolutions compute in channels-last memory, and PyTorch's convolutions give contiguous tensors.
 * Such a result is turned: `strides` and `offset` of each tensor say where its elements lie, and
 * `nominal` and `nominal_offset` are the results of stride() and storage_offset(). Operators that
 * read and write elements by `strides` need not know this (RUSH_OP_ANY_LAYOUT). Before any other
 * operator runs, and before code outside sees a tensor, the storage is turned back: its elements
 * are put into PyTorch's order, for all its tensors. */
#ifndef RUSH_TURNED_H
#define RUSH_TURNED_H

#include "tensor/tensor.h"

/* Returns the strides that Tensor.stride() gives. */
static inline const int64_t *rush_nominal(const rush_tensor *t) {
  return rush_is_turned(t) ? t->nominal : t->strides;
}
/* Returns a header of `t` as PyTorch would see it. It has no storage and holds no references. */
static inline rush_tensor rush_nominal_header(const rush_tensor *t) {
  rush_tensor seen = *t;
  if (rush_is_turned(t)) {
    memcpy(seen.strides, t->nominal, t->rank * sizeof *seen.strides);
    seen.offset = t->nominal_offset;
  }
  seen.storage = NULL;
  return seen;
}

/* Makes a tensor with `strides`, for which PyTorch has the strides `nominal`. Both belong to dense
 * tensors. If they are the same order, apart from dimensions of size 1, the tensor is an ordinary
 * one. */
rush_status rush_tensor_new_turned(rush_heap *heap, rush_dtype dtype, int rank,
                                   const int64_t *sizes, const int64_t *strides,
                                   const int64_t *nominal, rush_tensor **out);
/* Makes a dense tensor with the order of dimensions of `like`, as empty_like does with
 * torch.preserve_format. The strides of a non-overlapping dense tensor are kept, and others are
 * sorted as PyTorch sorts them. The tensor is turned if `like` is turned and the order differs. */
rush_status rush_tensor_new_like(rush_heap *heap, const rush_tensor *like, rush_dtype dtype,
                                 rush_tensor **out);
/* Makes a part of `base` for use within an operator. It has the strides of `base`, also the nominal
 * ones. */
rush_status rush_tensor_new_part(rush_heap *heap, const rush_tensor *base, const int64_t *sizes,
                                 int64_t offset, rush_tensor **out);
/* Puts the elements of the storage into PyTorch's order. Pointers from rush_data become invalid. */
rush_status rush_turn_back(rush_heap *heap, rush_storage *storage);
/* Does the same for a tensor, or for the tensors in a list. Other values do not change. */
rush_status rush_turn_back_value(rush_heap *heap, const rush_value *v);

#endif
