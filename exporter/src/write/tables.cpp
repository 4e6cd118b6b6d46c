#include "write/tables.h"

#include <cstring>
#include <stdexcept>

#include "base/json.h"
#include "ir/schema.h"
#include "ir/unsupported.h"

namespace rush {

namespace {

uint32_t next_index(size_t n, const char *what) {
  if (n >= RUSH_OPERAND_CONSTANT) throw std::invalid_argument(std::string("too many ") + what);
  return static_cast<uint32_t>(n);
}

template <class T>
std::string bytes_of(const T &record) {
  return std::string(reinterpret_cast<const char *>(&record), sizeof record);
}

// Adds a record unless the table has an equal one.
template <class T>
uint32_t intern(std::vector<T> *table, std::map<std::string, uint32_t> *at, const T &record,
                const char *what) {
  auto [found, is_new] = at->emplace(bytes_of(record), next_index(table->size(), what));
  if (is_new) table->push_back(record);
  return found->second;
}

uint64_t bits(double f) {
  uint64_t u;
  std::memcpy(&u, &f, sizeof u);
  return u;
}
uint32_t bits32(float f) {
  uint32_t u;
  std::memcpy(&u, &f, sizeof u);
  return u;
}

void require_utf8(const std::string &text) {
  if (!is_utf8(text)) throw Unsupported("strings must be UTF-8, got " + bytes_text(text));
}

}  // namespace

uint32_t Tables::string(const std::string &s) {
  require_utf8(s);
  auto [found, is_new] = string_at_.emplace(s, next_index(strings.size(), "strings"));
  if (!is_new) return found->second;
  strings.push_back({next_index(string_bytes.size(), "bytes of strings"),
                     next_index(s.size(), "bytes of strings")});
  string_bytes.insert(string_bytes.end(), s.begin(), s.end());
  string_bytes.push_back('\0');
  return found->second;
}

uint32_t Tables::list(const std::vector<uint32_t> &items) {
  if (items.empty()) return 0;
  auto [found, is_new] = list_at_.emplace(items, next_index(lists.size(), "lists"));
  if (is_new) lists.insert(lists.end(), items.begin(), items.end());
  return found->second;
}

uint32_t Tables::type(const Type &type) {
  rush_file_type record = {};
  record.kind = static_cast<uint16_t>(type.kind);
  const bool object = type.kind == RUSH_TYPE_OBJECT;
  record.n = static_cast<uint16_t>(object ? type.fields.size() : type.items.size());
  record.name = string_or_none(class_names.in(type.name));
  std::vector<uint32_t> children;
  for (const TypeRef &item : type.items) children.push_back(this->type(*item));
  for (const std::string &field : type.fields) children.push_back(string(field));
  record.list = list(children);
  return intern(&types, &type_at_, record, "types");
}

uint32_t Tables::tensor(const Const &value, bool with_storage) {
  const Tensor &t = value.tensor;
  rush_file_tensor record = {};
  record.dtype = static_cast<uint8_t>(t.dtype());
  record.rank = static_cast<uint8_t>(t.dim());
  record.storage = RUSH_NONE;
  record.name = string_or_none(value.s);
  if (with_storage) {
    Storages::Place place = storages_.place(t);
    record.storage = place.storage;
    record.offset = place.offset;
  }
  for (int64_t d = 0; d < t.dim(); d++) {
    record.sizes[d] = t.size(d);
    record.strides[d] = t.stride(d);
  }
  return intern(&tensors, &tensor_at_, record, "tensors");
}

rush_file_constant Tables::record(const Const &value) {
  rush_file_constant c = {};
  c.kind = static_cast<uint32_t>(value.kind);
  switch (value.kind) {
    case RUSH_CONST_NONE:
      break;
    case RUSH_CONST_INT:
    case RUSH_CONST_BOOL:
      c.p0 = static_cast<uint64_t>(value.i);
      break;
    case RUSH_CONST_FLOAT:
      c.p0 = bits(value.f);
      break;
    case RUSH_CONST_COMPLEX:
      c.p0 = bits(value.f);
      c.p1 = bits(value.im);
      break;
    case RUSH_CONST_STR:
    case RUSH_CONST_DEVICE:
      c.a = string(value.s);
      break;
    case RUSH_CONST_TENSOR:
      c.a = tensor(value, true);
      break;
    case RUSH_CONST_RANDOM:
      c.a = tensor(value, false);
      c.p0 = static_cast<uint64_t>(value.i);
      c.p1 = bits32(static_cast<float>(value.f)) |
             static_cast<uint64_t>(bits32(static_cast<float>(value.im))) << 32;
      break;
    case RUSH_CONST_LIST:
    case RUSH_CONST_TUPLE:
    case RUSH_CONST_DICT:
    case RUSH_CONST_OBJECT:
    case RUSH_CONST_ENUM:
      record_items(value, &c);
      break;
  }
  return c;
}

void Tables::record_items(const Const &value, rush_file_constant *out) {
  std::vector<uint32_t> items;
  for (const Const &item : value.items) items.push_back(constant(item));
  if (value.kind == RUSH_CONST_ENUM)
    items[0] = constant(const_str(class_names.in(value.items[0].s)));
  out->a = list(items);
  out->p0 = items.size();
  out->p1 = type(*value.type);
}

uint32_t Tables::constant(const Const &value) {
  return intern(&constants, &constant_at_, record(value), "constants");
}

uint32_t Tables::op(const std::string &name) {
  const Schema *schema = schema_of(name);
  rush_file_op record = {string(name), schema ? string(schema->text) : RUSH_NONE};
  return intern(&ops, &op_at_, record, "operators");
}

uint32_t Tables::source(const Source &source) {
  if (source.file.empty() && source.module.empty() && source.handle == 0) return RUSH_NONE;
  rush_file_source record = {};
  record.file = string_or_none(source.file);
  record.line = source.line;
  record.function = string_or_none(source.function);
  record.module = string_or_none(source.module);
  record.handle = source.handle;
  return intern(&sources, &source_at_, record, "sources");
}

uint32_t Tables::hint(const Port &port) {
  if (!port.has_hint) return RUSH_NONE;
  rush_file_hint record = {};
  record.dtype = static_cast<uint8_t>(port.dtype);
  record.rank = port.rank_known ? static_cast<uint8_t>(port.sizes.size()) : 255;
  for (size_t d = 0; port.rank_known && d < port.sizes.size() && d < RUSH_MAX_RANK; d++)
    record.sizes[d] = port.sizes[d];
  hints.push_back(record);
  return next_index(hints.size() - 1, "hints");
}

}  // namespace rush
