/* What everything else stands on: failing with a message, allocating, sizes that cannot overflow.
 * Depends on libc and the public header only. */
#ifndef RUSH_BASE_H
#define RUSH_BASE_H

#include <rushlight/rushlight.h>
#include <string.h>

#if defined(__GNUC__)
#define RUSH_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define RUSH_LIKELY(x) __builtin_expect(!!(x), 1)
#define RUSH_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#error "Rushlight needs GCC or Clang"
#endif

enum { RUSH_MESSAGE_BYTES = 4096 };

struct rush_ctx {
  rush_alloc_fn alloc;
  void *user;
  size_t live, peak;
  rush_print_fn print;
  void *print_user;
  const struct rush_custom_op **ops; /* added with rush_ctx_add_op */
  size_t n_ops;
  char message[RUSH_MESSAGE_BYTES];
};

/* Records the message and returns `status`, so a failure is one expression. */
rush_status rush_fail(rush_ctx *ctx, rush_status status, const char *fmt, ...) RUSH_PRINTF(3, 4);
/* Puts text in front of the recorded message while unwinding, and returns `status`. */
rush_status rush_note(rush_ctx *ctx, rush_status status, const char *fmt, ...) RUSH_PRINTF(3, 4);
/* NO_MEMORY with the number of bytes that were wanted. */
rush_status rush_fail_memory(rush_ctx *ctx, size_t bytes);

#define RUSH_TRY(expr)                             \
  do {                                             \
    rush_status st_ = (expr);                      \
    if (RUSH_UNLIKELY(st_ != RUSH_OK)) return st_; \
  } while (0)
#define RUSH_CHECK(ctx, cond, status, ...)                                      \
  do {                                                                          \
    if (RUSH_UNLIKELY(!(cond))) return rush_fail((ctx), (status), __VA_ARGS__); \
  } while (0)

/* Sends text where the program's print goes. */
void rush_print(rush_ctx *ctx, const char *text, size_t size);

/* Allocates through the context's hook; the bytes are not set. Zero bytes give NULL and RUSH_OK. */
rush_status rush_alloc(rush_ctx *ctx, size_t bytes, void **out);
/* The same for `n` zeroed items of `item` bytes, overflow checked. */
rush_status rush_calloc(rush_ctx *ctx, size_t n, size_t item, void **out);
/* Grows or shrinks; on failure *ptr is as before. */
rush_status rush_realloc(rush_ctx *ctx, void **ptr, size_t old_bytes, size_t new_bytes);
void rush_release(rush_ctx *ctx, void *ptr, size_t bytes);

static inline bool rush_mul(size_t a, size_t b, size_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool rush_add(size_t a, size_t b, size_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool rush_mul64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool rush_add64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}

/* A string that grows: texts and JSON. Failure sticks; read it at the end with rush_text_take. */
typedef struct rush_text {
  rush_ctx *ctx;
  char *data;
  size_t size, capacity;
  bool failed;
} rush_text;
void rush_text_add(rush_text *t, const char *fmt, ...) RUSH_PRINTF(2, 3);
void rush_text_bytes(rush_text *t, const char *bytes, size_t n);
/* A JSON string literal with its quotes. */
void rush_text_json(rush_text *t, const char *bytes, size_t n);
/* Hands over the zero-terminated text and its allocated size. */
rush_status rush_text_take(rush_text *t, char **out, size_t *size);

#endif
