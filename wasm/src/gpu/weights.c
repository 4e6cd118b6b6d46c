/* Weights whose bytes only the device has. A row that runs in memory reads them back. If the device
 * is lost, the host reads them from the file again. */
#include "gpu/device.h"
#include "tensor/padded_block.h"

/* The smallest buffer. Smaller weights stay in memory, where bodies may read them as constants. */
enum { MIN_BYTES = 257 };

/* Returns a checksum: FNV-1a by words of eight bytes. It shows that a file is another one. */
static uint64_t sum_of(const void *data, size_t bytes) {
  const char *at = data;
  uint64_t sum = 0xCBF29CE484222325u;
  for (size_t left = bytes, n; left > 0; left -= n, at += n) {
    uint64_t word = 0;
    n = left < sizeof word ? left : sizeof word;
    memcpy(&word, at, n);
    sum = (sum ^ word) * 0x100000001B3u;
    sum ^= sum >> 32;
  }
  return sum;
}

static rush_gpu *gpu_of(const rush_device *device) {
  return (rush_gpu *)(uintptr_t)device;
}

bool rush_gpu_holds_weights(const rush_gpu_row *row, rush_dtype dtype) {
  if (!row || !row->run) return false;
  if (dtype == RUSH_FLOAT32) return true;
  const bool multiplies = row->run == rush_gpu_linear || row->run == rush_gpu_linear_weights ||
                          row->run == rush_gpu_linear_int8 || row->run == rush_gpu_conv;
  return multiplies && rush_is_one_of(dtype, 1 << RUSH_FLOAT16 | 1 << RUSH_INT8 | 1 << RUSH_UINT8);
}

struct rush_device_weight *rush_gpu_take_weight(const rush_device *device, const void *data,
                                                size_t bytes, uint64_t at) {
  rush_gpu *g = gpu_of(device);
  struct rush_device_weight *w;
  if (g->lost || g->keeps_weights || bytes < MIN_BYTES) return NULL;
  if (g->n_weights == g->most_weights &&
      rush_gpu_grow(g, (void **)&g->weights, &g->most_weights, sizeof *g->weights) != RUSH_OK)
    return NULL;
  if (rush_calloc(g->ctx, 1, sizeof *w, (void **)&w) != RUSH_OK) return NULL;
  w->at = at;
  w->bytes = bytes;
  if (rush_gpu_make_weight(g, data, bytes, &w->buffer) != RUSH_OK) {
    rush_release(g->ctx, w, sizeof *w);
    return NULL;
  }
  w->sum = sum_of(data, bytes);
  g->weights[g->n_weights++] = w;
  return w;
}

void rush_gpu_drop_weight(const rush_device *device, struct rush_device_weight *w) {
  rush_gpu *g = gpu_of(device);
  for (size_t k = 0; k < g->n_weights; k++)
    if (g->weights[k] == w) g->weights[k] = NULL;
  rush_gpu_destroy_buffer(g, w->buffer);
  rush_release(g->ctx, w->raw, w->raw_bytes);
  rush_release(g->ctx, w, sizeof *w);
}

rush_status rush_gpu_lend_weight(rush_heap *heap, rush_storage *s, struct rush_device_weight *w) {
  RUSH_TRY(rush_gpu_attach(heap, s, false));
  s->on_device->buffer = w->buffer;
  s->on_device->weight = w;
  return RUSH_OK;
}

rush_status rush_gpu_weight_memory(rush_gpu *g, struct rush_device_weight *w, void **out) {
  if (!w->data) RUSH_TRY(rush_alloc_padded(g->ctx, w->bytes, &w->raw, &w->raw_bytes, &w->data));
  *out = w->data;
  return RUSH_OK;
}

void rush_gpu_uncount_weights(rush_gpu *g) {
  for (size_t k = 0; k < g->n_weights; k++) {
    rush_gpu_buffer *b = g->weights[k] ? g->weights[k]->buffer : NULL;
    if (!b || !b->counted) continue;
    g->ctx->live -= b->bytes;
    b->counted = false;
  }
}

/* ---- From the file again --------------------------------------------------------------------- */

void rush_gpu_keep_weights(rush_gpu *g) {
  g->keeps_weights = true;
}

rush_status rush_gpu_next_weight(rush_gpu *g, uint32_t *k, rush_gpu_file_bytes *out) {
  *out = (rush_gpu_file_bytes){0};
  for (; *k < g->n_weights; ++*k) {
    struct rush_device_weight *w = g->weights[*k];
    if (!w || w->complete) continue;
    RUSH_TRY(rush_gpu_weight_memory(g, w, &out->to));
    out->at = w->at;
    out->bytes = w->bytes;
    ++*k;
    return RUSH_OK;
  }
  return RUSH_OK;
}

bool rush_gpu_weights_are_back(rush_gpu *g) {
  for (size_t k = 0; k < g->n_weights; k++) {
    struct rush_device_weight *w = g->weights[k];
    if (!w || w->complete) continue;
    w->complete = sum_of(w->data, w->bytes) == w->sum;
    if (!w->complete) return false;
  }
  return true;
}
