/* Storages whose elements lie in another order than PyTorch's would.
 *
 * Convolutions work in channels-last, where PyTorch's give contiguous tensors. Such a result is
 * turned: `strides` and `offset` of each tensor on its storage say where its elements lie,
 * `nominal` and `nominal_offset` what stride() and storage_offset() give. Operators that read and
 * write elements where `strides` say need not know (RUSH_OP_ANY_LAYOUT); before all others, and
 * before anybody outside looks, the storage is turned back: laid in PyTorch's order, for all its
 * tensors. */
#ifndef RUSH_TURNED_H
#define RUSH_TURNED_H

#include "tensor/tensor.h"

/* What Tensor.stride() gives. */
static inline const int64_t *rush_nominal(const rush_tensor *t) {
  return rush_is_turned(t) ? t->nominal : t->strides;
}
/* A header for questions about what PyTorch sees of `t`: it has no storage, nor references. */
static inline rush_tensor rush_nominal_header(const rush_tensor *t) {
  rush_tensor seen = *t;
  if (rush_is_turned(t)) {
    memcpy(seen.strides, t->nominal, t->rank * sizeof *seen.strides);
    seen.offset = t->nominal_offset;
  }
  seen.storage = NULL;
  return seen;
}

/* A new tensor that lies as `strides` say where PyTorch has `nominal`; both are those of dense
 * tensors. Where the two are one order (dimensions of size 1 aside) it is an ordinary tensor. */
rush_status rush_tensor_new_turned(rush_heap *heap, rush_dtype dtype, int rank,
                                   const int64_t *sizes, const int64_t *strides,
                                   const int64_t *nominal, rush_tensor **out);
/* A new dense tensor in the order of dimensions of `like`, as empty_like makes it with
 * torch.preserve_format: the strides of a non-overlapping dense tensor are kept, others are sorted
 * as PyTorch sorts them. It is turned where `like` is turned and the order differs. */
rush_status rush_tensor_new_like(rush_heap *heap, const rush_tensor *like, rush_dtype dtype,
                                 rush_tensor **out);
/* A part of `base` for use within an operator: its strides, the nominal ones too. */
rush_status rush_tensor_new_part(rush_heap *heap, const rush_tensor *base, const int64_t *sizes,
                                 int64_t offset, rush_tensor **out);
/* Lays the elements of the storage in PyTorch's order. What rush_data gave for it is stale then. */
rush_status rush_turn_back(rush_heap *heap, rush_storage *storage);
/* Of a tensor, or the tensors in a list; other values are left. */
rush_status rush_turn_back_value(rush_heap *heap, const rush_value *v);

#endif
