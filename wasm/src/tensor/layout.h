/* Memory formats, and what must be checked before a tensor is written. */
#ifndef RUSH_LAYOUT_H
#define RUSH_LAYOUT_H

#include "tensor/turned.h"

/* PyTorch's MemoryFormat numbers. */
enum {
  RUSH_FORMAT_CONTIGUOUS = 0,
  RUSH_FORMAT_PRESERVE = 1,
  RUSH_FORMAT_CHANNELS_LAST = 2,    /* of rank 4 */
  RUSH_FORMAT_CHANNELS_LAST_3D = 3, /* of rank 5 */
};

/* Tensor.suggest_memory_format(): channels-last where the strides of a rank 4 or 5 tensor look like
 * it (not only where it is dense), else contiguous. */
int rush_suggest_format(const rush_tensor *t);
/* Tensor.is_contiguous(memory_format=format). */
bool rush_is_in_format(const rush_tensor *t, int64_t format);
/* A new tensor that lies channels-last or row-major, where PyTorch has one in `format`. */
rush_status rush_new_in_layout(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                               bool last, int64_t format, rush_tensor **out);
/* A new tensor in a format other than preserve. BAD_ARGUMENT where its rank is wrong for it. */
rush_status rush_new_in_format(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                               int64_t format, rush_tensor **out);
/* Tensor.clone(memory_format=format). */
rush_status rush_clone(rush_heap *heap, const rush_tensor *t, int64_t format, rush_tensor **out);

/* Refuses to write tensors that have one element in several places (made by expand), and weights.
 */
rush_status rush_check_write(rush_ctx *ctx, const rush_tensor *t);
/* Weights alone: for the few operators that PyTorch lets write the others, with a warning. */
rush_status rush_check_weight(rush_ctx *ctx, const rush_tensor *t);

/* Refuses operands that share memory with what is written, where both are dense; of others PyTorch
 * cannot tell. */
rush_status rush_check_no_overlap(rush_ctx *ctx, const rush_tensor *written,
                                  const rush_tensor *read);

/* Refuses an operand that is not the written tensor element by element and shares memory with it, where
 * both are dense (at::assert_no_partial_overlap). */
rush_status rush_check_no_partial_overlap(rush_ctx *ctx, const rush_tensor *written,
                                          const rush_tensor *read);

/* Tensor.copy_: checks that src broadcasts to dst and that dst may be written, then copies. */
rush_status rush_copy_into(rush_heap *heap, rush_tensor *dst, const rush_tensor *src);

/* Tensor.resize_: new sizes and strides in the same storage, which grows where it must; other tensors
 * of that storage stay valid. `strides` are those of a dense tensor; NULL makes new sizes row-major, and
 * leaves a tensor that has them already as it is. */
rush_status rush_resize(rush_heap *heap, rush_tensor *t, int rank, const int64_t *sizes,
                        const int64_t *strides);

/* The name of a dtype in PyTorch's messages: "Float", "Long". */
const char *rush_dtype_torch_name(rush_dtype dtype);

#endif
