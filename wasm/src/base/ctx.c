/* A context: memory, error messages, and the host's hooks. */
#define _DEFAULT_SOURCE /* getentropy */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#ifndef __wasm__
#include <unistd.h>
#endif
#ifdef __APPLE__
#include <sys/random.h>
#endif

#include "base/base.h"
#include "base/threads.h"
#include "base/utf8.h"

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *malloc_hook(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)user, (void)old_size;
  if (new_size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, new_size);
}

/* A model may be destroyed with a context other than the one that counted it. */
static void count(rush_ctx *ctx, size_t old_bytes, size_t new_bytes) {
  const size_t live = ctx->live + new_bytes;
  ctx->live = live > old_bytes ? live - old_bytes : 0;
  if (ctx->live > ctx->peak) ctx->peak = ctx->live;
}

size_t rush_limit_memory(rush_ctx *ctx, size_t more) {
  const size_t before = ctx->cap;
  size_t most = ctx->live + more < more ? SIZE_MAX : ctx->live + more;
  if (most == 0) most = 1; /* 0 would mean no limit */
  ctx->cap = before && before < most ? before : most;
  return before;
}

size_t rush_memory_allowance(uint64_t file_bytes) {
  enum { TIMES = 64, START = 64 << 20 };
  if (file_bytes > (SIZE_MAX - START) / TIMES) return SIZE_MAX;
  return (size_t)file_bytes * TIMES + START;
}

static rush_status check_limits(rush_ctx *ctx, size_t more) {
  if (RUSH_UNLIKELY(ctx->limit && (ctx->live > ctx->limit || more > ctx->limit - ctx->live)))
    return rush_fail(
        ctx, RUSH_ERR_NO_MEMORY,
        "out of memory: tried to allocate %zu bytes, %zu are in use, and the limit is %zu", more,
        ctx->live, ctx->limit);
  if (RUSH_UNLIKELY(ctx->cap && (ctx->live > ctx->cap || more > ctx->cap - ctx->live)))
    return rush_fail(
        ctx, RUSH_ERR_NO_MEMORY,
        "out of memory: tried to allocate %zu bytes more than a file of this size may need", more);
  return RUSH_OK;
}

rush_status rush_realloc(rush_ctx *ctx, void **ptr, size_t old_bytes, size_t new_bytes) {
  if (old_bytes == new_bytes) return RUSH_OK;
  if (new_bytes > old_bytes) RUSH_TRY(check_limits(ctx, new_bytes - old_bytes));
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

/* ---- The context ----------------------------------------------------------------------------- */

rush_status rush_ctx_create(rush_alloc_fn alloc, void *user, rush_ctx **out) {
  *out = NULL;
  if (!alloc) alloc = malloc_hook;
  rush_ctx *ctx = alloc(user, NULL, 0, sizeof *ctx);
  if (!ctx) return RUSH_ERR_NO_MEMORY;
  *ctx = (rush_ctx){.alloc = alloc, .user = user, .next_poll = RUSH_WORK_BETWEEN_POLLS};
  *out = ctx;
  return RUSH_OK;
}

void rush_ctx_destroy(rush_ctx *ctx) {
  if (!ctx) return;
  rush_threads_destroy(ctx);
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

void rush_ctx_set_entropy(rush_ctx *ctx, rush_entropy_fn entropy, void *user) {
  ctx->entropy = entropy;
  ctx->entropy_user = user;
}

bool rush_entropy(rush_ctx *ctx, void *to, size_t size) {
  if (ctx->entropy) return ctx->entropy(ctx->entropy_user, to, size);
#ifdef __wasm__
  return false;
#else
  return getentropy(to, size) == 0; /* only a sandbox can make it fail */
#endif
}

void rush_ctx_set_memory_limit(rush_ctx *ctx, size_t bytes) {
  ctx->limit = bytes;
}

void rush_ctx_set_poll(rush_ctx *ctx, rush_poll_fn poll, void *user) {
  ctx->poll = poll;
  ctx->poll_user = user;
}

uint64_t rush_ctx_work(const rush_ctx *ctx) {
  return ctx->work;
}

static bool asks_to_stop(rush_ctx *ctx) {
  ctx->next_poll = ctx->work + RUSH_WORK_BETWEEN_POLLS;
  return ctx->poll && ctx->poll(ctx->poll_user);
}

rush_status rush_poll(rush_ctx *ctx) {
  if (!ctx->stopped && !asks_to_stop(ctx)) return RUSH_OK;
  ctx->stopped = false;
  return rush_fail(ctx, RUSH_ERR_INTERRUPTED, "the host interrupted the run");
}

bool rush_poll_should_stop(rush_ctx *ctx) {
  if (!ctx) return false;
  ctx->stopped = ctx->stopped || asks_to_stop(ctx);
  return ctx->stopped;
}

const char *rush_ctx_error(const rush_ctx *ctx) {
  return ctx->message;
}

void rush_ctx_memory(const rush_ctx *ctx, size_t *live, size_t *peak) {
  *live = ctx->live;
  *peak = ctx->peak;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Replaces invalid bytes by '?', because a program's text may not be UTF-8, and truncation may
 * split a character. */
static void make_utf8(char *text) {
  for (size_t i = 0, n = strlen(text), width; i < n; i += width) {
    width = rush_utf8_size(text + i, n - i);
    if (width > 0) continue;
    text[i] = '?';
    width = 1;
  }
}

rush_status rush_fail(rush_ctx *ctx, rush_status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(ctx->message, sizeof ctx->message, fmt, args);
  va_end(args);
  make_utf8(ctx->message);
  ctx->located = false;
  return status;
}

void rush_set_location(rush_ctx *ctx, const rush_location *at) {
  ctx->located = true;
  ctx->instr = at->instr;
  ctx->line = at->line;
  snprintf(ctx->method, sizeof ctx->method, "%s", at->method);
  snprintf(ctx->op, sizeof ctx->op, "%s", at->op);
  snprintf(ctx->file, sizeof ctx->file, "%s", at->file);
  make_utf8(ctx->method);
  make_utf8(ctx->op);
  make_utf8(ctx->file);
}

bool rush_ctx_location(const rush_ctx *ctx, rush_location *out) {
  *out = (rush_location){"", 0, "", "", 0};
  if (ctx->located) *out = (rush_location){ctx->method, ctx->instr, ctx->op, ctx->file, ctx->line};
  return ctx->located;
}

rush_status rush_fail_prefix(rush_ctx *ctx, rush_status status, const char *fmt, ...) {
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
  make_utf8(ctx->message);
  return status;
}

rush_status rush_fail_memory(rush_ctx *ctx, size_t bytes) {
  return rush_fail(ctx, RUSH_ERR_NO_MEMORY,
                   "out of memory: tried to allocate %zu bytes, %zu are in use", bytes, ctx->live);
}
