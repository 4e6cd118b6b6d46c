// What may happen to a value, by following it through aliases, containers and blocks.
#pragma once

#include <set>

#include "ir/graph.h"

namespace rush {

struct Fate {
  bool written = false;     // some operator may write it, or a part of it, in place
  bool escapes = false;     // the method may return it, or keep it in an attribute
  std::set<int64_t> slots;  // the attributes that it is stored in
};

// Cautious: an operator that is not understood may do both.
Fate fate_of(const Value *value);

// Whether the node does something besides computing its outputs: writes an argument, raises,
// prints, draws random numbers, sets an attribute, or is not understood. Looks into its blocks.
bool has_side_effects(const Node &node);

}  // namespace rush
