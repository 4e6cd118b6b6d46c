/* The memory of a session. Freed blocks are cached by size class, so that a second run with the
 * same shapes allocates nothing. */
#ifndef RUSH_HEAP_H
#define RUSH_HEAP_H

#include "base/base.h"

enum { RUSH_HEAP_CLASSES = 240 };

struct rush_call;
struct rush_pool;
/* Hooks for quantized tensors: calls of operators, and pooling (kernels/pooling.h). */
typedef struct rush_quantized_hooks {
  bool (*call)(struct rush_call *c, const void *schema, rush_status *status);
  void (*max_pool)(rush_dtype dtype, const struct rush_pool *s, const void *x, void *y);
  void (*avg_pool)(rush_dtype dtype, const struct rush_pool *s, int64_t zero, const void *x,
                   void *y);
} rush_quantized_hooks;

typedef struct rush_heap {
  rush_ctx *ctx;
  struct rush_free_block *free[RUSH_HEAP_CLASSES];
  struct rush_list *containers; /* all live containers, linked */
  struct rush_list *lost;       /* those that only hold each other, and are not emptied yet */
  struct rush_list *dead;       /* those without references that are not freed yet */
  void (*free_dead)(struct rush_heap *heap); /* set where `dead` is */
  bool in_run;                               /* values that are dropped may wait in `dead` */
  size_t n_containers, n_kept; /* their number, now and after the last search for cycles */
  /* Frees containers that only hold each other. It is set when a container is put into another
   * existing one, so that only operators that do this link it. */
  void (*collect_cycles)(struct rush_heap *heap);
  uint64_t numbers; /* number of ids that hash() has given to tensors */
  bool rare;        /* set once a tensor of a rare dtype (dtype.h) exists */
  /* Set by rush_enable_quantized when a quantized tensor is created, so that only operators that
   * create one link it. */
  rush_quantized_hooks quantized;
} rush_heap;

/* Bytes past the end of a block that kernels may read but never write; XNNPACK's
 * XNN_EXTRA_BYTES. */
enum { RUSH_HEAP_SLACK = 16 };

/* Allocates an uninitialized block of at least `bytes`, aligned to 64 bytes, with RUSH_HEAP_SLACK
 * readable bytes after it. */
rush_status rush_heap_alloc(rush_heap *heap, size_t bytes, void **out);
/* Frees a block. `ptr` may be NULL. */
void rush_heap_free(rush_heap *heap, void *ptr);
/* Adds a block in use to a linked list, whose link is in the block's header and needs no memory. A
 * block can be in only one list. */
void rush_heap_push(void **chain, void *ptr);
/* Removes the most recent block, or returns NULL if the list is empty. */
void *rush_heap_pop(void **chain);
/* Counts the work of a drop. Returns true after a stop request in a run. */
bool rush_drop_should_stop(rush_heap *heap, uint64_t n);
/* Returns cached blocks to the allocator, in a run until there is a stop request. */
void rush_heap_trim(rush_heap *heap);

#endif
