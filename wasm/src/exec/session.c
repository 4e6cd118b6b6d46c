#include "exec/session.h"
#include "tensor/device_interface.h"

void rush_session_enter(rush_session *s) {
  s->heap.in_run = true;
}

void rush_session_leave(rush_session *s) {
  s->heap.in_run = s->ctx->stopped = false;
}

void rush_session_clear(rush_session *s) {
  uint32_t n = s->m->methods[s->method].n_registers;
  if (s->ctx->stopped) rush_drop(&s->heap, &s->result);
  for (uint32_t r = 0; r < n; r++) rush_drop(&s->heap, s->registers + r);
  s->running = s->shows = false;
  if (s->heap.collect_cycles) s->heap.collect_cycles(&s->heap);
}

rush_status rush_session_copy(rush_session *s, uint32_t constant, rush_value *out) {
  rush_storage **copies;
  *out = rush_none();
  RUSH_TRY(rush_calloc(s->ctx, s->m->n_storages, sizeof *copies, (void **)&copies));
  const size_t cap = rush_limit_memory(s->ctx, rush_memory_allowance(s->m->total_bytes));
  rush_status st = rush_constant_copy(&s->heap, s->m, constant, copies, out);
  rush_restore_limit(s->ctx, cap);
  rush_release(s->ctx, copies, s->m->n_storages * sizeof *copies);
  return st;
}

rush_status rush_session_reset(rush_session *s) {
  const rush_model *m = s->m;
  rush_storage **copies;
  rush_status st = RUSH_OK;
  RUSH_TRY(rush_calloc(s->ctx, m->n_storages, sizeof *copies, (void **)&copies));
  const size_t cap = rush_limit_memory(s->ctx, rush_memory_allowance(m->total_bytes));
  for (uint32_t i = 0; i < m->n_attributes && st == RUSH_OK; i++) {
    rush_value v;
    st = rush_constant_copy(&s->heap, m, m->attributes[i].initial, copies, &v);
    if (st != RUSH_OK) break;
    rush_assign(&s->heap, s->attributes + i, v);
  }
  rush_restore_limit(s->ctx, cap);
  rush_release(s->ctx, copies, m->n_storages * sizeof *copies);
  for (uint32_t i = 0; i < m->n_ports; i++) rush_drop(&s->heap, s->initials + i);
  return st;
}

rush_status rush_observe_with(rush_session *s, const rush_observer *observer, size_t bytes) {
  RUSH_CHECK(s->ctx, !s->observer, RUSH_ERR_BAD_STATE,
             "the session must end its observation or trace before another one begins");
  RUSH_TRY(rush_calloc(s->ctx, 1, bytes, &s->observed));
  s->observed_bytes = bytes;
  s->observer = observer;
  return RUSH_OK;
}

void rush_observe_end(rush_session *s) {
  if (!s->observer) return;
  s->observer->end(s);
  s->observer = NULL;
  rush_release(s->ctx, s->observed, s->observed_bytes);
  s->observed = NULL;
}

size_t rush_model_attribute_count(const rush_model *m) {
  return m->n_attributes;
}

const char *rush_model_attribute_name(const rush_model *m, size_t index) {
  return index < m->n_attributes ? rush_string(m, m->attributes[index].name) : NULL;
}

rush_status rush_session_get_attribute(rush_session *s, size_t index, rush_value *out) {
  *out = rush_none();
  RUSH_CHECK(s->ctx, index < s->m->n_attributes, RUSH_ERR_BAD_ARGUMENT,
             "attribute %zu does not exist, the model has %u", index, s->m->n_attributes);
  *out = rush_value_retained(s->attributes[index]);
  return RUSH_OK;
}

rush_status rush_session_set_attribute(rush_session *s, size_t index, const rush_value *value) {
  const rush_model *m = s->m;
  RUSH_CHECK(s->ctx, index < m->n_attributes, RUSH_ERR_BAD_ARGUMENT,
             "attribute %zu does not exist, the model has %u", index, m->n_attributes);
  const bool fits = rush_value_fits(s->ctx, m, m->attributes[index].type, value);
  RUSH_TRY(rush_take_stop(s->ctx));
  RUSH_CHECK(s->ctx, fits, RUSH_ERR_BAD_ARGUMENT, "attribute '%s' cannot be %s",
             rush_string(m, m->attributes[index].name), rush_kind_name(value->kind));
  rush_assign(&s->heap, s->attributes + index, rush_value_retained(*value));
  return RUSH_OK;
}

static rush_status make(rush_session *s) {
  const rush_model *m = s->m;
  for (uint32_t f = 0; f < m->n_methods; f++) {
    if (m->methods[f].n_registers > s->n_registers) s->n_registers = m->methods[f].n_registers;
  }
  RUSH_TRY(rush_calloc(s->ctx, m->n_constants, sizeof *s->constants, (void **)&s->constants));
  RUSH_TRY(rush_calloc(s->ctx, m->n_storages, sizeof *s->storages, (void **)&s->storages));
  RUSH_TRY(rush_calloc(s->ctx, m->n_defaults, sizeof *s->defaults, (void **)&s->defaults));
  RUSH_TRY(rush_calloc(s->ctx, m->n_attributes, sizeof *s->attributes, (void **)&s->attributes));
  RUSH_TRY(rush_calloc(s->ctx, m->n_ports, sizeof *s->initials, (void **)&s->initials));
  RUSH_TRY(rush_calloc(s->ctx, m->n_instrs, sizeof *s->iterations, (void **)&s->iterations));
  RUSH_TRY(rush_calloc(s->ctx, m->max_in, sizeof *s->args, (void **)&s->args));
  RUSH_TRY(rush_calloc(s->ctx, m->max_out, sizeof *s->results, (void **)&s->results));
  rush_value *registers;
  RUSH_TRY(rush_calloc(s->ctx, s->n_registers, sizeof *registers, (void **)&registers));
  s->registers = registers;
  RUSH_TRY(rush_constants_make(&s->heap, m, s->constants, s->storages));
  for (uint32_t k = 0; k < m->n_ops; k++) {
    if (m->ops[k].schema.n_args > 0)
      RUSH_TRY(rush_defaults_make(&s->heap, &m->ops[k].schema, s->defaults + m->ops[k].defaults));
  }
  return rush_session_reset(s);
}

rush_status rush_session_create(rush_ctx *ctx, const rush_model *model, rush_session **out) {
  rush_session *s;
  *out = NULL;
  RUSH_TRY(rush_calloc(ctx, 1, sizeof *s, (void **)&s));
  s->ctx = ctx;
  s->m = model;
  s->heap.ctx = ctx;
  rush_random_seed_freshly(ctx, &s->own_random);
  rush_status st = make(s);
  if (st != RUSH_OK) {
    rush_session_destroy(s);
    return st;
  }
  *out = s;
  return RUSH_OK;
}

static void drop_all(rush_session *s, rush_value *values, uint32_t n) {
  for (uint32_t i = 0; values && i < n; i++) rush_drop(&s->heap, values + i);
  rush_release(s->ctx, values, n * sizeof *values);
}

void rush_session_destroy(rush_session *s) {
  if (!s) return;
  const rush_model *m = s->m;
  rush_observe_end(s);
  if (s->end_chains) s->end_chains(s);
  rush_drop(&s->heap, &s->result);
  drop_all(s, s->registers, s->n_registers);
  drop_all(s, s->attributes, m->n_attributes);
  drop_all(s, s->initials, m->n_ports);
  drop_all(s, s->constants, m->n_constants);
  drop_all(s, s->defaults, m->n_defaults);
  rush_break_cycles(&s->heap);
  rush_heap_trim(&s->heap);
  rush_release(s->ctx, s->storages, m->n_storages * sizeof *s->storages);
  rush_release(s->ctx, s->iterations, m->n_instrs * sizeof *s->iterations);
  rush_release(s->ctx, s->args, m->max_in * sizeof *s->args);
  rush_release(s->ctx, s->results, m->max_out * sizeof *s->results);
  rush_release(s->ctx, s->timings, m->n_instrs * sizeof *s->timings);
  rush_release(s->ctx, s, sizeof *s);
}

void rush_session_manual_seed(rush_session *s, uint64_t seed) {
  rush_random_seed(&s->own_random, seed);
}

void rush_session_get_random(const rush_session *s, rush_random *out) {
  *out = s->own_random;
}

void rush_session_set_random(rush_session *s, const rush_random *random) {
  s->own_random = *random;
  if (random->used > RUSH_RANDOM_WORDS) s->own_random.used = RUSH_RANDOM_WORDS;
}

rush_heap *rush_session_heap(rush_session *s) {
  return &s->heap;
}

void rush_session_trim(rush_session *s) {
  rush_heap_trim(&s->heap);
}
