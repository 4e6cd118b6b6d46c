/* Decides for each call of a row whether it runs on the device. */
#include "gpu/device.h"

/* ---- The row of an operator ------------------------------------------------------------------ */

static bool is_named(const char *schema, const char *name) {
  const size_t n = strlen(name);
  return strncmp(schema, name, n) == 0 && schema[n] == '(';
}

static const rush_gpu_row *look_up(const rush_op *op) {
  for (const rush_gpu_row *row = rush_gpu_rows; row->name; row++)
    if (is_named(op->schema, row->name)) return row;
  return NULL;
}

const rush_gpu_row *rush_gpu_find_row(rush_gpu *g, const rush_op *op) {
  if (op->flags & RUSH_OP_EXTERNAL) return NULL;
  size_t k = ((uintptr_t)op / sizeof *op) % RUSH_GPU_OPS;
  for (size_t tries = 0; tries < RUSH_GPU_OPS && g->rows[k].op; tries++, k = (k + 1) % RUSH_GPU_OPS)
    if (g->rows[k].op == op) return g->rows[k].row;
  const rush_gpu_row *row = look_up(op);
  if (!g->rows[k].op) {
    g->rows[k].op = op;
    g->rows[k].row = row;
  }
  return row;
}

rush_gpu_where rush_gpu_where_of(const char *name) {
  const size_t n = strlen(name);
  for (const rush_gpu_row *row = rush_gpu_rows; row->name; row++)
    if (strlen(row->name) == n && memcmp(row->name, name, n) == 0)
      return row->run ? RUSH_GPU_ON_DEVICE : RUSH_GPU_NOWHERE;
  return RUSH_GPU_IN_MEMORY;
}

static bool reads_weights(const rush_op *op) {
  const rush_gpu_row *row = look_up(op);
  return row && row->run;
}

static bool holds_weights(const rush_op *op, rush_dtype dtype) {
  return rush_gpu_holds_weights(look_up(op), dtype);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Prepares the arguments for a row that runs in memory. The device invalidates its copies of all
 * arguments but weights: some rows write arguments that their schema does not mark, and others
 * return an argument that has its last use here. */
static rush_status lend(rush_call *c, const rush_schema *schema) {
  bool late = false;
  for (uint32_t k = 0; k < c->n_args; k++) {
    const rush_status st = rush_gpu_fetch(c->heap, c->args + k);
    late = late || st == RUSH_PENDING;
    if (st != RUSH_PENDING) RUSH_TRY(st);
  }
  if (late) return RUSH_PENDING;
  RUSH_TRY(rush_lay_args(c->heap, c->op, schema, c->args));
  for (uint32_t k = 0; k < c->n_args; k++) RUSH_TRY(rush_gpu_will_write(c->heap, c->args + k));
  return RUSH_OK;
}

/* Completes an in-place form. Returns false if PyTorch refuses the result. */
static bool write_inplace(rush_gpu *g, rush_call *c, rush_status *st) {
  rush_tensor *from = rush_as_tensor(c->results);
  if (from == c->inplace) return true;
  const bool fits = from->dtype == c->inplace->dtype && rush_same_sizes(from, c->inplace);
  if (fits) *st = rush_gpu_assign(g, c, c->inplace, from);
  rush_drop(c->heap, c->results);
  if (fits && *st == RUSH_OK) ret_tensor(c, 0, rush_tensor_retain(c->inplace));
  return fits;
}

/* Returns whether an argument shares the storage of the tensor that an in-place form writes, and is
 * another part of it. */
static bool overlaps(const rush_call *c) {
  const rush_tensor *to = c->inplace;
  for (uint32_t k = 0; to && k < c->n_args; k++) {
    if (c->args[k].kind != RUSH_KIND_TENSOR) continue;
    const rush_tensor *t = rush_as_tensor(c->args + k);
    if (t->storage == to->storage && (t->offset != to->offset || !rush_same_strides(t, to)))
      return true;
  }
  return false;
}

bool rush_gpu_is_refused(const rush_gpu *g, rush_call *c, rush_status st) {
  if (st != RUSH_ERR_NO_MEMORY || !g->refused) return false;
  for (uint32_t k = 0; k < c->n_results; k++) rush_drop(c->heap, c->results + k);
  return true;
}

static bool run_body(rush_gpu *g, rush_call *c, const rush_gpu_row *row, rush_status *st) {
  *st = RUSH_OK;
  g->refused = false;
  if (c->inplace && (!rush_gpu_is_writable(c->inplace) || overlaps(c))) return false;
  bool ran = row->run(g, c, row, st);
  if (ran && *st == RUSH_OK && c->inplace) ran = write_inplace(g, c, st);
  return ran && !rush_gpu_is_refused(g, c, *st);
}

static bool run(rush_call *c, const void *schema, rush_status *status) {
  rush_gpu *g = rush_gpu_of(c->heap);
  const rush_gpu_row *row = rush_gpu_find_row(g, c->op);
  if (row && !row->run) return false;
  if (row && !g->lost && !g->idle && run_body(g, c, row, status)) return true;
  *status = lend(c, schema);
  return *status != RUSH_OK;
}

/* ---- The device ------------------------------------------------------------------------------ */

rush_status rush_gpu_create(rush_ctx *ctx, const rush_gpu_driver *driver, void *user,
                            rush_gpu **out) {
  struct rush_gpu_program *program;
  RUSH_TRY(rush_gpu_make_program(ctx, &program));
  const rush_status st = rush_calloc(ctx, 1, sizeof **out, (void **)out);
  if (st != RUSH_OK) {
    rush_gpu_free_program(ctx, program);
    return st;
  }
  rush_gpu *g = *out;
  g->program = program;
  g->device = (rush_device){.run = run,
                            .fetch = rush_gpu_fetch,
                            .fetch_storage = rush_gpu_fetch_storage,
                            .fetch_result = rush_gpu_fetch_result,
                            .forget = rush_gpu_forget,
                            .reads_weights = reads_weights,
                            .holds_weights = holds_weights,
                            .take_weight = rush_gpu_take_weight,
                            .lend_weight = rush_gpu_lend_weight,
                            .drop_weight = rush_gpu_drop_weight,
                            .add_step = rush_gpu_add_step,
                            .run_steps = rush_gpu_run_steps};
  g->ctx = ctx;
  g->driver = driver;
  g->user = user;
  g->batch = 1;
  return RUSH_OK;
}

void rush_gpu_destroy(rush_gpu *g) {
  if (!g) return;
  rush_gpu_trim(g);
  rush_release(g->ctx, g->pipelines, g->most_pipelines * sizeof *g->pipelines);
  rush_release(g->ctx, g->weights, g->most_weights * sizeof *g->weights);
  rush_release(g->ctx, g->reads, g->most_reads * sizeof *g->reads);
  rush_gpu_free_program(g->ctx, g->program);
  rush_release(g->ctx, g, sizeof *g);
}

void rush_gpu_set_idle(rush_gpu *g, bool idle) {
  g->idle = idle;
}

void rush_gpu_keep_random(rush_gpu *g, const rush_session *session) {
  rush_session_get_random(session, &g->random);
}

void rush_gpu_return_random(const rush_gpu *g, rush_session *session) {
  rush_session_set_random(session, &g->random);
}

const rush_device *rush_gpu_device(const rush_gpu *g) {
  return &g->device;
}
