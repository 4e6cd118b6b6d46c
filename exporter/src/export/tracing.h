// Runs of PyTorch's own graph, with what its nodes give.
#pragma once

#include "export/options.h"

namespace rush {

// A trace with what the nodes give in float64, where that can be had.
Trace trace_both(const Tracer &tracer, const std::string &method, const std::vector<Const> &args);

// Stores what PyTorch's nodes give during the first test vector, of those that instructions come from.
void add_trace(Program &program, const Tracer &tracer, std::vector<std::string> *warnings);

}  // namespace rush
