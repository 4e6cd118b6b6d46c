// Loops that tracing has unrolled, and that are none again (passes/fold_rounds.cpp).
#pragma once

#include <string>

#include "ir/graph.h"

namespace rush {

// Says how many nodes of a graph are rounds of the same ones, and of which line; "" where there are
// fewer than a hundred rounds, which a deep network may have of its layers.
std::string unrolled_note(const Graph &graph);

}  // namespace rush
