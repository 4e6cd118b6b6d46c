// Loops that tracing has unrolled, and that reroll_loops does not roll up.
#pragma once

#include <string>

#include "ir/graph.h"

namespace rush {

// A warning that a graph has at least a hundred iterations of the same nodes, and at which line; ""
// where it has fewer, as a deep network has of its layers.
std::string unrolled_note(const Graph &graph);

}  // namespace rush
