#include "export/unrolled_loops.h"

#include <vector>

#include "ir/repetition.h"

namespace rush {

namespace {

constexpr size_t kLeastIterations = 100;

std::string place(const Source &source) {
  return source.file + ":" + std::to_string(source.line);
}

}  // namespace

std::string unrolled_note(const Graph &graph) {
  const std::vector<Node *> nodes = all_nodes(graph);
  std::vector<std::string> calls;
  for (const Node *node : nodes) calls.push_back(node->op + " " + place(node->source));
  const Repetition found = longest_repetition(calls, kLeastIterations);
  if (found.count == 0) return "";
  const Source &source = nodes[found.begin + found.count * found.period - 1]->source;
  return std::to_string(found.count * found.period) + " of " + std::to_string(nodes.size()) +
         " instructions are " + std::to_string(found.count) + " iterations of the same " +
         std::to_string(found.period) + (source.file.empty() ? "" : " at " + place(source)) +
         ": tracing has unrolled a loop. Where a function marked @torch.jit.script has it, it "
         "stays one";
}

}  // namespace rush
