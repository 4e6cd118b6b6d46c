// Types of values, as in the file (rush_type_kind). They are immutable and shared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rushlight/format.h"

namespace rush {

struct Type;
using TypeRef = std::shared_ptr<const Type>;

struct Type {
  rush_type_kind kind = RUSH_TYPE_NONE;
  std::vector<TypeRef> items;       // list, optional, future: one; dict: two; tuple, union: any
  std::string name;                 // class of a named tuple, object or enum
  std::vector<std::string> fields;  // of a named tuple, one per item; an object's attributes
};

TypeRef make_type(rush_type_kind kind, std::vector<TypeRef> items = {}, std::string name = "",
                  std::vector<std::string> fields = {});
TypeRef tensor_type();
TypeRef list_of(TypeRef item);

bool equal(const Type &a, const Type &b);

// Returns whether values of this type, or values inside of them, can be written in place.
bool is_mutable(const Type &type);

// `Tensor`, `int[]`, `Tensor?`, `(int, Tensor)`, `Dict(str, int)`, `Union(int, str)`,
// `Point(x : int, y : int)` for a named tuple, `Object(name)`, `Enum(name)`.
std::string to_string(const Type &type);
// Parses the text of to_string; throws std::invalid_argument.
TypeRef parse_type(const std::string &text);

}  // namespace rush
