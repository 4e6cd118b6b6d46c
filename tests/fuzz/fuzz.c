#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "../stop.h"
#include "base/base.h"
#include "tensor/dtype.h"

void fuzz_broken(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fputs("\nthis rule is broken: ", stderr);
  vfprintf(stderr, fmt, args);
  fputs("\n", stderr);
  va_end(args);
  abort();
}

/* ---- Memory ---------------------------------------------------------------------------------- */

enum { PAGE = 4096, MAPPED = 1 << 20 };

static size_t whole_pages(size_t bytes) {
  return (bytes / PAGE + 2) * PAGE; /* a guard page follows the last byte */
}

/* Maps a block that ends at the end of a page. */
static void *map_block(size_t bytes) {
  const size_t room = whole_pages(bytes);
  char *at =
      mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return NULL;
  mprotect(at + room - PAGE, PAGE, PROT_NONE);
  return at + room - PAGE - (bytes + 15) / 16 * 16;
}

static void unmap_block(void *block, size_t bytes) {
  const size_t room = whole_pages(bytes);
  munmap((char *)block + (bytes + 15) / 16 * 16 + PAGE - room, room);
}

static bool is_mapped(const fuzz_memory *m, size_t bytes) {
  return m->maps && bytes >= MAPPED;
}

static void give_back(fuzz_memory *m, void *block, size_t bytes) {
  if (is_mapped(m, bytes))
    unmap_block(block, bytes);
  else
    free(block);
}

static void *new_block(fuzz_memory *m, size_t bytes, size_t kept) {
  if (is_mapped(m, bytes)) return map_block(bytes);
  char *block = malloc(bytes);
  if (block) memset(block + kept, m->fill, bytes - kept);
  return block;
}

void *fuzz_alloc(void *user, void *ptr, size_t old_size, size_t new_size) {
  fuzz_memory *m = user;
  FUZZ_RULE(m->live >= old_size, "more memory is given back than was taken");
  if (new_size == 0) {
    give_back(m, ptr, old_size);
    m->live -= old_size;
    return NULL;
  }
  m->calls++;
  if (m->fail_at && m->calls >= m->fail_at) return NULL;
  if (new_size > m->limit || m->live - old_size > m->limit - new_size) {
    m->refused = true;
    return NULL;
  }
  /* The block always moves, so that a dangling pointer to the old one is found. */
  size_t kept = old_size < new_size ? old_size : new_size;
  char *block = new_block(m, new_size, kept);
  if (!block) {
    m->refused = true; /* the system has no memory, which is not a fault of the program */
    return NULL;
  }
  if (kept) memcpy(block, ptr, kept);
  give_back(m, ptr, old_size);
  m->live += new_size - old_size;
  return block;
}

static bool enough(void *user) {
  fuzz_memory *m = user;
  const bool ends = ++m->polls > (m->most_polls ? m->most_polls : FUZZ_POLLS);
  if (ends && m->asked == 0) m->asked = stop_clock();
  return ends;
}

static fuzz_memory *memory_of(const rush_ctx *ctx) {
  return ctx->poll == enough ? ctx->poll_user : NULL;
}

void fuzz_begin(const rush_ctx *ctx) {
  fuzz_memory *m = memory_of(ctx);
  if (m) m->began = stop_clock();
}

void fuzz_end(const rush_ctx *ctx) {
  const fuzz_memory *m = memory_of(ctx);
  if (!m || m->asked == 0) return;
  const double after = stop_clock() - (m->asked > m->began ? m->asked : m->began);
  FUZZ_RULE(after < STOP_LIMIT, "a call goes on for %.1f s after it was asked to end", after);
}

rush_ctx *fuzz_open(fuzz_memory *m) {
  rush_ctx *ctx;
  rush_status st = rush_ctx_create(fuzz_alloc, m, &ctx);
  FUZZ_RULE((st == RUSH_OK) == (ctx != NULL), "rush_ctx_create fails and gives a context");
  if (ctx) rush_ctx_set_poll(ctx, enough, m);
  return ctx;
}

void fuzz_close(rush_ctx *ctx, fuzz_memory *m) {
  rush_ctx_destroy(ctx);
  FUZZ_RULE(m->live == 0, "%zu bytes stay behind", m->live);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

uint64_t fuzz_hash(uint64_t hash, const void *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001B3u;
  return hash;
}

/* Returns the length of the UTF-8 character at `at`, or 0 if it is invalid. */
static size_t character(const uint8_t *at, size_t n) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t width = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
  if (width < 2 || width > n) return width == 1;
  uint32_t c = *at & (0xFFu >> (width + 1));
  for (size_t k = 1; k < width; k++) {
    if (at[k] >> 6 != 2) return 0;
    c = c << 6 | (at[k] & 63);
  }
  return c >= least[width] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF) ? width : 0;
}

bool fuzz_is_utf8(const char *text, size_t n) {
  for (size_t at = 0, width; at < n; at += width) {
    width = character((const uint8_t *)text + at, n - at);
    if (width == 0) return false;
  }
  return true;
}

void fuzz_failed(const rush_ctx *ctx, rush_status st) {
  const char *said = rush_ctx_error(ctx);
  FUZZ_RULE(st > RUSH_OK && st <= RUSH_ERR_INTERRUPTED && st != RUSH_PENDING,
            "status %d is none of a failure", (int)st);
  FUZZ_RULE(*said, "'%s' comes without a message", rush_status_name(st));
  FUZZ_RULE(fuzz_is_utf8(said, strlen(said)), "a message is not UTF-8: %s", said);
}

void fuzz_describe(rush_ctx *ctx, const rush_model *model) {
  for (int form = RUSH_DESCRIBE_TEXT; form <= RUSH_DESCRIBE_TORCH_CODE; form++) {
    char *text;
    size_t size;
    rush_status st = rush_model_describe(ctx, model, (rush_describe_form)form, &text, &size);
    FUZZ_RULE((st == RUSH_OK) == (text != NULL), "form %d fails and gives a text", form);
    if (st != RUSH_OK) {
      fuzz_failed(ctx, st);
      continue;
    }
    size_t n = strlen(text);
    FUZZ_RULE(n < size, "form %d says another size", form);
    FUZZ_RULE(fuzz_is_utf8(text, n), "form %d is not UTF-8", form);
    if (form == RUSH_DESCRIBE_JSON || form == RUSH_DESCRIBE_GRAPH)
      FUZZ_RULE(fuzz_is_json(text, n), "form %d is not JSON: %.2000s", form, text);
    rush_free(ctx, text, size);
  }
}

static void inspect_method(rush_ctx *ctx, const rush_model *model, size_t m) {
  char *text;
  size_t size;
  FUZZ_RULE(rush_model_method_name(model, m), "a method has no name");
  for (size_t k = 0; k < rush_model_input_count(model, m) && k < 100; k++) {
    FUZZ_RULE(rush_model_input_name(model, m, k), "an input has no name");
    if (rush_model_input_type(ctx, model, m, k, &text, &size) == RUSH_OK)
      rush_free(ctx, text, size);
  }
  for (size_t k = 0; k < rush_model_output_count(model, m) && k < 100; k++)
    FUZZ_RULE(rush_model_output_name(model, m, k), "an output has no name");
  if (rush_model_result_type(ctx, model, m, &text, &size) == RUSH_OK) rush_free(ctx, text, size);
}

void fuzz_inspect(rush_ctx *ctx, const rush_model *model) {
  for (size_t m = 0; m < rush_model_method_count(model) && m < 100; m++)
    inspect_method(ctx, model, m);
  for (size_t i = 0; i < rush_model_weight_count(model); i++) {
    rush_weight_info info;
    rush_status st = rush_model_weight(ctx, model, i, &info);
    if (st != RUSH_OK) {
      fuzz_failed(ctx, st);
      continue;
    }
    FUZZ_RULE(info.name && fuzz_is_utf8(info.name, strlen(info.name)), "a weight's name is wrong");
  }
  for (size_t i = 0; i < rush_model_attribute_count(model); i++)
    FUZZ_RULE(rush_model_attribute_name(model, i), "an attribute has no name");
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* A traversal of a value, which limits the number of values, elements and levels. */
typedef struct reader {
  rush_session *session;
  uint64_t hash;
  size_t values, elements;
} reader;

static void read_bytes(reader *r, const void *bytes, size_t n) {
  r->hash = fuzz_hash(r->hash, bytes, n);
}

static void read_element(reader *r, const char *at, rush_dtype dtype) {
  static const uint64_t nan = 0x7FF8;
  if (dtype == RUSH_COMPLEX64 || dtype == RUSH_COMPLEX128) {
    const rush_dtype part = dtype == RUSH_COMPLEX64 ? RUSH_FLOAT32 : RUSH_FLOAT64;
    read_element(r, at, part);
    read_element(r, at + rush_dtype_size(part), part);
    return;
  }
  float f;
  double d;
  memcpy(&f, at, dtype == RUSH_FLOAT32 ? sizeof f : 1);
  memcpy(&d, at, dtype == RUSH_FLOAT64 ? sizeof d : 1);
  /* The bits of a NaN depend on the order of operands, which the compiler chooses. */
  if ((dtype == RUSH_FLOAT32 && f != f) || (dtype == RUSH_FLOAT64 && d != d)) {
    read_bytes(r, &nan, sizeof nan);
  } else {
    read_bytes(r, at, rush_dtype_size(dtype));
  }
}

static void read_tensor(reader *r, const rush_value *v) {
  rush_tensor_info t;
  const rush_status st = rush_tensor_inspect(r->session, v, &t);
  if (st == RUSH_ERR_NO_MEMORY) return; /* for its elements in order */
  FUZZ_RULE(st == RUSH_OK, "a tensor cannot be inspected: %s", rush_status_name(st));
  FUZZ_RULE(t.rank >= 0 && t.rank <= RUSH_MAX_RANK, "a tensor has rank %d", t.rank);
  read_bytes(r, t.sizes, (size_t)t.rank * sizeof *t.sizes);
  read_bytes(r, &(uint32_t){(uint32_t)t.dtype}, sizeof(uint32_t));
  int64_t index[RUSH_MAX_RANK] = {0};
  if (!t.data) return; /* a weight that loading has packed */
  for (int64_t k = 0; k < t.numel && r->elements > 0; k++, r->elements--) {
    int64_t at = 0;
    for (int d = 0; d < t.rank; d++) at += index[d] * t.strides[d];
    read_element(r, (const char *)t.data + at * (int64_t)rush_dtype_size(t.dtype), t.dtype);
    for (int d = t.rank - 1; d >= 0 && ++index[d] == t.sizes[d]; d--) index[d] = 0;
  }
}

static void read_value(reader *r, const rush_value *v, int levels) {
  if (r->values == 0 || levels == 0) return;
  r->values--;
  read_bytes(r, &v->kind, sizeof v->kind);
  size_t n;
  double parts[2];
  switch (v->kind) {
    case RUSH_KIND_TENSOR:
      read_tensor(r, v);
      return;
    case RUSH_KIND_INT:
    case RUSH_KIND_BOOL:
      read_bytes(r, &v->u.i, sizeof v->u.i);
      return;
    case RUSH_KIND_FLOAT:
      read_element(r, (const char *)&v->u.f, RUSH_FLOAT64);
      return;
    case RUSH_KIND_COMPLEX:
      rush_complex_get(v, parts, parts + 1);
      read_element(r, (const char *)parts, RUSH_FLOAT64);
      read_element(r, (const char *)(parts + 1), RUSH_FLOAT64);
      return;
    case RUSH_KIND_STR:
    case RUSH_KIND_DEVICE: {
      const char *text = rush_str_bytes(v, &n);
      FUZZ_RULE(text[n] == '\0', "a string has no zero byte behind it");
      read_bytes(r, text, n);
      return;
    }
    default:
      break;
  }
  const rush_value *items = rush_items(v, &n);
  read_bytes(r, &n, sizeof n);
  for (size_t k = 0; k < n && r->values > 0; k++) read_value(r, items + k, levels - 1);
}

void fuzz_read(rush_session *session, const rush_value *v, uint64_t *hash) {
  reader r = {session, *hash, 4096, 1 << 18};
  read_value(&r, v, 64);
  *hash = r.hash;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Steps a run until it ends, waits for an operator of the host, or goes on for very long. A poll
 * ends a step, too, and threads that wait for each other poll by the clock. */
static rush_status step_on(rush_session *session) {
  enum { STEPS = 64 };
  rush_status st = RUSH_PENDING;
  for (int k = 0; k < STEPS && st == RUSH_PENDING; k++)
    st = rush_session_step(session, FUZZ_RUN_STEPS);
  return st;
}

rush_status fuzz_finish(rush_ctx *ctx, rush_session *session, rush_value *result) {
  rush_next next;
  *result = rush_none();
  fuzz_begin(ctx);
  rush_status st = step_on(session);
  fuzz_end(ctx);
  if (st == RUSH_OK) return rush_session_result(session, result);
  if (st != RUSH_PENDING) {
    fuzz_failed(ctx, st);
    return st;
  }
  if (rush_session_next(session, &next) != RUSH_OK) fuzz_failed(ctx, RUSH_ERR_BAD_ARGUMENT);
  rush_session_cancel(session);
  return st;
}

static void run_method(rush_ctx *ctx, const rush_model *model, rush_session *session, size_t m,
                       uint64_t *hash) {
  rush_value result;
  rush_session_manual_seed(session, 1);
  rush_status st = rush_session_begin(session, m, NULL, 0);
  if (st == RUSH_OK)
    st = fuzz_finish(ctx, session, &result);
  else
    fuzz_failed(ctx, st);
  *hash = fuzz_hash(*hash, &st, sizeof st);
  if (st != RUSH_OK) return;
  fuzz_read(session, &result, hash);
  rush_value_release(session, &result);
  (void)model;
}

/* Verifies as rush_session_verify does, but leaves an endless loop. */
static void verify(rush_ctx *ctx, rush_session *session, size_t test, uint64_t *hash) {
  rush_verify_report report;
  fuzz_begin(ctx);
  rush_status st = rush_session_verify_begin(session, test);
  if (st == RUSH_OK) st = step_on(session);
  if (st == RUSH_OK) st = rush_session_verify_end(session, test, &report);
  fuzz_end(ctx);
  if (st == RUSH_PENDING)
    rush_session_cancel(session);
  else if (st != RUSH_OK)
    fuzz_failed(ctx, st);
  *hash = fuzz_hash(*hash, &st, sizeof st);
}

void fuzz_run_all(rush_ctx *ctx, const rush_model *model, uint64_t *hash) {
  rush_session *session;
  uint64_t own = 0;
  if (!hash) hash = &own;
  rush_status st = rush_session_create(ctx, model, &session);
  FUZZ_RULE((st == RUSH_OK) == (session != NULL), "no session, or one in spite of a failure");
  if (st != RUSH_OK) {
    fuzz_failed(ctx, st);
    return;
  }
  rush_session_set_step_limit(session,
                              FUZZ_RUN_STEPS); /* the same end with any number of threads */
  /* Runs twice, because the state after one run must not harm the next one. */
  for (int round = 0; round < 2; round++) {
    for (size_t t = 0; t < rush_model_test_count(model) && t < 8; t++)
      verify(ctx, session, t, hash);
    for (size_t m = 0; m < rush_model_method_count(model) && m < 8; m++) {
      if (rush_model_input_count(model, m) == 0) run_method(ctx, model, session, m, hash);
    }
  }
  rush_session_destroy(session);
}

size_t fuzz_split(const uint8_t *data, size_t size, fuzz_bytes *script, uint8_t made[64]) {
  rush_file_header h;
  if (size >= sizeof h) {
    memcpy(&h, data, sizeof h);
    if (h.file_bytes < size && h.file_bytes >= sizeof h) {
      *script = (fuzz_bytes){data + h.file_bytes, data + size};
      return (size_t)h.file_bytes;
    }
  }
  uint64_t state = fuzz_hash(size, data, size);
  for (int k = 0; k < 64; k++) made[k] = (uint8_t)fuzz_next(&state);
  *script = (fuzz_bytes){made, made + 64};
  return size;
}
