#include "builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/dtype.h"

/* ---- Records --------------------------------------------------------------------------------- */

static build_section *section(builder *b, uint32_t id, size_t width) {
  int at = 0;
  while (at < b->n_sections && b->sections[at].id < id) at++;
  if (at < b->n_sections && b->sections[at].id == id) return b->sections + at;
  assert(b->n_sections < BUILD_SECTIONS);
  memmove(b->sections + at + 1, b->sections + at,
          (size_t)(b->n_sections - at) * sizeof *b->sections);
  b->n_sections++;
  b->sections[at] = (build_section){.id = id, .width = width};
  return b->sections + at;
}

uint32_t build_add(builder *b, uint32_t id, size_t width, const void *records, uint32_t n) {
  build_section *s = section(b, id, width);
  size_t more = width * n;
  if (s->bytes + more > s->room) {
    s->room = 2 * s->room + more + 256;
    s->data = realloc(s->data, s->room);
    assert(s->data);
  }
  if (more) memcpy(s->data + s->bytes, records, more);
  s->bytes += more;
  s->count += n;
  return s->count - n;
}
#define ADD(id, record) build_add(b, id, sizeof(record), &(record), 1)

void *build_at(builder *b, uint32_t id, uint32_t i) {
  build_section *s = section(b, id, 0);
  assert(i < s->count);
  return s->data + i * s->width;
}

static uint32_t count(builder *b, uint32_t id) {
  for (int k = 0; k < b->n_sections; k++) {
    if (b->sections[k].id == id) return b->sections[k].count;
  }
  return 0;
}

uint32_t build_str(builder *b, const char *text) {
  rush_file_string s = {0, (uint32_t)strlen(text)};
  s.offset = build_add(b, RUSH_SEC_STRING_BYTES, 1, text, s.bytes + 1);
  return ADD(RUSH_SEC_STRINGS, s);
}

static uint32_t add_list(builder *b, uint32_t n, const uint32_t *items) {
  return build_add(b, RUSH_SEC_LISTS, sizeof *items, items, n);
}

uint32_t build_type_n(builder *b, uint32_t kind, uint32_t n, const uint32_t *children) {
  rush_file_type t = {(uint16_t)kind, (uint16_t)n, add_list(b, n, children), RUSH_NONE, 0};
  return ADD(RUSH_SEC_TYPES, t);
}

uint32_t build_type(builder *b, uint32_t kind) {
  for (uint32_t i = 0; i < count(b, RUSH_SEC_TYPES); i++) {
    if (((rush_file_type *)build_at(b, RUSH_SEC_TYPES, i))->kind == kind) return i;
  }
  return build_type_n(b, kind, 0, NULL);
}

/* ---- Constants ------------------------------------------------------------------------------- */

uint32_t build_const(builder *b, uint32_t kind, uint32_t a, uint64_t p0, uint64_t p1) {
  rush_file_constant c = {kind, a, p0, p1};
  return ADD(RUSH_SEC_CONSTANTS, c);
}

uint32_t build_none(builder *b) {
  return build_const(b, RUSH_CONST_NONE, 0, 0, 0);
}
uint32_t build_int(builder *b, int64_t i) {
  return build_const(b, RUSH_CONST_INT, 0, (uint64_t)i, 0);
}
uint32_t build_bool(builder *b, bool v) {
  return build_const(b, RUSH_CONST_BOOL, 0, v, 0);
}
uint32_t build_float(builder *b, double f) {
  uint64_t bits;
  memcpy(&bits, &f, sizeof bits);
  return build_const(b, RUSH_CONST_FLOAT, 0, bits, 0);
}

static size_t up(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

/* Appends bytes to the weights, and returns their offset. */
static uint64_t add_bytes(builder *b, const void *data, size_t bytes) {
  const size_t at = b->weights_bytes, room = up(at + bytes, RUSH_ALIGN);
  b->weights = realloc(b->weights, room + 1);
  assert(b->weights);
  memset(b->weights + at, 0, room - at);
  if (data && bytes) memcpy(b->weights + at, data, bytes);
  b->weights_bytes = room;
  return at;
}

uint32_t build_storage(builder *b, const void *data, size_t bytes) {
  rush_file_storage s = {add_bytes(b, data, bytes), bytes};
  return ADD(RUSH_SEC_STORAGES, s);
}

uint32_t build_asset(builder *b, const char *name, const void *data, size_t bytes) {
  rush_file_asset a = {build_str(b, name), 0, add_bytes(b, data, bytes), bytes, {0}};
  return ADD(RUSH_SEC_ASSETS, a);
}

uint32_t build_view(builder *b, uint32_t storage, rush_dtype dtype, int rank, const int64_t *sizes,
                    const int64_t *strides, uint64_t offset) {
  rush_file_tensor t = {.dtype = (uint8_t)dtype,
                        .rank = (uint8_t)rank,
                        .storage = storage,
                        .name = RUSH_NONE,
                        .offset = offset};
  int64_t step = 1;
  for (int d = rank - 1; d >= 0; d--) {
    t.sizes[d] = sizes[d];
    t.strides[d] = strides ? strides[d] : step;
    step *= sizes[d];
  }
  return ADD(RUSH_SEC_TENSORS, t);
}

uint32_t build_tensor(builder *b, rush_dtype dtype, int rank, const int64_t *sizes,
                      const void *data) {
  size_t n = 1;
  for (int d = 0; d < rank; d++) n *= (size_t)sizes[d];
  uint32_t storage = build_storage(b, data, n * rush_dtype_size(dtype));
  return build_const(b, RUSH_CONST_TENSOR, build_view(b, storage, dtype, rank, sizes, NULL, 0), 0,
                     0);
}

uint32_t build_items(builder *b, uint32_t kind, uint32_t type, uint32_t n, const uint32_t *items) {
  return build_const(b, kind, add_list(b, n, items), n, type);
}

/* ---- Methods --------------------------------------------------------------------------------- */

static rush_file_method *method(builder *b) {
  return build_at(b, RUSH_SEC_METHODS, count(b, RUSH_SEC_METHODS) - 1);
}

static uint32_t add_port(builder *b, const char *name, uint32_t k, uint32_t type) {
  char text[32];
  size_t n = strlen(name);
  memcpy(text, name, n);
  text[n] = (char)('0' + k % 10);
  text[n + 1] = '\0';
  rush_file_port p = {build_str(b, text), type, RUSH_NONE, RUSH_NONE};
  return ADD(RUSH_SEC_PORTS, p);
}

uint32_t build_method(builder *b, const char *name, uint32_t result_type, uint32_t n_inputs,
                      const uint32_t *types) {
  rush_file_method m = {.name = build_str(b, name),
                        .inputs = count(b, RUSH_SEC_PORTS),
                        .n_inputs = n_inputs,
                        .result = result_type,
                        .instrs = count(b, RUSH_SEC_INSTRS),
                        .registers = count(b, RUSH_SEC_REGISTERS)};
  for (uint32_t k = 0; k < n_inputs; k++) add_port(b, "input", k, types[k]);
  m.outputs = count(b, RUSH_SEC_PORTS);
  rush_file_type result = *(rush_file_type *)build_at(b, RUSH_SEC_TYPES, result_type);
  if (result.kind == RUSH_TYPE_TUPLE) {
    for (; m.n_outputs < result.n; m.n_outputs++)
      add_port(b, "output", m.n_outputs,
               *(uint32_t *)build_at(b, RUSH_SEC_LISTS, result.list + m.n_outputs));
  } else if (result.kind != RUSH_TYPE_NONE) {
    add_port(b, "output", m.n_outputs++, result_type);
  }
  uint32_t at = ADD(RUSH_SEC_METHODS, m);
  for (uint32_t k = 0; k < n_inputs; k++) build_reg(b, types[k]);
  return at;
}

uint32_t build_reg(builder *b, uint32_t type) {
  rush_file_register r = {type, RUSH_NONE};
  ADD(RUSH_SEC_REGISTERS, r);
  return method(b)->n_registers++;
}

uint32_t build_instr(builder *b, uint32_t opcode, uint32_t op, uint32_t n_in, const uint32_t *in,
                     uint32_t n_out, const uint32_t *out) {
  rush_file_instr i = {.opcode = (uint16_t)opcode,
                       .n_in = (uint16_t)n_in,
                       .n_out = (uint16_t)n_out,
                       .op = op,
                       .target = RUSH_NONE,
                       .source = RUSH_NONE};
  i.operands = build_add(b, RUSH_SEC_OPERANDS, sizeof *in, in, n_in);
  build_add(b, RUSH_SEC_OPERANDS, sizeof *out, out, n_out);
  method(b)->n_instrs++;
  return ADD(RUSH_SEC_INSTRS, i);
}

uint32_t build_op(builder *b, const char *name, uint32_t n_in, const uint32_t *in, uint32_t n_out,
                  const uint32_t *out) {
  rush_file_op op = {build_str(b, name), RUSH_NONE};
  uint32_t index = ADD(RUSH_SEC_OPS, op);
  return build_instr(b, RUSH_OPCODE_OP, index, n_in, in, n_out, out);
}

uint32_t build_call(builder *b, const char *name, uint32_t type, uint32_t n_in,
                    const uint32_t *in) {
  uint32_t out = build_reg(b, type);
  build_op(b, name, n_in, in, 1, &out);
  return out;
}

static void aim(builder *b, uint32_t from, uint32_t at) {
  ((rush_file_instr *)build_at(b, RUSH_SEC_INSTRS, from))->target = at;
}

static void push(builder *b, uint32_t i) {
  assert(b->n_open < BUILD_OPEN);
  b->open[b->n_open++] = i;
}

uint32_t build_if(builder *b, uint32_t cond, uint32_t n, const uint32_t *results) {
  uint32_t i = build_instr(b, RUSH_OPCODE_IF, RUSH_NONE, 1, &cond, n, results);
  push(b, i);
  return i;
}

uint32_t build_else(builder *b, uint32_t n, const uint32_t *values) {
  uint32_t i = build_instr(b, RUSH_OPCODE_ELSE, RUSH_NONE, n, values, 0, NULL);
  aim(b, b->open[b->n_open - 1], i);
  push(b, i);
  return i;
}

uint32_t build_end_if(builder *b, uint32_t n, const uint32_t *values) {
  uint32_t i = build_instr(b, RUSH_OPCODE_END_IF, RUSH_NONE, n, values, 0, NULL);
  aim(b, b->open[--b->n_open], i);
  aim(b, i, b->open[--b->n_open]);
  return i;
}

uint32_t build_loop(builder *b, uint32_t most, uint32_t enter, uint32_t n, const uint32_t *carried,
                    const uint32_t *results, const uint32_t *inside) {
  uint32_t in[16] = {most, enter}, out[32];
  assert(n <= 14);
  if (n) memcpy(in + 2, carried, n * sizeof *in);
  if (n) memcpy(out, results, n * sizeof *out);
  memcpy(out + n, inside, (n + 1) * sizeof *out);
  uint32_t i = build_instr(b, RUSH_OPCODE_LOOP, RUSH_NONE, n + 2, in, 2 * n + 1, out);
  push(b, i);
  return i;
}

uint32_t build_end_loop(builder *b, uint32_t go_on, uint32_t n, const uint32_t *carried) {
  uint32_t in[16] = {go_on};
  if (n) memcpy(in + 1, carried, n * sizeof *in);
  uint32_t i = build_instr(b, RUSH_OPCODE_END_LOOP, RUSH_NONE, n + 1, in, 0, NULL);
  uint32_t loop = b->open[--b->n_open];
  aim(b, loop, i);
  aim(b, i, loop);
  return i;
}

uint32_t build_return(builder *b, uint32_t value) {
  return build_instr(b, RUSH_OPCODE_RETURN, RUSH_NONE, 1, &value, 0, NULL);
}

uint32_t build_attribute(builder *b, const char *name, uint32_t type, uint32_t initial) {
  rush_file_attribute a = {build_str(b, name), type, initial, 0};
  return ADD(RUSH_SEC_ATTRIBUTES, a);
}

uint32_t build_test(builder *b, uint32_t method_index, uint32_t inputs, uint32_t output, float rtol,
                    float atol) {
  rush_file_test t = {method_index, inputs, output, rtol, atol};
  return ADD(RUSH_SEC_TESTS, t);
}

/* ---- The file -------------------------------------------------------------------------------- */

uint8_t *build_file(builder *b, size_t *size) {
  size_t head = RUSH_HEADER_BYTES + (size_t)b->n_sections * sizeof(rush_file_section);
  for (int k = 0; k < b->n_sections; k++) head = up(head, 8) + b->sections[k].bytes;
  head = up(head, RUSH_ALIGN);
  *size = head + b->weights_bytes;
  uint8_t *file = calloc(1, *size);
  assert(file);
  rush_file_header h = {.version = RUSH_FORMAT_VERSION,
                        .n_sections = (uint32_t)b->n_sections,
                        .head_bytes = head,
                        .weights_bytes = b->weights_bytes,
                        .file_bytes = *size};
  memcpy(h.magic, RUSH_MAGIC, sizeof h.magic);
  memcpy(file, &h, sizeof h);
  size_t at = RUSH_HEADER_BYTES + (size_t)b->n_sections * sizeof(rush_file_section);
  for (int k = 0; k < b->n_sections; k++) {
    const build_section *s = b->sections + k;
    at = up(at, 8);
    rush_file_section r = {s->id, s->count, at, s->bytes};
    memcpy(file + RUSH_HEADER_BYTES + (size_t)k * sizeof r, &r, sizeof r);
    if (s->bytes) memcpy(file + at, s->data, s->bytes);
    at += s->bytes;
  }
  if (b->weights_bytes) memcpy(file + head, b->weights, b->weights_bytes);
  return file;
}

void build_free(builder *b) {
  for (int k = 0; k < b->n_sections; k++) free(b->sections[k].data);
  free(b->weights);
  *b = (builder){0};
}
