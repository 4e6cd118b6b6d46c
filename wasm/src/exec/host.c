/* The host's hand on a run: seeing the next instruction, giving results in its place, watching. */
#include "exec/session.h"

rush_status rush_session_next(rush_session *s, rush_next *out) {
  *out = (rush_next){0};
  RUSH_CHECK(s->ctx, s->running, RUSH_ERR_BAD_STATE, "nothing is running");
  const rush_model *m = s->m;
  const rush_code *c = m->code + s->pc;
  out->method = s->method;
  out->instr = s->pc - m->methods[s->method].instrs;
  if (c->opcode != RUSH_OPCODE_OP) return RUSH_OK;
  uint32_t n_args;
  rush_status st = rush_gather_args(s, c, &n_args);
  if (st != RUSH_OK) return rush_note_instr(s->ctx, m, s->pc, st);
  out->op = rush_string(m, m->file_ops[c->op].name);
  out->args = s->args;
  out->n_args = n_args;
  out->n_results = c->n_out;
  out->waits = (m->ops[c->op].op->flags & RUSH_OP_EXTERNAL) != 0;
  return RUSH_OK;
}

static rush_status check_results(rush_session *s, const rush_code *c, const rush_value *results, size_t n) {
  RUSH_CHECK(s->ctx, n == c->n_out, RUSH_ERR_BAD_ARGUMENT, "%zu results are given, the operator has %u", n, c->n_out);
  for (size_t k = 0; k < n; k++) {
    RUSH_CHECK(s->ctx, rush_value_fits(s->m, c->result_types[k], results + k), RUSH_ERR_BAD_ARGUMENT,
               "result %zu cannot be this %s", k, rush_kind_name(results[k].kind));
  }
  return RUSH_OK;
}

/* The k-th result belongs to the k-th argument that the schema marks as written: it is copied there. */
static rush_status settle_written(rush_session *s, const rush_code *c, rush_value *results) {
  const rush_model_op *o = s->m->ops + c->op;
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  uint32_t n_args, k = 0;
  RUSH_TRY(rush_gather_args(s, c, &n_args));
  for (uint32_t i = 0; i < o->schema.n_args && k < c->n_out; i++) {
    if (!o->schema.args[i].written || s->args[i].kind != RUSH_KIND_TENSOR) continue;
    if (results[k].kind == RUSH_KIND_TENSOR && results[k].u.ref != s->args[i].u.ref) {
      rush_tensor *to = rush_as_tensor(s->args + i), *from = rush_as_tensor(results + k);
      RUSH_CHECK(s->ctx, rush_same_sizes(to, from) && to->dtype == from->dtype, RUSH_ERR_BAD_ARGUMENT,
                 "result %u is %s%s, the argument that it is written to %s%s", k, rush_dtype_name(from->dtype),
                 rush_shape_text(from->rank, from->sizes, a), rush_dtype_name(to->dtype), rush_shape_text(to->rank, to->sizes, b));
      RUSH_TRY(rush_tensor_copy(&s->heap, to, from));
      rush_drop(&s->heap, results + k);
      results[k] = rush_retained(s->args[i]);
    }
    k++;
  }
  return RUSH_OK;
}

rush_status rush_session_provide(rush_session *s, const rush_value *results, size_t n) {
  RUSH_CHECK(s->ctx, s->running, RUSH_ERR_BAD_STATE, "nothing is running");
  const rush_code *c = s->m->code + s->pc;
  RUSH_CHECK(s->ctx, c->opcode == RUSH_OPCODE_OP, RUSH_ERR_BAD_STATE, "the next instruction is control flow: step it");
  rush_status st = check_results(s, c, results, n);
  for (size_t k = 0; st == RUSH_OK && k < n; k++) s->results[k] = rush_retained(results[k]);
  if (st == RUSH_OK) {
    st = settle_written(s, c, s->results);
    for (size_t k = 0; st != RUSH_OK && k < n; k++) rush_drop(&s->heap, s->results + k);
  }
  if (st != RUSH_OK) return rush_note_instr(s->ctx, s->m, s->pc, st);
  rush_set_results(s, c, s->results);
  rush_drop_after(s, c);
  s->pc++;
  return RUSH_OK;
}

rush_status rush_session_observe(rush_session *s, bool on) {
  if (on && !s->observed) RUSH_TRY(rush_calloc(s->ctx, s->m->max_out, sizeof *s->observed, (void **)&s->observed));
  for (uint32_t k = 0; k < s->n_observed; k++) rush_drop(&s->heap, s->observed + k);
  s->n_observed = 0;
  s->observe = on;
  return RUSH_OK;
}

const rush_value *rush_session_results(const rush_session *s, size_t *n) {
  *n = s->n_observed;
  return s->observed;
}
