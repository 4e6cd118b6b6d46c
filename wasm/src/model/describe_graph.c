/* Describes the program as JSON for tools: registers, instructions, constants, and PyTorch's
 * texts. */
#include <math.h>

#include "model/describe.h"
#include "model/json.h"

static void json_float(rush_json *j, uint64_t bits) {
  double f;
  memcpy(&f, &bits, sizeof f);
  rush_json_open(j, '{');
  rush_json_key(j, "float");
  if (isfinite(f)) {
    rush_json_value(j, "%.17g", f);
  } else {
    rush_json_text(j, isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity");
  }
  rush_json_close(j, '}');
}

static void json_tensor(rush_json *j, const rush_file_tensor *r) {
  rush_json_open(j, '{');
  rush_json_string_at(j, "tensor", r->name);
  rush_json_text_at(j, "dtype", rush_dtype_name(r->dtype));
  rush_json_key(j, "shape");
  rush_json_sizes(j, r->rank, r->sizes);
  rush_json_close(j, '}');
}

/* Writes {"KEY": "string of the file"}. */
static void json_named(rush_json *j, const char *key, uint32_t string) {
  rush_json_open(j, '{');
  rush_json_string_at(j, key, string);
  rush_json_close(j, '}');
}

static void json_int(rush_json *j, int64_t i) {
  rush_json_open(j, '{');
  rush_json_key(j, "int");
  rush_json_value(j, "\"%lld\"", (long long)i);
  rush_json_close(j, '}');
}

static void json_complex(rush_json *j, const rush_file_constant *c) {
  rush_json_open(j, '{');
  rush_json_key(j, "complex");
  rush_json_open(j, '[');
  json_float(j, c->p0);
  json_float(j, c->p1);
  rush_json_close(j, ']');
  rush_json_close(j, '}');
}

static void json_constant(rush_json *j, uint32_t constant);

static void json_items(rush_json *j, const rush_file_constant *c) {
  rush_json_open(j, '{');
  rush_json_key(j, c->kind == RUSH_CONST_LIST   ? "list"
                   : c->kind == RUSH_CONST_DICT ? "dict"
                                                : "tuple");
  rush_json_open(j, '[');
  for (uint64_t k = 0; k < c->p0 && rush_json_ok(j); k++) json_constant(j, j->m->lists[c->a + k]);
  rush_json_close(j, ']');
  rush_json_close(j, '}');
}

/* Writes ints as {"int": "12"} (because they have 64 bits), floats as {"float": 0.5}, and others as
 * plain JSON. The recursion depth is limited to RUSH_MAX_NESTING, the nesting of constants. */
static void json_constant(rush_json *j, uint32_t constant) {
  const rush_file_constant *c = j->m->constants + constant;
  switch (c->kind) {
    case RUSH_CONST_TENSOR:
    case RUSH_CONST_RANDOM:
      json_tensor(j, j->m->tensors + c->a);
      return;
    case RUSH_CONST_INT:
      json_int(j, (int64_t)c->p0);
      return;
    case RUSH_CONST_BOOL:
      rush_json_value(j, c->p0 ? "true" : "false");
      return;
    case RUSH_CONST_FLOAT:
      json_float(j, c->p0);
      return;
    case RUSH_CONST_COMPLEX:
      json_complex(j, c);
      return;
    case RUSH_CONST_STR:
      rush_json_string(j, c->a);
      return;
    case RUSH_CONST_DEVICE:
      json_named(j, "device", c->a);
      return;
    case RUSH_CONST_LIST:
    case RUSH_CONST_TUPLE:
    case RUSH_CONST_DICT:
      json_items(j, c);
      return;
    case RUSH_CONST_ENUM:
      json_named(j, "enum", j->m->constants[j->m->lists[c->a]].a);
      return;
    case RUSH_CONST_OBJECT:
      json_named(j, "object", j->m->types[c->p1].name);
      return;
    default:
      rush_json_value(j, "null");
  }
}

/* A register is written as its number, a constant as {"constant": index}. */
static void json_operands(rush_json *j, const uint32_t *operands, uint32_t n) {
  rush_json_open(j, '[');
  for (uint32_t k = 0; k < n && rush_json_ok(j); k++) {
    const bool constant = (operands[k] & RUSH_OPERAND_CONSTANT) != 0;
    rush_json_value(j, constant ? "{\"constant\":%u}" : "%u", operands[k] & ~RUSH_OPERAND_CONSTANT);
  }
  rush_json_close(j, ']');
}

static void json_instr(rush_json *j, const rush_file_instr *in) {
  static const char *const names[] = {"op", "if", "else", "end_if", "loop", "end_loop", "return"};
  const rush_model *m = j->m;
  rush_json_open(j, '{');
  rush_json_text_at(j, "code", names[in->opcode]);
  if (in->opcode == RUSH_OPCODE_OP) {
    rush_json_string_at(j, "op", m->file_ops[in->op].name);
  }
  rush_json_key(j, "in");
  json_operands(j, m->operands + in->operands, in->n_in);
  rush_json_key(j, "out");
  json_operands(j, m->operands + in->operands + in->n_in, in->n_out);
  if (in->source < m->n_sources) {
    rush_json_number_at(j, "source", in->source);
  }
  rush_json_close(j, '}');
}

static void json_register(rush_json *j, const rush_file_register *r) {
  rush_json_open(j, '{');
  rush_json_string_at(j, "name", r->name);
  rush_json_type_at(j, "type", r->type);
  rush_json_close(j, '}');
}

static void json_program(rush_json *j, const rush_file_method *f) {
  const rush_model *m = j->m;
  rush_json_open(j, '{');
  rush_json_string_at(j, "name", f->name);
  rush_json_number_at(j, "inputs", f->n_inputs);
  rush_json_key(j, "registers");
  rush_json_open(j, '[');
  for (uint32_t r = 0; r < f->n_registers && rush_json_ok(j); r++)
    json_register(j, m->registers + f->registers + r);
  rush_json_close(j, ']');
  rush_json_key(j, "instructions");
  rush_json_open(j, '[');
  for (uint32_t i = 0; i < f->n_instrs && rush_json_ok(j); i++)
    json_instr(j, m->instrs + f->instrs + i);
  rush_json_close(j, ']');
  rush_json_close(j, '}');
}

static void json_source(rush_json *j, const rush_file_source *s) {
  rush_json_open(j, '{');
  rush_json_string_at(j, "file", s->file);
  rush_json_number_at(j, "line", s->line);
  rush_json_string_at(j, "function", s->function);
  rush_json_string_at(j, "module", s->module);
  rush_json_key(j, "handle");
  rush_json_value(j, "\"%llu\"", (unsigned long long)s->handle);
  rush_json_close(j, '}');
}

static void json_text(rush_json *j, const rush_file_text *text) {
  static const char *const kinds[] = {"graph", "code", "tree"};
  rush_json_open(j, '{');
  rush_json_string_at(j, "module", text->module);
  rush_json_text_at(j, "kind", text->kind < 3 ? kinds[text->kind] : "?");
  rush_json_string_at(j, "text", text->text);
  rush_json_close(j, '}');
}

void rush_describe_graph(rush_text *t, const rush_model *m) {
  rush_json json = {t, m, false}, *j = &json;
  rush_json_open(j, '{');
  rush_json_key(j, "methods");
  rush_json_open(j, '[');
  for (uint32_t f = 0; f < m->n_methods && rush_json_ok(j); f++) json_program(j, m->methods + f);
  rush_json_close(j, ']');
  rush_json_key(j, "constants");
  rush_json_open(j, '[');
  for (uint32_t i = 0; i < m->n_constants && rush_json_ok(j); i++) json_constant(j, i);
  rush_json_close(j, ']');
  rush_json_key(j, "sources");
  rush_json_open(j, '[');
  for (uint32_t i = 0; i < m->n_sources && rush_json_ok(j); i++) json_source(j, m->sources + i);
  rush_json_close(j, ']');
  rush_json_key(j, "texts");
  rush_json_open(j, '[');
  for (uint32_t i = 0; i < m->n_texts && rush_json_ok(j); i++) json_text(j, m->texts + i);
  rush_json_close(j, ']');
  rush_json_close(j, '}');
}
