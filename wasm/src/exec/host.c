/* Functions for the host to control a run: to see the next instruction, to provide its results, and
 * to observe results. */
#include "exec/session.h"
#include "tensor/device_interface.h"

/* Returns whether the host can read the arguments now. */
static bool are_in_memory(rush_session *s, uint32_t n_args) {
  for (uint32_t k = 0; s->ctx->device && k < n_args; k++)
    if (s->ctx->device->fetch(&s->heap, s->args + k) != RUSH_OK) return false;
  return true;
}

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
  if (st != RUSH_OK) return rush_fail_prefix_instr(s->ctx, m, s->pc, st);
  out->op = rush_string(m, m->file_ops[c->op].name);
  out->args = s->args;
  out->n_args = n_args;
  out->n_results = c->n_out;
  out->waits = (m->ops[c->op].op->flags & RUSH_OP_EXTERNAL) != 0 && are_in_memory(s, n_args);
  return RUSH_OK;
}

static rush_status check_results(rush_session *s, const rush_code *c, const rush_value *results,
                                 size_t n) {
  RUSH_CHECK(s->ctx, n == c->n_out, RUSH_ERR_BAD_ARGUMENT, "the operator has %u results, got %zu",
             c->n_out, n);
  for (size_t k = 0; k < n; k++) {
    const bool fits = rush_value_fits(s->ctx, s->m, c->result_types[k], results + k);
    RUSH_TRY(rush_take_stop(s->ctx));
    RUSH_CHECK(s->ctx, fits, RUSH_ERR_BAD_ARGUMENT, "result %zu cannot be %s", k,
               rush_kind_name(results[k].kind));
  }
  return RUSH_OK;
}

/* Copies a tensor's elements into one with the same sizes and dtype. */
static rush_status copy_into(rush_session *s, const rush_value *target, const rush_value *value,
                             const char *what) {
  rush_tensor *to = rush_as_tensor(target), *from = rush_as_tensor(value);
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  RUSH_CHECK(s->ctx, rush_same_sizes(to, from) && to->dtype == from->dtype, RUSH_ERR_BAD_ARGUMENT,
             "%s must be %s%s, like the argument that it is written to, got %s%s", what,
             rush_dtype_name(to->dtype), rush_shape_text(to->rank, to->sizes, b),
             rush_dtype_name(from->dtype), rush_shape_text(from->rank, from->sizes, a));
  return rush_tensor_copy(&s->heap, to, from);
}

/* If the schema says that a result is a written argument, copies the result into the argument. */
static rush_status copy_into_written(rush_session *s, const rush_code *c, rush_value *results) {
  const rush_model_op *o = s->m->ops + c->op;
  uint32_t n_args;
  RUSH_TRY(rush_gather_args(s, c, &n_args));
  for (uint32_t i = 0; i < o->schema.n_args; i++) {
    int k = o->schema.args[i].returned;
    if (k < 0 || k >= (int)c->n_out || s->args[i].kind != RUSH_KIND_TENSOR) continue;
    if (results[k].kind != RUSH_KIND_TENSOR || results[k].u.ref == s->args[i].u.ref) continue;
    RUSH_TRY(copy_into(s, s->args + i, results + k, "the result"));
    rush_drop(&s->heap, results + k);
    results[k] = rush_value_retained(s->args[i]);
  }
  return RUSH_OK;
}

/* Returns the next instruction, which must be an operator. */
static rush_status next_op(rush_session *s, const rush_code **c) {
  RUSH_CHECK(s->ctx, s->running, RUSH_ERR_BAD_STATE, "nothing is running");
  *c = s->m->code + s->pc;
  RUSH_CHECK(s->ctx, (*c)->opcode == RUSH_OPCODE_OP, RUSH_ERR_BAD_STATE,
             "the next instruction is control flow: call step");
  return RUSH_OK;
}

rush_status rush_session_write(rush_session *s, size_t arg, const rush_value *tensor) {
  const rush_code *c;
  uint32_t n_args;
  RUSH_TRY(next_op(s, &c));
  const rush_schema *schema = &s->m->ops[c->op].schema;
  rush_status st = rush_gather_args(s, c, &n_args);
  if (st == RUSH_OK && (arg >= schema->n_args || !schema->args[arg].written ||
                        s->args[arg].kind != RUSH_KIND_TENSOR || tensor->kind != RUSH_KIND_TENSOR))
    st = rush_fail(s->ctx, RUSH_ERR_BAD_ARGUMENT,
                   "argument %zu must be a tensor that the schema marks as written", arg);
  if (st == RUSH_OK) st = copy_into(s, s->args + arg, tensor, "the value");
  return st == RUSH_OK ? RUSH_OK : rush_fail_prefix_instr(s->ctx, s->m, s->pc, st);
}

rush_status rush_session_fail(rush_session *s, const char *message) {
  RUSH_CHECK(s->ctx, s->running, RUSH_ERR_BAD_STATE, "nothing is running");
  rush_fail(s->ctx, RUSH_ERR_BAD_ARGUMENT, "%s", message);
  rush_fail_prefix_instr(s->ctx, s->m, s->pc, RUSH_ERR_BAD_ARGUMENT);
  rush_session_enter(s);
  rush_session_clear(s);
  rush_session_leave(s);
  return RUSH_ERR_BAD_ARGUMENT;
}

rush_status rush_session_provide(rush_session *s, const rush_value *results, size_t n) {
  const rush_code *c;
  RUSH_TRY(next_op(s, &c));
  rush_status st = check_results(s, c, results, n);
  for (size_t k = 0; st == RUSH_OK && k < n; k++) s->results[k] = rush_value_retained(results[k]);
  if (st == RUSH_OK) {
    st = copy_into_written(s, c, s->results);
    for (size_t k = 0; st != RUSH_OK && k < n; k++) rush_drop(&s->heap, s->results + k);
  }
  if (st != RUSH_OK) return rush_fail_prefix_instr(s->ctx, s->m, s->pc, st);
  rush_set_results(s, c, s->results);
  rush_drop_after(s, c);
  s->pc++;
  return RUSH_OK;
}

rush_status rush_session_replace(rush_session *s, const rush_value *results, size_t n) {
  const rush_code *c =
      s->running && s->pc > s->m->methods[s->method].instrs ? s->m->code + s->pc - 1 : NULL;
  RUSH_CHECK(s->ctx, c && c->opcode == RUSH_OPCODE_OP, RUSH_ERR_BAD_STATE,
             "the last instruction must be an operator");
  rush_status st = check_results(s, c, results, n);
  if (st != RUSH_OK) return rush_fail_prefix_instr(s->ctx, s->m, s->pc - 1, st);
  for (size_t k = 0; k < n; k++) s->results[k] = rush_value_retained(results[k]);
  rush_set_results(s, c, s->results);
  return RUSH_OK;
}

/* The results of the last operator, for the host. */
typedef struct seen {
  uint32_t n;
  rush_value results[];
} seen;

static void drop_observed(rush_session *s) {
  seen *o = s->observed;
  while (o->n > 0) rush_drop(&s->heap, o->results + --o->n);
}

static void observe_results(rush_session *s, const rush_code *c, const rush_value *results,
                            uint32_t n) {
  seen *o = s->observed;
  if (c->opcode != RUSH_OPCODE_OP) return;
  drop_observed(s);
  for (; o->n < n; o->n++) o->results[o->n] = rush_value_retained(results[o->n]);
}

static const rush_observer the_host = {observe_results, drop_observed};

rush_status rush_session_observe(rush_session *s, bool on) {
  if (s->observer == &the_host) rush_observe_end(s);
  if (!on) return RUSH_OK;
  return rush_observe_with(s, &the_host, sizeof(seen) + s->m->max_out * sizeof(rush_value));
}

const rush_value *rush_session_results(const rush_session *s, size_t *n) {
  const seen *o = s->observer == &the_host ? s->observed : NULL;
  *n = o ? o->n : 0;
  return o ? o->results : NULL;
}
