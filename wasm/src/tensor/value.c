#include "tensor/value.h"

#include "tensor/device_interface.h"

const char *rush_kind_name(uint32_t kind) {
  static const char *const names[] = {"None",    "Tensor",    "int",    "float",  "bool",
                                      "complex", "str",       "list",   "tuple",  "dict",
                                      "Device",  "Generator", "Future", "object", "enum"};
  return kind < sizeof names / sizeof *names ? names[kind] : "?";
}

/* ---- Dropping -------------------------------------------------------------------------------- */

void rush_turned_join(rush_tensor *t) {
  rush_tensor **first = &t->storage->turned->first;
  t->next_turned = *first;
  t->link_turned = first;
  if (*first) (*first)->link_turned = &t->next_turned;
  *first = t;
}

static void unlink_turned(rush_tensor *t) {
  *t->link_turned = t->next_turned;
  if (t->next_turned) t->next_turned->link_turned = t->link_turned;
}

void rush_storage_free_bytes(rush_heap *heap, rush_storage *s) {
  if (RUSH_UNLIKELY(s->on_device)) heap->ctx->device->forget(heap, s);
  if (s->borrowed || (s->growable && --s->growable->refs > 0)) return;
  rush_heap_free(heap, s->data);
  rush_heap_free(heap, s->growable);
}

static void drop_storage(rush_heap *heap, rush_storage *s) {
  if (--s->refs > 0) return;
  rush_storage_free_bytes(heap, s);
  rush_heap_free(heap, s->turned);
  rush_heap_free(heap, s->quant);
  rush_heap_free(heap, s);
}

void rush_tensor_drop(rush_heap *heap, rush_tensor *t) {
  if (!t || --t->object.refs > 0) return;
  if (t->storage->turned) unlink_turned(t);
  drop_storage(heap, t->storage);
  rush_heap_free(heap, t);
}

/* Drops one reference. A container without references waits in heap->dead. */
static void drop_object(rush_heap *heap, rush_object *o) {
  if (o->kind == RUSH_KIND_TENSOR) {
    rush_tensor_drop(heap, (rush_tensor *)(void *)o);
  } else if (--o->refs == 0) {
    if (!rush_is_container(o->kind)) {
      rush_heap_free(heap, o);
      return;
    }
    rush_list *list = (rush_list *)(void *)o;
    rush_list_unlink(list);
    heap->n_containers--;
    list->next = heap->dead;
    heap->dead = list;
    heap->free_dead = rush_free_dead;
  }
}

void rush_free_dead(rush_heap *heap) {
  enum { STEP = 16 }; /* the work of one item or container */
  while (heap->dead && !rush_drop_should_stop(heap, STEP)) {
    rush_list *top = heap->dead; /* an item without references becomes the next one */
    if (!top) return;            /* the host dropped values while it was polled */
    if (top->n == 0) {
      heap->dead = top->next;
      rush_heap_free(heap, top->items);
      rush_heap_free(heap, top);
    } else {
      const rush_value item = top->items[--top->n];
      if (rush_is_object(&item)) drop_object(heap, item.u.ref);
    }
  }
}

void rush_drop(rush_heap *heap, rush_value *v) {
  const rush_value old = *v;
  *v = rush_none();
  if (!rush_is_object(&old)) return;
  drop_object(heap, old.u.ref);
  rush_free_dead(heap);
}

rush_status rush_fail_depth(rush_ctx *ctx) {
  return rush_fail(ctx, RUSH_ERR_BAD_ARGUMENT,
                   "a value is nested too deeply: more than %d containers in each other, or in "
                   "itself",
                   RUSH_MAX_DEPTH);
}

rush_status rush_new_str(rush_heap *heap, const char *bytes, size_t n, rush_value *out) {
  *out = rush_none();
  rush_str *s;
  size_t size;
  if (n >= RUSH_MAX_TEXT || !rush_add(n, sizeof *s + 1, &size))
    return rush_fail_memory(heap->ctx, n);
  RUSH_TRY(rush_heap_alloc(heap, size, (void **)&s));
  *s = (rush_str){{RUSH_KIND_STR, 1}, n};
  out->kind = RUSH_KIND_STR;
  out->u.ref = s;
  s->bytes[n] = '\0';
  const rush_status st = rush_copy_bytes(heap->ctx, s->bytes, bytes, n);
  if (st != RUSH_OK) rush_drop(heap, out);
  return st;
}

rush_status rush_new_complex(rush_heap *heap, double re, double im, rush_value *out) {
  *out = rush_none();
  rush_complex *z;
  RUSH_TRY(rush_heap_alloc(heap, sizeof *z, (void **)&z));
  *z = (rush_complex){{RUSH_KIND_COMPLEX, 1}, re, im};
  out->kind = RUSH_KIND_COMPLEX;
  out->u.ref = z;
  return RUSH_OK;
}

/* ---- Containers ------------------------------------------------------------------------------ */

void rush_list_link(rush_list *list, rush_list **chain) {
  list->next = *chain;
  list->link = chain;
  if (list->next) list->next->link = &list->next;
  *chain = list;
}

void rush_list_unlink(rush_list *list) {
  *list->link = list->next;
  if (list->next) list->next->link = list->link;
}

enum { STRETCH = 1 << 16 }; /* items between two checks for a stop request */

/* Appends items, for which there is room. */
static rush_status fill(rush_heap *heap, rush_list *list, const rush_value *items, size_t n) {
  while (list->n < n) {
    const size_t first = list->n, end = n - first < STRETCH ? n : first + STRETCH;
    RUSH_TRY(rush_charge(heap->ctx, end - first));
    for (; list->n < end; list->n++) list->items[list->n] = rush_value_retained(items[list->n]);
  }
  return RUSH_OK;
}

rush_status rush_new_list(rush_heap *heap, rush_kind kind, uint32_t type, const rush_value *items,
                          size_t n, rush_value *out) {
  *out = rush_none();
  rush_list *list;
  size_t bytes;
  if (!rush_mul(n, sizeof(rush_value), &bytes)) return rush_fail_memory(heap->ctx, SIZE_MAX);
  RUSH_TRY(rush_heap_alloc(heap, sizeof *list, (void **)&list));
  *list = (rush_list){.object = {kind, 1}, .type = type, .capacity = n};
  rush_list_link(list, &heap->containers);
  heap->n_containers++;
  out->kind = kind;
  out->u.ref = list;
  rush_status st = n ? rush_heap_alloc(heap, bytes, (void **)&list->items) : RUSH_OK;
  if (st == RUSH_OK) st = fill(heap, list, items, n);
  if (st != RUSH_OK) rush_drop(heap, out);
  return st;
}

/* Doubles the capacity. */
static rush_status grow(rush_heap *heap, rush_list *list) {
  size_t capacity = 4, bytes;
  rush_value *items;
  if ((list->capacity && !rush_mul(list->capacity, 2, &capacity)) ||
      !rush_mul(capacity, sizeof(rush_value), &bytes))
    return rush_fail_memory(heap->ctx, SIZE_MAX);
  RUSH_TRY(rush_heap_alloc(heap, bytes, (void **)&items));
  for (size_t first = 0; first < list->n; first += STRETCH) {
    const size_t n = list->n - first < STRETCH ? list->n - first : STRETCH;
    const rush_status st = rush_charge(heap->ctx, n);
    if (st != RUSH_OK) {
      rush_heap_free(heap, items);
      return st;
    }
    memcpy(items + first, list->items + first, n * sizeof *items);
  }
  rush_heap_free(heap, list->items);
  list->items = items;
  list->capacity = capacity;
  return RUSH_OK;
}

rush_status rush_list_push(rush_heap *heap, rush_list *list, rush_value item) {
  if (list->n == list->capacity) RUSH_TRY(grow(heap, list));
  list->items[list->n++] = rush_value_retained(item);
  return RUSH_OK;
}
