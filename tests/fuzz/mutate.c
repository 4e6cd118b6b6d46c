#include "mutate.h"

#include "builder.h"
#include "call/call.h"
#include "fuzz.h"

/* ---- Fields of records ----------------------------------------------------------------------- */

/* A number in a record. `refers` is the section whose records it counts or names, or 0. */
typedef struct field {
  uint16_t section;
  uint8_t at, bytes;
  uint16_t refers;
} field;

#define FIELD(section, record, name, refers) \
  {section, offsetof(record, name), sizeof(((record *)0)->name), refers}
static const field fields[] = {
    FIELD(RUSH_SEC_STRINGS, rush_file_string, offset, RUSH_SEC_STRING_BYTES),
    FIELD(RUSH_SEC_STRINGS, rush_file_string, bytes, RUSH_SEC_STRING_BYTES),
    {RUSH_SEC_LISTS, 0, 4, RUSH_SEC_CONSTANTS},
    {RUSH_SEC_LISTS, 0, 4, RUSH_SEC_TYPES},
    FIELD(RUSH_SEC_TYPES, rush_file_type, kind, 0),
    FIELD(RUSH_SEC_TYPES, rush_file_type, n, RUSH_SEC_LISTS),
    FIELD(RUSH_SEC_TYPES, rush_file_type, list, RUSH_SEC_LISTS),
    FIELD(RUSH_SEC_TYPES, rush_file_type, name, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_STORAGES, rush_file_storage, offset, 0),
    FIELD(RUSH_SEC_STORAGES, rush_file_storage, bytes, 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, dtype, 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, rank, 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, storage, RUSH_SEC_STORAGES),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, name, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, offset, 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, sizes[0], 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, sizes[1], 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, sizes[2], 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, sizes[3], 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, strides[0], 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, strides[1], 0),
    FIELD(RUSH_SEC_TENSORS, rush_file_tensor, strides[2], 0),
    FIELD(RUSH_SEC_CONSTANTS, rush_file_constant, kind, 0),
    FIELD(RUSH_SEC_CONSTANTS, rush_file_constant, a, RUSH_SEC_LISTS),
    FIELD(RUSH_SEC_CONSTANTS, rush_file_constant, a, RUSH_SEC_TENSORS),
    FIELD(RUSH_SEC_CONSTANTS, rush_file_constant, p0, RUSH_SEC_LISTS),
    FIELD(RUSH_SEC_CONSTANTS, rush_file_constant, p0, 0),
    FIELD(RUSH_SEC_CONSTANTS, rush_file_constant, p1, RUSH_SEC_TYPES),
    FIELD(RUSH_SEC_CONSTANTS, rush_file_constant, p1, 0),
    FIELD(RUSH_SEC_OPS, rush_file_op, name, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_OPS, rush_file_op, schema, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_ATTRIBUTES, rush_file_attribute, name, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_ATTRIBUTES, rush_file_attribute, type, RUSH_SEC_TYPES),
    FIELD(RUSH_SEC_ATTRIBUTES, rush_file_attribute, initial, RUSH_SEC_CONSTANTS),
    FIELD(RUSH_SEC_HINTS, rush_file_hint, dtype, 0),
    FIELD(RUSH_SEC_HINTS, rush_file_hint, rank, 0),
    FIELD(RUSH_SEC_HINTS, rush_file_hint, sizes[0], 0),
    FIELD(RUSH_SEC_PORTS, rush_file_port, name, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_PORTS, rush_file_port, type, RUSH_SEC_TYPES),
    FIELD(RUSH_SEC_PORTS, rush_file_port, hint, RUSH_SEC_HINTS),
    FIELD(RUSH_SEC_PORTS, rush_file_port, initial, RUSH_SEC_CONSTANTS),
    FIELD(RUSH_SEC_REGISTERS, rush_file_register, type, RUSH_SEC_TYPES),
    FIELD(RUSH_SEC_UNIFORM, rush_file_uniform, storage, RUSH_SEC_STORAGES),
    FIELD(RUSH_SEC_REGISTERS, rush_file_register, name, RUSH_SEC_STRINGS),
    {RUSH_SEC_OPERANDS, 0, 4, RUSH_SEC_REGISTERS},
    {RUSH_SEC_OPERANDS, 0, 4, RUSH_SEC_CONSTANTS},
    FIELD(RUSH_SEC_INSTRS, rush_file_instr, opcode, 0),
    FIELD(RUSH_SEC_INSTRS, rush_file_instr, n_in, 0),
    FIELD(RUSH_SEC_INSTRS, rush_file_instr, n_out, 0),
    FIELD(RUSH_SEC_INSTRS, rush_file_instr, op, RUSH_SEC_OPS),
    FIELD(RUSH_SEC_INSTRS, rush_file_instr, operands, RUSH_SEC_OPERANDS),
    FIELD(RUSH_SEC_INSTRS, rush_file_instr, target, RUSH_SEC_INSTRS),
    FIELD(RUSH_SEC_INSTRS, rush_file_instr, source, RUSH_SEC_SOURCES),
    FIELD(RUSH_SEC_METHODS, rush_file_method, name, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_METHODS, rush_file_method, inputs, RUSH_SEC_PORTS),
    FIELD(RUSH_SEC_METHODS, rush_file_method, n_inputs, RUSH_SEC_PORTS),
    FIELD(RUSH_SEC_METHODS, rush_file_method, outputs, RUSH_SEC_PORTS),
    FIELD(RUSH_SEC_METHODS, rush_file_method, n_outputs, RUSH_SEC_PORTS),
    FIELD(RUSH_SEC_METHODS, rush_file_method, result, RUSH_SEC_TYPES),
    FIELD(RUSH_SEC_METHODS, rush_file_method, instrs, RUSH_SEC_INSTRS),
    FIELD(RUSH_SEC_METHODS, rush_file_method, n_instrs, RUSH_SEC_INSTRS),
    FIELD(RUSH_SEC_METHODS, rush_file_method, registers, RUSH_SEC_REGISTERS),
    FIELD(RUSH_SEC_METHODS, rush_file_method, n_registers, RUSH_SEC_REGISTERS),
    FIELD(RUSH_SEC_SOURCES, rush_file_source, file, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_SOURCES, rush_file_source, handle, 0),
    FIELD(RUSH_SEC_TESTS, rush_file_test, method, RUSH_SEC_METHODS),
    FIELD(RUSH_SEC_TESTS, rush_file_test, inputs, RUSH_SEC_CONSTANTS),
    FIELD(RUSH_SEC_TESTS, rush_file_test, output, RUSH_SEC_CONSTANTS),
    FIELD(RUSH_SEC_META, rush_file_meta, key, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_TEXTS, rush_file_text, module, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_TEXTS, rush_file_text, text, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_TRACED, rush_file_traced, test, RUSH_SEC_TESTS),
    FIELD(RUSH_SEC_TRACED, rush_file_traced, results, RUSH_SEC_CONSTANTS),
    FIELD(RUSH_SEC_TRACED, rush_file_traced, handle, 0),
    FIELD(RUSH_SEC_ASSETS, rush_file_asset, name, RUSH_SEC_STRINGS),
    FIELD(RUSH_SEC_ASSETS, rush_file_asset, offset, 0),
    FIELD(RUSH_SEC_ASSETS, rush_file_asset, bytes, 0),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static const struct {
  uint32_t id;
  size_t width;
} widths[] = {
    {RUSH_SEC_STRING_BYTES, 1},
    {RUSH_SEC_STRINGS, sizeof(rush_file_string)},
    {RUSH_SEC_LISTS, 4},
    {RUSH_SEC_TYPES, sizeof(rush_file_type)},
    {RUSH_SEC_STORAGES, sizeof(rush_file_storage)},
    {RUSH_SEC_TENSORS, sizeof(rush_file_tensor)},
    {RUSH_SEC_CONSTANTS, sizeof(rush_file_constant)},
    {RUSH_SEC_OPS, sizeof(rush_file_op)},
    {RUSH_SEC_ATTRIBUTES, sizeof(rush_file_attribute)},
    {RUSH_SEC_HINTS, sizeof(rush_file_hint)},
    {RUSH_SEC_PORTS, sizeof(rush_file_port)},
    {RUSH_SEC_REGISTERS, sizeof(rush_file_register)},
    {RUSH_SEC_OPERANDS, 4},
    {RUSH_SEC_INSTRS, sizeof(rush_file_instr)},
    {RUSH_SEC_METHODS, sizeof(rush_file_method)},
    {RUSH_SEC_UNIFORM, sizeof(rush_file_uniform)},
    {RUSH_SEC_SOURCES, sizeof(rush_file_source)},
    {RUSH_SEC_TESTS, sizeof(rush_file_test)},
    {RUSH_SEC_META, sizeof(rush_file_meta)},
    {RUSH_SEC_TEXTS, sizeof(rush_file_text)},
    {RUSH_SEC_TRACED, sizeof(rush_file_traced)},
    {RUSH_SEC_CONSTRAINTS, sizeof(rush_file_constraint)},
    {RUSH_SEC_MEASURES, sizeof(rush_file_measure)},
    {RUSH_SEC_EXACT, sizeof(rush_file_exact)},
    {RUSH_SEC_ASSETS, sizeof(rush_file_asset)},
};

static size_t width_of(uint32_t id) {
  for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
    if (widths[k].id == id) return widths[k].width;
  }
  return 0;
}

/* ---- Files and builders ---------------------------------------------------------------------- */

static bool take_section(builder *b, const uint8_t *data, const rush_file_section *s, size_t head) {
  size_t width = width_of(s->id);
  if (s->offset > head || s->bytes > head - s->offset) return false;
  if (width == 0) return true; /* an unknown, optional one */
  if (s->bytes != (uint64_t)width * s->count) return false;
  build_add(b, s->id, width, data + s->offset, s->count);
  return true;
}

/* Reads the sections of the bytes if header and table are valid. */
static bool take_file(builder *b, const uint8_t *data, size_t size) {
  rush_file_header h;
  if (size < sizeof h) return false;
  memcpy(&h, data, sizeof h);
  if (memcmp(h.magic, RUSH_MAGIC, sizeof h.magic) != 0 || h.n_sections > RUSH_MAX_SECTIONS ||
      h.head_bytes > size || h.weights_bytes > size - h.head_bytes ||
      h.head_bytes < sizeof h + h.n_sections * sizeof(rush_file_section))
    return false;
  for (uint32_t k = 0; k < h.n_sections; k++) {
    rush_file_section s;
    memcpy(&s, data + sizeof h + k * sizeof s, sizeof s);
    if (!take_section(b, data, &s, (size_t)h.head_bytes)) return false;
  }
  const size_t bytes = (size_t)h.weights_bytes; /* of `size` */
  size_t room = (bytes + RUSH_ALIGN - 1) / RUSH_ALIGN * RUSH_ALIGN;
  b->weights = calloc(1, room + 1);
  memcpy(b->weights, data + h.head_bytes, bytes);
  b->weights_bytes = room;
  return true;
}

static build_section *section(builder *b, uint32_t id) {
  for (int k = 0; k < b->n_sections; k++) {
    if (b->sections[k].id == id) return b->sections + k;
  }
  return NULL;
}

static uint32_t count(builder *b, uint32_t id) {
  build_section *s = section(b, id);
  return s ? s->count : 0;
}

static build_section *some_section(builder *b, uint64_t *random) {
  for (int k = 0; k < 20; k++) {
    build_section *s = b->sections + fuzz_next(random) % (uint64_t)b->n_sections;
    if (s->count > 0) return s;
  }
  return NULL;
}

/* ---- Damage ---------------------------------------------------------------------------------- */

int64_t hostile_number(uint64_t *random) {
  static const int64_t numbers[] = {0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    8,
                                    9,
                                    63,
                                    64,
                                    255,
                                    256,
                                    65535,
                                    65536,
                                    INT32_MAX,
                                    (int64_t)INT32_MAX + 1,
                                    UINT32_MAX,
                                    (int64_t)UINT32_MAX + 1,
                                    (int64_t)UINT32_MAX + 5,
                                    (int64_t)1 << 40,
                                    (int64_t)1 << 61,
                                    ((int64_t)1 << 61) + 4,
                                    (int64_t)1 << 62,
                                    INT64_MAX,
                                    INT64_MIN,
                                    -1,
                                    -2};
  return numbers[fuzz_next(random) % (sizeof numbers / sizeof *numbers)];
}

static uint64_t field_value(builder *b, const field *f, const build_section *s, uint64_t *random) {
  uint64_t n = f->refers ? count(b, f->refers) : 0, v = 0;
  switch (fuzz_next(random) % 8) {
    case 0: /* the value of another record */
      memcpy(&v, s->data + fuzz_next(random) % s->count * s->width + f->at, f->bytes);
      return v;
    case 1:
      return (uint64_t)hostile_number(random);
    case 2:
      return n + fuzz_next(random) % 3 - 1;
    case 3:
      return RUSH_NONE;
    default: {
      bool constant = f->section == RUSH_SEC_OPERANDS && f->refers == RUSH_SEC_CONSTANTS;
      v = fuzz_next(random) % (n ? n : 20);
      return constant ? v | RUSH_OPERAND_CONSTANT : v;
    }
  }
}

static void set_field(builder *b, uint64_t *random) {
  for (int tries = 0; tries < 20; tries++) {
    const field *f = fields + fuzz_next(random) % N_FIELDS;
    build_section *s = section(b, f->section);
    if (!s || s->count == 0) continue;
    uint64_t v = field_value(b, f, s, random);
    memcpy(s->data + fuzz_next(random) % s->count * s->width + f->at, &v, f->bytes);
    return;
  }
}

static void change_field_a_little(builder *b, uint64_t *random) {
  const field *f = fields + fuzz_next(random) % N_FIELDS;
  build_section *s = section(b, f->section);
  if (!s || s->count == 0) return;
  char *at = s->data + fuzz_next(random) % s->count * s->width + f->at;
  uint64_t v = 0;
  memcpy(&v, at, f->bytes);
  v += fuzz_next(random) % 2 ? 1u : UINT64_MAX;
  memcpy(at, &v, f->bytes);
}

static void swap_records(builder *b, uint64_t *random) {
  build_section *s = some_section(b, random);
  if (!s) return;
  char *x = s->data + fuzz_next(random) % s->count * s->width;
  char *y = s->data + fuzz_next(random) % s->count * s->width;
  for (size_t k = 0; k < s->width; k++) {
    char c = x[k];
    x[k] = y[k];
    y[k] = c;
  }
}

/* Copies a range of records over another one, so that both refer to the same records. */
static void copy_range(builder *b, uint64_t *random) {
  build_section *s = some_section(b, random);
  if (!s) return;
  size_t from = fuzz_next(random) % s->count, to = fuzz_next(random) % s->count;
  size_t most = s->count - (from > to ? from : to), n = 1 + fuzz_next(random) % most;
  memmove(s->data + to * s->width, s->data + from * s->width, n * s->width);
}

static void repeat_record(builder *b, uint64_t *random) {
  char record[sizeof(rush_file_tensor)];
  build_section *s = some_section(b, random);
  if (!s) return;
  memcpy(record, s->data + fuzz_next(random) % s->count * s->width, s->width);
  for (uint64_t k = 1 + fuzz_next(random) % 4; k > 0; k--) build_add(b, s->id, s->width, record, 1);
}

static void drop_record(builder *b, uint64_t *random) {
  build_section *s = some_section(b, random);
  if (!s) return;
  size_t at = fuzz_next(random) % s->count;
  memmove(s->data + at * s->width, s->data + (at + 1) * s->width, (s->count - at - 1) * s->width);
  s->count--;
  s->bytes -= s->width;
}

/* Puts this index in a field of the file that takes a constant or a type. */
static void use(builder *b, uint16_t refers, uint32_t index, uint64_t *random) {
  for (int tries = 0; tries < 50; tries++) {
    const field *f = fields + fuzz_next(random) % N_FIELDS;
    build_section *s = section(b, f->section);
    if (f->refers != refers || f->section == RUSH_SEC_LISTS || !s || s->count == 0) continue;
    uint64_t v = f->section == RUSH_SEC_OPERANDS ? index | RUSH_OPERAND_CONSTANT : index;
    memcpy(s->data + fuzz_next(random) % s->count * s->width + f->at, &v, f->bytes);
    return;
  }
}

/* Each type contains the previous one twice. */
static void double_types(builder *b, uint64_t *random) {
  static const uint32_t kinds[] = {RUSH_TYPE_UNION, RUSH_TYPE_TUPLE, RUSH_TYPE_DICT};
  uint32_t last = build_type(b, RUSH_TYPE_INT), kind = kinds[fuzz_next(random) % 3];
  for (uint64_t k = fuzz_next(random) % 64; k > 0; k--)
    last = build_type_n(b, kind, 2, (uint32_t[]){last, last});
  use(b, RUSH_SEC_TYPES, last, random);
}

static void double_constants(builder *b, uint64_t *random) {
  bool dict = fuzz_next(random) % 4 == 0;
  uint32_t any = build_type(b, RUSH_TYPE_ANY);
  uint32_t type = dict ? build_type_n(b, RUSH_TYPE_DICT, 2, (uint32_t[]){any, any})
                       : build_type_n(b, RUSH_TYPE_LIST, 1, &any);
  uint32_t last = build_int(b, 1);
  for (uint64_t k = fuzz_next(random) % 64; k > 0; k--)
    last =
        build_items(b, dict ? RUSH_CONST_DICT : RUSH_CONST_LIST, type, 2, (uint32_t[]){last, last});
  use(b, RUSH_SEC_CONSTANTS, last, random);
}

/* Replaces the operator of a call. */
static void rename_op(builder *b, uint64_t *random) {
  build_section *s = section(b, RUSH_SEC_OPS);
  if (!s || s->count == 0) return;
  const char *schema = rush_op_at(fuzz_next(random) % rush_op_count())->schema;
  char name[256];
  size_t n = strcspn(schema, "(");
  if (n >= sizeof name) return;
  memcpy(name, schema, n);
  name[n] = '\0';
  uint32_t text = build_str(b, name);
  s = section(b, RUSH_SEC_OPS);
  ((rush_file_op *)(void *)s->data)[fuzz_next(random) % s->count].name = text;
}

static void hostile_string(builder *b, uint64_t *random) {
  static const char *const texts[] = {
      "",
      "__proto__",
      "constructor",
      "a\"b",
      "x\",\"methods\":[",
      "\\",
      "\n",
      "\xE2\x80\xA8",
      "\xFF\xFE",
      "%s%n",
      "fuzz::wait",
      "aten::add.Tensor",
      "f(Tensor(a!) x, int[3]? y=[1,2], *, str z='a') -> (Tensor, int)",
      "(((((((((((("};
  uint32_t text = build_str(b, texts[fuzz_next(random) % (sizeof texts / sizeof *texts)]);
  use(b, RUSH_SEC_STRINGS, text, random);
}

static void change_bytes(builder *b, uint64_t *random) {
  build_section *s =
      fuzz_next(random) % 2 ? section(b, RUSH_SEC_STRING_BYTES) : some_section(b, random);
  if (!s || s->bytes == 0 || fuzz_next(random) % 4 == 0) {
    if (b->weights_bytes)
      LLVMFuzzerMutate((uint8_t *)b->weights, b->weights_bytes, b->weights_bytes);
  } else {
    LLVMFuzzerMutate((uint8_t *)s->data, s->bytes, s->bytes);
  }
}

static void (*const damages[])(builder *b, uint64_t *random) = {
    set_field,        set_field,  set_field,     change_field_a_little, swap_records,
    copy_range,       copy_range, repeat_record, drop_record,           double_types,
    double_constants, rename_op,  rename_op,     hostile_string,        change_bytes,
};

size_t mutate_file(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  builder b = {0};
  if (fuzz_next(&random) % 10 == 0 || !take_file(&b, data, size) || b.n_sections == 0) {
    build_free(&b);
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (uint64_t k = 1 + fuzz_next(&random) % 4; k > 0; k--)
    damages[fuzz_next(&random) % (sizeof damages / sizeof *damages)](&b, &random);
  size_t n;
  uint8_t *file = build_file(&b, &n);
  build_free(&b);
  if (n <= max_size) {
    memcpy(data, file, n);
    size = n;
    if (fuzz_next(&random) % 16 == 0)
      LLVMFuzzerMutate(data, sizeof(rush_file_header), sizeof(rush_file_header));
  }
  free(file);
  return size;
}

size_t mutate_file_and_script(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  uint8_t script[256], made[64];
  fuzz_bytes decisions;
  size_t file = fuzz_split(data, size, &decisions, made);
  size_t n = (size_t)(decisions.end - decisions.at);
  if (n > sizeof script) n = sizeof script;
  memcpy(script, decisions.at, n);
  if (fuzz_next(&random) % 2 && file + sizeof script < max_size) {
    file = mutate_file(data, file, max_size - sizeof script, seed);
  } else {
    n = LLVMFuzzerMutate(script, n, sizeof script);
  }
  if (file + n > max_size) return file;
  memcpy(data + file, script, n);
  return file + n;
}
