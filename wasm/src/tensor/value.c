#include "tensor/value.h"

const char *rush_kind_name(uint32_t kind) {
  static const char *const names[] = {"None",    "Tensor",    "int",    "float",  "bool",
                                      "complex", "str",       "list",   "tuple",  "dict",
                                      "Device",  "Generator", "Future", "object", "enum"};
  return kind < sizeof names / sizeof *names ? names[kind] : "?";
}

/* ---- Dropping -------------------------------------------------------------------------------- */

void rush_turned_join(rush_tensor *t) {
  t->next_turned = t->storage->turned->first;
  t->storage->turned->first = t;
}

static void leave_turned(rush_tensor *t) {
  rush_tensor **at = &t->storage->turned->first;
  while (*at != t) at = &(*at)->next_turned;
  *at = t->next_turned;
}

void rush_storage_free_bytes(rush_heap *heap, rush_storage *s) {
  if (s->room && --s->room->refs > 0) return;
  rush_heap_free(heap, s->data);
  rush_heap_free(heap, s->room);
}

static void drop_storage(rush_heap *heap, rush_storage *s) {
  if (--s->refs > 0) return;
  if (!s->borrowed) rush_storage_free_bytes(heap, s);
  rush_heap_free(heap, s->turned);
  rush_heap_free(heap, s->quant);
  rush_heap_free(heap, s);
}

void rush_tensor_drop(rush_heap *heap, rush_tensor *t) {
  if (!t || --t->object.refs > 0) return;
  if (t->storage->turned) leave_turned(t);
  drop_storage(heap, t->storage);
  rush_heap_free(heap, t);
}

/* Containers whose count fell to zero wait in a chain, linked through the place of their object
 * header, so that freeing lists of lists of lists needs no recursion. */
typedef struct dead {
  struct dead *next;
} dead;

static void free_list_items(rush_heap *heap, rush_list *list) {
  *list->link = list->next;
  if (list->next) list->next->link = list->link;
  heap->n_containers--;
  heap->ctx->work += list->capacity; /* a drop cannot stop, but the next charge polls sooner */
  rush_heap_free(heap, list->items);
  rush_heap_free(heap, list);
}

static void drop_leaf(rush_heap *heap, rush_object *o) {
  switch (o->kind) {
    case RUSH_KIND_TENSOR:
      rush_tensor_drop(heap, (rush_tensor *)(void *)o);
      return;
    case RUSH_KIND_COMPLEX:
      rush_heap_free(heap, o);
      return;
    default: { /* STR and DEVICE */
      rush_str *s = (rush_str *)(void *)o;
      rush_heap_free(heap, s);
    }
  }
}

void rush_drop(rush_heap *heap, rush_value *v) {
  if (!rush_is_object(v)) {
    v->kind = RUSH_KIND_NONE;
    return;
  }
  rush_object *o = v->u.ref;
  *v = rush_none();
  if (o->kind == RUSH_KIND_TENSOR) {
    rush_tensor_drop(heap, (rush_tensor *)(void *)o);
    return;
  }
  if (--o->refs > 0) return;
  if (!rush_is_container(o->kind)) {
    drop_leaf(heap, o);
    return;
  }
  rush_list *top = (rush_list *)(void *)o, *below = NULL;
  ((dead *)(void *)top)->next = NULL;
  while (top) {
    if (top->n == 0) {
      below = (rush_list *)(void *)((dead *)(void *)top)->next;
      free_list_items(heap, top);
      top = below;
      continue;
    }
    rush_value item = top->items[--top->n];
    if (!rush_is_object(&item)) continue;
    rush_object *child = item.u.ref;
    if (child->kind == RUSH_KIND_TENSOR) {
      rush_tensor_drop(heap, (rush_tensor *)(void *)child);
    } else if (--child->refs == 0) {
      if (rush_is_container(child->kind)) {
        ((dead *)(void *)child)->next = (dead *)(void *)top;
        top = (rush_list *)(void *)child;
      } else {
        drop_leaf(heap, child);
      }
    }
  }
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
  if (n) memcpy(s->bytes, bytes, n);
  s->bytes[n] = '\0';
  out->kind = RUSH_KIND_STR;
  out->u.ref = s;
  return RUSH_OK;
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

rush_status rush_new_list(rush_heap *heap, rush_kind kind, uint32_t type, const rush_value *items,
                          size_t n, rush_value *out) {
  *out = rush_none();
  rush_list *list;
  size_t bytes;
  if (!rush_mul(n, sizeof(rush_value), &bytes)) return rush_fail_memory(heap->ctx, SIZE_MAX);
  RUSH_TRY(rush_heap_alloc(heap, sizeof *list, (void **)&list));
  *list = (rush_list){.object = {kind, 1}, .type = type};
  rush_status st = n ? rush_heap_alloc(heap, bytes, (void **)&list->items) : RUSH_OK;
  if (st != RUSH_OK) {
    rush_heap_free(heap, list);
    return st;
  }
  list->next = heap->containers;
  list->link = &heap->containers;
  if (list->next) list->next->link = &list->next;
  heap->containers = list;
  heap->n_containers++;
  list->capacity = list->n = n;
  for (size_t i = 0; i < n; i++) list->items[i] = rush_value_retained(items[i]);
  out->kind = kind;
  out->u.ref = list;
  return RUSH_OK;
}

rush_status rush_list_push(rush_heap *heap, rush_list *list, rush_value item) {
  if (list->n == list->capacity) {
    size_t capacity = 4, bytes;
    rush_value *items;
    if ((list->capacity && !rush_mul(list->capacity, 2, &capacity)) ||
        !rush_mul(capacity, sizeof(rush_value), &bytes))
      return rush_fail_memory(heap->ctx, SIZE_MAX);
    RUSH_TRY(rush_heap_alloc(heap, bytes, (void **)&items));
    if (list->n) memcpy(items, list->items, list->n * sizeof(rush_value));
    rush_heap_free(heap, list->items);
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->n++] = rush_value_retained(item);
  return RUSH_OK;
}
