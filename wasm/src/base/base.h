/* What everything else stands on: failing with a message, allocating, sizes that cannot overflow.
 * Depends on libc and the public header only. */
#ifndef RUSH_BASE_H
#define RUSH_BASE_H

#include <assert.h>
#include <rushlight/rushlight.h>
#include <string.h>

#if defined(__GNUC__)
#define RUSH_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define RUSH_LIKELY(x) __builtin_expect(!!(x), 1)
#define RUSH_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#error "Rushlight needs GCC or Clang"
#endif

enum { RUSH_MESSAGE_BYTES = 4096, RUSH_NAME_BYTES = 256 };

struct rush_ctx {
  rush_alloc_fn alloc;
  void *user;
  size_t live, peak;
  size_t limit; /* of the user's, for `live`; 0: none */
  size_t cap;   /* of the call at work, likewise */
  rush_poll_fn poll;
  void *poll_user;
  uint64_t work, next_poll; /* work done, and when to ask `poll` next */
  bool stopped;             /* a kernel has left off, see rush_should_stop */
  rush_print_fn print;
  void *print_user;
  rush_entropy_fn entropy;
  void *entropy_user;
  rush_pool *pool;                   /* NULL: one thread */
  const struct rush_custom_op **ops; /* added with rush_ctx_add_op */
  size_t n_ops;
  char message[RUSH_MESSAGE_BYTES];
  bool located; /* whether the message is about an instruction: */
  uint32_t instr, line;
  char method[RUSH_NAME_BYTES], op[RUSH_NAME_BYTES], file[RUSH_NAME_BYTES];
};

/* Records the message and returns `status`, so a failure is one expression. */
rush_status rush_fail(rush_ctx *ctx, rush_status status, const char *fmt, ...) RUSH_PRINTF(3, 4);
/* Puts text in front of the recorded message while unwinding, and returns `status`. */
rush_status rush_fail_prefix(rush_ctx *ctx, rush_status status, const char *fmt, ...)
    RUSH_PRINTF(3, 4);
/* Says at which instruction the recorded failure was. Texts are copied. */
void rush_set_location(rush_ctx *ctx, const rush_location *at);
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

/* ---- Work that can be interrupted ------------------------------------------------------------ */

/* How much work may lie between two looks at the host's wish to stop: about a millisecond. */
enum { RUSH_WORK_BETWEEN_POLLS = 1 << 20 };

/* INTERRUPTED where the host wants to stop. */
rush_status rush_poll(rush_ctx *ctx);
/* The same for rush_should_stop, which is in many kernels: the rare part of it. */
bool rush_poll_should_stop(rush_ctx *ctx);
/* Counts `n` steps of work of about a nanosecond each, before or after they are done, and looks now
 * and then. Whatever loops over what a file or a program decides calls this for each stretch of at
 * most some thousand steps, so that every call ends soon after the host has asked. */
static inline rush_status rush_charge(rush_ctx *ctx, uint64_t n) {
  ctx->work += n;
  return RUSH_LIKELY(ctx->work < ctx->next_poll) ? RUSH_OK : rush_poll(ctx);
}

/* The same for functions without a status, kernels above all (`ctx` may be NULL there): true where
 * they shall return at once, whatever is not written yet. It stays so until whoever called the
 * operator takes it with rush_take_stop, and throws away what came out. */
static inline bool rush_should_stop(rush_ctx *ctx, uint64_t n) {
  if (!ctx) return false;
  ctx->work += n;
  return RUSH_LIKELY(ctx->work < ctx->next_poll) ? ctx->stopped : rush_poll_should_stop(ctx);
}
static inline rush_status rush_take_stop(rush_ctx *ctx) {
  if (RUSH_LIKELY(!ctx->stopped)) return RUSH_OK;
  ctx->stopped = false;
  return RUSH_ERR_INTERRUPTED;
}

/* Sends text where the program's print goes. */
void rush_print(rush_ctx *ctx, const char *text, size_t size);
/* Random bytes from the host or the system; false where there are none. */
bool rush_entropy(rush_ctx *ctx, void *to, size_t size);

/* The call at work may hold `more` bytes beyond what is live now, unless less is left to the one
 * around it. Gives what rush_restore_limit wants at the end. */
size_t rush_limit_memory(rush_ctx *ctx, size_t more);
static inline void rush_restore_limit(rush_ctx *ctx, size_t before) {
  ctx->cap = before;
}
/* The most memory that a call about a file of so many bytes may take: 64 bytes for each of its bytes,
 * and 64 MiB. */
size_t rush_memory_allowance(uint64_t file_bytes);

/* Allocates through the context's hook; the bytes are not set. Zero bytes give NULL and RUSH_OK. */
rush_status rush_alloc(rush_ctx *ctx, size_t bytes, void **out);
/* The same for `n` zeroed items of `item` bytes, overflow checked. */
rush_status rush_calloc(rush_ctx *ctx, size_t n, size_t item, void **out);
/* Grows or shrinks; on failure *ptr is as before. */
rush_status rush_realloc(rush_ctx *ctx, void **ptr, size_t old_bytes, size_t new_bytes);
void rush_release(rush_ctx *ctx, void *ptr, size_t bytes);

/* static_cast<int64_t> as PyTorch's CPU does it on x86: what does not fit becomes the smallest int.
 */
static inline int64_t rush_double_to_int(double v) {
  return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}
/* The one way from an int64 to a size: false where it is negative or more than a size can be. */
static inline bool rush_to_size(int64_t n, size_t *out) {
  *out = (size_t)n;
  return n >= 0 && (uint64_t)n <= SIZE_MAX;
}
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
static inline bool rush_sub64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_sub_overflow(a, b, out);
}

/* The most bytes of a text, its zero byte among them: on 32 bits what every JavaScript can make a
 * string of. */
#define RUSH_MAX_TEXT (sizeof(size_t) > 4 ? SIZE_MAX / 2 : ((size_t)1 << 29) - 24)

/* A string that grows: texts and JSON. Failure sticks; read it at the end with rush_text_take. */
typedef struct rush_text {
  rush_ctx *ctx;
  char *data;
  size_t size, capacity;
  bool failed;
  rush_status why; /* where it failed */
} rush_text;
void rush_text_add(rush_text *t, const char *fmt, ...) RUSH_PRINTF(2, 3);
void rush_text_bytes(rush_text *t, const char *bytes, size_t n);
/* A JSON string literal with its quotes. */
void rush_text_json(rush_text *t, const char *bytes, size_t n);
/* What it is made of failed: so has the text. */
static inline void rush_text_fail(rush_text *t, rush_status why) {
  t->failed = true;
  t->why = why;
}
/* Whether it failed: looked at where a text has many parts, to leave off. */
static inline rush_status rush_text_status(const rush_text *t) {
  return t->failed ? t->why : RUSH_OK;
}
/* Hands over the zero-terminated text and its allocated size. */
rush_status rush_text_take(rush_text *t, char **out, size_t *size);

#endif
