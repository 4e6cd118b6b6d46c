#include "model/constant.h"

#include <math.h>

#include "tensor/device_interface.h"

static double as_double(uint64_t bits) {
  double f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Creates the tensor that the record describes on `storage`, which gets one more reference. */
static rush_status tensor_on(rush_heap *heap, const rush_file_tensor *r, rush_storage *storage,
                             rush_value *out) {
  rush_tensor *t;
  RUSH_TRY(rush_heap_alloc(heap, sizeof *t, (void **)&t));
  t->object = (rush_object){RUSH_KIND_TENSOR, 1};
  t->dtype = r->dtype;
  heap->rare |= rush_is_one_of(t->dtype, RUSH_RARE);
  t->rank = r->rank;
  t->number = 0;
  t->offset = (int64_t)r->offset;
  memcpy(t->sizes, r->sizes, sizeof t->sizes);
  for (int d = 0; d < RUSH_MAX_RANK; d++) t->strides[d] = rush_clamped_stride(r->strides[d]);
  rush_numel(t->rank, t->sizes, &t->numel); /* load has checked it */
  t->storage = storage;
  storage->refs++;
  *out = rush_of_tensor(t);
  return RUSH_OK;
}

static rush_status new_storage(rush_heap *heap, bool borrowed, size_t bytes, void *data,
                               rush_storage **out) {
  rush_storage *s;
  RUSH_TRY(rush_heap_alloc(heap, sizeof *s, (void **)&s));
  *s = (rush_storage){.borrowed = borrowed, .bytes = bytes, .data = data};
  *out = s;
  return RUSH_OK;
}

rush_status rush_repeat(rush_ctx *ctx, void *data, size_t bytes, const uint8_t pattern[8]) {
  if (bytes <= 8) return rush_copy_bytes(ctx, data, pattern, bytes);
  RUSH_TRY(rush_copy_bytes(ctx, data, pattern, 8));
  for (size_t known = 8; known < bytes; known *= 2) /* doubles the filled part */
    RUSH_TRY(rush_copy_bytes(ctx, (char *)data + known, data,
                             known < bytes - known ? known : bytes - known));
  return RUSH_OK;
}

/* ---- Random test inputs ---------------------------------------------------------------------- */

static uint64_t splitmix64(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static float as_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static rush_status make_random(rush_heap *heap, const rush_model *m, const rush_file_constant *c,
                               rush_value *out) {
  const rush_file_tensor *r = m->tensors + c->a;
  rush_tensor *t;
  RUSH_TRY(rush_tensor_new(heap, (rush_dtype)r->dtype, r->rank, r->sizes, &t));
  double lo = as_float((uint32_t)c->p1), hi = as_float((uint32_t)(c->p1 >> 32));
  uint64_t state = c->p0;
  char *at = rush_data(t);
  *out = rush_of_tensor(t); /* the caller drops it on failure */
  for (int64_t i = 0; i < t->numel; i++, at += rush_itemsize(t)) {
    if (i % 4096 == 0) RUSH_TRY(rush_charge(heap->ctx, 4096 * 4));
    uint64_t u = splitmix64(&state);
    if (rush_is_float((rush_dtype)t->dtype)) {
      rush_store_double((rush_dtype)t->dtype, at, lo + (hi - lo) * (double)(u >> 40) * 0x1p-24);
    } else if (t->dtype == RUSH_BOOL) {
      rush_store_int(RUSH_BOOL, at, (int64_t)(u >> 63));
    } else {
      rush_store_double((rush_dtype)t->dtype, at,
                        floor(lo + (hi - lo) * (double)(u >> 11) * 0x1p-53));
    }
  }
  return RUSH_OK;
}

/* ---- One constant ---------------------------------------------------------------------------- */

/* Creates a value that is neither a tensor nor a container. */
static rush_status make_leaf(rush_heap *heap, const rush_model *m, const rush_file_constant *c,
                             rush_value *out) {
  switch (c->kind) {
    case RUSH_CONST_INT:
      *out = rush_int((int64_t)c->p0);
      return RUSH_OK;
    case RUSH_CONST_BOOL:
      *out = rush_bool(c->p0 != 0);
      return RUSH_OK;
    case RUSH_CONST_FLOAT:
      *out = rush_float(as_double(c->p0));
      return RUSH_OK;
    case RUSH_CONST_COMPLEX:
      return rush_new_complex(heap, as_double(c->p0), as_double(c->p1), out);
    case RUSH_CONST_STR:
    case RUSH_CONST_DEVICE:
      RUSH_TRY(rush_new_str(heap, rush_string(m, c->a), m->strings[c->a].bytes, out));
      if (c->kind == RUSH_CONST_DEVICE)
        out->kind = rush_as_str(out)->object.kind = RUSH_KIND_DEVICE;
      return RUSH_OK;
    case RUSH_CONST_RANDOM:
      return make_random(heap, m, c, out);
    default:
      *out = rush_none();
      return RUSH_OK;
  }
}

rush_status rush_constants_make(rush_heap *heap, const rush_model *m, rush_value *values,
                                rush_storage **storages) {
  for (uint32_t i = 0; i < m->n_constants; i++) values[i] = rush_none();
  for (uint32_t i = 0; i < m->n_constants; i++) {
    const rush_file_constant *c = m->constants + i;
    if (!m->constant_used[i]) continue;
    if (c->kind == RUSH_CONST_TENSOR) {
      const rush_file_tensor *r = m->tensors + c->a;
      rush_storage **s = storages + r->storage;
      rush_weight *w = m->weights + r->storage;
      if (!*s) RUSH_TRY(new_storage(heap, true, (size_t)m->storages[r->storage].bytes, w->data, s));
      rush_status st = tensor_on(heap, r, *s, values + i);
      if (st == RUSH_OK && w->moved && !(*s)->on_device)
        RUSH_TRY(heap->ctx->device->lend_weight(heap, *s, w->moved));
      if (st != RUSH_OK) {
        if ((*s)->refs == 0) rush_heap_free(heap, *s);
        return st;
      }
    } else if (rush_const_has_items(c->kind)) {
      RUSH_TRY(
          rush_new_list(heap, rush_const_container(c->kind), (uint32_t)c->p1, NULL, 0, values + i));
      rush_as_list(values + i)->constant = true;
      for (uint64_t k = 0; k < c->p0; k++)
        RUSH_TRY(rush_list_push(heap, rush_as_list(values + i), values[m->lists[c->a + k]]));
    } else {
      RUSH_TRY(make_leaf(heap, m, c, values + i));
    }
  }
  return RUSH_OK;
}

void rush_constants_drop(rush_heap *heap, const rush_model *m, rush_value *values) {
  for (uint32_t i = 0; i < m->n_constants; i++) rush_drop(heap, values + i);
}

static rush_status copy_tensor(rush_heap *heap, const rush_model *m, const rush_file_tensor *r,
                               rush_storage **copies, rush_value *out) {
  rush_storage **s = copies + r->storage;
  rush_status st = RUSH_OK;
  if (!*s) {
    size_t bytes = (size_t)m->storages[r->storage].bytes;
    void *data;
    RUSH_TRY(rush_heap_alloc(heap, bytes, &data));
    st = new_storage(heap, false, bytes, data, s);
    if (st != RUSH_OK) {
      rush_heap_free(heap, data);
      return st;
    }
    const rush_weight *w = m->weights + r->storage;
    st = w->pattern ? rush_repeat(heap->ctx, data, bytes, w->pattern)
                    : rush_copy_bytes(heap->ctx, data, w->data, bytes);
  }
  if (st == RUSH_OK) st = tensor_on(heap, r, *s, out);
  if (st != RUSH_OK && (*s)->refs == 0) {
    rush_heap_free(heap, (*s)->data);
    rush_heap_free(heap, *s);
    *s = NULL;
  }
  return st;
}

/* The recursion depth is limited to RUSH_MAX_NESTING, the nesting of constants. */
rush_status rush_constant_copy(rush_heap *heap, const rush_model *m, uint32_t constant,
                               rush_storage **copies, rush_value *out) {
  const rush_file_constant *c = m->constants + constant;
  *out = rush_none();
  if (c->kind == RUSH_CONST_TENSOR) return copy_tensor(heap, m, m->tensors + c->a, copies, out);
  RUSH_TRY(rush_charge(heap->ctx, 64));
  if (!rush_const_has_items(c->kind)) {
    rush_status created = make_leaf(heap, m, c, out);
    if (created != RUSH_OK) rush_drop(heap, out);
    return created;
  }
  RUSH_TRY(rush_new_list(heap, rush_const_container(c->kind), (uint32_t)c->p1, NULL, 0, out));
  rush_status st = RUSH_OK;
  for (uint64_t k = 0; k < c->p0 && st == RUSH_OK; k++) {
    rush_value item;
    st = rush_constant_copy(heap, m, m->lists[c->a + k], copies, &item);
    if (st == RUSH_OK) st = rush_list_push(heap, rush_as_list(out), item);
    rush_drop(heap, &item);
  }
  if (st != RUSH_OK) rush_drop(heap, out);
  return st;
}

rush_status rush_defaults_make(rush_heap *heap, const rush_schema *schema, rush_value *out) {
  for (uint32_t k = 0; k < schema->n_args; k++) out[k] = rush_none();
  for (uint32_t k = 0; k < schema->n_args; k++) {
    const rush_schema_arg *a = schema->args + k;
    if (a->otherwise == RUSH_DEFAULT_VALUE) out[k] = a->value;
    if (a->otherwise == RUSH_DEFAULT_STR)
      RUSH_TRY(rush_new_str(heap, a->text, a->text_size, out + k));
    if (a->otherwise != RUSH_DEFAULT_INTS) continue;
    RUSH_TRY(rush_new_list(heap, RUSH_KIND_LIST, RUSH_NONE, NULL, 0, out + k));
    rush_as_list(out + k)->constant = true;
    for (uint32_t j = 0; j < a->n_ints; j++)
      RUSH_TRY(rush_list_push(heap, rush_as_list(out + k), rush_int(a->ints[j])));
  }
  return RUSH_OK;
}
