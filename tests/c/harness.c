#include "harness.h"

#include "base/base.h"
#include "base/half.h"
#include "tensor/dtype.h"

/* ---- The allocator --------------------------------------------------------------------------- */

/* The header of each block: its size, padded so that any object is aligned. */
typedef union block {
  size_t size;
  max_align_t align;
} block;

void *counter_alloc(void *user, void *ptr, size_t old_size, size_t new_size) {
  counter *c = user;
  block *old = ptr ? (block *)ptr - 1 : NULL;
  if ((old ? old->size : 0) != old_size) {
    fprintf(stderr, "the allocator is told %zu bytes for a block of %zu\n", old_size,
            old ? old->size : 0);
    abort();
  }
  if (new_size > 0) {
    c->calls++;
    if (c->fail_at && (c->fail_once ? c->calls == c->fail_at : c->calls >= c->fail_at)) return NULL;
  }
  block *b = NULL;
  if (new_size > 0) {
    b = malloc(sizeof *b + new_size);
    if (!b) return NULL;
    b->size = new_size;
    if (!c->plain) memset(b + 1, 0xA5, new_size); /* makes reads of uninitialized memory visible */
    if (old) memcpy(b + 1, old + 1, old_size < new_size ? old_size : new_size);
    c->live += new_size;
    c->blocks++;
  }
  if (old) {
    c->live -= old_size;
    c->blocks--;
    free(old);
  }
  return b ? b + 1 : NULL;
}

/* ---- The rig --------------------------------------------------------------------------------- */

void rig_open(rig *r) {
  memset(r, 0, sizeof *r);
  assert_int_equal(rush_ctx_create(counter_alloc, &r->counter, &r->ctx), RUSH_OK);
}

rush_status rig_try_load(rig *r, builder *b) {
  size_t size;
  uint8_t *file = build_file(b, &size);
  build_free(b);
  rush_status st = rush_model_load(r->ctx, file, size, &r->model);
  free(file);
  return st;
}

void rig_load(rig *r, builder *b) {
  OK(rig_try_load(r, b));
}

void rig_start(rig *r, builder *b) {
  rig_load(r, b);
  OK(rush_session_create(r->ctx, r->model, &r->session));
}

void rig_close(rig *r) {
  rush_session_destroy(r->session);
  rush_model_destroy(r->ctx, r->model);
  size_t live, peak;
  rush_ctx_memory(r->ctx, &live, &peak);
  assert_int_equal(live + sizeof *r->ctx, r->counter.live); /* the context's count is right */
  rush_ctx_destroy(r->ctx);
  assert_int_equal(r->counter.live, 0);
  assert_int_equal(r->counter.blocks, 0);
}

/* ---- Values as text -------------------------------------------------------------------------- */

typedef struct text {
  rig *r;
  size_t at;
} text;

static void put(text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(t->r->text + t->at, sizeof t->r->text - t->at, fmt, args);
  va_end(args);
  if (n > 0) t->at += (size_t)n;
  if (t->at >= sizeof t->r->text) t->at = sizeof t->r->text - 1;
}

static void put_element(text *t, rush_dtype dtype, const void *at) {
  union {
    uint8_t u;
    int8_t s;
    uint16_t h;
    int32_t i;
    int64_t l;
    float f;
    double d;
    float c[2];
    double z[2];
  } e;
  switch (dtype) {
    case RUSH_UINT8:
      memcpy(&e.u, at, 1);
      put(t, "%d", e.u);
      return;
    case RUSH_INT8:
      memcpy(&e.s, at, 1);
      put(t, "%d", e.s);
      return;
    case RUSH_BOOL:
      memcpy(&e.u, at, 1);
      put(t, "%s", e.u ? "true" : "false");
      return;
    case RUSH_INT32:
      memcpy(&e.i, at, 4);
      put(t, "%d", e.i);
      return;
    case RUSH_INT64:
      memcpy(&e.l, at, 8);
      put(t, "%lld", (long long)e.l);
      return;
    case RUSH_FLOAT16:
      memcpy(&e.h, at, 2);
      put(t, "%g", (double)rush_from_float16(e.h));
      return;
    case RUSH_FLOAT32:
      memcpy(&e.f, at, 4);
      put(t, "%g", (double)e.f);
      return;
    case RUSH_COMPLEX64:
      memcpy(e.c, at, 8);
      put(t, "%g%+gj", (double)e.c[0], (double)e.c[1]);
      return;
    case RUSH_COMPLEX128:
      memcpy(e.z, at, 16);
      put(t, "%g%+gj", e.z[0], e.z[1]);
      return;
    default:
      memcpy(&e.d, at, 8);
      put(t, "%g", e.d);
  }
}

static void put_tensor(text *t, const rush_value *v) {
  rush_tensor_info info;
  if (rush_tensor_inspect(t->r->session, v, &info) != RUSH_OK) return;
  put(t, "%s[", rush_dtype_name(info.dtype));
  for (int d = 0; d < info.rank; d++) put(t, "%s%lld", d ? ", " : "", (long long)info.sizes[d]);
  put(t, "](");
  int64_t index[RUSH_MAX_RANK] = {0};
  for (int64_t k = 0; k < info.numel; k++) {
    int64_t at = 0;
    for (int d = 0; d < info.rank; d++) at += index[d] * info.strides[d];
    if (k) put(t, " ");
    put_element(t, info.dtype, (const char *)info.data + (size_t)at * rush_dtype_size(info.dtype));
    for (int d = info.rank - 1; d >= 0 && ++index[d] == info.sizes[d]; d--) index[d] = 0;
  }
  put(t, ")");
}

static void put_value(text *t, const rush_value *v) {
  size_t n;
  double re, im;
  const rush_value *items = rush_items(v, &n);
  switch (v->kind) {
    case RUSH_KIND_NONE:
      put(t, "None");
      return;
    case RUSH_KIND_TENSOR:
      put_tensor(t, v);
      return;
    case RUSH_KIND_INT:
      put(t, "%lld", (long long)v->u.i);
      return;
    case RUSH_KIND_FLOAT:
      put(t, "%g", v->u.f);
      return;
    case RUSH_KIND_BOOL:
      put(t, "%s", v->u.i ? "true" : "false");
      return;
    case RUSH_KIND_STR:
      put(t, "'%s'", rush_str_bytes(v, &n));
      return;
    case RUSH_KIND_COMPLEX:
      rush_complex_get(v, &re, &im);
      put(t, "%g%+gj", re, im);
      return;
    case RUSH_KIND_LIST:
    case RUSH_KIND_TUPLE:
    case RUSH_KIND_DICT:
      put(t, "%s", v->kind == RUSH_KIND_LIST ? "[" : v->kind == RUSH_KIND_TUPLE ? "(" : "{");
      for (size_t k = 0; k < n; k++) {
        if (k) put(t, "%s", v->kind == RUSH_KIND_DICT && k % 2 ? ": " : ", ");
        put_value(t, items + k);
      }
      put(t, "%s", v->kind == RUSH_KIND_LIST ? "]" : v->kind == RUSH_KIND_TUPLE ? ")" : "}");
      return;
    default:
      put(t, "kind %u", v->kind);
  }
}

const char *show(rig *r, const rush_value *v) {
  text t = {r, 0};
  put_value(&t, v);
  return r->text;
}

const char *run(rig *r, size_t method, size_t n, const rush_value *args) {
  rush_value result;
  rush_status st = rush_session_run(r->session, method, args, n, &result);
  if (st != RUSH_OK) {
    snprintf(r->text, sizeof r->text, "%s: %s", rush_status_name(st), rush_ctx_error(r->ctx));
    return r->text;
  }
  show(r, &result);
  rush_value_release(r->session, &result);
  return r->text;
}

rush_value rig_tensor(rig *r, rush_dtype dtype, int rank, const int64_t *sizes, const void *data) {
  rush_value v;
  void *at;
  size_t n = rush_dtype_size(dtype);
  OK(rush_tensor_create(r->session, dtype, rank, sizes, &v, &at));
  for (int d = 0; d < rank; d++) n *= (size_t)sizes[d];
  if (n) memcpy(at, data, n);
  return v;
}

rush_value rig_floats(rig *r, int64_t n, const float *data) {
  return rig_tensor(r, RUSH_FLOAT32, 1, &n, data);
}

void assert_contains(const char *row, const char *said, const char *part) {
  if (!strstr(said, part)) fail_msg("%s: '%s' does not contain '%s'", row, said, part);
}
