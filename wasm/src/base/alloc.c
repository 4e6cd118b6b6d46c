#include "base/base.h"

static void count(rush_ctx *ctx, size_t old_bytes, size_t new_bytes) {
  ctx->live = ctx->live - old_bytes + new_bytes;
  if (ctx->live > ctx->peak) ctx->peak = ctx->live;
}

rush_status rush_realloc(rush_ctx *ctx, void **ptr, size_t old_bytes, size_t new_bytes) {
  if (old_bytes == new_bytes) return RUSH_OK;
  void *p = ctx->alloc(ctx->user, *ptr, old_bytes, new_bytes);
  if (!p && new_bytes > 0) return rush_fail_memory(ctx, new_bytes);
  count(ctx, old_bytes, new_bytes);
  *ptr = p;
  return RUSH_OK;
}

rush_status rush_alloc(rush_ctx *ctx, size_t bytes, void **out) {
  *out = NULL;
  return rush_realloc(ctx, out, 0, bytes);
}

rush_status rush_calloc(rush_ctx *ctx, size_t n, size_t item, void **out) {
  size_t bytes;
  *out = NULL;
  if (!rush_mul(n, item, &bytes)) return rush_fail_memory(ctx, SIZE_MAX);
  RUSH_TRY(rush_alloc(ctx, bytes, out));
  if (bytes) memset(*out, 0, bytes);
  return RUSH_OK;
}

void rush_release(rush_ctx *ctx, void *ptr, size_t bytes) {
  if (!ptr || bytes == 0) return;
  ctx->alloc(ctx->user, ptr, bytes, 0);
  count(ctx, bytes, 0);
}

void rush_free(rush_ctx *ctx, void *ptr, size_t size) {
  rush_release(ctx, ptr, size);
}
