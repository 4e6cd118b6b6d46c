/* Values and the objects behind them. Every object belongs to the heap of one session, starts with
 * rush_object and is counted without atomics: a session is used by one thread at a time. */
#ifndef RUSH_VALUE_H
#define RUSH_VALUE_H

#include "base/base.h"
#include "tensor/dtype.h"
#include "tensor/heap.h"

typedef struct rush_object {
  uint32_t kind; /* rush_kind */
  size_t refs;   /* each reference takes memory, so that a size_t can count them all */
} rush_object;

/* Memory of tensors. `refs` counts tensors. Storages of weights are borrowed from the model: they
 * do not own `data`, and nothing may write it. */
typedef struct rush_storage {
  size_t refs;
  bool borrowed;
  /* For complex numbers: whether a conjugate was made, and whether this is one. A conjugate is a
   * view in PyTorch and a copy here, so neither of the two may be written. */
  bool has_conjugate, is_conjugate;
  /* Whether it was growable and was laid in PyTorch's order, for an operator that wants it so. */
  bool was_growable;
  size_t bytes;
  void *data;
  struct rush_quant *quant;   /* NULL but of quantized tensors: quant.h */
  struct rush_turned *turned; /* NULL where the elements lie in PyTorch's order: turned.h */
  /* NULL but where other storages may have the same bytes: growable.h */
  struct rush_growable *growable;
  struct rush_on_device *on_device; /* NULL until a device has used it: device_interface.h */
} rush_storage;

typedef struct rush_tensor {
  rush_object object;
  rush_dtype dtype;
  uint8_t rank;
  uint64_t number;                                      /* that hash() gave it; 0: none */
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK]; /* in elements; not set beyond rank */
  int64_t offset;                                       /* in elements */
  int64_t numel;
  rush_storage *storage;
  /* These are set for a tensor on a turned storage: */
  int64_t nominal[RUSH_MAX_RANK], nominal_offset;
  struct rush_tensor *next_turned, **link_turned; /* what points to it there */
} rush_tensor;

/* The order of a turned storage (turned.h): that of the tensor of all its elements, which is dense
 * unless there is spare capacity after it (growable.h). */
struct rush_turned {
  rush_tensor *first; /* the tensors on the storage, linked by next_turned */
  rush_dtype dtype;
  int rank;
  int64_t sizes[RUSH_MAX_RANK], strides[RUSH_MAX_RANK], nominal[RUSH_MAX_RANK];
};

/* Memory that several turned storages share (growable.h): it is the `data` of each. */
struct rush_growable {
  size_t refs;      /* storages */
  int dim;          /* along which tensors grow */
  int64_t used;     /* the size along `dim` of the longest tensor so far */
  int64_t capacity; /* the greatest size along `dim` */
};

typedef struct rush_str {
  rush_object object;
  size_t size;
  char bytes[]; /* a zero byte follows */
} rush_str;

/* LIST, TUPLE, DICT (which alternates keys and values), OBJECT (its attributes) and ENUM (qualified
 * name and value). `type` indexes the model's types; of the first three it may be RUSH_NONE. A
 * constant of the model is not written: all sessions and runs see the same one. */
typedef struct rush_list {
  rush_object object;
  uint32_t type;
  bool constant;
  size_t n, capacity;
  rush_value *items;
  struct rush_list *next;  /* in its heap's chain of containers */
  struct rush_list **link; /* what points to it there */
  uintptr_t mark;          /* of the last search for cycles: cycles.c */
} rush_list;

typedef struct rush_complex {
  rush_object object;
  double re, im;
} rush_complex;

static inline bool rush_is_object(const rush_value *v) {
  return v->kind == RUSH_KIND_TENSOR || v->kind >= RUSH_KIND_COMPLEX;
}
/* Returns whether a value of this kind is a rush_list. */
static inline bool rush_is_container(uint32_t kind) {
  return kind == RUSH_KIND_LIST || kind == RUSH_KIND_TUPLE || kind == RUSH_KIND_DICT ||
         kind == RUSH_KIND_OBJECT || kind == RUSH_KIND_ENUM;
}
static inline rush_value rush_value_retained(rush_value v) {
  if (rush_is_object(&v)) ((rush_object *)v.u.ref)->refs++;
  return v;
}
/* Drops one reference and sets *v to None. After a stop request in a run, containers without
 * references wait in heap->dead until the next run. */
void rush_drop(rush_heap *heap, rush_value *v);
/* Frees the containers that wait. */
void rush_free_dead(rush_heap *heap);
/* Drops one reference; accepts NULL. */
void rush_tensor_drop(rush_heap *heap, rush_tensor *t);
/* Adds a tensor to those of its turned storage. Dropping it takes it out again. */
void rush_turned_join(rush_tensor *t);
/* Frees the bytes of a storage, and not its header, unless a model or another storage has them. */
void rush_storage_free_bytes(rush_heap *heap, rush_storage *s);
/* *place = v, whose reference it takes over; what was there is dropped, last. */
static inline void rush_assign(rush_heap *heap, rush_value *place, rush_value v) {
  rush_value old = *place;
  *place = v;
  rush_drop(heap, &old);
}

static inline rush_value rush_of_tensor(rush_tensor *t) {
  rush_value v = {RUSH_KIND_TENSOR, 0, {0}};
  v.u.ref = t;
  return v;
}
static inline rush_tensor *rush_as_tensor(const rush_value *v) {
  assert(v->kind == RUSH_KIND_TENSOR);
  return (rush_tensor *)v->u.ref;
}
static inline rush_list *rush_as_list(const rush_value *v) {
  assert(rush_is_container(v->kind));
  return (rush_list *)v->u.ref;
}
static inline rush_str *rush_as_str(const rush_value *v) {
  assert(v->kind == RUSH_KIND_STR || v->kind == RUSH_KIND_DEVICE);
  return (rush_str *)v->u.ref;
}

/* New objects with one reference, as values. Items are copied and retained. */
rush_status rush_new_str(rush_heap *heap, const char *bytes, size_t n, rush_value *out);
rush_status rush_new_complex(rush_heap *heap, double re, double im, rush_value *out);
rush_status rush_new_list(rush_heap *heap, rush_kind kind, uint32_t type, const rush_value *items,
                          size_t n, rush_value *out);
rush_status rush_list_push(rush_heap *heap, rush_list *list, rush_value item); /* retains item */

/* Does the same on a list that the program had before, because the item may hold the list. */
rush_status rush_list_add(rush_heap *heap, rush_list *list, rush_value item);
/* Replaces items[at] by the item, which is retained. */
void rush_list_set(rush_heap *heap, rush_list *list, size_t at, rush_value item);

/* Add a container to a chain, and remove it. */
void rush_list_link(rush_list *list, rush_list **chain);
void rush_list_unlink(rush_list *list);
/* Empties all containers that are left, so that containers which hold themselves are freed. */
void rush_break_cycles(rush_heap *heap);

/* The maximum nesting of values that are printed or compared. A program can nest values without
 * limit, and values can hold themselves. */
enum { RUSH_MAX_DEPTH = 1000 };
/* BAD_ARGUMENT: they are nested deeper. */
rush_status rush_fail_depth(rush_ctx *ctx);

/* Returns the kind's name for messages: "Tensor", "int", ... */
const char *rush_kind_name(uint32_t kind);

#endif
