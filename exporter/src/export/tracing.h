// Runs PyTorch's own graph and keeps the values of its nodes.
#pragma once

#include "export/options.h"

namespace rush {

// Returns a trace that also has the values in float64, if the graph has a float64 form.
Trace trace_both(const Tracer &tracer, const std::string &method, const std::vector<Const> &args);

// Stores the values of PyTorch's nodes in the first test vector, for nodes with instructions.
void add_trace(Program &program, const Tracer &tracer, std::vector<std::string> *warnings);

}  // namespace rush
