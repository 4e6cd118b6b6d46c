// Decompositions of operators.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ir/graph.h"

namespace rush {

// Maps an operator's full name to a graph that takes its arguments and returns its result, or a
// tuple of its results.
using Decompositions = std::map<std::string, std::shared_ptr<const Graph>>;

// Replaces each such operator by a copy of its graph, also inside of these copies. Throws
// std::invalid_argument if arguments or results do not match, or if a decomposition uses itself.
bool decompose(Graph &graph, const Decompositions &known);

}  // namespace rush
