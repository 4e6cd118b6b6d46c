/* The memory of a session: freed blocks are kept by size class, so that a second run of the same
 * shapes asks the allocator for nothing. */
#ifndef RUSH_HEAP_H
#define RUSH_HEAP_H

#include "base/base.h"

enum { RUSH_HEAP_CLASSES = 240 };

struct rush_call;
struct rush_pool;
/* How operators are called, and windows are pooled (kernels/pooling.h), where tensors are quantized. */
typedef struct rush_quantized_hooks {
  bool (*call)(struct rush_call *c, const void *schema, rush_status *status);
  void (*max_pool)(rush_dtype dtype, const struct rush_pool *s, const void *x, void *y);
  void (*avg_pool)(rush_dtype dtype, const struct rush_pool *s, int64_t zero, const void *x,
                   void *y);
} rush_quantized_hooks;

typedef struct rush_heap {
  rush_ctx *ctx;
  struct rush_free_block *free[RUSH_HEAP_CLASSES];
  struct rush_list *containers; /* all that live, chained */
  size_t n_containers, n_kept;  /* how many those are, and were when cycles were last looked for */
  /* Frees containers that only each other hold. Set where one was put into another one that was there before: it is
   * linked only with operators that do so. */
  void (*collect_cycles)(struct rush_heap *heap);
  uint64_t numbers; /* that hash() has given to tensors */
  bool rare;        /* a tensor of a rare dtype (dtype.h) was made */
  /* Set where a quantized tensor was made (rush_enable_quantized). So it is linked only with operators that make one. */
  rush_quantized_hooks quantized;
} rush_heap;

/* Bytes that kernels may read (never write) behind the end of a block; XNN_EXTRA_BYTES. */
enum { RUSH_HEAP_SLACK = 16 };

/* A block of at least `bytes`, aligned to 64, not set, with RUSH_HEAP_SLACK readable bytes behind.
 */
rush_status rush_heap_alloc(rush_heap *heap, size_t bytes, void **out);
/* Accepts NULL. */
void rush_heap_free(rush_heap *heap, void *ptr);
/* A chain of blocks that are in use, linked in front of their bytes: it costs nothing. A block is in
 * one chain at most. */
void rush_heap_push(void **chain, void *ptr);
/* Takes the last one out; NULL where the chain is empty. */
void *rush_heap_pop(void **chain);
/* Gives kept blocks back to the allocator. */
void rush_heap_trim(rush_heap *heap);

#endif
