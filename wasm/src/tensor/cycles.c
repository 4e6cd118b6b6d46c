/* Collects containers that contain themselves or each other. Their reference counts never reach
 * zero. */
#include "tensor/value.h"

enum { VISIT = 16 }; /* steps of work for an item or a container */

static bool should_stop(rush_heap *heap) {
  return rush_drop_should_stop(heap, VISIT);
}

/* Empties the containers of a chain, which frees them. */
static void empty_all(rush_heap *heap, rush_list **chain) {
  while (*chain && !should_stop(heap)) {
    rush_value v = {(*chain)->object.kind, 0, {0}};
    v.u.ref = *chain;
    rush_value_retained(v); /* keeps it alive while its items, which may hold it, are dropped */
    rush_list *list = rush_as_list(&v);
    while (list->n > 0 && !should_stop(heap)) rush_drop(heap, list->items + --list->n);
    if (list->object.refs > 1 && list->n == 0) { /* another owner will free it */
      rush_list_unlink(list);
      list->next = NULL;
      list->link = &list->next;
    }
    rush_drop(heap, &v);
  }
}

void rush_break_cycles(rush_heap *heap) {
  empty_all(heap, &heap->lost);
  empty_all(heap, &heap->containers);
}

/* While cycles are searched, an odd mark counts, in its upper bits, the references that do not come
 * from containers in the chain. A container that is reachable from outside has an even mark: the
 * next container on the stack of those whose items must be visited. After a stop request, the
 * search ends early and returns false. The next one sets all marks again. */
static bool is_reached(const rush_list *list) {
  return (list->mark & 1) == 0;
}

static rush_list *container_at(const rush_list *list, size_t i) {
  return rush_is_container(list->items[i].kind) ? rush_as_list(list->items + i) : NULL;
}

static bool count_outside(rush_heap *heap, rush_list *first) {
  for (rush_list *list = first; list; list = list->next) {
    if (should_stop(heap)) return false;
    list->mark = list->object.refs << 1 | 1;
  }
  for (rush_list *list = first; list; list = list->next) {
    if (should_stop(heap)) return false;
    for (size_t i = 0; i < list->n; i++) {
      rush_list *item = container_at(list, i);
      if (should_stop(heap)) return false;
      if (item) item->mark -= 2;
    }
  }
  return true;
}

static bool reach(rush_heap *heap, rush_list *list) {
  list->mark = 0;
  for (rush_list *top = list; top;) {
    rush_list *below = (rush_list *)top->mark, *waiting = below;
    for (size_t i = 0; i < top->n; i++) {
      rush_list *item = container_at(top, i);
      if (should_stop(heap)) return false;
      if (!item || is_reached(item)) continue;
      item->mark = (uintptr_t)waiting;
      waiting = item;
    }
    top = waiting;
  }
  return true;
}

static bool reach_all(rush_heap *heap) {
  for (rush_list *list = heap->containers; list; list = list->next) {
    if (should_stop(heap)) return false;
    if (!is_reached(list) && list->mark > 1 && !reach(heap, list)) return false;
  }
  return true;
}

/* Moves unreachable containers to heap->lost. */
static void take_unreached(rush_heap *heap) {
  for (rush_list *list = heap->containers, *next; list && !should_stop(heap); list = next) {
    next = list->next;
    if (is_reached(list)) continue;
    rush_list_unlink(list);
    rush_list_link(list, &heap->lost);
  }
}

/* Searches only if there are more containers than after the last search. Otherwise nothing can have
 * been lost. */
static void collect(rush_heap *heap) {
  empty_all(heap, &heap->lost); /* of an earlier search that was stopped */
  if (heap->n_containers <= heap->n_kept) return;
  if (!count_outside(heap, heap->containers) || !reach_all(heap)) return;
  take_unreached(heap);
  empty_all(heap, &heap->lost);
  if (!heap->lost) heap->n_kept = heap->n_containers;
}

rush_status rush_list_add(rush_heap *heap, rush_list *list, rush_value item) {
  if (rush_is_container(item.kind)) heap->collect_cycles = collect;
  return rush_list_push(heap, list, item);
}

void rush_list_set(rush_heap *heap, rush_list *list, size_t at, rush_value item) {
  if (rush_is_container(item.kind)) heap->collect_cycles = collect;
  rush_assign(heap, list->items + at, rush_value_retained(item));
}
