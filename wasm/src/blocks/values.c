#include "blocks/values.h"

#include "tensor/tensor.h"

static bool is_number(const rush_value *v) {
  return v->kind == RUSH_KIND_INT || v->kind == RUSH_KIND_FLOAT || v->kind == RUSH_KIND_BOOL;
}
static double number(const rush_value *v) {
  return v->kind == RUSH_KIND_FLOAT ? v->u.f : (double)v->u.i;
}
static bool is_text(const rush_value *v) {
  return v->kind == RUSH_KIND_STR || v->kind == RUSH_KIND_DEVICE;
}

/* `depth` is the remaining nesting depth. A program can nest values without limit, and values can
 * contain themselves. */
static rush_status equal(rush_ctx *ctx, int depth, const rush_value *a, const rush_value *b,
                         bool *out);

static rush_status find(rush_ctx *ctx, int depth, const rush_value *values, size_t n, size_t step,
                        const rush_value *v, size_t *at) {
  for (*at = 0; *at < n; *at += step) {
    bool same;
    RUSH_TRY(equal(ctx, depth, &values[*at], v, &same));
    if (same) return RUSH_OK;
  }
  *at = n;
  return RUSH_OK;
}

static rush_status equal_items(rush_ctx *ctx, int depth, const rush_list *a, const rush_list *b,
                               bool *out) {
  *out = a->n == b->n;
  for (size_t i = 0; *out && i < a->n; i++)
    RUSH_TRY(equal(ctx, depth, &a->items[i], &b->items[i], out));
  return RUSH_OK;
}

static rush_status equal_dicts(rush_ctx *ctx, int depth, const rush_list *a, const rush_list *b,
                               bool *out) {
  *out = a->n == b->n;
  for (size_t i = 0; *out && i < a->n; i += 2) {
    size_t k;
    RUSH_TRY(find(ctx, depth, b->items, b->n, 2, &a->items[i], &k));
    *out = k < b->n;
    if (*out) RUSH_TRY(equal(ctx, depth, &a->items[i + 1], &b->items[k + 1], out));
  }
  return RUSH_OK;
}

/* Returns whether two values that contain no other values are equal. */
static bool equal_leaves(const rush_value *a, const rush_value *b) {
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
  return a->u.ref == b->u.ref;
}

static rush_status equal(rush_ctx *ctx, int depth, const rush_value *a, const rush_value *b,
                         bool *out) {
  RUSH_TRY(rush_charge(ctx, 4));
  const uint32_t kind = a->kind == b->kind ? a->kind : (uint32_t)RUSH_KIND_NONE;
  if (!rush_is_container(kind) || kind == RUSH_KIND_OBJECT) {
    *out = equal_leaves(a, b);
    return RUSH_OK;
  }
  if (depth == 0) return rush_fail_depth(ctx);
  const rush_list *s = rush_as_list(a), *t = rush_as_list(b);
  if (kind == RUSH_KIND_DICT) return equal_dicts(ctx, depth - 1, s, t, out);
  if (kind == RUSH_KIND_ENUM) return equal(ctx, depth - 1, s->items, t->items, out);
  return equal_items(ctx, depth - 1, s, t, out);
}

rush_status rush_values_equal(rush_ctx *ctx, const rush_value *a, const rush_value *b, bool *out) {
  return equal(ctx, RUSH_MAX_DEPTH, a, b, out);
}

rush_status rush_values_find(rush_ctx *ctx, const rush_value *values, size_t n, size_t step,
                             const rush_value *v, size_t *at) {
  return find(ctx, RUSH_MAX_DEPTH, values, n, step, v, at);
}

rush_status rush_complex_at(rush_heap *heap, rush_dtype dtype, const void *at, rush_value *out) {
  double z[2];
  rush_convert(RUSH_COMPLEX128, z, dtype, at, 1);
  return rush_new_complex(heap, z[0], z[1], out);
}

static rush_status less(rush_ctx *ctx, int depth, const rush_value *a, const rush_value *b,
                        bool *out) {
  RUSH_TRY(rush_charge(ctx, 4));
  *out = false;
  if (is_number(a) && is_number(b)) {
    bool ints = a->kind != RUSH_KIND_FLOAT && b->kind != RUSH_KIND_FLOAT;
    *out = ints ? a->u.i < b->u.i : number(a) < number(b);
    return RUSH_OK;
  }
  if (a->kind != b->kind) return RUSH_OK;
  if (is_text(a)) {
    const rush_str *s = rush_as_str(a), *t = rush_as_str(b);
    size_t n = s->size < t->size ? s->size : t->size;
    int order = memcmp(s->bytes, t->bytes, n);
    *out = order != 0 ? order < 0 : s->size < t->size;
    return RUSH_OK;
  }
  if (a->kind != RUSH_KIND_TUPLE && a->kind != RUSH_KIND_LIST) return RUSH_OK;
  if (depth == 0) return rush_fail_depth(ctx);
  const rush_list *s = rush_as_list(a), *t = rush_as_list(b);
  for (size_t i = 0; i < s->n && i < t->n; i++) {
    bool same;
    RUSH_TRY(equal(ctx, depth - 1, &s->items[i], &t->items[i], &same));
    if (!same) return less(ctx, depth - 1, &s->items[i], &t->items[i], out);
  }
  *out = s->n < t->n;
  return RUSH_OK;
}

rush_status rush_values_less(rush_ctx *ctx, const rush_value *a, const rush_value *b, bool *out) {
  return less(ctx, RUSH_MAX_DEPTH, a, b, out);
}

rush_status rush_str_of_text(rush_heap *heap, rush_text *text, rush_value *out) {
  *out = rush_none();
  rush_status st = text->failed ? text->why /* the message says that memory ran out */
                                : rush_new_str(heap, text->data, text->size, out);
  rush_release(heap->ctx, text->data, text->capacity);
  text->data = NULL;
  text->size = text->capacity = 0;
  return st;
}
