/* Instructions: resolves operators, checks structure and operands, and computes lifetimes. */
#include "call/overlap.h"
#include "call/widen.h"
#include "model/model.h"

#define BAD(i, ...) return rush_fail_record(ctx, m, RUSH_SEC_INSTRS, i, __VA_ARGS__)

/* A block that is open at the current point of the walk. */
typedef struct block {
  uint32_t opener;  /* its IF, ELSE or LOOP instruction */
  uint32_t end;     /* END_IF or END_LOOP that closes it */
  uint32_t defined; /* number of visible registers at its start */
} block;

typedef struct walk {
  rush_ctx *ctx;
  rush_model *m;
  const rush_file_method *method;
  block blocks[RUSH_MAX_NESTING];
  uint32_t depth;
  uint64_t operands; /* where the next instruction's operands may start */
  /* Arrays with one element per register of the method. */
  uint8_t *level;    /* depth of the defining block + 1, or 0 if not visible */
  bool *written;     /* assigned by an instruction; each register at most once */
  uint32_t *last;    /* last instruction that needs it */
  uint32_t *visible; /* stack of visible registers */
  uint32_t n_visible;
} walk;

/* ---- Operators ------------------------------------------------------------------------------- */

/* Resolves the schema of the file's operator `i`. An operator that the host computes may have its
 * schema in the file. */
static rush_status resolve_schema(rush_ctx *ctx, rush_model *m, uint32_t i) {
  rush_model_op *o = m->ops + i;
  if (strchr(o->op->schema, '(')) return rush_schema_parse(ctx, o->op->schema, &o->schema);
  const char *name = rush_string(m, m->file_ops[i].name);
  RUSH_CHECK(ctx, m->file_ops[i].schema != RUSH_NONE, RUSH_ERR_BAD_ARGUMENT,
             "operator '%s' was added without a schema, and the file carries none", name);
  const uint32_t size = m->strings[m->file_ops[i].schema].bytes;
  RUSH_TRY(rush_charge(ctx, size));
  RUSH_CHECK(ctx, size <= RUSH_SCHEMA_MAX_BYTES, RUSH_ERR_BAD_FILE,
             "operator '%s': a schema must have at most %d bytes, got %u", name,
             RUSH_SCHEMA_MAX_BYTES, size);
  o->custom.schema = rush_string(m, m->file_ops[i].schema);
  rush_status st = rush_schema_parse(ctx, o->custom.schema, &o->schema);
  return st == RUSH_ERR_BAD_STATE ? RUSH_ERR_BAD_FILE : st;
}

static rush_status resolve_ops(rush_ctx *ctx, rush_model *m) {
  RUSH_TRY(rush_calloc(ctx, m->n_ops, sizeof *m->ops, (void **)&m->ops));
  for (uint32_t i = 0; i < m->n_ops; i++) {
    rush_model_op *o = m->ops + i;
    const char *name = rush_string(m, m->file_ops[i].name);
    const uint32_t size = m->strings[m->file_ops[i].name].bytes;
    /* Matches no operator, and many records could share this one string. */
    if (size >= RUSH_NAME_BYTES) {
      m->n_missing++;
      continue;
    }
    RUSH_TRY(rush_charge(ctx, 4000 + size)); /* it is compared with all names */
    o->op =
        rush_op_find_custom(ctx, name, &o->custom) ? &o->custom : rush_op_find(name, &o->inplace);
    if (!o->op) m->n_missing++;
    if (!o->op) continue;
    o->variadic = (o->op->flags & RUSH_OP_VARIADIC) != 0;
    RUSH_TRY(resolve_schema(ctx, m, i));
    if (o->inplace) o->schema.args[0].written = true, o->schema.args[0].returned = 0;
    if (o->op->flags & RUSH_OP_COMPLEX_NUMBERS) rush_schema_take_complex(&o->schema);
    o->widens = !(o->op->flags & (RUSH_OP_ANY_DTYPE | RUSH_OP_VIEW));
    if ((o->inplace || (o->op->flags & RUSH_OP_WRITES)) && !(o->op->flags & RUSH_OP_MAY_OVERLAP))
      o->overlap = o->op->family;
    if (o->widens) o->dtype_arg = rush_dtype_arg(&o->schema);
    o->defaults = m->n_defaults;
    m->n_defaults += o->schema.n_args;
    if (o->schema.n_args > m->max_in) m->max_in = o->schema.n_args;
  }
  return RUSH_OK;
}

/* Adds one line about a missing operator: its schema, and its first use. */
static void explain_missing(rush_text *t, const rush_model *m, uint32_t op) {
  const rush_file_op *o = m->file_ops + op;
  uint32_t uses = 0, first = 0;
  for (uint32_t i = m->n_instrs; i-- > 0;) {
    if (m->instrs[i].opcode == RUSH_OPCODE_OP && m->instrs[i].op == op) first = (uses++, i);
  }
  rush_text_add(t, "\n  %.512s",
                o->schema == RUSH_NONE ? rush_string(m, o->name) : rush_string(m, o->schema));
  for (uint32_t f = 0; uses && f < m->n_methods; f++) {
    if (first - m->methods[f].instrs >= m->methods[f].n_instrs) continue;
    rush_text_add(t, "\n    in %.128s, instruction %u", rush_string(m, m->methods[f].name),
                  first - m->methods[f].instrs);
  }
  uint32_t source = uses ? m->instrs[first].source : RUSH_NONE;
  if (source < m->n_sources && m->sources[source].file != RUSH_NONE)
    rush_text_add(t, " at %.256s:%u", rush_string(m, m->sources[source].file),
                  m->sources[source].line);
  if (uses > 1) rush_text_add(t, ", and %u more", uses - 1);
}

rush_status rush_ops_present(rush_ctx *ctx, const rush_model *m) {
  rush_text names = {.ctx = ctx}, lines = {.ctx = ctx};
  size_t missing = 0;
  if (m->n_missing == 0) return RUSH_OK;
  for (uint32_t i = 0; i < m->n_ops; i++) {
    if (m->ops[i].op) continue;
    if (names.size < 1024)
      rush_text_add(&names, missing ? ", %.256s" : "%.256s", rush_string(m, m->file_ops[i].name));
    if (lines.size < 1024) explain_missing(&lines, m, i);
    missing++;
  }
  rush_status st = names.failed ? names.why : rush_text_status(&lines);
  if (st == RUSH_OK && rush_ops_slimmed())
    st = rush_fail(
        ctx, RUSH_ERR_UNSUPPORTED,
        "this runtime was slimmed; missing %s%s\nslim it for this file, too: npx rushlight "
        "slim FILE.rush... -o DIR",
        names.data, lines.data);
  else if (st == RUSH_OK)
    st = rush_fail(
        ctx, RUSH_ERR_UNSUPPORTED,
        "the model needs %zu operator%s that this runtime lacks: %s%s\nsupply %s in JavaScript, "
        "load(url, { ops: { 'name': (...args) => result } }); in C, by rush_ctx_add_op or CMake's "
        "rushlight_add_operators; or in Python before the export, by "
        "rushlight.register_decomposition",
        missing, missing == 1 ? "" : "s", names.data, lines.data, missing == 1 ? "it" : "each");
  rush_release(ctx, names.data, names.capacity);
  rush_release(ctx, lines.data, lines.capacity);
  return st;
}

static rush_status check_op(walk *w, uint32_t i) {
  rush_ctx *ctx = w->ctx;
  const rush_model *m = w->m;
  const rush_file_instr *in = m->instrs + i;
  if (in->op >= m->n_ops) BAD(i, "operator %u does not exist", in->op);
  const rush_model_op *o = m->ops + in->op;
  if (!o->op) return RUSH_OK;
  const char *name = rush_string(m, m->file_ops[in->op].name);
  if (in->n_in > o->schema.n_args && !o->schema.more_args)
    return rush_fail(ctx, RUSH_ERR_UNSUPPORTED,
                     "instruction %u passes %s %u arguments, this runtime takes %u", i, name,
                     in->n_in, o->schema.n_args);
  if (in->n_in < o->schema.n_required)
    BAD(i, "%s needs %u arguments, got %u", name, o->schema.n_required, in->n_in);
  if (in->n_out != o->schema.n_results && !o->schema.more_results)
    BAD(i, "%s has %u results, but the instruction takes %u", name, o->schema.n_results, in->n_out);
  for (uint32_t k = 0; k < in->n_in && k < o->schema.n_args; k++) {
    uint32_t operand = m->operands[in->operands + k];
    if (operand & RUSH_OPERAND_CONSTANT) continue; /* checked when the value is created */
    rush_kinds kinds = rush_type_kinds(m, m->registers[w->method->registers + operand].type);
    const rush_schema_arg *arg = o->schema.args + k;
    if (!(kinds & arg->kinds))
      BAD(i, "the type of argument '%.*s' does not fit %s", (int)arg->name_size, arg->name, name);
  }
  return RUSH_OK;
}

/* ---- Operands -------------------------------------------------------------------------------- */

static rush_status define(walk *w, uint32_t i, uint32_t r, uint32_t level) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  /* Not visible; END_LOOP and END_IF make results of their openers visible once. */
  if (w->level[r] == 0) {
    w->level[r] = (uint8_t)(level + 1);
    w->visible[w->n_visible++] = r;
    w->last[r] = i;
    return RUSH_OK;
  }
  BAD(i, "register %u is written a second time", r);
}

static rush_status use(walk *w, uint32_t i, uint32_t operand) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  if (operand & RUSH_OPERAND_CONSTANT) {
    uint32_t k = operand & ~RUSH_OPERAND_CONSTANT;
    if (k >= m->n_constants) BAD(i, "constant %u does not exist", k);
    m->constant_used[k] = true;
    return RUSH_OK;
  }
  if (operand >= w->method->n_registers || w->level[operand] == 0)
    BAD(i, "register %u is read before it has a value", operand);
  uint32_t level = w->level[operand] - 1u;
  /* In its own block, a register is needed until here. In a nested construct, it is needed until
   * that construct ends. */
  w->last[operand] = level == w->depth ? i : w->blocks[level].end;
  return RUSH_OK;
}

/* Marks registers `first` to n_out of instruction i as assigned. No other instruction may assign
 * them. */
static rush_status claim(walk *w, uint32_t i) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  const rush_file_instr *in = m->instrs + i;
  for (uint32_t k = 0; k < in->n_out; k++) {
    uint32_t r = m->operands[in->operands + in->n_in + k];
    if (r >= w->method->n_registers) BAD(i, "register %u does not exist", r);
    if (w->written[r]) BAD(i, "register %u is written a second time", r);
    w->written[r] = true;
  }
  return RUSH_OK;
}

static rush_status define_out(walk *w, uint32_t i, uint32_t opener, uint32_t from, uint32_t to) {
  const rush_file_instr *in = w->m->instrs + opener;
  for (uint32_t k = from; k < to; k++)
    RUSH_TRY(define(w, i, w->m->operands[in->operands + in->n_in + k], w->depth));
  return RUSH_OK;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static rush_status open_block(walk *w, uint32_t i, uint32_t end) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  if (w->depth == RUSH_MAX_NESTING - 1)
    BAD(i, "blocks are nested deeper than %d", RUSH_MAX_NESTING);
  w->blocks[w->depth] = (block){i, end, w->n_visible};
  w->depth++;
  return RUSH_OK;
}

/* Leaves the innermost block. Registers that it defines are no longer visible. */
static void close_block(walk *w) {
  block *b = &w->blocks[--w->depth];
  while (w->n_visible > b->defined) w->level[w->visible[--w->n_visible]] = 0;
}

static const block *top(const walk *w) {
  return w->depth ? &w->blocks[w->depth - 1] : NULL;
}

/* Returns whether the innermost block was opened by `opcode` and is closed by instruction i. */
static bool closes(const walk *w, uint32_t i, uint16_t opcode) {
  const block *b = top(w);
  return b && w->m->instrs[b->opener].opcode == opcode && w->m->instrs[b->opener].target == i;
}

static bool targets(const walk *w, uint32_t i, uint16_t opcode) {
  uint32_t t = w->m->instrs[i].target, end = w->method->instrs + w->method->n_instrs;
  return t > i && t < end && w->m->instrs[t].opcode == opcode;
}

static rush_status walk_if(walk *w, uint32_t i) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  const rush_file_instr *in = m->instrs + i;
  if (in->n_in != 1) BAD(i, "IF must take 1 value, got %u", in->n_in);
  if (!targets(w, i, RUSH_OPCODE_ELSE) || !targets(w, in->target, RUSH_OPCODE_END_IF))
    BAD(i, "target %u is not an ELSE with an END_IF", in->target);
  if (m->instrs[in->target].n_in != in->n_out ||
      m->instrs[m->instrs[in->target].target].n_in != in->n_out)
    BAD(i, "its branches do not give %u values", in->n_out);
  return open_block(w, i, m->instrs[in->target].target);
}

static rush_status walk_else(walk *w, uint32_t i) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  if (!closes(w, i, RUSH_OPCODE_IF) || m->instrs[i].n_out) BAD(i, "ELSE does not close an IF here");
  uint32_t end = top(w)->end;
  close_block(w);
  return open_block(w, i, end);
}

static rush_status walk_end_if(walk *w, uint32_t i) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  if (!closes(w, i, RUSH_OPCODE_ELSE) || m->instrs[i].n_out)
    BAD(i, "END_IF does not close an ELSE here");
  uint32_t opener = m->instrs[i].target;
  if (opener >= i || m->instrs[opener].opcode != RUSH_OPCODE_IF ||
      m->instrs[opener].target != top(w)->opener)
    BAD(i, "target %u is not its IF", opener);
  close_block(w);
  return define_out(w, i, opener, 0, m->instrs[opener].n_out);
}

static rush_status walk_loop(walk *w, uint32_t i) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  const rush_file_instr *in = m->instrs + i;
  if (in->n_in < 2 || in->n_out != 2 * (in->n_in - 2u) + 1)
    BAD(i, "LOOP with %u inputs cannot have %u outputs", in->n_in, in->n_out);
  if (!targets(w, i, RUSH_OPCODE_END_LOOP) || m->instrs[in->target].target != i)
    BAD(i, "target %u is not its END_LOOP", in->target);
  if (m->instrs[in->target].n_in != in->n_in - 1)
    BAD(i, "END_LOOP gives %u values", m->instrs[in->target].n_in);
  RUSH_TRY(open_block(w, i, in->target));
  /* Registers without a use live until the end of the iteration. */
  return define_out(w, in->target, i, in->n_in - 2u, in->n_out);
}

static rush_status walk_end_loop(walk *w, uint32_t i) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  if (!closes(w, i, RUSH_OPCODE_LOOP) || m->instrs[i].n_out)
    BAD(i, "END_LOOP does not close a LOOP here");
  uint32_t opener = top(w)->opener;
  close_block(w);
  return define_out(w, i, opener, 0, m->instrs[opener].n_in - 2u);
}

static rush_status check_instr(const walk *w, uint32_t i) {
  rush_ctx *ctx = w->ctx;
  const rush_model *m = w->m;
  const rush_file_instr *in = m->instrs + i;
  if (in->opcode > RUSH_OPCODE_RETURN || in->reserved) BAD(i, "opcode %u is not known", in->opcode);
  if ((uint64_t)in->operands + in->n_in + in->n_out > m->n_operands)
    BAD(i, "its operands lie outside the operands");
  if (in->source != RUSH_NONE && m->n_sources && in->source >= m->n_sources)
    BAD(i, "source %u does not exist", in->source);
  bool jumps = in->opcode != RUSH_OPCODE_OP && in->opcode != RUSH_OPCODE_RETURN;
  if (!jumps && in->target != RUSH_NONE) BAD(i, "this instruction must not have a target");
  if (in->opcode != RUSH_OPCODE_OP && in->op != RUSH_NONE)
    BAD(i, "this instruction must not have an operator");
  bool last = i == w->method->instrs + w->method->n_instrs - 1;
  if (last != (in->opcode == RUSH_OPCODE_RETURN))
    BAD(i, last ? "the method does not end with RETURN" : "RETURN before the end of the method");
  return RUSH_OK;
}

static rush_status walk_instr(walk *w, uint32_t i) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  const rush_file_instr *in = m->instrs + i;
  RUSH_TRY(check_instr(w, i));
  const uint32_t n_operands = (uint32_t)in->n_in + in->n_out;
  if (n_operands > 0 && in->operands < w->operands)
    BAD(i, "shares operands with an instruction before it");
  if (n_operands > 0) w->operands = (uint64_t)in->operands + n_operands;
  RUSH_TRY(rush_charge(ctx, n_operands));
  for (uint32_t k = 0; k < in->n_in; k++) RUSH_TRY(use(w, i, m->operands[in->operands + k]));
  RUSH_TRY(claim(w, i));
  switch (in->opcode) {
    case RUSH_OPCODE_OP:
      RUSH_TRY(check_op(w, i));
      return define_out(w, i, i, 0, in->n_out);
    case RUSH_OPCODE_IF:
      return walk_if(w, i);
    case RUSH_OPCODE_ELSE:
      return walk_else(w, i);
    case RUSH_OPCODE_END_IF:
      return walk_end_if(w, i);
    case RUSH_OPCODE_LOOP:
      return walk_loop(w, i);
    case RUSH_OPCODE_END_LOOP:
      return walk_end_loop(w, i);
    default:
      if (in->n_in != 1 || in->n_out != 0 || w->depth != 0)
        BAD(i, "RETURN must take 1 value, outside all blocks");
      return RUSH_OK;
  }
}

/* ---- Decoding -------------------------------------------------------------------------------- */

/* Sets bit k if register operand k of an operator has its last use here and occurs only once. */
static uint32_t last_uses(const walk *w, uint32_t i) {
  const rush_file_instr *in = w->m->instrs + i;
  const uint32_t *operands = w->m->operands + in->operands;
  uint32_t mask = 0;
  for (uint32_t k = 0; k < in->n_in && k < 32; k++) {
    if ((operands[k] & RUSH_OPERAND_CONSTANT) || w->last[operands[k]] != i) continue;
    bool once = true;
    for (uint32_t j = 0; j < in->n_in; j++) once &= j == k || operands[j] != operands[k];
    if (once) mask |= 1u << k;
  }
  return mask;
}

static void decode(walk *w, uint32_t i) {
  rush_model *m = w->m;
  const rush_file_instr *in = m->instrs + i;
  m->code[i] = (rush_code){.opcode = in->opcode,
                           .n_in = in->n_in,
                           .n_out = in->n_out,
                           .op = in->op,
                           .target = in->target,
                           .operands = m->operands + in->operands,
                           .result_types = m->operand_types + in->operands + in->n_in};
  for (uint32_t k = in->operands + in->n_in; k < in->operands + in->n_in + in->n_out; k++)
    m->operand_types[k] = m->registers[w->method->registers + m->operands[k]].type;
  if (in->opcode == RUSH_OPCODE_OP) m->code[i].last_use = last_uses(w, i);
  if (in->n_in > m->max_in) m->max_in = in->n_in;
  if (in->n_out > m->max_out) m->max_out = in->n_out;
}

/* Returns whether register r is assigned inside the loop that instruction `end` closes. */
static bool inside_loop(const walk *w, const uint32_t *writer, uint32_t r, uint32_t end) {
  return writer[r] != RUSH_NONE && writer[r] >= w->m->instrs[end].target && writer[r] < end;
}

/* Sorts the method's registers by their last use into model->drops, with a counting sort. At an
 * END_LOOP, registers of the loop's body come first. */
static void place_drops(walk *w, uint32_t *writer) {
  rush_model *m = w->m;
  uint32_t first = w->method->instrs, n = w->method->n_instrs, n_regs = w->method->n_registers;
  for (uint32_t r = 0; r < n_regs; r++) {
    if (w->written[r]) m->code[w->last[r]].n_drops++;
  }
  uint32_t at = m->n_drops;
  for (uint32_t i = first; i < first + n; i++) {
    m->code[i].drops = at;
    at += m->code[i].n_drops;
    m->code[i].n_drops = 0;
  }
  m->n_drops = at;
  for (int body = 1; body >= 0; body--) {
    for (uint32_t r = 0; r < n_regs; r++) {
      if (!w->written[r]) continue;
      rush_code *c = m->code + w->last[r];
      bool inner = c->opcode == RUSH_OPCODE_END_LOOP && inside_loop(w, writer, r, w->last[r]);
      if (inner != (body == 1)) continue;
      m->drops[c->drops + c->n_drops++] = r;
      if (inner) c->n_inner_drops++;
    }
  }
}

/* Finds the instruction after which each register has its value. Results of a LOOP or an IF appear
 * at its end. */
static void find_writers(const walk *w, uint32_t *writer) {
  const rush_model *m = w->m;
  for (uint32_t r = 0; r < w->method->n_registers; r++) writer[r] = RUSH_NONE;
  for (uint32_t i = w->method->instrs; i < w->method->instrs + w->method->n_instrs; i++) {
    const rush_file_instr *in = m->instrs + i;
    for (uint32_t k = 0; k < in->n_out; k++) {
      uint32_t at = i;
      if (in->opcode == RUSH_OPCODE_IF) at = m->instrs[in->target].target;
      if (in->opcode == RUSH_OPCODE_LOOP && k < in->n_in - 2u) at = in->target;
      writer[m->operands[in->operands + in->n_in + k]] = at;
    }
  }
}

static rush_status walk_method(walk *w, uint32_t *writer) {
  rush_ctx *ctx = w->ctx;
  rush_model *m = w->m;
  uint32_t first = w->method->instrs, n = w->method->n_instrs, n_regs = w->method->n_registers;
  w->depth = w->n_visible = 0;
  memset(w->level, 0, n_regs * sizeof *w->level);
  memset(w->written, 0, n_regs * sizeof *w->written);
  for (uint32_t r = 0; r < w->method->n_inputs; r++) {
    w->written[r] = true;
    RUSH_TRY(define(w, first, r, 0));
  }
  for (uint32_t i = first; i < first + n; i++) RUSH_TRY(walk_instr(w, i));
  if (w->depth) BAD(first + n - 1, "a block is still open at the end of the method");
  for (uint32_t i = first; i < first + n; i++) decode(w, i);
  find_writers(w, writer);
  place_drops(w, writer);
  return RUSH_OK;
}

/* Allocates the arrays for the method with the most registers, and walks all methods. */
static rush_status walk_all(rush_ctx *ctx, rush_model *m) {
  size_t most = 1;
  for (uint32_t f = 0; f < m->n_methods; f++) {
    if (m->methods[f].n_registers > most) most = m->methods[f].n_registers;
  }
  uint32_t *words; /* last, visible, writer */
  uint8_t *bytes;  /* level, written */
  RUSH_TRY(rush_calloc(ctx, most, 3 * sizeof *words, (void **)&words));
  rush_status st = rush_calloc(ctx, most, 2, (void **)&bytes);
  if (st == RUSH_OK) {
    walk w = {.ctx = ctx,
              .m = m,
              .level = bytes,
              .written = (bool *)(bytes + most),
              .last = words,
              .visible = words + most};
    for (uint32_t f = 0; f < m->n_methods && st == RUSH_OK; f++) {
      w.method = m->methods + f;
      st = walk_method(&w, words + 2 * most);
    }
    rush_release(ctx, bytes, 2 * most);
  }
  rush_release(ctx, words, 3 * most * sizeof *words);
  return st;
}

rush_status rush_code_build(rush_ctx *ctx, rush_model *m) {
  RUSH_TRY(rush_find_type_kinds(ctx, m));
  RUSH_TRY(resolve_ops(ctx, m));
  RUSH_TRY(rush_calloc(ctx, m->n_constants, sizeof *m->constant_used, (void **)&m->constant_used));
  RUSH_TRY(rush_calloc(ctx, m->n_instrs, sizeof *m->code, (void **)&m->code));
  RUSH_TRY(rush_calloc(ctx, m->n_operands, sizeof *m->operand_types, (void **)&m->operand_types));
  RUSH_TRY(rush_calloc(ctx, m->n_registers, sizeof *m->drops, (void **)&m->drops));
  RUSH_TRY(walk_all(ctx, m));
  for (uint32_t i = 0; i < m->n_attributes; i++) m->constant_used[m->attributes[i].initial] = true;
  for (uint32_t i = 0; i < m->n_ports; i++) {
    if (m->ports[i].initial != RUSH_NONE) m->constant_used[m->ports[i].initial] = true;
  }
  /* Items of a used container are used as well. Containers come after their items. */
  for (uint32_t i = m->n_constants; i-- > 0;) {
    const rush_file_constant *c = m->constants + i;
    bool container = rush_const_has_items(c->kind);
    for (uint64_t k = 0; container && m->constant_used[i] && k < c->p0; k++)
      m->constant_used[m->lists[c->a + k]] = true;
  }
  return RUSH_OK;
}

rush_location rush_location_of(const rush_model *m, uint32_t instr) {
  const rush_file_instr *in = m->instrs + instr;
  rush_location at = {"?", instr, "", "", 0};
  if (in->op != RUSH_NONE) at.op = rush_string(m, m->file_ops[in->op].name);
  for (uint32_t f = 0; f < m->n_methods; f++) {
    if (instr - m->methods[f].instrs >= m->methods[f].n_instrs) continue;
    at.method = rush_string(m, m->methods[f].name);
    at.instr = instr - m->methods[f].instrs;
  }
  if (in->source < m->n_sources && m->sources[in->source].file != RUSH_NONE) {
    at.file = rush_string(m, m->sources[in->source].file);
    at.line = m->sources[in->source].line;
  }
  return at;
}

rush_status rush_fail_prefix_instr(rush_ctx *ctx, const rush_model *m, uint32_t instr,
                                   rush_status status) {
  const rush_location at = rush_location_of(m, instr);
  const char *what = m->instrs[instr].op == RUSH_NONE ? "control flow" : at.op;
  rush_set_location(ctx, &at);
  if (!*at.file)
    return rush_fail_prefix(ctx, status, "%s, instruction %u (%s): ", at.method, at.instr, what);
  return rush_fail_prefix(ctx, status, "%s, instruction %u (%s) at %s:%u: ", at.method, at.instr,
                          what, at.file, at.line);
}
