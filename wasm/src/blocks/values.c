#include "blocks/values.h"

static bool is_number(const rush_value *v) {
  return v->kind == RUSH_KIND_INT || v->kind == RUSH_KIND_FLOAT || v->kind == RUSH_KIND_BOOL;
}
static double number(const rush_value *v) {
  return v->kind == RUSH_KIND_FLOAT ? v->u.f : (double)v->u.i;
}
static bool is_text(const rush_value *v) {
  return v->kind == RUSH_KIND_STR || v->kind == RUSH_KIND_DEVICE;
}

static bool equal_items(const rush_list *a, const rush_list *b) {
  if (a->n != b->n) return false;
  for (size_t i = 0; i < a->n; i++)
    if (!rush_equal(&a->items[i], &b->items[i])) return false;
  return true;
}

static bool equal_dicts(const rush_list *a, const rush_list *b) {
  if (a->n != b->n) return false;
  for (size_t i = 0; i < a->n; i += 2) {
    size_t k = 0;
    while (k < b->n && !rush_equal(&a->items[i], &b->items[k])) k += 2;
    if (k >= b->n || !rush_equal(&a->items[i + 1], &b->items[k + 1])) return false;
  }
  return true;
}

bool rush_equal(const rush_value *a, const rush_value *b) {
  if (is_number(a) && is_number(b)) {
    if (a->kind != RUSH_KIND_FLOAT && b->kind != RUSH_KIND_FLOAT) return a->u.i == b->u.i;
    return number(a) == number(b);
  }
  if (a->kind != b->kind) return false;
  if (a->kind == RUSH_KIND_NONE) return true;
  if (is_text(a)) {
    const rush_str *s = rush_as_str(a), *t = rush_as_str(b);
    return s->size == t->size && memcmp(s->bytes, t->bytes, s->size) == 0;
  }
  if (a->kind == RUSH_KIND_COMPLEX) {
    const rush_complex *s = a->u.ref, *t = b->u.ref;
    return s->re == t->re && s->im == t->im;
  }
  if (a->kind == RUSH_KIND_LIST || a->kind == RUSH_KIND_TUPLE)
    return equal_items(rush_as_list(a), rush_as_list(b));
  if (a->kind == RUSH_KIND_DICT) return equal_dicts(rush_as_list(a), rush_as_list(b));
  if (a->kind == RUSH_KIND_ENUM) return rush_equal(rush_as_list(a)->items, rush_as_list(b)->items);
  return a->u.ref == b->u.ref;
}

bool rush_less(const rush_value *a, const rush_value *b) {
  if (is_number(a) && is_number(b)) {
    if (a->kind != RUSH_KIND_FLOAT && b->kind != RUSH_KIND_FLOAT) return a->u.i < b->u.i;
    return number(a) < number(b);
  }
  if (a->kind != b->kind) return false;
  if (is_text(a)) {
    const rush_str *s = rush_as_str(a), *t = rush_as_str(b);
    size_t n = s->size < t->size ? s->size : t->size;
    int order = memcmp(s->bytes, t->bytes, n);
    return order != 0 ? order < 0 : s->size < t->size;
  }
  if (a->kind != RUSH_KIND_TUPLE && a->kind != RUSH_KIND_LIST) return false;
  const rush_list *s = rush_as_list(a), *t = rush_as_list(b);
  for (size_t i = 0; i < s->n && i < t->n; i++) {
    if (rush_equal(&s->items[i], &t->items[i])) continue;
    return rush_less(&s->items[i], &t->items[i]);
  }
  return s->n < t->n;
}

rush_status rush_str_of_text(rush_heap *heap, rush_text *text, rush_value *out) {
  *out = rush_none();
  rush_status st = text->failed ? RUSH_ERR_NO_MEMORY /* and the message says so */
                                : rush_new_str(heap, text->data, text->size, out);
  rush_release(heap->ctx, text->data, text->capacity);
  text->data = NULL;
  text->size = text->capacity = 0;
  return st;
}
