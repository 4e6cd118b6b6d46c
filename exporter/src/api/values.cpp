#include "api/values.h"

#include <mutex>
#include <stdexcept>

#include "base/joined.h"
#include "base/json.h"
#include "base/runtime_error.h"

namespace rush {

namespace {

// ---- From JSON

std::vector<Const> consts_of(const Json &values, KnownTensors *known) {
  std::vector<Const> out;
  for (const Json &value : values.list()) out.push_back(const_of(value, known));
  return out;
}

TypeRef type_in(const Json &value) {
  const Json *type = value.find("type");
  return type ? type_from(*type) : nullptr;
}

rush_type_kind kind_named(const std::string &kind) {
  static const std::map<std::string, rush_type_kind> kinds = {
      {"list", RUSH_TYPE_LIST}, {"optional", RUSH_TYPE_OPTIONAL}, {"tuple", RUSH_TYPE_TUPLE},
      {"Dict", RUSH_TYPE_DICT}, {"Union", RUSH_TYPE_UNION},       {"Object", RUSH_TYPE_OBJECT},
      {"Enum", RUSH_TYPE_ENUM}, {"Future", RUSH_TYPE_FUTURE}};
  const auto found = kinds.find(kind);
  return found == kinds.end() ? parse_type(kind)->kind : found->second;
}

Const list_from(std::vector<Const> items, TypeRef type) {
  Const out = const_list(make_type(RUSH_TYPE_ANY), std::move(items));
  if (type) out.type = std::move(type);
  return out;
}

Const tuple_from(std::vector<Const> items, TypeRef type) {
  Const out;
  out.kind = RUSH_CONST_TUPLE;
  out.items = std::move(items);
  std::vector<TypeRef> types;
  for (const Const &item : out.items) types.push_back(type_of(item));
  out.type = type ? std::move(type) : make_type(RUSH_TYPE_TUPLE, std::move(types));
  return out;
}

Const dict_from(std::vector<Const> items, TypeRef type) {
  Const out;
  const TypeRef any = make_type(RUSH_TYPE_ANY);
  out.kind = RUSH_CONST_DICT;
  out.items = std::move(items);
  out.type = type ? std::move(type) : make_type(RUSH_TYPE_DICT, {any, any});
  return out;
}

Const object_from(rush_const_kind kind, std::vector<Const> items, TypeRef type) {
  Const out;
  out.kind = kind;
  out.items = std::move(items);
  out.type = std::move(type);
  if (!out.type) throw std::invalid_argument("an object and an enum must have a type");
  return out;
}

Const complex_from(const Json &parts) {
  Const out;
  out.kind = RUSH_CONST_COMPLEX;
  out.f = parts.list().at(0).number();
  out.im = parts.list().at(1).number();
  return out;
}

std::shared_ptr<const Storage> storage_from(const Json &from) {
  const std::vector<int64_t> parts = from.integers();
  Storage out;
  out.id = reinterpret_cast<const void *>(parts.at(0));
  out.data = reinterpret_cast<void *>(parts.at(1));
  out.bytes = static_cast<size_t>(parts.at(2));
  return std::make_shared<const Storage>(std::move(out));
}

std::string name_in(const Json &value) {
  const Json *name = value.find("name");
  return name ? name->text() : "";
}

Const tensor_from(const Json &value, const Json &parts, KnownTensors *known) {
  const std::vector<Json> &of = parts.list();
  Tensor tensor(static_cast<rush_dtype>(of.at(0).integer()), of.at(1).integers(),
                of.at(2).integers(), of.at(3).integer(), storage_from(of.at(4)));
  if (known) tensor = known->emplace(of.at(5).integer(), tensor).first->second;
  return const_tensor(tensor, name_in(value));
}

Const foreign_from(const Json &value, const Json &parts) {
  const std::vector<Json> &of = parts.list();
  Foreign foreign;
  foreign.form = of.at(2).text();
  foreign.device = of.at(3).text();
  foreign.no_memory = foreign.form.empty() && foreign.device.empty();
  foreign.number = of.at(4).integer();
  return const_tensor(
      Tensor(static_cast<rush_dtype>(of.at(0).integer()), of.at(1).integers(), std::move(foreign)),
      name_in(value));
}

Const special_from(const Json &value, KnownTensors *known) {
  const auto inner = [&](const Json &items) { return consts_of(items, known); };
  if (const Json *parts = value.find("tensor")) return tensor_from(value, *parts, known);
  if (const Json *items = value.find("tuple")) return tuple_from(inner(*items), type_in(value));
  if (const Json *items = value.find("list")) return list_from(inner(*items), type_in(value));
  if (const Json *items = value.find("dict")) return dict_from(inner(*items), type_in(value));
  if (const Json *parts = value.find("complex")) return complex_from(*parts);
  if (const Json *parts = value.find("foreign")) return foreign_from(value, *parts);
  if (const Json *items = value.find("object"))
    return object_from(RUSH_CONST_OBJECT, inner(*items), type_in(value));
  if (const Json *items = value.find("enum"))
    return object_from(RUSH_CONST_ENUM, inner(*items), type_in(value));
  Const out = const_str(value["device"].text());
  out.kind = RUSH_CONST_DEVICE;
  return out;
}

// ---- Memory of results

struct Kept {
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<const Storage>> storages;
  int64_t next = 1;
};

Kept &kept() {
  static Kept all;
  return all;
}

int64_t keep(const std::shared_ptr<const Storage> &storage) {
  Kept &all = kept();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.storages.emplace(all.next, storage);
  return all.next++;
}

}  // namespace

TypeRef type_from(const Json &type) {
  if (type.kind == Json::TEXT) return parse_type(type.s);
  std::vector<TypeRef> items;
  if (const Json *list = type.find("items"))
    for (const Json &item : list->list()) items.push_back(type_from(item));
  const Json *name = type.find("name"), *fields = type.find("fields");
  return make_type(kind_named(type["kind"].text()), std::move(items), name ? name->text() : "",
                   fields ? fields->texts() : std::vector<std::string>());
}

Const const_of(const Json &value, KnownTensors *known) {
  switch (value.kind) {
    case Json::NONE:
      return const_none();
    case Json::BOOL:
      return const_bool(value.i != 0);
    case Json::INT:
      return const_int(value.i);
    case Json::FLOAT:
      return const_float(value.f);
    case Json::TEXT:
      return const_str(value.s);
    case Json::LIST:
      return list_from(consts_of(value, known), nullptr);
    case Json::OBJECT:
      break;
  }
  return special_from(value, known);
}

std::string bytes_at(const Json &address, const Json &size) {
  return {reinterpret_cast<const char *>(address.integer()), static_cast<size_t>(size.integer())};
}

void release_storage(int64_t handle) {
  Kept &all = kept();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.storages.erase(handle);
}

// ---- To JSON

size_t ValueWriter::storage(const std::shared_ptr<const Storage> &storage) {
  const auto [at, is_new] = indices_.emplace(storage->id, storages_.size());
  if (is_new)
    storages_.push_back(json_integers({keep(storage), reinterpret_cast<int64_t>(storage->data),
                                       static_cast<int64_t>(storage->bytes)}));
  return at->second;
}

std::string ValueWriter::tensor(const Tensor &t) {
  if (!t.is_strided()) return "{\"foreign\": " + std::to_string(t.foreign().number) + "}";
  return "{\"tensor\": [" + std::to_string(t.dtype()) + ", " + json_integers(t.sizes()) + ", " +
         json_integers(t.strides()) + ", " + std::to_string(t.storage_offset()) + ", " +
         std::to_string(storage(t.storage())) + "]}";
}

std::string ValueWriter::text(const Const &value) {
  if (value.tensor.defined()) return tensor(value.tensor);
  const auto items = [&] {
    return "[" + joined(value.items, [&](const Const &item) { return text(item); }) + "]";
  };
  const auto typed = [&](const char *kind) {
    return std::string("{\"") + kind + "\": " + items() + ", \"type\": " + json_of(*value.type) +
           "}";
  };
  switch (value.kind) {
    case RUSH_CONST_INT:
      return std::to_string(value.i);
    case RUSH_CONST_BOOL:
      return value.i ? "true" : "false";
    case RUSH_CONST_FLOAT:
      return json_float(value.f);
    case RUSH_CONST_STR:
      if (!is_utf8(value.s))
        throw RuntimeError(RUSH_ERR_UNSUPPORTED,
                           "a string that Python gets must be UTF-8, got " + bytes_text(value.s));
      return json_text(value.s);
    case RUSH_CONST_COMPLEX:
      return "{\"complex\": [" + json_float(value.f) + ", " + json_float(value.im) + "]}";
    case RUSH_CONST_DEVICE:
      return "{\"device\": " + json_text(value.s) + "}";
    case RUSH_CONST_LIST:
      return items();
    case RUSH_CONST_TUPLE:
      return typed("tuple");
    case RUSH_CONST_DICT:
      return "{\"dict\": " + items() + "}";
    case RUSH_CONST_OBJECT:
      return typed("object");
    case RUSH_CONST_ENUM:
      return typed("enum");
    default:
      return "null";
  }
}

std::string ValueWriter::answer(const Const &value) {
  return answer_with(text(value));
}

std::string ValueWriter::answer_with(const std::string &value) const {
  return "{\"value\": " + value + ", \"storages\": " + json_list(storages_) + "}";
}

std::string json_of(const Type &type) {
  std::string kind = type.kind == RUSH_TYPE_LIST       ? "list"
                     : type.kind == RUSH_TYPE_OPTIONAL ? "optional"
                     : type.kind == RUSH_TYPE_TUPLE    ? "tuple"
                                                       : to_string(type);
  kind = kind.substr(0, kind.find('('));
  std::string out = "{\"kind\": " + json_text(kind);
  if (!type.items.empty())
    out += ", \"items\": [" +
           joined(type.items, [](const TypeRef &item) { return json_of(*item); }) + "]";
  if (!type.name.empty()) out += ", \"name\": " + json_text(type.name);
  if (!type.fields.empty()) out += ", \"fields\": " + json_texts(type.fields);
  return out + "}";
}

}  // namespace rush
