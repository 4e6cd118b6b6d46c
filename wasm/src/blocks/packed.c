#include "blocks/packed.h"

enum { ALIGN = 64 };

static void destroy(rush_ctx *ctx, rush_packed *packed) {
  const rush_packed_floats *p = (const rush_packed_floats *)packed;
  rush_release(ctx, p->memory, p->bytes);
}

rush_status rush_packed_new(rush_prepare *p, size_t floats, rush_packed_floats **out) {
  *out = NULL;
  size_t bytes;
  if (!rush_mul(floats, sizeof(float), &bytes) ||
      !rush_add(bytes, sizeof(rush_packed_floats) + ALIGN, &bytes))
    return rush_fail_memory(p->ctx, SIZE_MAX);
  rush_packed_floats *packed;
  RUSH_TRY(rush_alloc(p->ctx, bytes, (void **)&packed));
  const uintptr_t behind = (uintptr_t)(packed + 1);
  *packed = (rush_packed_floats){.base = {.destroy = destroy},
                                 .memory = packed,
                                 .bytes = bytes,
                                 .data = (float *)((behind + ALIGN - 1) / ALIGN * ALIGN),
                                 .floats = floats};
  p->packed = &packed->base;
  *out = packed;
  return RUSH_OK;
}

const rush_tensor *rush_constant_tensor(const rush_prepare *p, uint32_t arg) {
  const rush_value *v = p->args[arg];
  if (v == NULL || v->kind != RUSH_KIND_TENSOR) return NULL;
  const rush_tensor *t = rush_as_tensor(v);
  return t->numel == 0 || t->storage->data != NULL || p->placing != NULL ? t : NULL;
}

const rush_tensor *rush_constant_f32(const rush_prepare *p, uint32_t arg) {
  const rush_tensor *t = rush_constant_tensor(p, arg);
  return t != NULL && t->dtype == RUSH_FLOAT32 ? t : NULL;
}

bool rush_constant_is(const rush_prepare *p, uint32_t arg, double value) {
  const rush_value *v = p->args[arg];
  if (v == NULL) return false;
  return v->kind == RUSH_KIND_FLOAT ? v->u.f == value
                                    : v->kind == RUSH_KIND_INT && (double)v->u.i == value;
}

bool rush_constant_bias(const rush_prepare *p, uint32_t arg, int64_t n, const float **out) {
  *out = NULL;
  if (p->args[arg] != NULL && p->args[arg]->kind == RUSH_KIND_NONE) return true;
  const rush_tensor *t = rush_constant_tensor(p, arg);
  if (t == NULL || t->rank != 1 || t->sizes[0] != n || !rush_is_contiguous(t)) return false;
  if (p->placing != NULL) return t->dtype == RUSH_FLOAT32 || rush_is_half(t->dtype);
  *out = rush_data(t);
  return t->dtype == RUSH_FLOAT32;
}
