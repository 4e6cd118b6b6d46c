/* The foundation: errors with messages, allocation, and overflow-checked sizes. It depends only on
 * libc and the public header. */
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
  size_t limit; /* the user's limit for `live`; 0 if none */
  size_t cap;   /* the same for the current call */
  rush_poll_fn poll;
  void *poll_user;
  uint64_t work, next_poll; /* work done so far, and when to call `poll` next */
  bool stopped;             /* a kernel has stopped early, see rush_should_stop */
  rush_print_fn print;
  void *print_user;
  rush_entropy_fn entropy;
  void *entropy_user;
  rush_pool *pool;                   /* NULL for a single thread */
  const struct rush_device *device;  /* NULL if there is none: tensor/device_interface.h */
  const struct rush_custom_op **ops; /* added with rush_ctx_add_op */
  size_t n_ops;
  char message[RUSH_MESSAGE_BYTES];
  bool located; /* whether the message belongs to an instruction, described by: */
  uint32_t instr, line;
  char method[RUSH_NAME_BYTES], op[RUSH_NAME_BYTES], file[RUSH_NAME_BYTES];
};

/* Records the message and returns `status`, so that a failure is one expression. */
rush_status rush_fail(rush_ctx *ctx, rush_status status, const char *fmt, ...) RUSH_PRINTF(3, 4);
/* Prepends text to the recorded message while unwinding, and returns `status`. */
rush_status rush_fail_prefix(rush_ctx *ctx, rush_status status, const char *fmt, ...)
    RUSH_PRINTF(3, 4);
/* Records the instruction at which the failure occurred. Texts are copied. */
void rush_set_location(rush_ctx *ctx, const rush_location *at);
/* Fails with NO_MEMORY and the number of bytes. */
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

/* ---- Stop requests --------------------------------------------------------------------------- */

/* The work between two checks for a stop request, about a millisecond. */
enum { RUSH_WORK_BETWEEN_POLLS = 1 << 20 };

/* Returns INTERRUPTED after a stop request, which may also have come earlier and be in
 * ctx->stopped. */
rush_status rush_poll(rush_ctx *ctx);
/* Checks for a stop request at once and counts no work. Long items of rush_parallel, which counts
 * their work, call this about every millisecond. `ctx` may be NULL. It is also the slow path of
 * rush_should_stop, which is inlined in many kernels. */
bool rush_poll_should_stop(rush_ctx *ctx);
/* Counts `n` steps of work, of about a nanosecond each, before or after they are done, and checks
 * for a stop request from time to time. A loop whose length depends on a file or a program must
 * call this at least every few thousand steps, so that every call ends soon after a stop
 * request. */
static inline rush_status rush_charge(rush_ctx *ctx, uint64_t n) {
  ctx->work += n;
  return RUSH_LIKELY(ctx->work < ctx->next_poll) ? RUSH_OK : rush_poll(ctx);
}

/* Does the same for functions without a status, such as kernels. `ctx` may be NULL. Returns true if
 * the function must return at once with incomplete output. It stays true until the caller of the
 * operator clears it with rush_take_stop and discards the output. */
static inline bool rush_should_stop(rush_ctx *ctx, uint64_t n) {
  if (!ctx) return false;
  ctx->work += n;
  return RUSH_LIKELY(ctx->work < ctx->next_poll) ? ctx->stopped : rush_poll_should_stop(ctx);
}
static inline rush_status rush_take_stop(rush_ctx *ctx) {
  return RUSH_LIKELY(!ctx->stopped) ? RUSH_OK : rush_poll(ctx);
}

/* Steps through n items of `each` elements in pieces, between which the host may stop the run. The
 * caller of the operator sees that:
 * for (size_t at = 0, some; rush_next_piece(ctx, n, 1, at, &some); at += some). */
bool rush_next_piece(rush_ctx *ctx, size_t n, size_t each, size_t at, size_t *some);

/* For step `i` of a loop of short steps: counts them, and checks for a stop request, at each
 * 65,536th one. Step 0 sees whether the run has stopped before. */
enum { RUSH_OFTEN = 1 << 16 };
bool rush_often_should_stop(rush_ctx *ctx, int64_t i);
static inline bool rush_stops_at_step(rush_ctx *ctx, int64_t i) {
  return i % RUSH_OFTEN == 0 && rush_often_should_stop(ctx, i);
}

/* The same where all steps of the loop have been counted. `i` starts at 1. */
static inline bool rush_stops_at_counted_step(rush_ctx *ctx, int64_t i) {
  return i % RUSH_OFTEN == 0 && rush_poll_should_stop(ctx);
}

/* For step `i` of a loop of `n` short steps: counts the next 65,536 ones, or the rest, before each
 * 65,536th one, and checks for a stop request. */
rush_status rush_charge_next(rush_ctx *ctx, int64_t left);
static inline rush_status rush_charge_steps(rush_ctx *ctx, int64_t i, int64_t n) {
  return i % RUSH_OFTEN == 0 ? rush_charge_next(ctx, n - i) : RUSH_OK;
}

/* memcpy and memset in pieces, with checks for a stop request. Tensors need these. */
rush_status rush_copy_bytes(rush_ctx *ctx, void *to, const void *from, size_t n);
rush_status rush_set_bytes(rush_ctx *ctx, void *to, int byte, size_t n);

/* Passes text to the host's print function. */
void rush_print(rush_ctx *ctx, const char *text, size_t size);
/* Gets random bytes from the host or the system. Returns false if there are none. */
bool rush_entropy(rush_ctx *ctx, void *to, size_t size);

/* Limits the current call to `more` bytes beyond what is live now, or less if the enclosing call
 * has less left. Returns the value for rush_restore_limit. */
size_t rush_limit_memory(rush_ctx *ctx, size_t more);
static inline void rush_restore_limit(rush_ctx *ctx, size_t before) {
  ctx->cap = before;
}
/* Returns the memory limit of a call for a file of this size: 64 bytes per byte of the file, plus
 * 64 MiB. */
size_t rush_memory_allowance(uint64_t file_bytes);

/* Allocates uninitialized memory through the context's hook. Zero bytes give NULL and RUSH_OK. */
rush_status rush_alloc(rush_ctx *ctx, size_t bytes, void **out);
/* Allocates `n` zeroed items of `item` bytes, with a check for overflow. */
rush_status rush_calloc(rush_ctx *ctx, size_t n, size_t item, void **out);
/* Grows or shrinks an allocation. On failure, *ptr does not change. */
rush_status rush_realloc(rush_ctx *ctx, void **ptr, size_t old_bytes, size_t new_bytes);
void rush_release(rush_ctx *ctx, void *ptr, size_t bytes);

/* Converts like PyTorch's static_cast<int64_t> on x86: out-of-range values become the
 * smallest int. */
static inline int64_t rush_double_to_int(double v) {
  return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}
/* Converts an int64 to a size. This is the only such conversion. Returns false if it is negative or
 * too large. */
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

/* The maximum bytes of a text, including its zero byte. On 32 bits, it is the longest string that
 * every JavaScript engine supports. */
#define RUSH_MAX_TEXT (sizeof(size_t) > 4 ? SIZE_MAX / 2 : ((size_t)1 << 29) - 24)

/* A growing string, for texts and JSON. A failure is sticky; rush_text_take reports it at the
 * end. */
typedef struct rush_text {
  rush_ctx *ctx;
  char *data;
  size_t size, capacity;
  bool failed;
  rush_status why; /* the status of the failure */
} rush_text;
void rush_text_add(rush_text *t, const char *fmt, ...) RUSH_PRINTF(2, 3);
void rush_text_bytes(rush_text *t, const char *bytes, size_t n);
/* Appends a JSON string literal with quotes. */
void rush_text_json(rush_text *t, const char *bytes, size_t n);
/* Marks the text as failed because one of its parts failed. */
static inline void rush_text_fail(rush_text *t, rush_status why) {
  t->failed = true;
  t->why = why;
}
/* Returns the status so far, so that a long text can stop early. */
static inline rush_status rush_text_status(const rush_text *t) {
  return t->failed ? t->why : RUSH_OK;
}
/* Hands over the zero-terminated text and its allocated size, or reports the failure. */
rush_status rush_text_take(rush_text *t, char **out, size_t *size);

#endif
