/* Pipelines and dispatches. */
#include "gpu/device.h"

static bool is_key(const rush_gpu_pipeline *p, const uint32_t *key, uint32_t n) {
  return p->n_key == n && memcmp(p->key, key, n * sizeof *key) == 0;
}

static rush_status make_pipeline(rush_gpu *g, const char *types, rush_gpu_text *text,
                                 const void *what, uint32_t *out) {
  rush_text t = {.ctx = g->ctx};
  char *wgsl;
  size_t size;
  rush_gpu_prelude(&t, types);
  text(&t, what);
  RUSH_TRY(rush_text_take(&t, &wgsl, &size));
  *out = g->driver->make_pipeline(g->user, wgsl, strlen(wgsl), (uint32_t)strlen(types));
  rush_release(g->ctx, wgsl, size);
  RUSH_CHECK(g->ctx, *out, RUSH_ERR_NO_MEMORY, "the device cannot make another pipeline");
  return RUSH_OK;
}

rush_status rush_gpu_find_pipeline(rush_gpu_job *job, const uint32_t *key, uint32_t n_key,
                                   const char *types, rush_gpu_text *text, const void *what) {
  rush_gpu *g = job->g;
  assert(n_key <= RUSH_GPU_KEY);
  for (size_t k = 0; k < g->n_pipelines; k++) {
    if (!is_key(g->pipelines + k, key, n_key)) continue;
    job->pipeline = g->pipelines[k].number;
    return RUSH_OK;
  }
  g->refused = g->n_pipelines == RUSH_GPU_PIPELINES;
  RUSH_CHECK(g->ctx, !g->refused, RUSH_ERR_NO_MEMORY, "a session can have %d pipelines at most",
             RUSH_GPU_PIPELINES);
  if (g->n_pipelines == g->most_pipelines)
    RUSH_TRY(rush_gpu_grow(g, (void **)&g->pipelines, &g->most_pipelines, sizeof *g->pipelines));
  RUSH_TRY(make_pipeline(g, types, text, what, &job->pipeline));
  rush_gpu_pipeline *p = g->pipelines + g->n_pipelines++;
  *p = (rush_gpu_pipeline){.n_key = n_key, .number = job->pipeline};
  memcpy(p->key, key, n_key * sizeof *key);
  return RUSH_OK;
}

rush_status rush_gpu_bind(rush_gpu_job *job, const rush_tensor *t) {
  assert(job->n_buffers < RUSH_GPU_BUFFERS);
  return rush_gpu_bytes(job->g, job->c->heap, t->storage, &job->buffers[job->n_buffers++]);
}

static rush_status charge(rush_gpu *g, rush_gpu_work work) {
  enum { MAX_EACH = 1 << 22, PER_STEP = 1 << 10 /* of a device, in the time of rush_charge */ };
  const uint64_t most = (uint64_t)1 << 40;
  g->refused = work.each > MAX_EACH || (work.each > 0 && work.n > most / work.each);
  RUSH_CHECK(g->ctx, !g->refused, RUSH_ERR_NO_MEMORY, "a kernel would take too long");
  return rush_charge(g->ctx, work.n * work.each / PER_STEP + 1);
}

rush_status rush_gpu_dispatch(rush_gpu_job *job, uint64_t groups, uint32_t z, rush_gpu_work work) {
  rush_gpu *g = job->g;
  uint32_t numbers[RUSH_GPU_BUFFERS];
  if (groups == 0 || z == 0) return RUSH_OK;
  RUSH_TRY(charge(g, work));
  for (uint32_t k = 0; k < job->n_buffers; k++) {
    numbers[k] = job->buffers[k]->number;
    job->buffers[k]->batch = g->batch;
  }
  /* Kernels count workgroups in x and y as one number: rush_gpu_prelude. */
  const uint64_t y = (groups + RUSH_GPU_GROUPS - 1) / RUSH_GPU_GROUPS;
  const uint32_t x = (uint32_t)((groups + y - 1) / y);
  g->driver->dispatch(g->user, job->pipeline, numbers, job->n_buffers, job->params, x, (uint32_t)y,
                      z);
  if (++g->commands >= RUSH_GPU_COMMANDS) rush_gpu_submit(g);
  return RUSH_OK;
}

rush_status rush_gpu_dispatch_elements(rush_gpu_job *job, uint64_t n, uint64_t each) {
  return rush_gpu_dispatch(job, (n + RUSH_GPU_GROUP - 1) / RUSH_GPU_GROUP, 1,
                           (rush_gpu_work){n, each});
}

void rush_gpu_submit(rush_gpu *g) {
  if (g->commands == 0) return;
  g->driver->submit(g->user);
  g->commands = 0;
  g->batch++;
}
