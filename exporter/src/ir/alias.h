// Alias analysis: follows a value through aliases, containers and blocks.
#pragma once

#include <set>

#include "ir/graph.h"

namespace rush {

struct Fate {
  bool written = false;     // some operator may write it, or a part of it, in place
  bool escapes = false;     // the method may return it, or keep it in an attribute
  bool returned = false;    // the method may return it, or keep it in a container
  std::set<int64_t> slots;  // the attributes that it is stored in
};

// The analysis is conservative: an unknown operator may write its arguments and return them.
Fate fate_of(const Value *value);

// How an operator's results alias its arguments, if its schema does not say it.
enum class Passing {
  NONE,      // as its schema says
  CONTENTS,  // values, put into a container or taken out of one; or cast
  SAME,      // the same tensor
  ALIAS,     // another tensor over the same elements
  PERHAPS    // its arguments decide whether it is one of the last two
};
Passing passing(const std::string &op);

// Returns whether the value is a new tensor of its node, so that nothing else refers to its
// elements.
bool is_fresh(const Value *value);

// Returns whether the node, or one in its blocks, has a side effect: it writes an argument, raises,
// prints, draws random numbers, sets an attribute, or is unknown.
bool has_side_effects(const Node &node);

}  // namespace rush
