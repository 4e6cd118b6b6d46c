// The schema of an operator, as passes need it: arguments and their defaults, which of them are
// written, and which results alias them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/const.h"

namespace rush {

struct AliasSet {
  bool write = false;
  bool wildcard = false;            // may alias anything ("(*)")
  std::vector<std::string> before;  // "a" of Tensor(a!)
  std::vector<std::string> after;   // "c" of t(b -> c); as `before` if there is no arrow
};

struct Argument {
  std::string name;
  TypeRef type;
  std::optional<Const> initial;   // its default
  std::optional<AliasSet> alias;  // none if it is neither written nor returned
  std::optional<int64_t> repeat;  // the 2 of int[2]
  bool keyword_only = false;
  bool out = false;
};

struct Schema {
  std::string name;  // "aten::add", without overload
  std::string text;  // whole, as torch prints it
  std::vector<Argument> args;
  std::vector<Argument> returns;
  bool variadic = false;
  bool trusted = true;  // its alias annotations are true (not inferred from a C++ signature)
  bool random = false;  // it draws random numbers
};

// Parses the text of a schema; throws std::invalid_argument.
Schema parse_schema(const std::string &text);

// How operators of torch and of loaded libraries are found. Without it, only the runtime's own
// operators have schemas.
struct Schemas {
  std::function<std::optional<Schema>(const std::string &op)> find;
  std::function<std::vector<std::string>(const std::string &name)> overloads;
};
void set_schemas(Schemas of_torch);

// Returns the schema of an operator of torch, of a loaded library or of the runtime ("rush::conv"),
// by its full name ("aten::add.Tensor"); nullptr if there is none. The result is never freed.
const Schema *schema_of(const std::string &op);

// Looks up the schemas of custom operators anew from now on: a program may register an operator
// after an export has failed without it, or register it again with another schema.
void forget_custom_schemas();

// Returns all of torch's overloads of an operator such as "aten::add".
std::vector<std::string> overloads_of(const std::string &name);

// These return "aten::add" and "Tensor" for "aten::add.Tensor".
std::string base_name(const std::string &op);
std::string overload_name(const std::string &op);

// Returns whether the operator writes one of its arguments.
bool writes(const Schema &schema);

}  // namespace rush
