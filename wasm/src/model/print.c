#include "model/print.h"

#include <math.h>

static void print_type(rush_text *t, const rush_model *m, uint32_t index, bool fields);

/* Prints the string and replaces each character that is not plain. */
static void print_with(rush_text *t, const char *s, bool (*plain)(unsigned char), bool escape) {
  for (size_t n; *s && !t->failed; s += n) {
    for (n = 0; s[n] && plain((unsigned char)s[n]);) n++;
    rush_text_bytes(t, s, n);
    if (!s[n]) return;
    rush_text_add(t, escape ? "\\u%04x" : "_", (unsigned char)s[n]);
    n++;
  }
}

static bool is_shown(unsigned char c) {
  return c >= 0x20 && c != 0x7F;
}

static bool belongs_to_name(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '.' || c >= 0x80;
}

void rush_print_name(rush_text *t, const rush_model *m, uint32_t string) {
  print_with(t, rush_string(m, string), is_shown, true);
}

static void print_class(rush_text *t, const rush_model *m, uint32_t string) {
  print_with(t, rush_string(m, string), belongs_to_name, false);
}

static void print_children(rush_text *t, const rush_model *m, const rush_file_type *type,
                           bool fields) {
  const uint32_t *list = m->lists + type->list;
  for (uint32_t k = 0; k < type->n && !t->failed; k++) {
    if (k) rush_text_add(t, ", ");
    if (fields && type->kind == RUSH_TYPE_TUPLE && type->name != RUSH_NONE) {
      print_class(t, m, list[type->n + k]);
      rush_text_add(t, " : ");
    }
    print_type(t, m, list[k], fields);
  }
}

/* The recursion depth is limited to RUSH_MAX_NESTING, the nesting of types. */
static void print_type(rush_text *t, const rush_model *m, uint32_t index, bool fields) {
  static const char *const names[] = {
      [RUSH_TYPE_NONE] = "NoneType",  [RUSH_TYPE_TENSOR] = "Tensor",
      [RUSH_TYPE_INT] = "int",        [RUSH_TYPE_FLOAT] = "float",
      [RUSH_TYPE_BOOL] = "bool",      [RUSH_TYPE_COMPLEX] = "complex",
      [RUSH_TYPE_STR] = "str",        [RUSH_TYPE_LIST] = "[]",
      [RUSH_TYPE_TUPLE] = "(",        [RUSH_TYPE_DICT] = "Dict(",
      [RUSH_TYPE_OPTIONAL] = "?",     [RUSH_TYPE_UNION] = "Union(",
      [RUSH_TYPE_ANY] = "Any",        [RUSH_TYPE_NUMBER] = "Scalar",
      [RUSH_TYPE_DEVICE] = "Device",  [RUSH_TYPE_GENERATOR] = "Generator",
      [RUSH_TYPE_FUTURE] = "Future(", [RUSH_TYPE_OBJECT] = "object",
      [RUSH_TYPE_ENUM] = "Enum"};
  const rush_file_type *type = m->types + index;
  switch (type->kind) {
    case RUSH_TYPE_LIST:
    case RUSH_TYPE_OPTIONAL:
      print_children(t, m, type, fields);
      rush_text_add(t, "%s", names[type->kind]);
      return;
    case RUSH_TYPE_TUPLE:
    case RUSH_TYPE_DICT:
    case RUSH_TYPE_UNION:
    case RUSH_TYPE_FUTURE:
      if (type->name != RUSH_NONE) print_class(t, m, type->name);
      rush_text_add(t, "%s", names[type->kind]);
      print_children(t, m, type, fields);
      rush_text_add(t, ")");
      return;
    default:
      if (type->name != RUSH_NONE)
        print_class(t, m, type->name);
      else
        rush_text_add(t, "%s", names[type->kind]);
  }
}

void rush_print_type(rush_text *t, const rush_model *m, uint32_t type) {
  print_type(t, m, type, false);
}

void rush_print_type_with_fields(rush_text *t, const rush_model *m, uint32_t type) {
  print_type(t, m, type, true);
}

static void print_double(rush_text *t, uint64_t bits) {
  double f;
  memcpy(&f, &bits, sizeof f);
  if (isfinite(f) && f == floor(f) && fabs(f) < 1e15) {
    rush_text_add(t, "%.1f", f);
  } else {
    rush_text_add(t, "%.17g", f);
  }
}

static void print_tensor(rush_text *t, const rush_model *m, const rush_file_tensor *r) {
  char shape[RUSH_SHAPE_TEXT];
  rush_text_add(t, "<");
  rush_print_name(t, m, r->name);
  rush_text_add(t, "%s%s%s>", r->name == RUSH_NONE ? "" : ": ", rush_dtype_name(r->dtype),
                rush_shape_text(r->rank, r->sizes, shape));
}

static void print_complex(rush_text *t, const rush_file_constant *c) {
  rush_text_add(t, "(");
  print_double(t, c->p0);
  rush_text_add(t, " + ");
  print_double(t, c->p1);
  rush_text_add(t, "j)");
}

/* Prints a list, tuple or dict. */
static void print_items(rush_text *t, const rush_model *m, const rush_file_constant *c) {
  enum { MAX_ITEMS = 16 };
  const char *brackets = c->kind == RUSH_CONST_LIST   ? "[]"
                         : c->kind == RUSH_CONST_DICT ? "{}"
                                                      : "()";
  rush_text_bytes(t, brackets, 1);
  for (uint64_t k = 0; k < c->p0 && k < MAX_ITEMS && !t->failed; k++) {
    if (k) rush_text_add(t, "%s", c->kind == RUSH_CONST_DICT && k % 2 ? ": " : ", ");
    rush_print_constant(t, m, m->lists[c->a + k]);
  }
  if (c->p0 > MAX_ITEMS) rush_text_add(t, ", ... %llu in all", (unsigned long long)c->p0);
  rush_text_bytes(t, brackets + 1, 1);
}

/* The recursion depth is limited to RUSH_MAX_NESTING, the nesting of constants. */
void rush_print_constant(rush_text *t, const rush_model *m, uint32_t constant) {
  const rush_file_constant *c = m->constants + constant;
  switch (c->kind) {
    case RUSH_CONST_TENSOR:
    case RUSH_CONST_RANDOM:
      print_tensor(t, m, m->tensors + c->a);
      return;
    case RUSH_CONST_INT:
      rush_text_add(t, "%lld", (long long)c->p0);
      return;
    case RUSH_CONST_BOOL:
      rush_text_add(t, "%s", c->p0 ? "True" : "False");
      return;
    case RUSH_CONST_FLOAT:
      print_double(t, c->p0);
      return;
    case RUSH_CONST_COMPLEX:
      print_complex(t, c);
      return;
    case RUSH_CONST_STR:
      rush_text_json(t, rush_string(m, c->a), m->strings[c->a].bytes);
      return;
    case RUSH_CONST_DEVICE:
      rush_print_name(t, m, c->a);
      return;
    case RUSH_CONST_LIST:
    case RUSH_CONST_TUPLE:
    case RUSH_CONST_DICT:
      print_items(t, m, c);
      return;
    case RUSH_CONST_ENUM:
      rush_print_name(t, m, m->constants[m->lists[c->a]].a);
      return;
    case RUSH_CONST_OBJECT:
      rush_print_type(t, m, (uint32_t)c->p1);
      return;
    default:
      rush_text_add(t, "None");
  }
}

/* Prints a register of a method as "%name", or "%12" without a name; or prints the constant. */
static void print_operand(rush_text *t, const rush_model *m, const rush_file_method *f,
                          uint32_t operand) {
  if (operand & RUSH_OPERAND_CONSTANT) {
    rush_print_constant(t, m, operand & ~RUSH_OPERAND_CONSTANT);
    return;
  }
  uint32_t name = m->registers[f->registers + operand].name;
  if (name == RUSH_NONE) {
    rush_text_add(t, "%%%u", operand);
  } else {
    rush_text_add(t, "%%");
    rush_print_name(t, m, name);
  }
}

/* ---- Methods --------------------------------------------------------------------------------- */

static void print_operands(rush_text *t, const rush_model *m, const rush_file_method *f,
                           const uint32_t *operands, uint32_t n) {
  for (uint32_t k = 0; k < n && !t->failed; k++) {
    if (k) rush_text_add(t, ", ");
    print_operand(t, m, f, operands[k]);
  }
}

static void print_results(rush_text *t, const rush_model *m, const rush_file_method *f,
                          const uint32_t *registers, uint32_t n) {
  for (uint32_t k = 0; k < n && !t->failed; k++) {
    if (k) rush_text_add(t, ", ");
    print_operand(t, m, f, registers[k]);
    rush_text_add(t, " : ");
    rush_print_type(t, m, m->registers[f->registers + registers[k]].type);
  }
  if (n) rush_text_add(t, " = ");
}

static void print_source(rush_text *t, const rush_model *m, const rush_file_instr *in) {
  if (in->source < m->n_sources && m->sources[in->source].file != RUSH_NONE) {
    rush_text_add(t, " # ");
    rush_print_name(t, m, m->sources[in->source].file);
    rush_text_add(t, ":%u", m->sources[in->source].line);
  }
  rush_text_add(t, "\n");
}

static void print_loop(rush_text *t, const rush_model *m, const rush_file_method *f,
                       const rush_file_instr *in, int indent) {
  const uint32_t *operands = m->operands + in->operands, *out = operands + in->n_in;
  uint32_t carried = in->n_in - 2u;
  print_results(t, m, f, out, carried);
  rush_text_add(t, "prim::Loop(");
  print_operands(t, m, f, operands, in->n_in);
  rush_text_add(t, ")");
  print_source(t, m, in);
  rush_text_add(t, "%*sblock0(", 2 * indent + 2, "");
  for (uint32_t k = carried; k < in->n_out; k++) {
    if (k > carried) rush_text_add(t, ", ");
    print_operand(t, m, f, out[k]);
    rush_text_add(t, " : ");
    rush_print_type(t, m, m->registers[f->registers + out[k]].type);
  }
  rush_text_add(t, "):\n");
}

/* Prints "block0(%i : int, ...):" and "-> (...)", like TorchScript for the blocks of If and
 * Loop. */
static void print_instr(rush_text *t, const rush_model *m, const rush_file_method *f,
                        const rush_file_instr *in, int indent) {
  const uint32_t *operands = m->operands + in->operands, *out = operands + in->n_in;
  rush_text_add(t, "%*s", 2 * indent, "");
  switch (in->opcode) {
    case RUSH_OPCODE_OP:
      print_results(t, m, f, out, in->n_out);
      rush_print_name(t, m, m->file_ops[in->op].name);
      rush_text_add(t, "(");
      print_operands(t, m, f, operands, in->n_in);
      rush_text_add(t, ")");
      break;
    case RUSH_OPCODE_IF:
      print_results(t, m, f, out, in->n_out);
      rush_text_add(t, "prim::If(");
      print_operands(t, m, f, operands, 1);
      rush_text_add(t, ")");
      print_source(t, m, in);
      rush_text_add(t, "%*sblock0():\n", 2 * indent + 2, "");
      return;
    case RUSH_OPCODE_LOOP:
      print_loop(t, m, f, in, indent);
      return;
    case RUSH_OPCODE_RETURN:
      rush_text_add(t, "return (");
      print_operands(t, m, f, operands, in->n_in);
      rush_text_add(t, ")\n");
      return;
    default: /* ELSE, END_IF, END_LOOP */
      rush_text_add(t, "-> (");
      print_operands(t, m, f, operands, in->n_in);
      rush_text_add(t, ")\n");
      if (in->opcode == RUSH_OPCODE_ELSE) rush_text_add(t, "%*sblock1():\n", 2 * indent - 2, "");
      return;
  }
  print_source(t, m, in);
}

void rush_print_method(rush_text *t, const rush_model *m, const rush_file_method *f) {
  rush_print_name(t, m, f->name);
  rush_text_add(t, "(");
  for (uint32_t k = 0; k < f->n_inputs; k++) {
    rush_text_add(t, "%s", k ? ", " : "");
    print_operand(t, m, f, k);
    rush_text_add(t, " : ");
    rush_print_type(t, m, m->registers[f->registers + k].type);
  }
  rush_text_add(t, "):\n");
  int indent = 1;
  for (uint32_t i = f->instrs; i < f->instrs + f->n_instrs && !t->failed; i++) {
    const rush_file_instr *in = m->instrs + i;
    print_instr(t, m, f, in, indent);
    if (in->opcode == RUSH_OPCODE_IF || in->opcode == RUSH_OPCODE_LOOP) indent += 2;
    if (in->opcode == RUSH_OPCODE_END_IF || in->opcode == RUSH_OPCODE_END_LOOP) indent -= 2;
  }
}
