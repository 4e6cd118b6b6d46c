/* hash() returns the same numbers as libtorch with libstdc++'s std::hash and a 64-bit size_t, on
 * every platform. A tensor is numbered when it is first hashed, because its address would reveal
 * the host's memory layout to the program. */
#include "call/define.h"

/* MurmurHash64A, which libstdc++'s std::hash uses for doubles and strings. */
static const uint64_t kMul = UINT64_C(0xc6a4a7935bd1e995);

static uint64_t mixed(uint64_t v) {
  return v ^ v >> 47;
}
/* Loads up to 8 bytes in little-endian order. */
static uint64_t bytes_at(const uint8_t *p, size_t n) {
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
  return v;
}

static uint64_t of_bytes(const void *data, size_t n) {
  const uint8_t *p = data;
  uint64_t h = UINT64_C(0xc70f6907) ^ n * kMul;
  for (; n >= 8; p += 8, n -= 8) h = (h ^ mixed(bytes_at(p, 8) * kMul) * kMul) * kMul;
  if (n > 0) h = (h ^ bytes_at(p, n)) * kMul;
  return mixed(mixed(h) * kMul);
}

static uint64_t of_tensor(rush_heap *heap, rush_tensor *t) {
  if (t->number == 0) t->number = ++heap->numbers;
  return t->number;
}

static rush_status hash(rush_call *c, int depth, const rush_value *v, uint64_t *out) {
  RUSH_TRY(rush_charge(c->ctx, 4));
  *out = 0;
  switch (v->kind) {
    case RUSH_KIND_NONE:
      return RUSH_OK;
    case RUSH_KIND_INT:
    case RUSH_KIND_BOOL:
      *out = (uint64_t)v->u.i;
      return RUSH_OK;
    case RUSH_KIND_FLOAT:
      if (v->u.f != 0) *out = of_bytes(&v->u.f, sizeof v->u.f);
      return RUSH_OK;
    case RUSH_KIND_STR:
      RUSH_TRY(rush_charge(c->ctx, rush_as_str(v)->size));
      *out = of_bytes(rush_as_str(v)->bytes, rush_as_str(v)->size);
      return RUSH_OK;
    case RUSH_KIND_TENSOR:
      *out = of_tensor(c->heap, rush_as_tensor(v));
      return RUSH_OK;
    case RUSH_KIND_TUPLE: {
      if (depth == 0) return rush_fail_depth(c->ctx);
      const rush_list *tuple = rush_as_list(v);
      for (size_t i = 0; i < tuple->n; i++) {
        uint64_t item;
        RUSH_TRY(hash(c, depth - 1, &tuple->items[i], &item));
        *out ^= item + UINT64_C(0x9e3779b9) + (*out << 6) + (*out >> 2);
      }
      return RUSH_OK;
    }
    default:
      return rush_fail(c->ctx, RUSH_ERR_BAD_ARGUMENT, "unhashable type: '%s'",
                       rush_kind_name(v->kind));
  }
}

RUSH_OP(hash) {
  uint64_t h;
  RUSH_TRY(hash(c, RUSH_MAX_DEPTH, &c->args[0], &h));
  ret_int(c, 0, (int64_t)h);
  return RUSH_OK;
}
