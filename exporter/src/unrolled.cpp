#include "unrolled.h"

#include <map>
#include <vector>

namespace rush {

namespace {

constexpr size_t kRounds = 100;

std::string place(const Source &source) {
  return source.file + ":" + std::to_string(source.line);
}

// How many nodes lie between two rounds; 0 where no loop can be seen. What stands in a round once
// tells, and of all that is there often enough that is the rarest.
size_t period_of(const std::vector<std::string> &said) {
  std::map<std::string, std::vector<size_t>> places;
  for (size_t i = 0; i < said.size(); i++) places[said[i]].push_back(i);
  const std::vector<size_t> *rarest = nullptr;
  for (const auto &[text, at] : places)
    if (at.size() >= kRounds && (!rarest || at.size() < rarest->size())) rarest = &at;
  if (!rarest) return 0;
  const size_t middle = rarest->size() / 2;
  return (*rarest)[middle] - (*rarest)[middle - 1];
}

}  // namespace

std::string unrolled_note(const Graph &graph) {
  const std::vector<Node *> nodes = all_nodes(graph);
  std::vector<std::string> said;
  for (const Node *node : nodes) said.push_back(node->op + " " + place(node->source));
  const size_t period = period_of(said);
  if (period == 0) return "";
  // The longest stretch of nodes that stand a period later again.
  size_t longest = 0, end = 0, run = 0;
  for (size_t i = 0; i + period < said.size(); i++) {
    run = said[i] == said[i + period] ? run + 1 : 0;
    if (run > longest) longest = run, end = i;
  }
  const size_t rounds = longest / period + 1;
  if (rounds < kRounds) return "";
  const Source &source = nodes[end]->source;
  return std::to_string(rounds * period) + " of " + std::to_string(nodes.size()) +
         " instructions are " + std::to_string(rounds) + " rounds of the same " +
         std::to_string(period) + (source.file.empty() ? "" : " at " + place(source)) +
         ": tracing has unrolled a loop. Where a function marked @torch.jit.script has it, it "
         "stays one";
}

}  // namespace rush
