// Finds loops that tracing has unrolled and that reroll_loops does not roll up.
#pragma once

#include <string>

#include "ir/graph.h"

namespace rush {

// Returns a warning with the line if a graph has at least a hundred iterations of the same nodes.
// Returns "" if it has fewer, because a deep network also repeats its layers.
std::string unrolled_note(const Graph &graph);

}  // namespace rush
