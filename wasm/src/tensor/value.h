/* Values and the objects behind them. Every object belongs to the heap of one session, starts with
 * rush_object and is counted without atomics: a session is used by one thread at a time. */
#ifndef RUSH_VALUE_H
#define RUSH_VALUE_H

#include "base/base.h"
#include "tensor/dtype.h"
#include "tensor/heap.h"

typedef struct rush_object {
  uint32_t kind; /* rush_kind */
  uint32_t refs;
} rush_object;

/* Memory of tensors. `refs` counts tensors. Storages of weights are borrowed from the model: their
 * `data` is not theirs to free and must not be written. */
typedef struct rush_storage {
  uint32_t refs;
  bool borrowed;
  size_t bytes;
  void *data;
} rush_storage;

typedef struct rush_tensor {
  rush_object object;
  uint8_t dtype; /* rush_dtype */
  uint8_t rank;
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK]; /* in elements; not set beyond rank */
  int64_t offset;                                       /* in elements */
  int64_t numel;
  rush_storage *storage;
} rush_tensor;

typedef struct rush_str {
  rush_object object;
  size_t size;
  char bytes[]; /* a zero byte follows */
} rush_str;

/* LIST, TUPLE, DICT (which alternates keys and values), OBJECT (its attributes) and ENUM (qualified
 * name and value). `type` indexes the model's types; of the first three it may be RUSH_NONE. */
typedef struct rush_list {
  rush_object object;
  uint32_t type;
  size_t n, capacity;
  rush_value *items;
} rush_list;

typedef struct rush_complex {
  rush_object object;
  double re, im;
} rush_complex;

static inline bool rush_is_object(const rush_value *v) {
  return v->kind == RUSH_KIND_TENSOR || v->kind >= RUSH_KIND_COMPLEX;
}
/* Whether it is a rush_list. */
static inline bool rush_is_container(uint32_t kind) {
  return kind == RUSH_KIND_LIST || kind == RUSH_KIND_TUPLE || kind == RUSH_KIND_DICT ||
         kind == RUSH_KIND_OBJECT || kind == RUSH_KIND_ENUM;
}
static inline rush_value rush_retained(rush_value v) {
  if (rush_is_object(&v)) ((rush_object *)v.u.ref)->refs++;
  return v;
}
/* Drops one reference and sets *v to None. */
void rush_drop(rush_heap *heap, rush_value *v);

static inline rush_value rush_of_tensor(rush_tensor *t) {
  rush_value v = {RUSH_KIND_TENSOR, 0, {0}};
  v.u.ref = t;
  return v;
}
static inline rush_tensor *rush_as_tensor(const rush_value *v) {
  return (rush_tensor *)v->u.ref;
}
static inline rush_list *rush_as_list(const rush_value *v) {
  return (rush_list *)v->u.ref;
}
static inline rush_str *rush_as_str(const rush_value *v) {
  return (rush_str *)v->u.ref;
}

/* New objects with one reference, as values. Items are copied and retained. */
rush_status rush_new_str(rush_heap *heap, const char *bytes, size_t n, rush_value *out);
rush_status rush_new_complex(rush_heap *heap, double re, double im, rush_value *out);
rush_status rush_new_list(rush_heap *heap, rush_kind kind, uint32_t type, const rush_value *items,
                          size_t n, rush_value *out);
rush_status rush_list_push(rush_heap *heap, rush_list *list, rush_value item); /* retains item */

/* The kind's name for messages: "Tensor", "int", ... */
const char *rush_kind_name(uint32_t kind);

#endif
