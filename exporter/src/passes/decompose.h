// Operators that the user says are made of others.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ir/graph.h"

namespace rush {

// By the operator's full name a function with its arguments, by place, and its result; a tuple
// where the operator has several.
using Decompositions = std::map<std::string, std::shared_ptr<const Graph>>;

// Puts a copy of its graph in place of each such operator, also of those inside. Throws
// std::invalid_argument where arguments or results do not match, or one uses itself.
bool decompose(Graph &graph, const Decompositions &known);

}  // namespace rush
