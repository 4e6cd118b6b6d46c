/* Collects containers that contain themselves or each other. Their reference counts never reach
 * zero. */
#include "tensor/value.h"

/* Empties the containers of a chain, which frees them. */
static void empty_all(rush_heap *heap, rush_list **chain) {
  while (*chain) {
    rush_value v = {(*chain)->object.kind, 0, {0}};
    v.u.ref = *chain;
    rush_value_retained(v); /* keeps it alive while its items, which may hold it, are dropped */
    rush_list *list = rush_as_list(&v);
    while (list->n > 0) rush_drop(heap, list->items + --list->n);
    if (list->object.refs > 1) { /* another owner will free it */
      *list->link = list->next;
      if (list->next) list->next->link = list->link;
      list->next = NULL;
      list->link = &list->next;
    }
    rush_drop(heap, &v);
  }
}

void rush_break_cycles(rush_heap *heap) {
  empty_all(heap, &heap->containers);
}

/* While cycles are searched, an odd mark counts, in its upper bits, the references that do not come
 * from containers in the chain. A container that is reachable from outside has an even mark: the
 * next container on the stack of those whose items must be visited. */
static bool is_reached(const rush_list *list) {
  return (list->mark & 1) == 0;
}

static rush_list *held(const rush_list *list, size_t i) {
  return rush_is_container(list->items[i].kind) ? rush_as_list(list->items + i) : NULL;
}

static void count_outside(rush_list *first) {
  for (rush_list *list = first; list; list = list->next) list->mark = list->object.refs << 1 | 1;
  for (rush_list *list = first; list; list = list->next) {
    for (size_t i = 0; i < list->n; i++) {
      rush_list *item = held(list, i);
      if (item) item->mark -= 2;
    }
  }
}

static void reach(rush_list *list) {
  list->mark = 0;
  for (rush_list *top = list; top;) {
    rush_list *below = (rush_list *)top->mark, *waiting = below;
    for (size_t i = 0; i < top->n; i++) {
      rush_list *item = held(top, i);
      if (!item || is_reached(item)) continue;
      item->mark = (uintptr_t)waiting;
      waiting = item;
    }
    top = waiting;
  }
}

/* Relinks the chain, and moves unreachable containers to another one. */
static rush_list *take_unreached(rush_heap *heap) {
  rush_list *lost = NULL, **kept_end = &heap->containers, **lost_end = &lost;
  for (rush_list *list = heap->containers, *next; list; list = next) {
    next = list->next;
    rush_list ***end = is_reached(list) ? &kept_end : &lost_end;
    **end = list;
    list->link = *end;
    *end = &list->next;
  }
  *kept_end = *lost_end = NULL;
  return lost;
}

/* Runs only if there are more containers than after the last run. Otherwise nothing can have been
 * lost. */
static void collect(rush_heap *heap) {
  if (heap->n_containers <= heap->n_kept) return;
  count_outside(heap->containers);
  for (rush_list *list = heap->containers; list; list = list->next) {
    if (!is_reached(list) && list->mark > 1) reach(list);
  }
  rush_list *lost = take_unreached(heap);
  if (lost) lost->link = &lost;
  empty_all(heap, &lost);
  heap->n_kept = heap->n_containers;
}

rush_status rush_list_add(rush_heap *heap, rush_list *list, rush_value item) {
  if (rush_is_container(item.kind)) heap->collect_cycles = collect;
  return rush_list_push(heap, list, item);
}

void rush_list_set(rush_heap *heap, rush_list *list, size_t at, rush_value item) {
  if (rush_is_container(item.kind)) heap->collect_cycles = collect;
  rush_assign(heap, list->items + at, rush_value_retained(item));
}
