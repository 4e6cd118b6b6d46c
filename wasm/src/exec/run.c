/* The interpreter: one loop over decoded instructions, which can stop after any of them. */
#include "call/overlap.h"
#include "call/widen.h"
#include "exec/session.h"
#include "tensor/device_interface.h"
#include "tensor/layout.h"
#include "tensor/turned.h"

/* ---- Registers ------------------------------------------------------------------------------- */

static inline const rush_value *operand(const rush_session *s, uint32_t o) {
  assert(o & RUSH_OPERAND_CONSTANT ? (o & ~RUSH_OPERAND_CONSTANT) < s->m->n_constants
                                   : o < s->n_registers);
  return o & RUSH_OPERAND_CONSTANT ? s->constants + (o & ~RUSH_OPERAND_CONSTANT) : s->registers + o;
}

/* Takes over the reference of `v`. */
static inline void set_register(rush_session *s, uint32_t r, rush_value v) {
  rush_assign(&s->heap, s->registers + r, v);
}

/* Drops the n registers of model->drops from `first` on. A model may have none. */
static void drop_registers(rush_session *s, uint32_t first, uint32_t n) {
  for (uint32_t k = first; k < first + n; k++) rush_drop(&s->heap, s->registers + s->m->drops[k]);
}

void rush_drop_after(rush_session *s, const rush_code *c) {
  drop_registers(s, c->drops, c->n_drops);
}

/* registers[to[k]] = from[k], all at once: a carried value may be the place of another. */
static void move_all(rush_session *s, const uint32_t *to, const uint32_t *from, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) s->args[k] = rush_value_retained(*operand(s, from[k]));
  for (uint32_t k = 0; k < n; k++) set_register(s, to[k], s->args[k]);
}

/* ---- Operators ------------------------------------------------------------------------------- */

static rush_status refuse_argument(rush_session *s, const rush_schema_arg *arg,
                                   const rush_value *v) {
  if (v->kind == RUSH_KIND_LIST && (arg->kinds & RUSH_KIND_BIT(RUSH_KIND_LIST)))
    return rush_fail(s->ctx, RUSH_ERR_BAD_ARGUMENT,
                     "argument '%.*s' is a list with an item of the wrong kind",
                     (int)arg->name_size, arg->name);
  return rush_fail(s->ctx, RUSH_ERR_BAD_ARGUMENT, "argument '%.*s' cannot be %s",
                   (int)arg->name_size, arg->name, rush_kind_name(v->kind));
}

/* Refuses writes to tensors of the model: its sessions share weights, and its kernels were prepared
 * for the constants. If a PyTorch program writes such a tensor, the exporter makes it an attribute
 * or a new tensor. */
static rush_status check_written(rush_session *s, const rush_schema_arg *arg, const rush_value *v) {
  if (v->kind == RUSH_KIND_TENSOR) {
    const rush_storage *storage = rush_as_tensor(v)->storage;
    RUSH_CHECK(s->ctx, !storage->borrowed, RUSH_ERR_UNSUPPORTED,
               "argument '%.*s' must not be written: it is a weight that other sessions share",
               (int)arg->name_size, arg->name);
    RUSH_CHECK(s->ctx, !storage->has_conjugate, RUSH_ERR_UNSUPPORTED,
               "argument '%.*s' must not be written: conj() of it is a copy here. Use clone() or "
               "conj_physical()",
               (int)arg->name_size, arg->name);
  }
  if (rush_is_container(v->kind))
    RUSH_CHECK(s->ctx, !rush_as_list(v)->constant, RUSH_ERR_UNSUPPORTED,
               "argument '%.*s' must not be written: it is a constant of the model",
               (int)arg->name_size, arg->name);
  return RUSH_OK;
}

enum { PIECE = 1 << 12 }; /* items of a list between two checks for a stop request */

static rush_status check_arg(rush_session *s, const rush_schema_arg *arg, const rush_value *v) {
  if (RUSH_UNLIKELY(!(arg->kinds & RUSH_KIND_BIT(v->kind)))) return refuse_argument(s, arg, v);
  if (v->kind == RUSH_KIND_LIST && arg->items != RUSH_KINDS_ANY) {
    const rush_list *list = rush_as_list(v);
    for (size_t k = 0; k < list->n; k++) {
      if (k % PIECE == PIECE - 1) RUSH_TRY(rush_charge(s->ctx, PIECE));
      if (!(arg->items & RUSH_KIND_BIT(list->items[k].kind))) return refuse_argument(s, arg, v);
    }
  }
  return arg->written ? check_written(s, arg, v) : RUSH_OK;
}

rush_status rush_gather_args(rush_session *s, const rush_code *c, uint32_t *n_args) {
  const rush_model_op *o = s->m->ops + c->op;
  for (uint32_t k = 0; k < c->n_in; k++) s->args[k] = *operand(s, c->operands[k]);
  const rush_schema *schema = &o->schema;
  for (uint32_t k = c->n_in; k < schema->n_args; k++) s->args[k] = s->defaults[o->defaults + k];
  *n_args = c->n_in > schema->n_args ? c->n_in : schema->n_args;
  for (uint32_t k = 0; k < schema->n_args; k++) {
    const rush_value *v = s->args + k;
    if (rush_is_container(v->kind)) /* which is checked, and may be copied, item by item */
      RUSH_TRY(rush_charge(s->ctx, rush_as_list(v)->n));
    RUSH_TRY(check_arg(s, schema->args + k, v));
    if (rush_needs_order(o->op, schema->args + k, v) && RUSH_LIKELY(s->ctx->device == NULL))
      RUSH_TRY(rush_turn_back_value(&s->heap, v));
  }
  return RUSH_OK;
}

/* Completes an in-place form whose operator made a new tensor. */
static rush_status write_inplace(rush_call *c) {
  rush_tensor *to = c->inplace, *from = rush_as_tensor(c->results);
  if (from == to) return RUSH_OK;
  char a[RUSH_SHAPE_TEXT], b[RUSH_SHAPE_TEXT];
  RUSH_CHECK(c->ctx, rush_same_sizes(to, from), RUSH_ERR_BAD_ARGUMENT,
             "output with shape %s doesn't match the broadcast shape %s",
             rush_shape_text(to->rank, to->sizes, a), rush_shape_text(from->rank, from->sizes, b));
  RUSH_CHECK(c->ctx, rush_can_cast(from->dtype, to->dtype), RUSH_ERR_BAD_ARGUMENT,
             "result type %s can't be cast to the desired output type %s",
             rush_dtype_name(from->dtype), rush_dtype_name(to->dtype));
  RUSH_TRY(rush_check_write(c->ctx, to));
  RUSH_TRY(rush_tensor_copy(c->heap, to, from));
  rush_drop(c->heap, c->results);
  ret_tensor(c, 0, rush_tensor_retain(to));
  return RUSH_OK;
}

static inline void notify_observer(rush_session *s, const rush_code *c, const rush_value *results,
                                   uint32_t n) {
  if (RUSH_UNLIKELY(s->observer != NULL)) s->observer->see(s, c, results, n);
}

static inline void set_results(rush_session *s, const rush_code *c, const rush_value *results) {
  const uint32_t *out = c->operands + c->n_in;
  for (uint32_t k = 0; k < c->n_out; k++) set_register(s, out[k], results[k]);
}

void rush_set_results(rush_session *s, const rush_code *c, const rush_value *results) {
  set_results(s, c, results);
  notify_observer(s, c, results, c->n_out);
}

/* Argument 0 as PyTorch sees it, and back. */
static void swap_nominal_strides(rush_tensor *t) {
  for (int d = 0; d < t->rank; d++) {
    const int64_t stride = t->strides[d];
    t->strides[d] = t->nominal[d];
    t->nominal[d] = stride;
  }
  const int64_t offset = t->offset;
  t->offset = t->nominal_offset;
  t->nominal_offset = offset;
}

static void set_nominal_strides(rush_tensor *view, const rush_tensor *seen,
                                const rush_tensor *base) {
  if (view == base || view->storage != base->storage) return;
  memcpy(view->nominal, seen->strides, sizeof view->nominal);
  view->nominal_offset = seen->offset;
}

/* Makes a view of a turned tensor: once by its real strides, and once by the strides that PyTorch
 * sees, for the nominal strides of the result. */
static rush_status call_view(rush_call *call) {
  rush_tensor *base = rush_as_tensor(call->args);
  rush_value *view = call->results, seen = rush_none();
  RUSH_TRY(call->op->run(call));
  swap_nominal_strides(base);
  call->results = &seen;
  rush_status st = call->op->run(call);
  call->results = view;
  swap_nominal_strides(base);
  if (st == RUSH_OK && seen.kind == RUSH_KIND_TENSOR) {
    set_nominal_strides(rush_as_tensor(view), rush_as_tensor(&seen), base);
  } else if (st == RUSH_OK && seen.kind == RUSH_KIND_LIST) {
    const rush_list *views = rush_as_list(view), *all = rush_as_list(&seen);
    for (size_t k = 0; k < all->n; k++)
      set_nominal_strides(rush_as_tensor(views->items + k), rush_as_tensor(all->items + k), base);
  }
  rush_drop(call->heap, &seen);
  return st;
}

static bool is_view_of_turned(const rush_op *op, const rush_value *args) {
  return (op->flags & RUSH_OP_VIEW) && args->kind == RUSH_KIND_TENSOR &&
         rush_is_turned(rush_as_tensor(args));
}

/* Returns whether the operator may receive a rare dtype that it does not support. */
static inline bool may_want_wide(const rush_session *s, const rush_model_op *o) {
  return o->widens &&
         (s->heap.rare || (o->dtype_arg > 0 && rush_is_rare_dtype(s->args + o->dtype_arg)));
}

/* Calls the row of the table with arguments in a form that it accepts. */
static inline rush_status run_row(rush_session *s, const rush_model_op *o, rush_call *call) {
  rush_status st;
  if (RUSH_UNLIKELY(o->overlap)) RUSH_TRY(o->overlap->resolve(call, &o->schema, s->args));
  if (RUSH_UNLIKELY(s->heap.quantized.call) && s->heap.quantized.call(call, &o->schema, &st))
    return st;
  if (RUSH_UNLIKELY(may_want_wide(s, o)))
    return rush_call_widened(call, &o->schema, s->args, o->dtype_arg);
  return is_view_of_turned(o->op, s->args) ? call_view(call) : o->op->run(call);
}

/* Brings the results of the current instruction, which its registers have, to memory, where the
 * observer reads them. */
static rush_status show_results(rush_session *s, const rush_code *c) {
  rush_status st = RUSH_OK;
  for (uint32_t k = 0; k < c->n_out; k++) {
    s->results[k] = *operand(s, c->operands[c->n_in + k]);
    const rush_status one = s->ctx->device->fetch(&s->heap, s->results + k);
    if (one != RUSH_OK) st = one;
  }
  s->shows = st == RUSH_PENDING;
  if (st == RUSH_OK) notify_observer(s, c, s->results, c->n_out);
  return st;
}

static rush_status call_op(rush_session *s, uint32_t i, const rush_code *c) {
  const rush_model *m = s->m;
  const rush_model_op *o = m->ops + c->op;
  const rush_device *device = s->ctx->device;
  uint32_t n_args;
  if (RUSH_UNLIKELY(device != NULL) && s->shows) return show_results(s, c);
  RUSH_TRY(rush_gather_args(s, c, &n_args));
  for (uint32_t k = 0; k < c->n_out; k++) s->results[k] = rush_none();
  rush_call call = {.ctx = s->ctx,
                    .heap = &s->heap,
                    .session = s,
                    .model = m,
                    .attributes = s->attributes,
                    .op = o->op,
                    .n_args = n_args,
                    .n_results = c->n_out,
                    .args = s->args,
                    .results = s->results,
                    .result_types = c->result_types,
                    .inplace = o->inplace ? rush_as_tensor(s->args) : NULL,
                    .last_use = c->last_use,
                    .random = s->random,
                    .packed = m->packed[i]};
  rush_status st = RUSH_OK;
  const bool ran = RUSH_UNLIKELY(device != NULL) && device->run(&call, &o->schema, &st);
  if (!ran) st = o->op->flags & RUSH_OP_EXTERNAL ? RUSH_PENDING : run_row(s, o, &call);
  if (st == RUSH_OK) st = rush_take_stop(s->ctx);
  if (call.tensors || call.blocks) rush_call_release(&call);
  if (st == RUSH_OK && o->inplace && !ran) st = write_inplace(&call);
  if (st != RUSH_OK) {
    for (uint32_t k = 0; k < c->n_out; k++) rush_drop(&s->heap, s->results + k);
    return st;
  }
  set_results(s, c, s->results);
  if (RUSH_UNLIKELY(device != NULL) && s->observer) return show_results(s, c);
  notify_observer(s, c, s->results, c->n_out);
  return RUSH_OK;
}

/* ---- Control flow ---------------------------------------------------------------------------- */

static rush_status check_kind(rush_session *s, const rush_value *v, rush_kind kind,
                              const char *what) {
  RUSH_CHECK(s->ctx, v->kind == (uint32_t)kind, RUSH_ERR_BAD_ARGUMENT, "%s is %s, not %s", what,
             rush_kind_name(v->kind), rush_kind_name(kind));
  return RUSH_OK;
}

static rush_status run_if(rush_session *s, const rush_code *c) {
  const rush_value *cond = operand(s, c->operands[0]);
  RUSH_TRY(check_kind(s, cond, RUSH_KIND_BOOL, "the condition of an if"));
  if (cond->u.i == 0) s->next = c->target + 1;
  return RUSH_OK;
}

/* Ends a branch: its values become the results of the IF. ELSE ends the first branch and goes
 * on at END_IF's drops. */
static void end_branch(rush_session *s, const rush_code *c, const rush_code *opener) {
  move_all(s, opener->operands + opener->n_in, c->operands, opener->n_out);
  notify_observer(s, opener, s->args, opener->n_out);
}

/* `from` become the results of the LOOP. */
static void leave_loop(rush_session *s, const rush_code *loop, const uint32_t *from) {
  const uint32_t carried = loop->n_in - 2u;
  move_all(s, loop->operands + loop->n_in, from, carried);
  notify_observer(s, loop, s->args, carried);
}

/* LOOP: results (c), the iteration's index, carried values inside (c). */
static rush_status run_loop(rush_session *s, uint32_t i, const rush_code *c) {
  const rush_value *most = operand(s, c->operands[0]), *enter = operand(s, c->operands[1]);
  uint32_t carried = c->n_in - 2u;
  const uint32_t *out = c->operands + c->n_in;
  RUSH_TRY(check_kind(s, most, RUSH_KIND_INT, "the greatest number of iterations of a loop"));
  RUSH_TRY(check_kind(s, enter, RUSH_KIND_BOOL, "the condition of a loop"));
  if (most->u.i <= 0 || enter->u.i == 0) {
    leave_loop(s, c, c->operands + 2);
    rush_drop_after(s, c);
    const rush_code *end = s->m->code + c->target;
    rush_drop_after(s, end);
    s->next = c->target + 1;
    return RUSH_OK;
  }
  s->iterations[i] = 0;
  s->iterations[c->target] = most->u.i;
  set_register(s, out[carried], rush_int(0));
  move_all(s, out + carried + 1, c->operands + 2, carried);
  return RUSH_OK;
}

static rush_status run_end_loop(rush_session *s, uint32_t i, const rush_code *c) {
  const rush_code *loop = s->m->code + c->target;
  uint32_t carried = loop->n_in - 2u;
  const uint32_t *out = loop->operands + loop->n_in;
  const rush_value *go_on = operand(s, c->operands[0]);
  RUSH_TRY(check_kind(s, go_on, RUSH_KIND_BOOL, "the condition of a loop"));
  int64_t done = ++s->iterations[c->target];
  if (go_on->u.i == 0 || done >= s->iterations[i]) {
    leave_loop(s, loop, c->operands + 1);
    rush_drop_after(s, c);
    return RUSH_OK;
  }
  /* The values of this iteration that the next one does not take go first, so that it can reuse
   * them. */
  for (uint32_t k = 0; k < carried; k++)
    s->args[k] = rush_value_retained(*operand(s, c->operands[1 + k]));
  drop_registers(s, c->drops, c->n_inner_drops);
  for (uint32_t k = 0; k < carried; k++) set_register(s, out[carried + 1 + k], s->args[k]);
  set_register(s, out[carried], rush_int(done));
  s->next = c->target + 1;
  return RUSH_OK;
}

/* ---- The loop -------------------------------------------------------------------------------- */

static rush_status run_timed(rush_session *s, uint32_t i, const rush_code *c) {
  if (!s->clock) return call_op(s, i, c);
  double start = s->clock(s->clock_user);
  rush_status st = call_op(s, i, c);
  s->timings[i].seconds += s->clock(s->clock_user) - start;
  s->timings[i].calls++;
  return st;
}

/* Runs one instruction. */
static rush_status run_instr(rush_session *s, uint32_t i) {
  const rush_model *m = s->m;
  const rush_code *c = m->code + i;
  bool drops = true;
  switch (c->opcode) {
    case RUSH_OPCODE_OP:
      RUSH_TRY(run_timed(s, i, c));
      break;
    case RUSH_OPCODE_IF:
      RUSH_TRY(run_if(s, c));
      break;
    case RUSH_OPCODE_ELSE: { /* reached by the first branch only */
      const rush_code *end = m->code + c->target;
      end_branch(s, c, m->code + end->target);
      rush_drop_after(s, end);
      s->next = c->target + 1;
      break;
    }
    case RUSH_OPCODE_END_IF:
      end_branch(s, c, m->code + c->target);
      break;
    case RUSH_OPCODE_LOOP:
      RUSH_TRY(run_loop(s, i, c));
      drops = s->next == i + 1;
      break;
    case RUSH_OPCODE_END_LOOP:
      RUSH_TRY(run_end_loop(s, i, c));
      drops = false;
      break;
    default: { /* RETURN */
      if (RUSH_UNLIKELY(s->ctx->device != NULL))
        RUSH_TRY(s->ctx->device->fetch_result(&s->heap, operand(s, c->operands[0])));
      rush_assign(&s->heap, &s->result, rush_value_retained(*operand(s, c->operands[0])));
      rush_session_clear(s);
      return rush_take_stop(s->ctx);
    }
  }
  if (drops) rush_drop_after(s, c);
  return RUSH_OK;
}

enum {
  INSTR_WORK = 64, /* the cost of an instruction without its operator, in the operator's steps */
  STRETCH = 256,   /* instructions between two looks at the limits and at the host's wish to stop */
};

/* Stores in *more how many instructions may follow. Returns RUSH_PENDING if the budget is used
 * up. */
static rush_status next_stretch(rush_session *s, uint64_t budget, uint64_t done, uint64_t *more) {
  if (budget && done == budget) return RUSH_PENDING;
  *more = budget && budget - done < STRETCH ? budget - done : STRETCH;
  if (s->step_limit) {
    RUSH_CHECK(s->ctx, s->steps < s->step_limit, RUSH_ERR_INTERRUPTED,
               "the run exceeds its limit of %llu instructions", (unsigned long long)s->step_limit);
    if (s->step_limit - s->steps < *more) *more = s->step_limit - s->steps;
  }
  s->steps += *more;
  return rush_charge(s->ctx, *more * INSTR_WORK);
}

rush_status rush_session_not_stepping(const rush_session *s) {
  RUSH_CHECK(s->ctx, !s->stepping, RUSH_ERR_BAD_STATE, "the session is already running");
  return RUSH_OK;
}

static rush_status step(rush_session *s, uint64_t budget) {
  uint64_t granted = 0;
  const uint64_t next_poll = s->ctx->next_poll; /* another one: there was enough work for a look */
  for (uint64_t done = 0; s->running; done++) {
    rush_status st = RUSH_OK;
    s->next = s->pc + 1;
    if (RUSH_UNLIKELY(budget && s->ctx->next_poll != next_poll)) {
      st = RUSH_PENDING;
    } else if (RUSH_UNLIKELY(done == granted)) {
      uint64_t more = 0;
      st = next_stretch(s, budget, done, &more);
      granted += more;
    }
    if (RUSH_LIKELY(st == RUSH_OK)) st = run_instr(s, s->pc);
    if (RUSH_UNLIKELY(st != RUSH_OK)) {
      s->steps -= granted - done; /* those that were granted and did not run */
      if (st == RUSH_PENDING) return st;
      rush_fail_prefix_instr(s->ctx, s->m, s->pc, st);
      rush_note_odd_input(s, st);
      if (st == RUSH_ERR_INTERRUPTED) s->ctx->stopped = true;
      rush_session_clear(s);
      return st;
    }
    s->pc = s->next;
  }
  return RUSH_OK;
}

rush_status rush_session_step(rush_session *s, uint64_t budget) {
  RUSH_TRY(rush_session_not_stepping(s));
  RUSH_CHECK(s->ctx, s->running, RUSH_ERR_BAD_STATE, "nothing is running");
  s->stepping = true;
  rush_session_enter(s);
  const rush_status st = step(s, budget);
  rush_session_leave(s);
  s->stepping = false;
  return st;
}

void rush_session_set_step_limit(rush_session *s, uint64_t instructions) {
  s->step_limit = instructions;
}

void rush_session_cancel(rush_session *s) {
  if (!s->running) return;
  rush_session_enter(s);
  s->ctx->stopped = true;
  rush_session_clear(s);
  rush_session_leave(s);
}

rush_status rush_session_result(rush_session *s, rush_value *result) {
  *result = rush_none();
  RUSH_CHECK(s->ctx, !s->running, RUSH_ERR_BAD_STATE, "the run has not ended");
  *result = s->result;
  s->result = rush_none();
  return RUSH_OK;
}

rush_status rush_session_finish(rush_session *s) {
  rush_status st = rush_session_step(s, 0);
  if (st != RUSH_PENDING) return st;
  const char *op = rush_string(s->m, s->m->file_ops[s->m->code[s->pc].op].name);
  rush_session_clear(s);
  return rush_fail(s->ctx, RUSH_ERR_BAD_STATE,
                   "operator '%s' is computed by the host: use begin, step and provide", op);
}

rush_status rush_session_run(rush_session *s, size_t method, const rush_value *args, size_t n_args,
                             rush_value *result) {
  *result = rush_none();
  RUSH_TRY(rush_session_begin(s, method, args, n_args));
  RUSH_TRY(rush_session_finish(s));
  return rush_session_result(s, result);
}
