// Calls of methods and functions: all are inlined.
#include <torch/csrc/jit/passes/inliner.h>

#include "front/torchscript_parts.h"

namespace rush {

void inline_calls(torch::jit::Graph &graph) {
  bool more = true;
  while (more) {
    torch::jit::Inline(graph);
    more = call_contexts(graph);
    more |= choose_modules(graph);
  }
}

}  // namespace rush
