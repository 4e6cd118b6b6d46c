// Prints graphs as text that is close to TorchScript's.
#include <unordered_map>
#include <unordered_set>

#include "base/joined.h"
#include "ir/graph.h"

namespace rush {

namespace {

class Printer {
 public:
  std::string print(const Graph &graph) {
    out_ = "graph(" + params(graph.top) + "):\n";
    nodes(graph.top, 1);
    return out_ + "  return (" + operands(graph.top.results) + ")\n";
  }

 private:
  std::string name(const Value *value) {
    auto found = names_.find(value);
    if (found != names_.end()) return found->second;
    std::string base = value->name.empty() ? "v" : value->name;
    std::string unique = base;
    for (int n = 1; !taken_.insert(unique).second; n++) unique = base + "." + std::to_string(n);
    return names_[value] = unique;
  }
  std::string operand(const Value *value) {
    return value->is_constant() ? to_string(*value->constant) : "%" + name(value);
  }
  std::string operands(const Node &node) {
    return joined(node.inputs, [&](const Value *v) { return operand(v); });
  }
  std::string declare(const std::vector<Value *> &values) {
    return joined(values,
                  [&](const Value *v) { return "%" + name(v) + " : " + to_string(*v->type); });
  }
  std::string params(const Block &block) { return declare(block.params); }

  void nodes(const Block &block, int depth) {
    for (const auto &node : block.nodes) {
      std::string indent(2 * static_cast<size_t>(depth), ' ');
      out_ += indent + declare(node->outputs) + (node->outputs.empty() ? "" : " = ") + node->op +
              "(" + operands(*node) + ")";
      const Source &at = node->source;
      if (!at.file.empty()) out_ += "  # " + at.file + ":" + std::to_string(at.line);
      out_ += "\n";
      for (size_t i = 0; i < node->blocks.size(); i++) {
        const Block &inner = *node->blocks[i];
        out_ += indent + "  block" + std::to_string(i) + "(" + params(inner) + "):\n";
        nodes(inner, depth + 2);
        out_ += indent + "    -> (" + operands(inner.results) + ")\n";
      }
    }
  }

  std::string out_;
  std::unordered_map<const Value *, std::string> names_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

std::string to_string(const Graph &graph) {
  return Printer().print(graph);
}

}  // namespace rush
