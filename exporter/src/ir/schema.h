// What an operator's schema says, for passes: arguments, defaults, what is written and what
// aliases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/const.h"

namespace rush {

struct AliasSet {
  bool write = false;
  bool wildcard = false;            // may alias anything ("(*)")
  std::vector<std::string> before;  // "a" of Tensor(a!)
  std::vector<std::string> after;   // "c" of t(b -> c); as before where there is no arrow
};

struct Argument {
  std::string name;
  TypeRef type;
  std::optional<Const> initial;   // its default
  std::optional<AliasSet> alias;  // nothing: neither written nor returned
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
  bool random = false;  // draws random numbers
};

// The schema of a full name ("aten::add.Tensor"): an operator of torch, of a loaded library, or one
// of ours ("rush::conv"). nullptr where nobody has it. The result lives for ever.
const Schema *schema_of(const std::string &op);

// All overloads that torch has for "aten::add".
std::vector<std::string> overloads_of(const std::string &name);

// "aten::add" and "Tensor" of "aten::add.Tensor".
std::string base_name(const std::string &op);
std::string overload_name(const std::string &op);

// Whether the operator writes one of its arguments.
bool writes(const Schema &schema);

}  // namespace rush
