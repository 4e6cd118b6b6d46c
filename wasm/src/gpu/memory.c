/* Buffers, and the storages that lie in them. */
#include "gpu/device.h"

enum { MIN_BYTES = 256, STEPS = 4, FIRST = 16 /* items of an array */ };

rush_status rush_gpu_grow(rush_gpu *g, void **items, size_t *most, size_t item) {
  size_t n = FIRST, before, after;
  if (!rush_mul(*most, item, &before) || (*most > 0 && !rush_mul(*most, 2, &n)) ||
      !rush_mul(n, item, &after))
    return rush_fail_memory(g->ctx, SIZE_MAX);
  RUSH_TRY(rush_realloc(g->ctx, items, before, after));
  *most = n;
  return RUSH_OK;
}

/* ---- The pool -------------------------------------------------------------------------------- */

/* Returns the size class for `bytes`: 256 bytes, then four steps per power of two. */
static unsigned size_class(size_t bytes, size_t *room) {
  if (bytes <= MIN_BYTES) {
    *room = MIN_BYTES;
    return 0;
  }
  const unsigned log2 = 63 - (unsigned)__builtin_clzll((unsigned long long)(bytes - 1));
  const size_t base = (size_t)1 << log2, step = base / STEPS, k = (bytes - 1 - base) / step;
  *room = base + (k + 1) * step;
  return 1 + (log2 - 8) * STEPS + (unsigned)k;
}

/* Device memory counts against the limits of the context. Without limits, a device may have more
 * than a 32-bit machine can count, which is then left out. */
static rush_status count(rush_gpu *g, size_t bytes, bool *counted) {
  rush_ctx *ctx = g->ctx;
  const size_t most = SIZE_MAX / 2;
  *counted = ctx->limit || (ctx->live <= most && bytes <= most - ctx->live);
  if (!*counted) return RUSH_OK;
  RUSH_CHECK(ctx, !ctx->limit || (ctx->live <= ctx->limit && bytes <= ctx->limit - ctx->live),
             RUSH_ERR_NO_MEMORY,
             "out of memory: tried to make a buffer of %zu bytes on the device, %zu bytes are in "
             "use, and the limit is %zu",
             bytes, ctx->live, ctx->limit);
  ctx->live += bytes;
  if (ctx->live > ctx->peak) ctx->peak = ctx->live;
  return RUSH_OK;
}

void rush_gpu_destroy_buffer(rush_gpu *g, rush_gpu_buffer *b) {
  g->driver->destroy_buffer(g->user, b->number);
  if (b->counted) g->ctx->live -= b->bytes;
  rush_release(g->ctx, b, sizeof *b);
}

void rush_gpu_trim(rush_gpu *g) {
  for (unsigned k = 0; k < RUSH_GPU_CLASSES; k++) {
    while (g->free[k]) {
      rush_gpu_buffer *b = g->free[k];
      g->free[k] = b->next;
      rush_gpu_destroy_buffer(g, b);
    }
  }
}

static rush_status make(rush_gpu *g, size_t room, rush_gpu_buffer **out) {
  bool counted;
  rush_status st = count(g, room, &counted);
  if (st == RUSH_ERR_NO_MEMORY) {
    rush_gpu_submit(g); /* its commands may use free buffers */
    rush_gpu_trim(g);
    st = count(g, room, &counted);
  }
  RUSH_TRY(st);
  st = rush_alloc(g->ctx, sizeof **out, (void **)out);
  const uint32_t number = st == RUSH_OK ? g->driver->make_buffer(g->user, room) : 0;
  if (number == 0) {
    g->refused = st == RUSH_OK;
    if (st == RUSH_OK) rush_release(g->ctx, *out, sizeof **out);
    if (counted) g->ctx->live -= room;
    *out = NULL;
    return rush_fail(g->ctx, RUSH_ERR_NO_MEMORY,
                     "out of memory: cannot make a buffer of %zu bytes on the device", room);
  }
  **out = (rush_gpu_buffer){.number = number, .bytes = room, .counted = counted};
  return RUSH_OK;
}

/* Gets a buffer of at least `bytes`. If it is `fresh`, no recorded command uses it. */
static rush_status take(rush_gpu *g, size_t bytes, bool fresh, rush_gpu_buffer **out) {
  size_t room;
  const unsigned k = size_class(bytes, &room);
  for (rush_gpu_buffer **at = &g->free[k]; *at; at = &(*at)->next) {
    rush_gpu_buffer *b = *at;
    if (fresh && b->batch == g->batch) continue;
    *at = b->next;
    *out = b;
    return RUSH_OK;
  }
  return make(g, room, out);
}

static void return_buffer(rush_gpu *g, rush_gpu_buffer *b) {
  size_t room;
  const unsigned k = size_class(b->bytes, &room);
  b->next = g->free[k];
  g->free[k] = b;
}

/* The buffer of a weight is a new one: with one of the pool, which the first run used before, the
 * next run would have too few. */
rush_status rush_gpu_make_weight(rush_gpu *g, const void *data, size_t bytes,
                                 rush_gpu_buffer **out) {
  size_t room;
  size_class(bytes, &room);
  RUSH_TRY(make(g, room, out));
  g->driver->write(g->user, (*out)->number, data, bytes);
  return RUSH_OK;
}

static rush_status upload(rush_gpu *g, const rush_storage *s, rush_gpu_buffer **out) {
  if (s->borrowed) return rush_gpu_make_weight(g, s->data, s->bytes, out);
  RUSH_TRY(take(g, s->bytes, true, out));
  g->driver->write(g->user, (*out)->number, s->data, s->bytes);
  return RUSH_OK;
}

/* ---- Storages -------------------------------------------------------------------------------- */

rush_status rush_gpu_attach(rush_heap *heap, rush_storage *s, bool in_memory) {
  RUSH_TRY(rush_heap_alloc(heap, sizeof *s->on_device, (void **)&s->on_device));
  *s->on_device = (struct rush_on_device){.storage = s, .in_memory = in_memory};
  return RUSH_OK;
}

rush_status rush_gpu_tensor(rush_gpu *g, rush_heap *heap, rush_dtype dtype, int rank,
                            const int64_t *sizes, const int64_t *strides, rush_tensor **out) {
  int64_t numel;
  size_t bytes = 0;
  const int64_t none[RUSH_MAX_RANK] = {0};
  rush_tensor *t;
  *out = NULL;
  const bool fits = rush_numel(rank, sizes, &numel) &&
                    rush_mul((size_t)numel, rush_dtype_size(dtype), &bytes) && bytes <= PTRDIFF_MAX;
  g->refused = !fits; /* the row runs in memory, which may need less */
  RUSH_CHECK(g->ctx, fits, RUSH_ERR_NO_MEMORY,
             "out of memory: a tensor is too large for this machine");
  RUSH_TRY(rush_tensor_new(heap, dtype, rank, rank > 0 ? none : sizes, &t));
  memcpy(t->sizes, sizes, (size_t)rank * sizeof *sizes);
  t->numel = numel;
  if (strides)
    memcpy(t->strides, strides, (size_t)rank * sizeof *strides);
  else
    rush_strides_contiguous(rank, sizes, t->strides);
  rush_storage *s = t->storage;
  rush_heap_free(heap, s->data);
  s->data = NULL;
  s->bytes = bytes;
  rush_status st = rush_gpu_attach(heap, s, false);
  if (st == RUSH_OK) st = take(g, s->bytes, false, &s->on_device->buffer);
  if (st != RUSH_OK) {
    rush_tensor_drop(heap, t);
    return st;
  }
  *out = t;
  return RUSH_OK;
}

rush_status rush_gpu_bytes(rush_gpu *g, rush_heap *heap, rush_storage *s, rush_gpu_buffer **out) {
  if (!s->on_device) RUSH_TRY(rush_gpu_attach(heap, s, true));
  if (!s->on_device->buffer) {
    RUSH_TRY(upload(g, s, out));
    s->on_device->buffer = *out;
  }
  *out = s->on_device->buffer;
  return RUSH_OK;
}

static void cancel_read(rush_gpu *g, struct rush_on_device *d) {
  if (d->token) g->reads[d->token - 1] = NULL;
  d->token = 0;
}

static void leave_device(rush_gpu *g, struct rush_on_device *d) {
  if (d->buffer && !d->weight) return_buffer(g, d->buffer);
  d->buffer = NULL;
}

void rush_gpu_forget(rush_heap *heap, rush_storage *s) {
  rush_gpu *g = rush_gpu_of(heap);
  cancel_read(g, s->on_device);
  leave_device(g, s->on_device);
  rush_heap_free(heap, s->on_device);
  s->on_device = NULL;
}

void rush_gpu_written(rush_gpu *g, rush_storage *s) {
  cancel_read(g, s->on_device);
  s->on_device->in_memory = false;
}

void rush_gpu_move(rush_gpu *g, rush_tensor *to, rush_tensor *from) {
  struct rush_on_device *d = to->storage->on_device;
  rush_gpu_written(g, to->storage);
  leave_device(g, d);
  d->buffer = from->storage->on_device->buffer;
  from->storage->on_device->buffer = NULL;
}

/* ---- Bringing bytes to memory ---------------------------------------------------------------- */

static rush_status request(rush_gpu *g, rush_heap *heap, rush_storage *s) {
  struct rush_on_device *d = s->on_device;
  if (d->weight) RUSH_TRY(rush_gpu_weight_memory(g, d->weight, &s->data));
  if (!s->data) RUSH_TRY(rush_heap_alloc(heap, s->bytes, &s->data));
  if (g->n_reads == g->most_reads)
    RUSH_TRY(rush_gpu_grow(g, (void **)&g->reads, &g->most_reads, sizeof *g->reads));
  g->reads[g->n_reads++] = d;
  d->token = g->n_reads;
  g->driver->read(g->user, d->buffer->number, s->bytes, d->token);
  g->commands++;
  return RUSH_OK;
}

rush_status rush_gpu_fetch_storage(rush_heap *heap, rush_storage *s) {
  rush_gpu *g = rush_gpu_of(heap);
  struct rush_on_device *d = s->on_device;
  if (!d || d->in_memory) return RUSH_OK;
  if (s->bytes == 0) {
    d->in_memory = true;
    return RUSH_OK;
  }
  if (d->weight && d->weight->complete) {
    s->data = d->weight->data;
    d->in_memory = true;
    return RUSH_OK;
  }
  RUSH_CHECK(g->ctx, !g->lost, RUSH_ERR_DEVICE_LOST,
             "the GPU was lost, and with it values of this run");
  if (!d->token) RUSH_TRY(request(g, heap, s));
  return RUSH_PENDING;
}

typedef struct fetching {
  bool keeps;  /* tensors that the host can copy from the device */
  bool late;   /* a transfer is pending */
  bool leaves; /* the bytes in memory will be written, and are there already */
} fetching;

static rush_status leave(rush_heap *heap, rush_storage *s) {
  if (s->on_device && !s->borrowed) leave_device(rush_gpu_of(heap), s->on_device);
  return RUSH_OK;
}

/* Fetches a value, and what it contains. */
static rush_status fetch(rush_heap *heap, const rush_value *v, int depth, fetching *f) {
  if (v->kind == RUSH_KIND_TENSOR) {
    if (f->leaves) return leave(heap, rush_as_tensor(v)->storage);
    if (f->keeps && rush_gpu_can_place(rush_as_tensor(v))) return RUSH_OK;
    const rush_status st = rush_gpu_fetch_storage(heap, rush_as_tensor(v)->storage);
    f->late = f->late || st == RUSH_PENDING;
    return st == RUSH_PENDING ? RUSH_OK : st;
  }
  if (!rush_is_container(v->kind)) return RUSH_OK;
  if (depth == RUSH_MAX_DEPTH) return rush_fail_depth(heap->ctx);
  const rush_list *list = rush_as_list(v);
  for (size_t k = 0; k < list->n; k++) {
    if (!rush_is_object(list->items + k)) continue;
    RUSH_TRY(rush_charge(heap->ctx, 1));
    RUSH_TRY(fetch(heap, list->items + k, depth + 1, f));
  }
  return RUSH_OK;
}

rush_status rush_gpu_fetch(rush_heap *heap, const rush_value *v) {
  fetching f = {0};
  RUSH_TRY(fetch(heap, v, 0, &f));
  return f.late ? RUSH_PENDING : RUSH_OK;
}

rush_status rush_gpu_fetch_result(rush_heap *heap, const rush_value *v) {
  fetching f = {.keeps = rush_gpu_of(heap)->keeps_results};
  RUSH_TRY(fetch(heap, v, 0, &f));
  return f.late ? RUSH_PENDING : RUSH_OK;
}

rush_status rush_gpu_will_write(rush_heap *heap, const rush_value *v) {
  fetching f = {.leaves = true};
  return fetch(heap, v, 0, &f);
}

static void end_reads(rush_gpu *g, bool arrived) {
  for (uint32_t k = 0; k < g->n_reads; k++) {
    if (!g->reads[k]) continue;
    g->reads[k]->token = 0;
    g->reads[k]->in_memory = arrived;
    if (g->reads[k]->weight && arrived) g->reads[k]->weight->complete = true;
  }
  g->n_reads = 0;
  g->commands = 0; /* the host has submitted them */
  g->batch++;
}

void *rush_gpu_place(rush_gpu *g, uint32_t token) {
  struct rush_on_device *d = token - 1 < g->n_reads ? g->reads[token - 1] : NULL;
  return d ? d->storage->data : NULL;
}

void rush_gpu_arrived(rush_gpu *g) {
  end_reads(g, true);
}

void rush_gpu_lose(rush_gpu *g) {
  end_reads(g, false);
  g->lost = true;
  rush_gpu_uncount_weights(g);
}

uint32_t rush_gpu_pending(const rush_gpu *g) {
  return g->n_reads;
}
