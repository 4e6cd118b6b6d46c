/* The program as JSON, for tools that walk it: registers, instructions, constants, PyTorch's texts.
 */
#include "model/describe.h"

#include <math.h>

#include "model/print.h"

static void json_double(rush_text *t, uint64_t bits) {
  double f;
  memcpy(&f, &bits, sizeof f);
  if (isfinite(f)) {
    rush_text_add(t, "{\"float\":%.17g}", f);
  } else {
    rush_text_add(t, "{\"float\":\"%s\"}", isnan(f) ? "NaN" : f > 0 ? "Infinity" : "-Infinity");
  }
}

static void json_tensor(rush_text *t, const rush_model *m, const rush_file_tensor *r) {
  char shape[RUSH_SHAPE_TEXT];
  rush_text_add(t, "{\"tensor\":");
  rush_json_string(t, m, r->name);
  rush_text_add(t, ",\"dtype\":\"%s\",\"shape\":%s}", rush_dtype_name(r->dtype),
                rush_shape_text(r->rank, r->sizes, shape));
}

/* ints as {"int": "12"} (they have 64 bits), floats as {"float": 0.5}, others as JSON has them.
 * Recursion is as deep as constants are nested: at most RUSH_MAX_NESTING. */
static void json_constant(rush_text *t, const rush_model *m, uint32_t constant) {
  const rush_file_constant *c = m->constants + constant;
  switch (c->kind) {
    case RUSH_CONST_TENSOR:
    case RUSH_CONST_RANDOM:
      json_tensor(t, m, m->tensors + c->a);
      return;
    case RUSH_CONST_INT:
      rush_text_add(t, "{\"int\":\"%lld\"}", (long long)c->p0);
      return;
    case RUSH_CONST_BOOL:
      rush_text_add(t, "%s", c->p0 ? "true" : "false");
      return;
    case RUSH_CONST_FLOAT:
      json_double(t, c->p0);
      return;
    case RUSH_CONST_COMPLEX:
      rush_text_add(t, "{\"complex\":[");
      json_double(t, c->p0);
      rush_text_add(t, ",");
      json_double(t, c->p1);
      rush_text_add(t, "]}");
      return;
    case RUSH_CONST_STR:
      rush_json_string(t, m, c->a);
      return;
    case RUSH_CONST_DEVICE:
      rush_text_add(t, "{\"device\":");
      rush_json_string(t, m, c->a);
      rush_text_add(t, "}");
      return;
    case RUSH_CONST_LIST:
    case RUSH_CONST_TUPLE:
    case RUSH_CONST_DICT:
      rush_text_add(t, "{\"%s\":[",
                    c->kind == RUSH_CONST_LIST    ? "list"
                    : c->kind == RUSH_CONST_TUPLE ? "tuple"
                                                  : "dict");
      for (uint64_t k = 0; k < c->p0; k++) {
        if (k) rush_text_add(t, ",");
        json_constant(t, m, m->lists[c->a + k]);
      }
      rush_text_add(t, "]}");
      return;
    case RUSH_CONST_ENUM:
      rush_text_add(t, "{\"enum\":");
      rush_json_string(t, m, m->constants[m->lists[c->a]].a);
      rush_text_add(t, "}");
      return;
    case RUSH_CONST_OBJECT:
      rush_text_add(t, "{\"object\":");
      rush_json_string(t, m, m->types[c->p1].name);
      rush_text_add(t, "}");
      return;
    default:
      rush_text_add(t, "null");
  }
}

/* A register is its number, a constant {"constant": index}. */
static void json_operands(rush_text *t, const uint32_t *operands, uint32_t n) {
  rush_text_add(t, "[");
  for (uint32_t k = 0; k < n; k++) {
    bool constant = (operands[k] & RUSH_OPERAND_CONSTANT) != 0;
    rush_text_add(t, constant ? "%s{\"constant\":%u}" : "%s%u", k ? "," : "",
                  operands[k] & ~RUSH_OPERAND_CONSTANT);
  }
  rush_text_add(t, "]");
}

static void json_instr(rush_text *t, const rush_model *m, const rush_file_instr *in) {
  static const char *const names[] = {"op", "if", "else", "end_if", "loop", "end_loop", "return"};
  rush_text_add(t, "{\"code\":\"%s\"", names[in->opcode]);
  if (in->opcode == RUSH_OPCODE_OP) {
    rush_text_add(t, ",\"op\":");
    rush_json_string(t, m, m->file_ops[in->op].name);
  }
  rush_text_add(t, ",\"in\":");
  json_operands(t, m->operands + in->operands, in->n_in);
  rush_text_add(t, ",\"out\":");
  json_operands(t, m->operands + in->operands + in->n_in, in->n_out);
  if (in->source < m->n_sources) rush_text_add(t, ",\"source\":%u", in->source);
  rush_text_add(t, "}");
}

static void json_program(rush_text *t, const rush_model *m, const rush_file_method *f) {
  rush_text_add(t, "{\"name\":");
  rush_json_string(t, m, f->name);
  rush_text_add(t, ",\"inputs\":%u,\"registers\":[", f->n_inputs);
  for (uint32_t r = 0; r < f->n_registers; r++) {
    rush_text_add(t, "%s{\"name\":", r ? "," : "");
    rush_json_string(t, m, m->registers[f->registers + r].name);
    rush_text_add(t, ",\"type\":");
    rush_json_type(t, m, m->registers[f->registers + r].type);
    rush_text_add(t, "}");
  }
  rush_text_add(t, "],\"instructions\":[");
  for (uint32_t i = 0; i < f->n_instrs; i++) {
    if (i) rush_text_add(t, ",");
    json_instr(t, m, m->instrs + f->instrs + i);
  }
  rush_text_add(t, "]}");
}

static void json_sources(rush_text *t, const rush_model *m) {
  for (uint32_t i = 0; i < m->n_sources; i++) {
    const rush_file_source *s = m->sources + i;
    rush_text_add(t, "%s{\"file\":", i ? "," : "");
    rush_json_string(t, m, s->file);
    rush_text_add(t, ",\"line\":%u,\"function\":", s->line);
    rush_json_string(t, m, s->function);
    rush_text_add(t, ",\"module\":");
    rush_json_string(t, m, s->module);
    rush_text_add(t, ",\"handle\":\"%llu\"}", (unsigned long long)s->handle);
  }
}

static void json_texts(rush_text *t, const rush_model *m) {
  static const char *const kinds[] = {"graph", "code", "tree"};
  for (uint32_t i = 0; i < m->n_texts; i++) {
    rush_text_add(t, "%s{\"module\":", i ? "," : "");
    rush_json_string(t, m, m->texts[i].module);
    rush_text_add(
        t, ",\"kind\":\"%s\",\"text\":", m->texts[i].kind < 3 ? kinds[m->texts[i].kind] : "?");
    rush_json_string(t, m, m->texts[i].text);
    rush_text_add(t, "}");
  }
}

void rush_describe_graph(rush_text *t, const rush_model *m) {
  rush_text_add(t, "{\"methods\":[");
  for (uint32_t f = 0; f < m->n_methods; f++) {
    if (f) rush_text_add(t, ",");
    json_program(t, m, m->methods + f);
  }
  rush_text_add(t, "],\"constants\":[");
  for (uint32_t i = 0; i < m->n_constants; i++) {
    if (i) rush_text_add(t, ",");
    json_constant(t, m, i);
  }
  rush_text_add(t, "],\"sources\":[");
  json_sources(t, m);
  rush_text_add(t, "],\"texts\":[");
  json_texts(t, m);
  rush_text_add(t, "]}");
}
