// Types of values, as the file has them (rush_type_kind). Immutable and shared.
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

// Whether values of this type are, or may hold, something that can be written in place.
bool is_mutable(const Type &type);

// `Tensor`, `int[]`, `Tensor?`, `(int, Tensor)`, `Dict(str, int)`, `Union(int, str)`,
// `Point(x : int, y : int)` for a named tuple, `Object(name)`, `Enum(name)`.
std::string to_string(const Type &type);
// Reads what to_string writes; throws std::invalid_argument.
TypeRef parse_type(const std::string &text);

}  // namespace rush
