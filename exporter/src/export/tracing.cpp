#include "export/tracing.h"

#include <algorithm>
#include <set>

namespace rush {

namespace {

// Adds the values of a run in float64 to those of PyTorch's run. If a node ran more often in one of
// them, its values cannot be matched.
void add_exact(Trace *trace, Trace exact) {
  trace->exact = std::move(exact.result);
  auto other = exact.nodes.begin();
  for (auto at = trace->nodes.begin(); at != trace->nodes.end();) {
    const uint64_t handle = at->handle;
    const auto is_of = [&](const Traced &node) { return node.handle == handle; };
    const auto end = std::find_if_not(at, trace->nodes.end(), is_of);
    while (other != exact.nodes.end() && other->handle < handle) ++other;
    const auto other_end = std::find_if_not(other, exact.nodes.end(), is_of);
    if (end - at == other_end - other)
      for (; at != end; ++at, ++other)
        if (at->results.size() == other->results.size()) at->exact = std::move(other->results);
    at = end;
  }
}

}  // namespace

Trace trace_both(const Tracer &tracer, const std::string &method, const std::vector<Const> &args) {
  Trace out = tracer(method, args, false);
  try {
    add_exact(&out, tracer(method, args, true));
  } catch (const std::exception &) {
    // The program has no float64 form, so the norm of each value decides.
  }
  return out;
}

void add_trace(Program &program, const Tracer &tracer, std::vector<std::string> *warnings) {
  if (program.tests.empty()) {
    warnings->push_back("no trace is stored: there is no test vector to run");
    return;
  }
  Test &test = program.tests[0];
  const Method &method = program.methods[test.method];
  std::set<uint64_t> handles;
  for (const Node *node : all_nodes(*method.graph)) handles.insert(node->source.handle);
  for (Traced &node : trace_both(tracer, method.name, test.inputs).nodes)
    if (handles.count(node.handle)) test.traced.push_back(std::move(node));
}

}  // namespace rush
