/* Blocks for the bytes of weights, which outlive the heap of a session. */
#ifndef RUSH_PADDED_BLOCK_H
#define RUSH_PADDED_BLOCK_H

#include "base/base.h"

/* Allocates at least `bytes` at *data, aligned to 64 bytes and with RUSH_HEAP_SLACK readable bytes
 * behind, as kernels need them. The caller frees *raw, which has *raw_bytes. */
rush_status rush_alloc_padded(rush_ctx *ctx, size_t bytes, void **raw, size_t *raw_bytes,
                              void **data);

#endif
