#include "tensor/heap.h"

#include "base/poison.h"
#include "tensor/padded_block.h"

enum {
  HEAP_ALIGN = 64,
  STEPS = 4, /* size classes per power of two */
  /* Number of larger classes to try before allocating: blocks of up to twice the size. */
  BORROW = STEPS,
};

/* The header of each block. `raw` is the allocation and `bytes` its size. */
typedef struct rush_free_block {
  struct rush_free_block *next;
  void *raw;
  size_t bytes;
} rush_free_block;

#define OVERHEAD (sizeof(rush_free_block) + HEAP_ALIGN - 1 + RUSH_HEAP_SLACK)

/* Returns the size class for `bytes`, and sets *room to the size of its blocks. Classes are 64
 * bytes, then four steps per power of two, so at most a fifth of a block is unused. */
static unsigned size_class(size_t bytes, size_t *room) {
  if (bytes <= HEAP_ALIGN) {
    *room = HEAP_ALIGN;
    return 0;
  }
  unsigned log2 =
      (unsigned)(sizeof(size_t) * 8 - 1) - (unsigned)__builtin_clzl((unsigned long)(bytes - 1));
  size_t base = (size_t)1 << log2, step = base / STEPS;
  size_t k = (bytes - 1 - base) / step; /* 0 to 3 */
  *room = base + (k + 1) * step;
  return 1 + (log2 - 6) * STEPS + (unsigned)k;
}

/* Unpoisons the first `bytes` of the block and poisons the rest, including the slack. Kernels that
 * read the slack are marked (f4_load_slack). */
static void show(rush_free_block *block, size_t bytes) {
  char *at = (char *)(block + 1), *end = (char *)block->raw + block->bytes;
  RUSH_UNPOISON(at, bytes);
  RUSH_POISON(at + bytes, (size_t)(end - at) - bytes);
}

static rush_status from_hook(rush_heap *heap, size_t total, void **raw) {
  rush_status st = rush_alloc(heap->ctx, total, raw);
  if (st != RUSH_ERR_NO_MEMORY) return st;
  rush_heap_trim(heap); /* releasing cached blocks may make room */
  RUSH_TRY(rush_take_stop(heap->ctx));
  return rush_alloc(heap->ctx, total, raw);
}

rush_status rush_heap_alloc(rush_heap *heap, size_t bytes, void **out) {
  *out = NULL;
  RUSH_CHECK(heap->ctx, bytes < SIZE_MAX / 4, RUSH_ERR_NO_MEMORY,
             "out of memory: tried to allocate %zu bytes, more than a process can have", bytes);
  size_t room;
  unsigned k = size_class(bytes, &room);
  rush_free_block *block;
  for (unsigned larger = k; larger <= k + BORROW && larger < RUSH_HEAP_CLASSES; larger++) {
    block = heap->free[larger];
    if (!block) continue;
    heap->free[larger] = block->next;
    show(block, bytes);
    *out = block + 1;
    return RUSH_OK;
  }
  size_t total;
  void *raw;
  if (!rush_add(OVERHEAD, room, &total)) return rush_fail_memory(heap->ctx, SIZE_MAX);
  RUSH_TRY(from_hook(heap, total, &raw));
  uintptr_t at = ((uintptr_t)raw + sizeof *block + HEAP_ALIGN - 1) & ~(uintptr_t)(HEAP_ALIGN - 1);
  block = (rush_free_block *)at - 1;
  *block = (rush_free_block){NULL, raw, total};
  show(block, bytes);
  *out = (void *)at;
  return RUSH_OK;
}

void rush_heap_free(rush_heap *heap, void *ptr) {
  if (!ptr) return;
  size_t room;
  rush_free_block *block = (rush_free_block *)ptr - 1;
#ifdef RUSH_FUZZ /* always uses new memory, and ASan watches freed blocks for longer */
  rush_release(heap->ctx, block->raw, block->bytes);
  return;
#endif
  unsigned k = size_class(block->bytes - OVERHEAD, &room); /* a smaller class may have used it */
  block->next = heap->free[k];
  heap->free[k] = block;
  show(block, 0);
}

void rush_heap_push(void **chain, void *ptr) {
  rush_free_block *block = (rush_free_block *)ptr - 1;
  block->next = *chain;
  *chain = ptr;
}

void *rush_heap_pop(void **chain) {
  void *ptr = *chain;
  if (ptr) *chain = ((rush_free_block *)ptr - 1)->next;
  return ptr;
}

bool rush_drop_should_stop(rush_heap *heap, uint64_t n) {
  if (heap->in_run) return rush_should_stop(heap->ctx, n);
  heap->ctx->work += n;
  return false;
}

void rush_heap_trim(rush_heap *heap) {
  if (heap->dead) heap->free_dead(heap);
  for (int k = 0; k < RUSH_HEAP_CLASSES; k++) {
    while (heap->free[k] && !rush_drop_should_stop(heap, 64)) {
      rush_free_block *block = heap->free[k];
      heap->free[k] = block->next;
      show(block, (size_t)((char *)block->raw + block->bytes - (char *)(block + 1)));
      rush_release(heap->ctx, block->raw, block->bytes);
    }
  }
}

rush_status rush_alloc_padded(rush_ctx *ctx, size_t bytes, void **raw, size_t *raw_bytes,
                              void **data) {
  size_t total;
  if (!rush_add(bytes, HEAP_ALIGN + RUSH_HEAP_SLACK, &total))
    return rush_fail_memory(ctx, SIZE_MAX);
  RUSH_TRY(rush_alloc(ctx, total, raw));
  *raw_bytes = total;
  *data = (void *)(((uintptr_t)*raw + HEAP_ALIGN - 1) & ~(uintptr_t)(HEAP_ALIGN - 1));
  return RUSH_OK;
}
