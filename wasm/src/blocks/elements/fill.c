#include "blocks/elements/fill.h"

#include "tensor/iter.h"

enum { STRETCH = 4096 }; /* elements between two checks for a stop request */

typedef struct pair {
  uint64_t low, high;
} pair;

static void fill_row(char *to, int64_t step, size_t item, int64_t n, const int64_t *bits) {
#define FILL(T)                                                             \
  {                                                                         \
    T v;                                                                    \
    memcpy(&v, bits, sizeof v);                                             \
    if (step == (int64_t)sizeof v) {                                        \
      T *p = (T *)(void *)to;                                               \
      for (int64_t i = 0; i < n; i++) p[i] = v;                             \
    } else {                                                                \
      for (int64_t i = 0; i < n; i++, to += step) memcpy(to, &v, sizeof v); \
    }                                                                       \
  }
  switch (item) {
    case 1:
      FILL(uint8_t) break;
    case 2:
      FILL(uint16_t) break;
    case 4:
      FILL(uint32_t) break;
    case 8:
      FILL(uint64_t) break;
    default:
      FILL(pair)
  }
}

static void fill_rows(rush_ctx *ctx, char *to, int64_t step, size_t item, int64_t n,
                      const int64_t *bits) {
  for (int64_t done = 0; done < n && !rush_should_stop(ctx, STRETCH / 2); done += STRETCH)
    fill_row(to + done * step, step, item, n - done < STRETCH ? n - done : STRETCH, bits);
}

void rush_fill(rush_ctx *ctx, rush_tensor *t, const rush_value *value) {
  int64_t bits[2] = {0, 0};
  rush_dtype dtype = t->dtype;
  if (value->kind == RUSH_KIND_COMPLEX)
    rush_convert(dtype, bits, RUSH_COMPLEX128, &((const rush_complex *)value->u.ref)->re, 1);
  else if (value->kind == RUSH_KIND_FLOAT)
    rush_store_double(dtype, bits, value->u.f);
  else
    rush_store_int(dtype, bits, value->u.i);
  const size_t item = rush_itemsize(t);
  if (rush_is_dense(t)) {
    fill_rows(ctx, rush_data(t), (int64_t)item, item, t->numel, bits);
    return;
  }
  const rush_tensor *operands[] = {t};
  rush_iter it;
  rush_iter_init(&it, t->rank, t->sizes, 1, operands);
  do fill_rows(ctx, it.at[0], it.stride[0][0], item, it.size[0], bits);
  while (!ctx->stopped && rush_iter_next(&it));
}

void rush_fill_zero(rush_ctx *ctx, rush_tensor *t) {
  const rush_value zero = rush_int(0);
  rush_fill(ctx, t, &zero);
}
