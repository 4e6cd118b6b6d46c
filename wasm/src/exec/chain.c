/* rush::chain runs the pointwise operators after it as one fused pass over their elements
 * (fused.h). The exporter puts it in front of them. It never changes a result. If a dtype or a size
 * does not fit, or if an observer needs each result, the instructions after it run as usual. */
#include "blocks/elements/fused.h"
#include "blocks/elements/pointwise.h"
#include "exec/session.h"
#include "tensor/device_interface.h"

enum { PATIENCE = 8 /* consecutive failures before it gives up */ };

/* The fused pass of an instruction's last run. The next run uses it again if the layout of the
 * operands and all other inputs of its operators are the same. */
struct rush_chain {
  rush_chain *next;
  rush_fused *walk; /* NULL if there is none */
  uint32_t failures;
  uint32_t n;         /* number of fused instructions */
  uint32_t n_watched; /* registers without tensors, and their values */
  struct {
    uint32_t r;
    rush_value value;
  } watched[2 * RUSH_MAX_CHAIN];
};

static bool is_pointwise(const rush_op *op, bool inplace) {
  if (!op || op->run != rush_run_pointwise || inplace) return false;
  const rush_pointwise *row = op->family;
  return (row->flags & RUSH_PW_INTO) == 0;
}

bool rush_may_chain(const char *name) {
  bool inplace;
  const rush_op *op = rush_op_find(name, &inplace);
  return is_pointwise(op, inplace);
}

static const rush_code *code_after(const rush_session *s) {
  return s->m->code + s->pc + 1;
}

static void end_chains(rush_session *s) {
  while (s->chains) {
    rush_chain *chain = s->chains;
    s->chains = chain->next;
    rush_fused_destroy(s->ctx, chain->walk);
    rush_release(s->ctx, chain, sizeof *chain);
  }
}

/* Returns the chain of the current instruction. */
static rush_status find_chain(rush_session *s, rush_chain **out) {
  void *memory = (void *)(intptr_t)s->iterations[s->pc];
  *out = memory;
  if (memory) return RUSH_OK;
  RUSH_TRY(rush_calloc(s->ctx, 1, sizeof **out, &memory));
  *out = memory;
  (*out)->next = s->chains;
  s->chains = *out;
  s->end_chains = end_chains;
  s->iterations[s->pc] = (intptr_t)memory;
  return RUSH_OK;
}

/* Counts how many of the next `n` instructions are pointwise operators. *operands is the total
 * number of their operands. */
static uint32_t count_steps(const rush_session *s, int64_t n, uint32_t *operands) {
  const rush_model *m = s->m;
  const rush_file_method *f = m->methods + s->method;
  const uint32_t most = f->instrs + f->n_instrs - (s->pc + 1);
  const rush_code *c = code_after(s);
  uint32_t k = 0;
  *operands = 0;
  for (; (int64_t)k < n && k < RUSH_MAX_CHAIN && k < most; k++, c++) {
    if (c->opcode != RUSH_OPCODE_OP || !is_pointwise(m->ops[c->op].op, m->ops[c->op].inplace))
      break;
    *operands += c->n_in;
  }
  return k;
}

/* ---- Building a fused pass ------------------------------------------------------------------- */

/* Remembers the inputs of `code` other than tensors. Returns false if they cannot be compared in
 * another run. */
static bool record_inputs(rush_session *s, rush_chain *chain, const rush_code *code) {
  for (uint32_t k = 0; k < code->n_in; k++) {
    const uint32_t r = code->operands[k];
    if ((r & RUSH_OPERAND_CONSTANT) || s->registers[r].kind == RUSH_KIND_TENSOR) continue;
    if (rush_is_object(s->registers + r) ||
        chain->n_watched == sizeof chain->watched / sizeof *chain->watched)
      return false;
    chain->watched[chain->n_watched].r = r;
    chain->watched[chain->n_watched++].value = s->registers[r];
  }
  return true;
}

static bool has_same_inputs(const rush_session *s, const rush_chain *chain) {
  for (uint32_t k = 0; k < chain->n_watched; k++) {
    const rush_value *now = s->registers + chain->watched[k].r, *then = &chain->watched[k].value;
    if (now->kind != then->kind || now->u.i != then->u.i) return false;
  }
  return true;
}

/* Lets a register hold the stand-in for the result of an instruction. */
static void set_stand_in(rush_session *s, uint32_t r, rush_tensor *stand_in) {
  rush_drop(&s->heap, s->registers + r);
  s->registers[r] = rush_of_tensor(stand_in);
}

/* Clears the registers of n stand-ins. */
static void remove_stand_ins(rush_session *s, uint32_t n) {
  const rush_code *code = code_after(s);
  for (uint32_t k = 0; k < n; k++) s->registers[code[k].operands[code[k].n_in]] = rush_none();
}

/* Fuses up to n instructions. Meanwhile, their registers hold stand-ins. */
static uint32_t add_steps(rush_session *s, rush_call *c, rush_chain *chain, uint32_t n,
                          rush_tensor *stand_ins) {
  const rush_code *code = code_after(s);
  rush_call step = *c;
  uint32_t k = 0;
  step.n_results = 1;
  step.last_use = 0;
  for (; k < n; k++, code++) {
    step.op = s->m->ops[code->op].op;
    if (!record_inputs(s, chain, code) || rush_gather_args(s, code, &step.n_args) != RUSH_OK) break;
    if (!rush_fused_add(chain->walk, &step, code->operands, stand_ins + k)) break;
    set_stand_in(s, code->operands[code->n_in], stand_ins + k);
  }
  c->tensors = step.tensors;
  c->blocks = step.blocks;
  remove_stand_ins(s, k);
  return k;
}

/* Returns the index of the instruction, among the first n, that assigns register r, or -1. */
static int last_writer(const rush_session *s, uint32_t r, uint32_t n) {
  for (uint32_t k = n; k-- > 0;) {
    const rush_code *code = code_after(s) + k;
    if (code->operands[code->n_in] == r) return (int)k;
  }
  return -1;
}

static rush_status make_walk(rush_session *s, rush_call *c, rush_chain *chain) {
  void *stand_ins;
  uint32_t operands;
  const uint32_t n = count_steps(s, arg_int(c, 0), &operands);
  rush_fused_destroy(s->ctx, chain->walk);
  chain->walk = NULL;
  chain->n_watched = 0;
  RUSH_TRY(tmp_items(c, n, sizeof(rush_tensor), &stand_ins));
  RUSH_TRY(rush_fused_new(s->ctx, n, operands, &chain->walk));
  chain->n = add_steps(s, c, chain, n, stand_ins);
  for (uint32_t k = 0; k < chain->n; k++) {
    const rush_code *code = code_after(s) + k;
    for (uint32_t i = 0; i < code->n_drops; i++) {
      const uint32_t r = s->m->drops[code->drops + i];
      rush_fused_release(chain->walk, last_writer(s, r, chain->n), r, k);
    }
  }
  return RUSH_OK;
}

/* ---- On a device ----------------------------------------------------------------------------- */

/* Adds up to n instructions to the device's chain. Meanwhile, their registers hold stand-ins.
 * Returns how many were added. */
static uint32_t add_on_device(rush_session *s, rush_call *step, uint32_t n,
                              rush_tensor *stand_ins) {
  const rush_code *code = code_after(s);
  uint32_t k = 0;
  for (; k < n; k++, code++) {
    step->op = s->m->ops[code->op].op;
    if (rush_gather_args(s, code, &step->n_args) != RUSH_OK ||
        !s->ctx->device->add_step(step, k, stand_ins + k))
      break;
    set_stand_in(s, code->operands[code->n_in], stand_ins + k);
  }
  remove_stand_ins(s, k);
  return k;
}

/* Returns whether the instructions up to `last` drop the result of step k. */
static bool is_dropped_before(const rush_session *s, uint32_t k, uint32_t last) {
  const uint32_t r = code_after(s)[k].operands[code_after(s)[k].n_in];
  for (uint32_t j = k; j <= last; j++) {
    const rush_code *code = code_after(s) + j;
    for (uint32_t i = 0; i < code->n_drops; i++)
      if (s->m->drops[code->drops + i] == r) return true;
  }
  return false;
}

/* Returns how many of n steps have only one result that is needed after them. */
static uint32_t count_with_one_result(const rush_session *s, uint32_t n) {
  for (; n > 1; n--) {
    uint32_t k = 0;
    while (k < n - 1 && is_dropped_before(s, k, n - 1)) k++;
    if (k == n - 1) return n;
  }
  return n;
}

/* Goes on after n instructions, whose results are given. */
static void set_results_and_skip(rush_session *s, uint32_t n, const rush_value *results) {
  const rush_code *code = code_after(s);
  for (uint32_t k = 0; k < n; k++) s->registers[code[k].operands[code[k].n_in]] = results[k];
  for (uint32_t k = 0; k < n; k++) rush_drop_after(s, code + k);
  s->next += n;
}

static rush_status run_on_device(rush_session *s, rush_call *c) {
  rush_value results[RUSH_MAX_CHAIN];
  rush_status st = RUSH_OK;
  uint32_t operands;
  void *stand_ins;
  uint32_t n = count_steps(s, arg_int(c, 0), &operands);
  if (n < 2) return RUSH_OK;
  RUSH_TRY(tmp_items(c, n, sizeof(rush_tensor), &stand_ins));
  rush_call step = *c;
  step.n_results = 1;
  step.last_use = 0;
  n = count_with_one_result(s, add_on_device(s, &step, n, stand_ins));
  for (uint32_t k = 0; k < n; k++) results[k] = rush_none();
  step.results = n > 0 ? results + n - 1 : NULL;
  const bool ran = n > 1 && s->ctx->device->run_steps(&step, n, &st);
  c->tensors = step.tensors;
  c->blocks = step.blocks;
  if (!ran) return RUSH_OK;
  if (st == RUSH_OK)
    set_results_and_skip(s, n, results);
  else
    rush_drop(&s->heap, results + n - 1);
  return st;
}

RUSH_OP(chain) {
  rush_session *s = c->session;
  rush_value results[RUSH_MAX_CHAIN];
  rush_chain *chain;
  if (s->observer) return RUSH_OK;
  if (RUSH_UNLIKELY(s->ctx->device != NULL)) return run_on_device(s, c);
  RUSH_TRY(find_chain(s, &chain));
  if (chain->failures == PATIENCE) return RUSH_OK;
  if (!chain->walk || !has_same_inputs(s, chain) || !rush_fused_rebind(chain->walk, s->registers))
    RUSH_TRY(make_walk(s, c, chain));
  if (chain->n < 2 || !rush_fused_run(chain->walk, c->ctx, &s->heap, results)) {
    chain->failures++;
    return RUSH_OK;
  }
  chain->failures = 0;
  set_results_and_skip(s, chain->n, results);
  return RUSH_OK;
}
