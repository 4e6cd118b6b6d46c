/* Checks every record except instructions, in one linear pass per section (names are sorted).
 * Indices are checked before use. */
#include "base/utf8.h"
#include "model/model.h"

#define BAD(section, i, ...) return rush_fail_record(ctx, m, section, i, __VA_ARGS__)

/* Returns whether the next eight of `n` bytes are ASCII, as most bytes in a file's text are. */
static bool ascii8(const char *s, size_t n) {
  uint64_t bytes;
  if (n < sizeof bytes) return false;
  memcpy(&bytes, s, sizeof bytes);
  return (bytes & 0x8080808080808080u) == 0;
}

static bool is_utf8(const char *s, size_t n) {
  size_t i = 0, width = 1;
  for (; i < n && width > 0; i += width)
    width = ascii8(s + i, n - i) ? 8 : rush_utf8_size(s + i, n - i);
  return width > 0;
}

static bool string_ok(const rush_model *m, uint32_t i) {
  return i < m->n_strings;
}
static bool string_or_none(const rush_model *m, uint32_t i) {
  return i == RUSH_NONE || i < m->n_strings;
}
static bool list_ok(const rush_model *m, uint64_t first, uint64_t n) {
  return first <= m->n_lists && n <= m->n_lists - first;
}

static rush_status check_strings(rush_ctx *ctx, const rush_model *m) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < m->n_strings; i++) {
    const rush_file_string *s = m->strings + i;
    if ((uint64_t)s->offset + s->bytes >= m->n_string_bytes)
      BAD(RUSH_SEC_STRINGS, i, "lies outside the string bytes");
    if (s->offset < at) BAD(RUSH_SEC_STRINGS, i, "overlaps the one before it");
    at = (uint64_t)s->offset + s->bytes + 1;
    RUSH_TRY(rush_charge(ctx, s->bytes));
    if (m->string_bytes[s->offset + s->bytes] != 0)
      BAD(RUSH_SEC_STRINGS, i, "no zero byte follows it");
    if (!is_utf8(m->string_bytes + s->offset, s->bytes)) BAD(RUSH_SEC_STRINGS, i, "is not UTF-8");
  }
  return RUSH_OK;
}

/* Returns the number of children of a type, or -1 for any number. */
static int type_arity(uint32_t kind) {
  switch (kind) {
    case RUSH_TYPE_LIST:
    case RUSH_TYPE_OPTIONAL:
    case RUSH_TYPE_FUTURE:
      return 1;
    case RUSH_TYPE_DICT:
      return 2;
    case RUSH_TYPE_TUPLE:
    case RUSH_TYPE_UNION:
    case RUSH_TYPE_OBJECT:
      return -1;
    default:
      return 0;
  }
}

/* The extent of a type or a constant, including everything it refers to. It is computed from the
 * children, which come first. Records may share children, so a recursive walk could take
 * exponential time. */
typedef struct extent {
  uint32_t depth;
  uint32_t parts; /* itself and its children, counted once per occurrence, at most UINT32_MAX */
} extent;

/* Adds the extent of a child to that of the record. */
static void add_child(extent *e, const extent *child) {
  if (child->depth >= e->depth) e->depth = child->depth + 1;
  if (__builtin_add_overflow(e->parts, child->parts, &e->parts)) e->parts = UINT32_MAX;
}

/* Returns the maximum number of parts of one constant, and of all constants together. */
static uint64_t most_parts(const rush_model *m) {
  return RUSH_MAX_CONST_PARTS + (uint64_t)m->n_lists;
}
static uint64_t most_parts_in_all(const rush_model *m) {
  return 4 * most_parts(m) + m->n_constants;
}

/* `extents` has one element per record. */
static rush_status check_types(rush_ctx *ctx, const rush_model *m, extent *extents) {
  const uint64_t most = RUSH_MAX_TYPE_PARTS + (uint64_t)m->n_lists;
  uint64_t left = 64 * most + m->n_types;
  for (uint32_t i = 0; i < m->n_types; i++) {
    const rush_file_type *t = m->types + i;
    if (t->kind > RUSH_TYPE_ENUM) BAD(RUSH_SEC_TYPES, i, "kind %u is not known", t->kind);
    if (t->reserved) BAD(RUSH_SEC_TYPES, i, "reserved bytes must be zero");
    if (type_arity(t->kind) >= 0 && t->n != type_arity(t->kind))
      BAD(RUSH_SEC_TYPES, i, "%u children do not fit kind %u", t->n, t->kind);
    bool object = t->kind == RUSH_TYPE_OBJECT,
         named = t->kind == RUSH_TYPE_TUPLE && t->name != RUSH_NONE;
    if (!string_or_none(m, t->name)) BAD(RUSH_SEC_TYPES, i, "name %u is not a string", t->name);
    if ((object || t->kind == RUSH_TYPE_ENUM) && t->name == RUSH_NONE)
      BAD(RUSH_SEC_TYPES, i, "a class has no name");
    if (!list_ok(m, t->list, (uint64_t)t->n * (named ? 2 : 1)))
      BAD(RUSH_SEC_TYPES, i, "its list lies outside the lists");
    extent *e = extents + i;
    *e = (extent){1, object ? 1u + t->n : 1u};
    if (t->n > left) BAD(RUSH_SEC_TYPES, i, "types have too many parts in all");
    for (uint32_t k = 0; object && k < t->n; k++) {
      if (!string_ok(m, m->lists[t->list + k]))
        BAD(RUSH_SEC_TYPES, i, "attribute %u has no name", k);
    }
    for (uint32_t k = 0; !object && k < t->n; k++) {
      uint32_t child = m->lists[t->list + k];
      if (child >= i) BAD(RUSH_SEC_TYPES, i, "child %u does not come before it", child);
      if (named && !string_ok(m, m->lists[t->list + t->n + k]))
        BAD(RUSH_SEC_TYPES, i, "field %u has no name", k);
      add_child(e, extents + child);
    }
    if (e->depth > RUSH_MAX_NESTING)
      BAD(RUSH_SEC_TYPES, i, "types are nested deeper than %d", RUSH_MAX_NESTING);
    if (e->parts > most)
      BAD(RUSH_SEC_TYPES, i, "has more than %llu parts", (unsigned long long)most);
    if (e->parts > left) BAD(RUSH_SEC_TYPES, i, "types have too many parts in all");
    left -= e->parts;
    RUSH_TRY(rush_charge(ctx, t->n + 1u));
  }
  return RUSH_OK;
}

/* Checks the place of a record in the weights. *at is the end of the record before it, and then its
 * own. */
static rush_status check_place(rush_ctx *ctx, const rush_model *m, uint32_t section, uint32_t i,
                               uint64_t offset, uint64_t bytes, uint64_t *at) {
  const rush_file_header *h = (const rush_file_header *)(const void *)m->head;
  if (offset % RUSH_ALIGN)
    BAD(section, i, "offset %llu is not a multiple of %d", (unsigned long long)offset, RUSH_ALIGN);
  if (offset < *at) BAD(section, i, "overlaps the one before it");
  if (offset > h->weights_bytes || bytes > h->weights_bytes - offset)
    BAD(section, i, "lies outside the weights");
  *at = offset + bytes;
  return RUSH_OK;
}

static rush_status check_storages(rush_ctx *ctx, const rush_model *m, uint64_t *at) {
  uint32_t u = 0;
  for (uint32_t i = 0; i < m->n_storages; i++) {
    const rush_file_storage *s = m->storages + i;
    const bool uniform = u < m->n_uniform && m->uniform[u].storage == i;
    RUSH_TRY(check_place(ctx, m, RUSH_SEC_STORAGES, i, s->offset, uniform ? 0 : s->bytes, at));
    if (s->bytes > SIZE_MAX / 2)
      BAD(RUSH_SEC_STORAGES, i, "%llu bytes are more than this machine can address",
          (unsigned long long)s->bytes);
    u += uniform;
  }
  if (u < m->n_uniform) BAD(RUSH_SEC_UNIFORM, u, "storages must exist and be sorted");
  return RUSH_OK;
}

/* Sets *last to the greatest index of an element. */
static rush_status check_extent(rush_ctx *ctx, const rush_model *m, uint32_t i, int64_t *last) {
  const rush_file_tensor *t = m->tensors + i;
  int64_t far;
  *last = 0;
  for (int d = 0; d < RUSH_MAX_RANK; d++) {
    if (t->sizes[d] < 0 || t->strides[d] < 0)
      BAD(RUSH_SEC_TENSORS, i, "sizes and strides must not be negative");
    if (d >= t->rank && (t->sizes[d] || t->strides[d]))
      BAD(RUSH_SEC_TENSORS, i, "sizes and strides beyond the rank must be zero");
    if (d < t->rank && t->sizes[d] > 0 &&
        (!rush_mul64(t->sizes[d] - 1, t->strides[d], &far) || !rush_add64(*last, far, last)))
      BAD(RUSH_SEC_TENSORS, i, "its extent overflows");
  }
  return RUSH_OK;
}

static rush_status check_tensors(rush_ctx *ctx, const rush_model *m) {
  for (uint32_t i = 0; i < m->n_tensors; i++) {
    const rush_file_tensor *t = m->tensors + i;
    if (!rush_dtype_known(t->dtype))
      return rush_fail(ctx, RUSH_ERR_UNSUPPORTED,
                       "tensor %u has dtype %s (%u), which this runtime does not have", i,
                       rush_dtype_name(t->dtype), t->dtype);
    if (t->rank > RUSH_MAX_RANK)
      BAD(RUSH_SEC_TENSORS, i, "rank must be at most %d, got %u", RUSH_MAX_RANK, t->rank);
    if (t->reserved0 || t->reserved1) BAD(RUSH_SEC_TENSORS, i, "reserved bytes must be zero");
    if (!string_or_none(m, t->name)) BAD(RUSH_SEC_TENSORS, i, "name %u is not a string", t->name);
    if (t->storage != RUSH_NONE && t->storage >= m->n_storages)
      BAD(RUSH_SEC_TENSORS, i, "storage %u does not exist", t->storage);
    int64_t last, numel;
    RUSH_TRY(check_extent(ctx, m, i, &last));
    if (!rush_numel(t->rank, t->sizes, &numel))
      BAD(RUSH_SEC_TENSORS, i, "its number of elements overflows");
    int64_t item = (int64_t)rush_dtype_size((rush_dtype)t->dtype), end;
    size_t bytes;
    if (!rush_mul((size_t)numel, (size_t)item, &bytes) || bytes > PTRDIFF_MAX)
      BAD(RUSH_SEC_TENSORS, i, "%lld elements are more than this machine can address",
          (long long)numel);
    if (t->storage == RUSH_NONE || numel == 0) {
      if (t->offset > (uint64_t)1 << 45)
        BAD(RUSH_SEC_TENSORS, i, "offset %llu is out of range", (unsigned long long)t->offset);
      continue;
    }
    if (t->offset > INT64_MAX / 2 || !rush_add64((int64_t)t->offset, last, &end) ||
        !rush_add64(end, 1, &end) || !rush_mul64(end, item, &end) ||
        (uint64_t)end > m->storages[t->storage].bytes)
      BAD(RUSH_SEC_TENSORS, i, "reaches outside storage %u of %llu bytes", t->storage,
          (unsigned long long)m->storages[t->storage].bytes);
  }
  return RUSH_OK;
}

static rush_status check_container(rush_ctx *ctx, const rush_model *m, uint32_t i,
                                   extent *extents) {
  static const uint16_t wanted[] = {[RUSH_CONST_LIST] = RUSH_TYPE_LIST,
                                    [RUSH_CONST_TUPLE] = RUSH_TYPE_TUPLE,
                                    [RUSH_CONST_DICT] = RUSH_TYPE_DICT,
                                    [RUSH_CONST_OBJECT] = RUSH_TYPE_OBJECT,
                                    [RUSH_CONST_ENUM] = RUSH_TYPE_ENUM};
  const rush_file_constant *c = m->constants + i;
  if (!list_ok(m, c->a, c->p0)) BAD(RUSH_SEC_CONSTANTS, i, "its list lies outside the lists");
  if (c->p1 >= m->n_types || m->types[c->p1].kind != wanted[c->kind])
    BAD(RUSH_SEC_CONSTANTS, i, "type %llu does not fit", (unsigned long long)c->p1);
  if (c->p0 > most_parts(m))
    BAD(RUSH_SEC_CONSTANTS, i, "has more than %llu parts", (unsigned long long)most_parts(m));
  if (c->kind == RUSH_CONST_DICT && c->p0 % 2)
    BAD(RUSH_SEC_CONSTANTS, i, "a dict must have a value for each key");
  bool counted = c->kind == RUSH_CONST_TUPLE || c->kind == RUSH_CONST_OBJECT;
  if (counted && c->p0 != m->types[c->p1].n)
    BAD(RUSH_SEC_CONSTANTS, i, "%llu items do not fit its type", (unsigned long long)c->p0);
  for (uint64_t k = 0; k < c->p0; k++) {
    uint32_t item = m->lists[c->a + k];
    if (item >= i) BAD(RUSH_SEC_CONSTANTS, i, "item %u does not come before it", item);
    add_child(extents + i, extents + item);
  }
  if (c->kind == RUSH_CONST_ENUM &&
      (c->p0 != 2 || m->constants[m->lists[c->a]].kind != RUSH_CONST_STR))
    BAD(RUSH_SEC_CONSTANTS, i, "an enum must have a name and a value");
  if (extents[i].depth > RUSH_MAX_NESTING)
    BAD(RUSH_SEC_CONSTANTS, i, "constants are nested deeper than %d", RUSH_MAX_NESTING);
  if (extents[i].parts > most_parts(m))
    BAD(RUSH_SEC_CONSTANTS, i, "has more than %llu parts", (unsigned long long)most_parts(m));
  return RUSH_OK;
}

/* Subtracts the parts of a constant, which record `by` of a section uses, from those that are
 * left. */
static rush_status take_parts(rush_ctx *ctx, const rush_model *m, uint64_t parts, uint64_t *left,
                              uint32_t section, uint32_t by) {
  if (parts > *left) BAD(section, by, "constants have too many parts in all");
  *left -= parts;
  return rush_charge(ctx, parts);
}

static rush_status check_number(rush_ctx *ctx, const rush_model *m, uint32_t i) {
  const rush_file_constant *c = m->constants + i;
  if (c->kind == RUSH_CONST_NONE && (c->a || c->p0 || c->p1))
    BAD(RUSH_SEC_CONSTANTS, i, "None has a payload");
  if (c->kind == RUSH_CONST_BOOL && (c->a || c->p0 > 1 || c->p1))
    BAD(RUSH_SEC_CONSTANTS, i, "a bool must be 0 or 1");
  if (c->a || (c->p1 && c->kind != RUSH_CONST_COMPLEX))
    BAD(RUSH_SEC_CONSTANTS, i, "unused fields must be zero");
  return RUSH_OK;
}

static rush_status check_constant(rush_ctx *ctx, const rush_model *m, uint32_t i, extent *extents) {
  const rush_file_constant *c = m->constants + i;
  switch (c->kind) {
    case RUSH_CONST_NONE:
    case RUSH_CONST_INT:
    case RUSH_CONST_FLOAT:
    case RUSH_CONST_BOOL:
    case RUSH_CONST_COMPLEX:
      return check_number(ctx, m, i);
    case RUSH_CONST_TENSOR:
      if (c->a >= m->n_tensors || m->tensors[c->a].storage == RUSH_NONE)
        BAD(RUSH_SEC_CONSTANTS, i, "tensor %u does not exist (or has no storage)", c->a);
      if (c->p0 || c->p1) BAD(RUSH_SEC_CONSTANTS, i, "unused fields must be zero");
      break;
    case RUSH_CONST_RANDOM:
      if (c->a >= m->n_tensors || m->tensors[c->a].storage != RUSH_NONE)
        BAD(RUSH_SEC_CONSTANTS, i, "tensor %u does not exist (or has a storage)", c->a);
      break;
    case RUSH_CONST_STR:
    case RUSH_CONST_DEVICE:
      if (!string_ok(m, c->a)) BAD(RUSH_SEC_CONSTANTS, i, "string %u does not exist", c->a);
      if (c->p0 || c->p1) BAD(RUSH_SEC_CONSTANTS, i, "unused fields must be zero");
      break;
    case RUSH_CONST_LIST:
    case RUSH_CONST_TUPLE:
    case RUSH_CONST_DICT:
    case RUSH_CONST_OBJECT:
    case RUSH_CONST_ENUM:
      RUSH_TRY(check_container(ctx, m, i, extents));
      break;
    default:
      BAD(RUSH_SEC_CONSTANTS, i, "kind %u is not known", c->kind);
  }
  return RUSH_OK;
}

static rush_status check_constants(rush_ctx *ctx, const rush_model *m, extent *extents,
                                   uint64_t *left) {
  for (uint32_t i = 0; i < m->n_constants; i++) {
    extents[i] = (extent){1, 1};
    RUSH_TRY(check_constant(ctx, m, i, extents));
    RUSH_TRY(take_parts(ctx, m, extents[i].parts, left, RUSH_SEC_CONSTANTS, i));
  }
  return RUSH_OK;
}

/* Limits the constants that are copied as a whole at each use. */
static rush_status check_copies(rush_ctx *ctx, const rush_model *m, const extent *extents,
                                uint64_t left) {
  for (uint32_t i = 0; i < m->n_attributes; i++) {
    uint32_t c = m->attributes[i].initial;
    if (c < m->n_constants)
      RUSH_TRY(take_parts(ctx, m, extents[c].parts, &left, RUSH_SEC_ATTRIBUTES, i));
  }
  for (uint32_t i = 0; i < m->n_ports; i++) {
    uint32_t c = m->ports[i].initial;
    if (c < m->n_constants)
      RUSH_TRY(take_parts(ctx, m, extents[c].parts, &left, RUSH_SEC_PORTS, i));
  }
  for (uint32_t i = 0; i < m->n_traced; i++) {
    uint32_t c = m->traced[i].results;
    if (c < m->n_constants)
      RUSH_TRY(take_parts(ctx, m, extents[c].parts, &left, RUSH_SEC_TRACED, i));
  }
  for (uint32_t i = 0; i < m->n_exact; i++) {
    uint32_t c = m->exact[i].results;
    if (c < m->n_constants)
      RUSH_TRY(take_parts(ctx, m, extents[c].parts, &left, RUSH_SEC_EXACT, i));
  }
  return RUSH_OK;
}

static rush_status check_ports(rush_ctx *ctx, const rush_model *m) {
  RUSH_CHECK(ctx, m->n_ops <= RUSH_MAX_OPS, RUSH_ERR_BAD_FILE,
             "a file must have at most %d operators, got %u", RUSH_MAX_OPS, m->n_ops);
  for (uint32_t i = 0; i < m->n_ops; i++) {
    if (!string_ok(m, m->file_ops[i].name) || !string_or_none(m, m->file_ops[i].schema))
      BAD(RUSH_SEC_OPS, i, "its name or schema is not a string");
  }
  for (uint32_t i = 0; i < m->n_attributes; i++) {
    const rush_file_attribute *a = m->attributes + i;
    if (!string_ok(m, a->name) || a->type >= m->n_types || a->initial >= m->n_constants ||
        a->reserved)
      BAD(RUSH_SEC_ATTRIBUTES, i, "name, type or first value does not exist");
  }
  for (uint32_t i = 0; i < m->n_hints; i++) {
    const rush_file_hint *h = m->hints + i;
    if (h->reserved0 || h->reserved1) BAD(RUSH_SEC_HINTS, i, "reserved bytes must be zero");
    if (h->rank != 255 && h->rank > RUSH_MAX_RANK)
      BAD(RUSH_SEC_HINTS, i, "rank must be at most %d, got %u", RUSH_MAX_RANK, h->rank);
    for (int d = 0; d < RUSH_MAX_RANK; d++) {
      bool beyond = h->rank == 255 || d >= h->rank;
      if (h->sizes[d] < -1 || (beyond && h->sizes[d] != 0))
        BAD(RUSH_SEC_HINTS, i, "size %d is out of range", d);
    }
  }
  for (uint32_t i = 0; i < m->n_ports; i++) {
    const rush_file_port *p = m->ports + i;
    if (!string_ok(m, p->name) || p->type >= m->n_types)
      BAD(RUSH_SEC_PORTS, i, "its name or type does not exist");
    if (p->hint != RUSH_NONE && p->hint >= m->n_hints)
      BAD(RUSH_SEC_PORTS, i, "hint %u does not exist", p->hint);
    if (p->initial != RUSH_NONE && p->initial >= m->n_constants)
      BAD(RUSH_SEC_PORTS, i, "default %u does not exist", p->initial);
  }
  for (uint32_t i = 0; i < m->n_registers; i++) {
    if (m->registers[i].type >= m->n_types || !string_or_none(m, m->registers[i].name))
      BAD(RUSH_SEC_REGISTERS, i, "its type or name does not exist");
  }
  return RUSH_OK;
}

static rush_status second_method(rush_ctx *ctx, const rush_model *m, uint32_t i) {
  BAD(RUSH_SEC_METHODS, i, "duplicate method '%.256s'", rush_string(m, m->methods[i].name));
}

/* Compares the names of two methods like strcmp. */
static int compare_names(rush_ctx *ctx, const rush_model *m, uint32_t a, uint32_t b) {
  const uint32_t x = m->methods[a].name, y = m->methods[b].name;
  const uint32_t n = m->strings[x].bytes, o = m->strings[y].bytes;
  (void)rush_should_stop(ctx, n < o ? n : o);
  return strcmp(rush_string(m, x), rush_string(m, y));
}

/* Sorts indices of methods by name with merge sort. `spare` has room for n indices. */
static void sort_by_name(rush_ctx *ctx, const rush_model *m, uint32_t *order, uint32_t *spare,
                         uint32_t n) {
  if (n < 2 || rush_should_stop(ctx, n)) return;
  const uint32_t half = n / 2;
  sort_by_name(ctx, m, order, spare, half);
  sort_by_name(ctx, m, order + half, spare, n - half);
  memcpy(spare, order, half * sizeof *spare);
  for (uint32_t a = 0, b = half, to = 0; a < half; to++) {
    bool first = b == n || compare_names(ctx, m, spare[a], order[b]) <= 0;
    order[to] = first ? spare[a++] : order[b++];
  }
}

/* Each method's name is a separate string, so that their total length is bounded by the file, and
 * sorting compares each of them only a few times. */
static rush_status check_strings_differ(rush_ctx *ctx, const rush_model *m) {
  bool *taken;
  rush_status st = RUSH_OK;
  RUSH_TRY(rush_calloc(ctx, m->n_strings, sizeof *taken, (void **)&taken));
  for (uint32_t i = 0; i < m->n_methods && st == RUSH_OK; i++) {
    if (taken[m->methods[i].name]) st = second_method(ctx, m, i);
    taken[m->methods[i].name] = true;
  }
  rush_release(ctx, taken, m->n_strings * sizeof *taken);
  return st;
}

static rush_status check_method_names(rush_ctx *ctx, const rush_model *m) {
  uint32_t *order;
  size_t room;
  RUSH_TRY(check_strings_differ(ctx, m));
  if (!rush_mul(m->n_methods, 2 * sizeof *order, &room)) return rush_fail_memory(ctx, SIZE_MAX);
  RUSH_TRY(rush_alloc(ctx, room, (void **)&order));
  for (uint32_t i = 0; i < m->n_methods; i++) order[i] = i;
  sort_by_name(ctx, m, order, order + m->n_methods, m->n_methods);
  rush_status st = rush_take_stop(ctx);
  for (uint32_t k = 1; k < m->n_methods && st == RUSH_OK; k++) {
    if (compare_names(ctx, m, order[k], order[k - 1]) == 0) st = second_method(ctx, m, order[k]);
  }
  rush_release(ctx, order, room);
  return st == RUSH_OK ? rush_take_stop(ctx) : st;
}

/* Where the next method's instructions start, and where its registers may start. */
typedef struct place_of_method {
  uint64_t instrs, registers;
} place_of_method;

static rush_status check_method(rush_ctx *ctx, const rush_model *m, uint32_t i,
                                place_of_method *at) {
  const rush_file_method *f = m->methods + i;
  if (!string_ok(m, f->name) || f->result >= m->n_types)
    BAD(RUSH_SEC_METHODS, i, "its name or result type does not exist");
  if ((uint64_t)f->inputs + f->n_inputs > m->n_ports ||
      (uint64_t)f->outputs + f->n_outputs > m->n_ports)
    BAD(RUSH_SEC_METHODS, i, "ports lie outside the ports");
  if ((uint64_t)f->registers + f->n_registers > m->n_registers || f->n_inputs > f->n_registers ||
      f->n_registers >= RUSH_OPERAND_CONSTANT)
    BAD(RUSH_SEC_METHODS, i, "registers lie outside the registers");
  if (f->n_instrs == 0 || (uint64_t)f->instrs + f->n_instrs > m->n_instrs)
    BAD(RUSH_SEC_METHODS, i, "instructions lie outside the instructions (or there are none)");
  if (f->registers < at->registers)
    BAD(RUSH_SEC_METHODS, i, "shares registers with the methods before it");
  if (f->instrs != at->instrs)
    BAD(RUSH_SEC_METHODS, i, "its instructions must start at %llu, got %u",
        (unsigned long long)at->instrs, f->instrs);
  at->registers = (uint64_t)f->registers + f->n_registers;
  at->instrs = (uint64_t)f->instrs + f->n_instrs;
  const rush_file_type *result = m->types + f->result;
  uint32_t outputs = result->kind == RUSH_TYPE_TUPLE  ? result->n
                     : result->kind == RUSH_TYPE_NONE ? 0
                                                      : 1;
  if (f->n_outputs != outputs)
    BAD(RUSH_SEC_METHODS, i, "has %u outputs, but its result type has %u", f->n_outputs, outputs);
  return RUSH_OK;
}

static rush_status check_methods(rush_ctx *ctx, const rush_model *m) {
  RUSH_CHECK(ctx, m->n_methods > 0 && m->n_methods <= RUSH_MAX_METHODS, RUSH_ERR_BAD_FILE,
             "a file must have 1 to %d methods, got %u", RUSH_MAX_METHODS, m->n_methods);
  place_of_method at = {0, 0};
  for (uint32_t i = 0; i < m->n_methods; i++) RUSH_TRY(check_method(ctx, m, i, &at));
  if (at.instrs != m->n_instrs) BAD(RUSH_SEC_INSTRS, (uint32_t)at.instrs, "belongs to no method");
  return check_method_names(ctx, m);
}

static rush_status check_constraints(rush_ctx *ctx, const rush_model *m) {
  RUSH_CHECK(ctx, m->n_constraints <= RUSH_MAX_CONSTRAINTS, RUSH_ERR_BAD_FILE,
             "a file must have at most %d constraints, got %u", RUSH_MAX_CONSTRAINTS,
             m->n_constraints);
  for (uint32_t i = 0; i < m->n_constraints; i++) {
    const rush_file_constraint *p = m->constraints + i;
    if (p->port >= m->n_ports || p->dim >= RUSH_MAX_RANK || p->reserved)
      BAD(RUSH_SEC_CONSTRAINTS, i, "its port or dimension does not exist");
    if (!string_or_none(m, p->name)) BAD(RUSH_SEC_CONSTRAINTS, i, "its name does not exist");
    if (p->min < 0 || p->max < p->min) BAD(RUSH_SEC_CONSTRAINTS, i, "no size is in its range");
    if (i > 0 && (p[-1].port > p->port || (p[-1].port == p->port && p[-1].dim >= p->dim)))
      BAD(RUSH_SEC_CONSTRAINTS, i, "ports and dimensions must be sorted");
  }
  return RUSH_OK;
}

static rush_status check_measures(rush_ctx *ctx, const rush_model *m) {
  for (uint32_t i = 0; i < m->n_measures; i++) {
    const rush_file_measure *t = m->measures + i;
    if (t->test >= m->n_tests) BAD(RUSH_SEC_MEASURES, i, "test vector %u does not exist", t->test);
    if (t->exact != RUSH_NONE && t->exact >= m->n_constants)
      BAD(RUSH_SEC_MEASURES, i, "its constant does not exist");
    if (!(t->rtol >= 0) || !(t->atol >= 0))
      BAD(RUSH_SEC_MEASURES, i, "tolerances must not be negative");
    if (i > 0 && t[-1].test > t->test) BAD(RUSH_SEC_MEASURES, i, "test vectors must be sorted");
  }
  for (uint32_t i = 0; i < m->n_exact; i++) {
    const rush_file_exact *t = m->exact + i;
    if (t->traced >= m->n_traced) BAD(RUSH_SEC_EXACT, i, "its traced node does not exist");
    if (t->results >= m->n_constants || m->constants[t->results].kind != RUSH_CONST_TUPLE)
      BAD(RUSH_SEC_EXACT, i, "its results must be a tuple");
    if (i > 0 && t[-1].traced >= t->traced) BAD(RUSH_SEC_EXACT, i, "traced nodes must be sorted");
  }
  return RUSH_OK;
}

/* `at`: the end of the storages in the weights. */
static rush_status check_assets(rush_ctx *ctx, const rush_model *m, uint64_t at) {
  if (m->n_assets > RUSH_MAX_ASSETS)
    BAD(RUSH_SEC_ASSETS, RUSH_MAX_ASSETS, "there must be at most %d", RUSH_MAX_ASSETS);
  for (uint32_t i = 0; i < m->n_assets; i++) {
    const rush_file_asset *a = m->assets + i;
    if (a->reserved) BAD(RUSH_SEC_ASSETS, i, "reserved bytes must be zero");
    if (!string_ok(m, a->name) || m->strings[a->name].bytes - 1 >= RUSH_MAX_ASSET_NAME)
      BAD(RUSH_SEC_ASSETS, i, "its name must have 1 to %d bytes", RUSH_MAX_ASSET_NAME);
    if (i > 0 && strcmp(rush_string(m, a[-1].name), rush_string(m, a->name)) >= 0)
      BAD(RUSH_SEC_ASSETS, i, "names must be distinct and sorted");
    RUSH_TRY(check_place(ctx, m, RUSH_SEC_ASSETS, i, a->offset, a->bytes, &at));
  }
  return RUSH_OK;
}

static rush_status check_optional(rush_ctx *ctx, const rush_model *m) {
  for (uint32_t i = 0; i < m->n_sources; i++) {
    const rush_file_source *s = m->sources + i;
    if (!string_or_none(m, s->file) || !string_or_none(m, s->function) ||
        !string_or_none(m, s->module))
      BAD(RUSH_SEC_SOURCES, i, "a string does not exist");
  }
  for (uint32_t i = 0; i < m->n_tests; i++) {
    const rush_file_test *t = m->tests + i;
    if (t->method >= m->n_methods || t->inputs >= m->n_constants || t->output >= m->n_constants)
      BAD(RUSH_SEC_TESTS, i, "its method or a constant does not exist");
    if (m->constants[t->inputs].kind != RUSH_CONST_TUPLE ||
        m->constants[t->inputs].p0 != m->methods[t->method].n_inputs)
      BAD(RUSH_SEC_TESTS, i, "inputs must be a tuple of %u", m->methods[t->method].n_inputs);
    if (!(t->rtol >= 0) || !(t->atol >= 0))
      BAD(RUSH_SEC_TESTS, i, "tolerances must not be negative");
  }
  for (uint32_t i = 0; i < m->n_traced; i++) {
    const rush_file_traced *t = m->traced + i;
    if (t->test >= m->n_tests) BAD(RUSH_SEC_TRACED, i, "test vector %u does not exist", t->test);
    if (t->results >= m->n_constants || m->constants[t->results].kind != RUSH_CONST_TUPLE)
      BAD(RUSH_SEC_TRACED, i, "its results must be a tuple");
    if (t->handle == 0) BAD(RUSH_SEC_TRACED, i, "it has no handle");
    if (i > 0 && (t[-1].test > t->test || (t[-1].test == t->test && t[-1].handle > t->handle)))
      BAD(RUSH_SEC_TRACED, i, "test vectors and handles must be sorted");
  }
  for (uint32_t i = 0; i < m->n_meta; i++) {
    if (!string_ok(m, m->meta[i].key) || !string_ok(m, m->meta[i].value))
      BAD(RUSH_SEC_META, i, "a string does not exist");
  }
  for (uint32_t i = 0; i < m->n_texts; i++) {
    const rush_file_text *t = m->texts + i;
    if (!string_ok(m, t->module) || !string_ok(m, t->text) || t->reserved)
      BAD(RUSH_SEC_TEXTS, i, "a string does not exist");
  }
  return check_measures(ctx, m);
}

/* Checks all nested records. `extents` is scratch memory. */
static rush_status check_nested(rush_ctx *ctx, const rush_model *m, extent *extents) {
  uint64_t left = most_parts_in_all(m), end = 0;
  RUSH_TRY(check_types(ctx, m, extents));
  RUSH_TRY(check_storages(ctx, m, &end));
  RUSH_TRY(check_assets(ctx, m, end));
  RUSH_TRY(check_tensors(ctx, m));
  RUSH_TRY(check_constants(ctx, m, extents, &left));
  const uint64_t mentions = (uint64_t)m->n_attributes + m->n_ports + m->n_traced;
  return check_copies(ctx, m, extents, most_parts(m) + m->n_constants + 16 * mentions);
}

rush_status rush_head_check(rush_ctx *ctx, rush_model *m) {
  extent *extents;
  size_t n = m->n_types > m->n_constants ? m->n_types : m->n_constants;
  RUSH_TRY(check_strings(ctx, m));
  RUSH_TRY(rush_calloc(ctx, n, sizeof *extents, (void **)&extents));
  rush_status st = check_nested(ctx, m, extents);
  rush_release(ctx, extents, n * sizeof *extents);
  RUSH_TRY(st);
  RUSH_TRY(check_ports(ctx, m));
  RUSH_TRY(check_methods(ctx, m));
  RUSH_TRY(check_constraints(ctx, m));
  return check_optional(ctx, m);
}
