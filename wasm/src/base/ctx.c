#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

static void *malloc_hook(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)user, (void)old_size;
  if (new_size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, new_size);
}

rush_status rush_ctx_create(rush_alloc_fn alloc, void *user, rush_ctx **out) {
  *out = NULL;
  if (!alloc) alloc = malloc_hook;
  rush_ctx *ctx = alloc(user, NULL, 0, sizeof *ctx);
  if (!ctx) return RUSH_ERR_NO_MEMORY;
  *ctx = (rush_ctx){.alloc = alloc, .user = user};
  *out = ctx;
  return RUSH_OK;
}

void rush_ctx_destroy(rush_ctx *ctx) {
  if (!ctx) return;
  rush_release(ctx, ctx->ops, ctx->n_ops * sizeof *ctx->ops);
  ctx->alloc(ctx->user, ctx, sizeof *ctx, 0);
}

void rush_ctx_set_print(rush_ctx *ctx, rush_print_fn print, void *user) {
  ctx->print = print;
  ctx->print_user = user;
}

void rush_print(rush_ctx *ctx, const char *text, size_t size) {
  if (ctx->print) ctx->print(ctx->print_user, text, size);
}

const char *rush_ctx_error(const rush_ctx *ctx) {
  return ctx->message;
}

void rush_ctx_memory(const rush_ctx *ctx, size_t *live, size_t *peak) {
  *live = ctx->live;
  *peak = ctx->peak;
}

rush_status rush_fail(rush_ctx *ctx, rush_status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(ctx->message, sizeof ctx->message, fmt, args);
  va_end(args);
  return status;
}

rush_status rush_note(rush_ctx *ctx, rush_status status, const char *fmt, ...) {
  char front[512];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(front, sizeof front, fmt, args);
  va_end(args);
  if (n <= 0) return status;
  size_t at = (size_t)n < sizeof front ? (size_t)n : sizeof front - 1;
  size_t keep = strlen(ctx->message);
  if (keep > sizeof ctx->message - 1 - at) keep = sizeof ctx->message - 1 - at;
  memmove(ctx->message + at, ctx->message, keep);
  memcpy(ctx->message, front, at);
  ctx->message[at + keep] = '\0';
  return status;
}

rush_status rush_fail_memory(rush_ctx *ctx, size_t bytes) {
  return rush_fail(ctx, RUSH_ERR_NO_MEMORY, "out of memory: %zu bytes were wanted, %zu are in use",
                   bytes, ctx->live);
}
