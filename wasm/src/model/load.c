/* Builds a model from bytes as they arrive: the header, the head, then one storage after the
 * other. */
#include <stdio.h>

#include "call/widen.h"
#include "model/constant.h"
#include "tensor/device_interface.h"
#include "tensor/padded_block.h"

struct rush_loader {
  rush_ctx *ctx;
  rush_model *m;
  char header[RUSH_HEADER_BYTES];
  size_t got;       /* bytes received at the current destination */
  uint64_t at;      /* bytes of the weights received so far */
  uint32_t storage; /* the next storage to fill */
  bool head_done, failed;
  uint64_t given; /* bytes that the caller has, or UINT64_MAX if unknown */
  size_t used;    /* bytes that loading has allocated */
  uint64_t wide;  /* elements that were widened */
  char gap[4096]; /* receives the padding between storages */

  /* While weights arrive: the constants as values, for prepare. */
  rush_heap heap;
  rush_value *constants;
  rush_storage **storages;
  rush_value *defaults; /* for the arguments of all operators */
  /* Linked lists of instructions to prepare once storage s has arrived: ready[s], next[instr],
   * ... */
  uint32_t *ready, *next;
  uint32_t *user; /* per storage: an instruction that packs it */
};

/* ---- Model ----------------------------------------------------------------------------------- */

static void free_weight(rush_ctx *ctx, rush_weight *w) {
  rush_release(ctx, w->raw, w->raw_bytes);
  w->raw = w->data = NULL;
}

void rush_model_destroy(rush_ctx *ctx, rush_model *m) {
  if (!m) return;
  for (uint32_t i = 0; m->packed && i < m->n_instrs; i++) {
    if (m->packed[i] && m->packed[i]->others-- == 0) m->packed[i]->destroy(ctx, m->packed[i]);
  }
  for (uint32_t i = 0; m->weights && i < m->n_storages; i++) {
    free_weight(ctx, m->weights + i);
    if (m->weights[i].moved) ctx->device->drop_weight(ctx->device, m->weights[i].moved);
  }
  rush_release(ctx, m->packed, m->n_instrs * sizeof *m->packed);
  rush_release(ctx, m->weights, m->n_storages * sizeof *m->weights);
  rush_release(ctx, m->operand_types, m->n_operands * sizeof *m->operand_types);
  rush_release(ctx, m->drops, m->n_registers * sizeof *m->drops);
  rush_release(ctx, m->code, m->n_instrs * sizeof *m->code);
  rush_release(ctx, m->type_kinds, m->n_types * sizeof *m->type_kinds);
  rush_release(ctx, m->constant_used, m->n_constants * sizeof *m->constant_used);
  for (uint32_t i = 0; m->ops && i < m->n_ops; i++) rush_schema_free(ctx, &m->ops[i].schema);
  rush_release(ctx, m->ops, m->n_ops * sizeof *m->ops);
  rush_release(ctx, m->head, m->head_bytes);
  rush_release(ctx, m, sizeof *m);
}

/* ---- Which storages need plain bytes --------------------------------------------------------- */

/* A use that copies a uniform storage needs only its pattern. */
static void need(rush_model *m, uint32_t constant, bool copies) {
  if (constant == RUSH_NONE) return;
  const rush_file_constant *c = m->constants + constant;
  if (c->kind != RUSH_CONST_TENSOR) return;
  rush_weight *w = m->weights + m->tensors[c->a].storage;
  w->needs += !copies || !w->pattern;
}

static void count_needs(rush_model *m) {
  for (uint32_t i = 0; i < m->n_constants; i++) {
    const rush_file_constant *c = m->constants + i;
    if (rush_const_has_items(c->kind)) {
      for (uint64_t k = 0; k < c->p0; k++) need(m, m->lists[c->a + k], !m->constant_used[i]);
    }
  }
  for (uint32_t i = 0; i < m->n_attributes; i++) need(m, m->attributes[i].initial, true);
  for (uint32_t i = 0; i < m->n_tests; i++) need(m, m->tests[i].output, true);
  for (uint32_t i = 0; i < m->n_measures; i++) need(m, m->measures[i].exact, true);
  for (uint32_t i = 0; i < m->n_ports; i++) need(m, m->ports[i].initial, true);
  for (uint32_t i = 0; i < m->n_instrs; i++) {
    for (uint32_t k = 0; k < m->code[i].n_in; k++) {
      uint32_t operand = m->code[i].operands[k];
      if (operand & RUSH_OPERAND_CONSTANT) need(m, operand & ~RUSH_OPERAND_CONSTANT, false);
    }
  }
}

static const rush_file_tensor *constant_tensor(const rush_model *m, uint32_t operand) {
  if (!(operand & RUSH_OPERAND_CONSTANT)) return NULL;
  const rush_file_constant *c = m->constants + (operand & ~RUSH_OPERAND_CONSTANT);
  return c->kind == RUSH_CONST_TENSOR ? m->tensors + c->a : NULL;
}

/* Counts the uses of weights whose bytes need not be in memory. */
static void count_on_device(rush_loader *l) {
  rush_model *m = l->m;
  for (uint32_t i = 0; l->ctx->device && i < m->n_instrs; i++) {
    const rush_code *c = m->code + i;
    if (c->opcode != RUSH_OPCODE_OP || !m->ops[c->op].op) continue;
    for (uint32_t k = 0; k < c->n_in; k++) {
      const rush_file_tensor *t = constant_tensor(m, c->operands[k]);
      if (t && l->ctx->device->holds_weights(m->ops[c->op].op, (rush_dtype)t->dtype))
        m->weights[t->storage].on_device++;
    }
  }
}

/* ---- Preparation ----------------------------------------------------------------------------- */

/* Returns whether instruction i gathers rows of a matrix that a linear layer packs. It then gathers
 * them from the packed weight. *storage becomes the storage of the matrix, and user[*storage] is
 * the linear layer. */
static bool reads_rows(const rush_loader *l, uint32_t i, uint32_t *storage) {
  const rush_model *m = l->m;
  const rush_code *c = m->code + i;
  if (c->opcode != RUSH_OPCODE_OP || !m->ops[c->op].op ||
      !(m->ops[c->op].op->flags & RUSH_OP_READS_ROWS))
    return false;
  const rush_file_tensor *t = constant_tensor(m, c->operands[0]);
  if (!t || !rush_is_one_of(t->dtype, RUSH_HALVES | 1 << RUSH_FLOAT32) ||
      l->user[t->storage] == RUSH_NONE)
    return false;
  *storage = t->storage;
  const rush_code *packs = m->code + l->user[t->storage];
  return m->ops[packs->op].op->flags & RUSH_OP_PACKS_ROWS && packs->operands[1] == c->operands[0];
}

/* Returns whether instruction i packs the same weights as another one: same operator, same
 * constants. */
static bool is_twin(const rush_model *m, uint32_t i, uint32_t other) {
  const rush_code *c = m->code + i, *of = m->code + other;
  if (m->ops[of->op].op != m->ops[c->op].op || of->n_in != c->n_in) return false;
  for (uint32_t k = 0; k < c->n_in; k++)
    if ((of->operands[k] | c->operands[k]) & RUSH_OPERAND_CONSTANT &&
        of->operands[k] != c->operands[k])
      return false;
  return true;
}

/* Links each instruction that packs weights to the last storage that it waits for. */
static void plan_preparing(rush_loader *l) {
  rush_model *m = l->m;
  for (uint32_t s = 0; s < m->n_storages; s++) l->ready[s] = l->user[s] = RUSH_NONE;
  for (uint32_t i = m->n_instrs; i-- > 0;) {
    const rush_code *c = m->code + i;
    uint32_t last = RUSH_NONE;
    if (c->opcode != RUSH_OPCODE_OP || !m->ops[c->op].op || !m->ops[c->op].op->prepare) continue;
    if (l->ctx->device && l->ctx->device->reads_weights(m->ops[c->op].op)) continue;
    for (uint32_t k = 0; k < c->n_in; k++) {
      const rush_file_tensor *t = constant_tensor(m, c->operands[k]);
      if (t) l->user[t->storage] = i;
      if (t && (last == RUSH_NONE || t->storage > last)) last = t->storage;
    }
    if (last == RUSH_NONE) continue;
    l->next[i] = l->ready[last];
    l->ready[last] = i;
  }
  for (uint32_t i = 0, s; i < m->n_instrs; i++)
    if (reads_rows(l, i, &s)) m->weights[s].readers++;
}

/* Half-precision weights are packed from widened copies, or directly with RUSH_OP_PACKS_HALVES.
 * Many instructions may use one weight, so that the sum of all copies has a limit. Runs widen what
 * is beyond it. */
static rush_status widen_constants(rush_loader *l, const rush_model_op *o, const rush_value **args,
                                   rush_value *wide) {
  for (uint32_t k = 0; k < o->schema.n_args && l->heap.rare; k++) {
    if (!args[k] || args[k]->kind != RUSH_KIND_TENSOR) continue;
    rush_tensor *t = rush_as_tensor(args[k]), *copy;
    if (!rush_is_half(t->dtype) || !rush_has_elements(t) ||
        (t->rank == 2 && o->op->flags & RUSH_OP_PACKS_HALVES) ||
        (l->wide += (uint64_t)t->numel) > rush_memory_allowance(l->m->total_bytes))
      continue;
    RUSH_TRY(rush_widen(&l->heap, t, false, &copy));
    wide[k] = rush_of_tensor(copy);
    args[k] = wide + k;
  }
  return RUSH_OK;
}

/* Frees the weights among the operands that no instruction needs any more. */
static void free_consumed(rush_loader *l, const rush_code *c, uint32_t consumed) {
  rush_model *m = l->m;
  for (uint32_t k = 0; k < c->n_in; k++) {
    const rush_file_tensor *t = constant_tensor(m, c->operands[k]);
    if (!t || !(consumed >> k & 1)) continue;
    rush_weight *w = m->weights + t->storage;
    if (--w->needs > w->readers) continue;
    free_weight(l->ctx, w);
    l->storages[t->storage]->data = NULL;
  }
}

/* Finds the arguments of an instruction that are constants. Returns false if one has the wrong
 * kind. */
static bool constant_args(const rush_loader *l, const rush_code *c, const rush_value **args) {
  const rush_model_op *o = l->m->ops + c->op;
  for (uint32_t k = 0; k < o->schema.n_args; k++) {
    if (k >= c->n_in) {
      args[k] = l->defaults + o->defaults + k;
      continue;
    }
    if (!(c->operands[k] & RUSH_OPERAND_CONSTANT)) continue;
    args[k] = l->constants + (c->operands[k] & ~RUSH_OPERAND_CONSTANT);
    if (!(RUSH_KIND_BIT(args[k]->kind) & o->schema.args[k].kinds)) return false;
  }
  return true;
}

/* Lets instruction i pack its weights, or share those of `before`, unless that is RUSH_NONE. While
 * placing, asks where the bytes of a storage go instead. */
static rush_status prepare_one(rush_loader *l, uint32_t i, uint32_t before,
                               const rush_storage *placing, void **place) {
  rush_model *m = l->m;
  const rush_code *c = m->code + i;
  const rush_model_op *o = m->ops + c->op;
  const rush_value *args[RUSH_SCHEMA_MAX_ARGS] = {NULL};
  if (!constant_args(l, c, args)) return RUSH_OK; /* the run reports the error */
  rush_prepare p = {.ctx = l->ctx,
                    .n_args = o->schema.n_args,
                    .args = args,
                    .packed = m->packed[i],
                    .placing = placing};
  if (before != RUSH_NONE && m->packed[before] && is_twin(m, i, before)) {
    m->packed[i] = m->packed[before];
    m->packed[i]->others++;
    p.consumed = m->packed[i]->consumed;
  } else {
    rush_value wide[RUSH_SCHEMA_MAX_ARGS];
    for (uint32_t k = 0; k < o->schema.n_args; k++) wide[k] = rush_none();
    rush_status st = placing ? RUSH_OK : widen_constants(l, o, args, wide);
    if (st == RUSH_OK) st = o->op->prepare(&p);
    if (l->ctx->stopped) st = rush_take_stop(l->ctx);
    m->packed[i] = p.packed; /* the model owns it even if it is incomplete */
    for (uint32_t k = 0; k < o->schema.n_args; k++) rush_drop(&l->heap, wide + k);
    if (l->heap.rare) rush_heap_trim(&l->heap); /* widened copies are large */
    if (st != RUSH_OK) return rush_fail_prefix_instr(l->ctx, m, i, st);
    if (placing) {
      *place = p.place;
      return RUSH_OK;
    }
    if (p.packed) p.packed->consumed = p.consumed;
  }
  free_consumed(l, c, p.consumed);
  return RUSH_OK;
}

/* Moves the bytes of a weight to the device, unless it has no memory for them. */
static void move_to_device(rush_loader *l, uint32_t s) {
  const rush_model *m = l->m;
  const rush_device *device = l->ctx->device;
  rush_weight *w = m->weights + s;
  w->moved = device->take_weight(device, w->data, (size_t)m->storages[s].bytes,
                                 m->head_bytes + m->storages[s].offset);
  if (!w->moved) return;
  free_weight(l->ctx, w);
  if (l->storages[s]) l->storages[s]->data = NULL;
}

static rush_status storage_arrived(rush_loader *l, uint32_t s) {
  rush_weight *w = l->m->weights + s;
  if (l->storages[s]) l->storages[s]->data = w->data;
  if (w->needs == 0) free_weight(l->ctx, w);
  if (w->raw && !w->pattern && w->needs == w->on_device) move_to_device(l, s);
  for (uint32_t i = l->ready[s], before = RUSH_NONE; i != RUSH_NONE; before = i, i = l->next[i])
    RUSH_TRY(prepare_one(l, i, before, NULL, NULL));
  return RUSH_OK;
}

/* ---- The head -------------------------------------------------------------------------------- */

static rush_status header_arrived(rush_loader *l) {
  rush_model *m = l->m;
  m->head = l->header; /* only for the check */
  rush_status st = rush_header_check(l->ctx, m);
  m->head = NULL;
  RUSH_TRY(st);
  rush_file_header h;
  memcpy(&h, l->header, sizeof h);
  RUSH_TRY(rush_alloc(l->ctx, (size_t)h.head_bytes, (void **)&m->head));
  m->head_bytes = (size_t)h.head_bytes;
  m->total_bytes = h.file_bytes;
  memcpy(m->head, l->header, RUSH_HEADER_BYTES);
  return RUSH_OK;
}

static rush_status make_values(rush_loader *l) {
  rush_model *m = l->m;
  RUSH_TRY(rush_calloc(l->ctx, m->n_constants, sizeof *l->constants, (void **)&l->constants));
  RUSH_TRY(rush_calloc(l->ctx, m->n_storages, sizeof *l->storages, (void **)&l->storages));
  RUSH_TRY(rush_calloc(l->ctx, m->n_defaults, sizeof *l->defaults, (void **)&l->defaults));
  RUSH_TRY(rush_calloc(l->ctx, m->n_storages, sizeof *l->ready, (void **)&l->ready));
  RUSH_TRY(rush_calloc(l->ctx, m->n_instrs, sizeof *l->next, (void **)&l->next));
  RUSH_TRY(rush_calloc(l->ctx, m->n_storages, sizeof *l->user, (void **)&l->user));
  RUSH_TRY(rush_constants_make(&l->heap, m, l->constants, l->storages));
  for (uint32_t k = 0; k < m->n_ops; k++) {
    if (m->ops[k].schema.n_args > 0)
      RUSH_TRY(rush_defaults_make(&l->heap, &m->ops[k].schema, l->defaults + m->ops[k].defaults));
  }
  return RUSH_OK;
}

static rush_status head_arrived(rush_loader *l) {
  rush_model *m = l->m;
  RUSH_TRY(rush_head_open(l->ctx, m));
  RUSH_TRY(rush_head_check(l->ctx, m));
  RUSH_TRY(rush_code_build(l->ctx, m));
  RUSH_TRY(rush_calloc(l->ctx, m->n_storages, sizeof *m->weights, (void **)&m->weights));
  RUSH_TRY(rush_calloc(l->ctx, m->n_instrs, sizeof *m->packed, (void **)&m->packed));
  for (uint32_t i = 0; i < m->n_uniform; i++)
    m->weights[m->uniform[i].storage].pattern = m->uniform[i].pattern;
  count_needs(m);
  count_on_device(l);
  RUSH_TRY(make_values(l));
  plan_preparing(l);
  l->head_done = true;
  return RUSH_OK;
}

/* ---- The stream ------------------------------------------------------------------------------ */

rush_status rush_loader_create(rush_ctx *ctx, rush_loader **out) {
  rush_loader *l;
  *out = NULL;
  RUSH_TRY(rush_calloc(ctx, 1, sizeof *l, (void **)&l));
  l->ctx = ctx;
  l->heap.ctx = ctx;
  l->given = UINT64_MAX;
  rush_status st = rush_calloc(ctx, 1, sizeof *l->m, (void **)&l->m);
  if (st != RUSH_OK) {
    rush_release(ctx, l, sizeof *l);
    return st;
  }
  *out = l;
  return RUSH_OK;
}

static void drop_values(rush_loader *l) {
  const rush_model *m = l->m;
  for (uint32_t k = 0; l->defaults && k < m->n_defaults; k++) rush_drop(&l->heap, l->defaults + k);
  if (l->constants) rush_constants_drop(&l->heap, m, l->constants);
  rush_heap_trim(&l->heap);
  rush_release(l->ctx, l->constants, m->n_constants * sizeof *l->constants);
  rush_release(l->ctx, l->storages, m->n_storages * sizeof *l->storages);
  rush_release(l->ctx, l->defaults, m->n_defaults * sizeof *l->defaults);
  rush_release(l->ctx, l->ready, m->n_storages * sizeof *l->ready);
  rush_release(l->ctx, l->next, m->n_instrs * sizeof *l->next);
  rush_release(l->ctx, l->user, m->n_storages * sizeof *l->user);
}

void rush_loader_destroy(rush_loader *l) {
  if (!l) return;
  if (l->m) {
    drop_values(l);
    rush_model_destroy(l->ctx, l->m);
  }
  rush_release(l->ctx, l, sizeof *l);
}

/* Allocates memory for a storage: in the packed weights of its only user, if that can pack in
 * place, and otherwise separately. */
static rush_status open_storage(rush_loader *l, uint32_t s, size_t bytes) {
  rush_weight *w = l->m->weights + s;
  const uint32_t user = l->user[s];
  if (w->needs == w->readers + 1 && user != RUSH_NONE && l->storages[s] && !l->m->packed[user])
    RUSH_TRY(prepare_one(l, user, RUSH_NONE, l->storages[s], &w->data));
  if (w->data) return RUSH_OK;
  return rush_alloc_padded(l->ctx, bytes, &w->raw, &w->raw_bytes, &w->data);
}

/* Advances to the next storage with bytes in the file. All others are complete at once. */
static rush_status next_storage(rush_loader *l) {
  rush_model *m = l->m;
  while (l->storage < m->n_storages && l->at == m->storages[l->storage].offset) {
    rush_weight *w = m->weights + l->storage;
    const size_t bytes = (size_t)m->storages[l->storage].bytes;
    if (!w->data && !(w->pattern && w->needs == 0)) RUSH_TRY(open_storage(l, l->storage, bytes));
    if (bytes > 0 && !w->pattern) return RUSH_OK;
    if (w->data && w->pattern) RUSH_TRY(rush_repeat(l->ctx, w->data, bytes, w->pattern));
    RUSH_TRY(storage_arrived(l, l->storage++));
  }
  return RUSH_OK;
}

static rush_status weights_window(rush_loader *l, void **at, size_t *room) {
  rush_model *m = l->m;
  uint64_t end = m->total_bytes - m->head_bytes;
  RUSH_TRY(rush_ops_present(l->ctx, m));
  RUSH_TRY(next_storage(l));
  const rush_file_storage *s = l->storage < m->n_storages ? m->storages + l->storage : NULL;
  if (s && l->at >= s->offset) {
    *at = (char *)m->weights[l->storage].data + (l->at - s->offset);
    *room = (size_t)(s->offset + s->bytes - l->at);
    return RUSH_OK;
  }
  uint64_t gap = (s ? s->offset : end) - l->at;
  *at = l->gap;
  *room = gap < sizeof l->gap ? (size_t)gap : sizeof l->gap;
  return RUSH_OK;
}

/* Limits the memory of loading to what a file of this size may need. */
static size_t begin_call(rush_loader *l, size_t *cap) {
  const uint64_t total = l->m->total_bytes;
  const size_t most = rush_memory_allowance(total < l->given ? total : l->given);
  *cap = rush_limit_memory(l->ctx, most > l->used ? most - l->used : 0);
  return l->ctx->live;
}
static void end_call(rush_loader *l, size_t cap, size_t live) {
  rush_restore_limit(l->ctx, cap);
  l->used = l->used + l->ctx->live - live;
}

static rush_status window(rush_loader *l, void **at, size_t *room) {
  *at = NULL;
  *room = 0;
  RUSH_CHECK(l->ctx, l->m && !l->failed, RUSH_ERR_BAD_STATE,
             "the loader has failed or has finished");
  if (l->head_done) {
    rush_status st = weights_window(l, at, room);
    l->failed = st != RUSH_OK;
    return st;
  }
  *at = l->m->head ? l->m->head + l->got : l->header + l->got;
  *room = (l->m->head ? l->m->head_bytes : RUSH_HEADER_BYTES) - l->got;
  return RUSH_OK;
}

static rush_status advance(rush_loader *l, size_t n) {
  rush_model *m = l->m;
  if (!l->head_done) {
    l->got += n;
    if (!m->head) return l->got == RUSH_HEADER_BYTES ? header_arrived(l) : RUSH_OK;
    return l->got == m->head_bytes ? head_arrived(l) : RUSH_OK;
  }
  l->at += n;
  const rush_file_storage *s = l->storage < m->n_storages ? m->storages + l->storage : NULL;
  if (s && s->bytes > 0 && l->at == s->offset + s->bytes) return storage_arrived(l, l->storage++);
  return RUSH_OK;
}

rush_status rush_loader_window(rush_loader *l, void **at, size_t *room) {
  size_t cap, live;
  if (!l->m) return window(l, at, room);
  live = begin_call(l, &cap);
  rush_status st = window(l, at, room);
  end_call(l, cap, live);
  return st;
}

rush_status rush_loader_advance(rush_loader *l, size_t n) {
  void *at;
  size_t room, cap, live;
  RUSH_TRY(rush_loader_window(l, &at, &room));
  RUSH_CHECK(l->ctx, n <= room, RUSH_ERR_BAD_ARGUMENT, "the window has %zu bytes, got %zu", room,
             n);
  live = begin_call(l, &cap);
  rush_status st = advance(l, n);
  end_call(l, cap, live);
  l->failed = st != RUSH_OK;
  return st;
}

uint64_t rush_loader_total(const rush_loader *l) {
  return l->m ? l->m->total_bytes : 0;
}

const rush_model *rush_loader_head(const rush_loader *l) {
  return l->head_done ? l->m : NULL;
}

rush_status rush_loader_finish(rush_loader *l, rush_model **out) {
  void *at;
  size_t room;
  *out = NULL;
  RUSH_TRY(rush_loader_window(l, &at, &room));
  uint64_t got = l->head_done ? l->m->head_bytes + l->at : l->got;
  RUSH_CHECK(l->ctx, room == 0, RUSH_ERR_BAD_FILE,
             "the file is cut off: got %llu bytes, expected %s%llu", (unsigned long long)got,
             l->m->total_bytes ? "" : "at least ",
             (unsigned long long)(l->m->total_bytes ? l->m->total_bytes : RUSH_HEADER_BYTES));
  rush_model *m = l->m;
  for (uint32_t i = 0, s; i < m->n_instrs; i++) {
    if (!reads_rows(l, i, &s) || m->weights[s].data) continue;
    m->packed[i] = m->packed[l->user[s]];
    m->packed[i]->others++;
  }
  drop_values(l);
  *out = m;
  l->m = NULL;
  return RUSH_OK;
}

rush_status rush_model_load(rush_ctx *ctx, const void *bytes, size_t size, rush_model **out) {
  rush_loader *l;
  const char *from = bytes;
  *out = NULL;
  RUSH_TRY(rush_loader_create(ctx, &l));
  l->given = size;
  rush_status st;
  for (;;) {
    void *at;
    size_t room;
    st = rush_loader_window(l, &at, &room);
    if (st != RUSH_OK || room == 0) break;
    size_t n = room < size ? room : size;
    if (n == 0) break;
    memcpy(at, from, n);
    from += n;
    size -= n;
    st = rush_loader_advance(l, n);
    if (st != RUSH_OK) break;
  }
  if (st == RUSH_OK) st = rush_loader_finish(l, out);
  if (st == RUSH_OK && size > 0) {
    rush_model_destroy(ctx, *out);
    *out = NULL;
    st = rush_fail(ctx, RUSH_ERR_BAD_FILE, "%zu bytes follow the end of the file", size);
  }
  rush_loader_destroy(l);
  return st;
}
