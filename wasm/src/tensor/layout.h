/* Memory formats, and checks before a tensor is written. */
#ifndef RUSH_LAYOUT_H
#define RUSH_LAYOUT_H

#include "tensor/turned.h"

/* The values of PyTorch's MemoryFormat. */
enum {
  RUSH_FORMAT_CONTIGUOUS = 0,
  RUSH_FORMAT_PRESERVE = 1,
  RUSH_FORMAT_CHANNELS_LAST = 2,    /* for rank 4 */
  RUSH_FORMAT_CHANNELS_LAST_3D = 3, /* for rank 5 */
};

/* Implements Tensor.suggest_memory_format(): channels-last if the strides of a rank 4 or 5 tensor
 * look like it, even if the tensor is not dense, and contiguous otherwise. */
int rush_suggest_format(const rush_tensor *t);
/* Implements Tensor.is_contiguous(memory_format=format). */
bool rush_is_in_format(const rush_tensor *t, int64_t format);
/* Creates a tensor whose memory is channels-last or contiguous. `format` is the memory format of
 * PyTorch's tensor. */
rush_status rush_new_in_layout(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                               bool last, int64_t format, rush_tensor **out);
/* Creates a tensor in a format other than preserve. Fails with BAD_ARGUMENT if the format does not
 * support the rank. */
rush_status rush_new_in_format(rush_heap *heap, rush_dtype dtype, int rank, const int64_t *sizes,
                               int64_t format, rush_tensor **out);
/* Implements Tensor.clone(memory_format=format). */
rush_status rush_clone(rush_heap *heap, const rush_tensor *t, int64_t format, rush_tensor **out);

/* Refuses writes to tensors with overlapping elements (from expand) and to weights. */
rush_status rush_check_write(rush_ctx *ctx, const rush_tensor *t);
/* Only refuses writes to weights, for the few operators that PyTorch lets write overlapping
 * elements with a warning. */
rush_status rush_check_weight(rush_ctx *ctx, const rush_tensor *t);

/* Refuses an operand that overlaps the written tensor, if both are dense. PyTorch cannot detect
 * other overlaps. */
rush_status rush_check_no_overlap(rush_ctx *ctx, const rush_tensor *written,
                                  const rush_tensor *read);

/* Refuses an operand that partially overlaps the written tensor, if both are dense
 * (at::assert_no_partial_overlap). */
rush_status rush_check_no_partial_overlap(rush_ctx *ctx, const rush_tensor *written,
                                          const rush_tensor *read);

/* Implements Tensor.copy_: checks that src broadcasts to dst and that dst may be written, then
 * copies. */
rush_status rush_copy_into(rush_heap *heap, rush_tensor *dst, const rush_tensor *src);

/* Implements Tensor.resize_: sets new sizes and strides on the same storage, which grows if
 * necessary. Other tensors on that storage stay valid. `strides` must be dense. If NULL, new sizes
 * are contiguous, and unchanged sizes change nothing. */
rush_status rush_resize(rush_heap *heap, rush_tensor *t, int rank, const int64_t *sizes,
                        const int64_t *strides);

/* Returns a dtype's name in PyTorch's messages, such as "Float" or "Long". */
const char *rush_dtype_torch_name(rush_dtype dtype);

#endif
