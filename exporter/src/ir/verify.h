// Checks that a graph is well formed, and that it has none of the removed operators.
#pragma once

#include <set>
#include <string>

#include "ir/graph.h"

namespace rush {

// Throws std::logic_error with the fault and its place, unless uses and definitions agree, values
// are defined before they are used, blocks have the parameters and results that their node needs,
// known operators have the arguments of their schema, and no node's operator is in `removed`.
void verify(const Graph &graph, const std::set<std::string> &removed = {});

}  // namespace rush
