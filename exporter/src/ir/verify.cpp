#include "ir/verify.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "ir/schema.h"

namespace rush {

namespace {

class Verifier {
 public:
  explicit Verifier(const std::set<std::string> &gone) : gone_(gone) {}

  void block(const Block &block) {
    std::vector<const Value *> mine(block.params.begin(), block.params.end());
    for (const Value *v : mine) seen_.insert(v);
    for (const auto &n : block.nodes) {
      node(*n);
      for (const Value *v : n->outputs) {
        check(v->def == n.get(), *n, "an output belongs to another node");
        check(v->type != nullptr, *n, "an output has no type");
        seen_.insert(v);
        mine.push_back(v);
      }
    }
    inputs(block.results);
    for (const Value *v : mine) seen_.erase(v);
  }

 private:
  void check(bool ok, const Node &node, const std::string &what) {
    if (ok) return;
    std::string where = node.source.file.empty() ? ""
                                                 : " (" + node.source.file + ":" +
                                                       std::to_string(node.source.line) + ")";
    throw std::logic_error("the graph is damaged at " + node.op + where + ": " + what);
  }

  void inputs(const Node &node) {
    for (size_t i = 0; i < node.inputs.size(); i++) {
      const Value *v = node.inputs[i];
      check(v->is_constant() || seen_.count(v), node,
            "argument " + std::to_string(i) + " (%" + v->name + ") is not defined before it");
      check(std::any_of(v->uses.begin(), v->uses.end(),
                        [&](const Use &u) { return u.node == &node && u.index == i; }),
            node, "argument " + std::to_string(i) + " does not know that it is used");
    }
  }

  void node(const Node &node) {
    check(!gone_.count(node.op), node, "it should be gone by now");
    inputs(node);
    if (node.op == "prim::If") {
      check(node.inputs.size() == 1 && node.blocks.size() == 2, node, "an if has two blocks");
      for (const auto &b : node.blocks)
        check(b->params.empty() && b->results.inputs.size() == node.outputs.size(), node,
              "a branch has another number of results");
    } else if (node.op == "prim::Loop") {
      check(node.inputs.size() >= 2 && node.blocks.size() == 1, node, "a loop has one block");
      size_t carried = node.inputs.size() - 2;
      check(node.outputs.size() == carried && node.blocks[0]->params.size() == carried + 1 &&
                node.blocks[0]->results.inputs.size() == carried + 1,
            node, "a loop carries another number of values");
    } else {
      check(node.blocks.empty(), node, "it has blocks");
      signature(node);
    }
    for (const auto &b : node.blocks) block(*b);
  }

  void signature(const Node &node) {
    const Schema *schema = schema_of(node.op);
    if (!schema || schema->variadic) return;
    check(node.inputs.size() <= schema->args.size(), node, "it has too many arguments");
    for (size_t i = node.inputs.size(); i < schema->args.size(); i++)
      check(schema->args[i].initial.has_value(), node,
            "argument '" + schema->args[i].name + "' is missing");
    check(node.outputs.size() == schema->returns.size(), node,
          "it has another number of results than its schema");
  }

  const std::set<std::string> &gone_;
  std::unordered_set<const Value *> seen_;
};

}  // namespace

void verify(const Graph &graph, const std::set<std::string> &gone) {
  Verifier(gone).block(graph.top);
}

}  // namespace rush
