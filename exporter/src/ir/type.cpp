#include "ir/type.h"

namespace rush {

TypeRef make_type(rush_type_kind kind, std::vector<TypeRef> items, std::string name,
                  std::vector<std::string> fields) {
  return std::make_shared<const Type>(
      Type{kind, std::move(items), std::move(name), std::move(fields)});
}

TypeRef tensor_type() {
  static const TypeRef type = make_type(RUSH_TYPE_TENSOR);
  return type;
}

TypeRef list_of(TypeRef item) {
  return make_type(RUSH_TYPE_LIST, {std::move(item)});
}

bool equal(const Type &a, const Type &b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.name != b.name || a.fields != b.fields ||
      a.items.size() != b.items.size())
    return false;
  for (size_t i = 0; i < a.items.size(); i++)
    if (!equal(*a.items[i], *b.items[i])) return false;
  return true;
}

bool is_mutable(const Type &type) {
  switch (type.kind) {
    case RUSH_TYPE_NONE:
    case RUSH_TYPE_INT:
    case RUSH_TYPE_FLOAT:
    case RUSH_TYPE_BOOL:
    case RUSH_TYPE_COMPLEX:
    case RUSH_TYPE_STR:
    case RUSH_TYPE_NUMBER:
    case RUSH_TYPE_DEVICE:
    case RUSH_TYPE_ENUM:
      return false;
    case RUSH_TYPE_TUPLE:
    case RUSH_TYPE_OPTIONAL:
    case RUSH_TYPE_UNION:
      for (const TypeRef &item : type.items)
        if (is_mutable(*item)) return true;
      return false;
    default:
      return true;
  }
}

namespace {

const char *word(rush_type_kind kind) {
  switch (kind) {
    case RUSH_TYPE_NONE:
      return "None";
    case RUSH_TYPE_TENSOR:
      return "Tensor";
    case RUSH_TYPE_INT:
      return "int";
    case RUSH_TYPE_FLOAT:
      return "float";
    case RUSH_TYPE_BOOL:
      return "bool";
    case RUSH_TYPE_COMPLEX:
      return "complex";
    case RUSH_TYPE_STR:
      return "str";
    case RUSH_TYPE_DICT:
      return "Dict";
    case RUSH_TYPE_UNION:
      return "Union";
    case RUSH_TYPE_ANY:
      return "Any";
    case RUSH_TYPE_NUMBER:
      return "Scalar";
    case RUSH_TYPE_DEVICE:
      return "Device";
    case RUSH_TYPE_GENERATOR:
      return "Generator";
    case RUSH_TYPE_FUTURE:
      return "Future";
    case RUSH_TYPE_OBJECT:
      return "Object";
    case RUSH_TYPE_ENUM:
      return "Enum";
    default:
      return "";
  }
}

}  // namespace

std::string to_string(const Type &type) {
  switch (type.kind) {
    case RUSH_TYPE_LIST:
      return to_string(*type.items[0]) + "[]";
    case RUSH_TYPE_OPTIONAL:
      return to_string(*type.items[0]) + "?";
    case RUSH_TYPE_OBJECT:
    case RUSH_TYPE_ENUM:
      return std::string(word(type.kind)) + "(" + type.name + ")";
    default:
      break;
  }
  std::string out = type.kind == RUSH_TYPE_TUPLE ? type.name : word(type.kind);
  bool parens = type.kind == RUSH_TYPE_TUPLE || !type.items.empty();
  if (parens) out += "(";
  for (size_t i = 0; i < type.items.size(); i++) {
    if (i) out += ", ";
    if (!type.fields.empty()) out += type.fields[i] + " : ";
    out += to_string(*type.items[i]);
  }
  if (type.kind == RUSH_TYPE_TUPLE && type.name.empty() && type.items.size() == 1) out += ",";
  if (parens) out += ")";
  return out;
}

}  // namespace rush
