#include "ir/verify.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "ir/schema.h"

namespace rush {

namespace {

class Verifier {
 public:
  explicit Verifier(const std::set<std::string> &removed) : removed_(removed) {}

  void block(const Block &block) {
    std::vector<const Value *> defined(block.params.begin(), block.params.end());
    for (const Value *v : defined) seen_.insert(v);
    for (const auto &n : block.nodes) {
      node(*n);
      for (const Value *v : n->outputs) {
        check(v->def == n.get(), *n, "output %" + v->name + " must belong to this node");
        check(v->type != nullptr, *n, "output %" + v->name + " must have a type");
        seen_.insert(v);
        defined.push_back(v);
      }
    }
    inputs(block.results);
    for (const Value *v : defined) seen_.erase(v);
  }

 private:
  void check(bool ok, const Node &node, const std::string &what) {
    if (ok) return;
    std::string where = node.source.file.empty() ? ""
                                                 : " (" + node.source.file + ":" +
                                                       std::to_string(node.source.line) + ")";
    throw std::logic_error("the graph is damaged at " + node.op + where + ": " + what);
  }

  void count(size_t got, size_t wanted, const Node &node, const std::string &things) {
    check(got == wanted, node,
          "it must have " + std::to_string(wanted) + " " + things + ", got " + std::to_string(got));
  }

  void inputs(const Node &node) {
    for (size_t i = 0; i < node.inputs.size(); i++) {
      const Value *v = node.inputs[i];
      const std::string argument = "argument " + std::to_string(i) + " (%" + v->name + ")";
      check(v->is_constant() || seen_.count(v), node, argument + " must be defined before it");
      check(std::any_of(v->uses.begin(), v->uses.end(),
                        [&](const Use &u) { return u.node == &node && u.index == i; }),
            node, argument + " must list this use");
    }
  }

  void node(const Node &node) {
    check(!removed_.count(node.op), node, "an earlier pass must remove this operator");
    inputs(node);
    if (node.op == "prim::If") {
      branches(node);
    } else if (node.op == "prim::Loop") {
      loop(node);
    } else {
      count(node.blocks.size(), 0, node, "blocks");
      signature(node);
    }
    for (const auto &b : node.blocks) block(*b);
  }

  void branches(const Node &node) {
    count(node.inputs.size(), 1, node, "arguments");
    count(node.blocks.size(), 2, node, "blocks");
    for (const auto &b : node.blocks) {
      count(b->params.size(), 0, node, "parameters in each branch");
      count(b->results.inputs.size(), node.outputs.size(), node, "results in each branch");
    }
  }

  // The arguments of a loop are its trip count, its first condition, and the carried values.
  void loop(const Node &node) {
    check(node.inputs.size() >= 2, node, "it must have a trip count and a condition");
    count(node.blocks.size(), 1, node, "blocks");
    const size_t carried = node.inputs.size() - 2;
    count(node.outputs.size(), carried, node, "results");
    count(node.blocks[0]->params.size(), carried + 1, node, "parameters of its block");
    count(node.blocks[0]->results.inputs.size(), carried + 1, node, "results of its block");
  }

  void signature(const Node &node) {
    const Schema *schema = schema_of(node.op);
    if (!schema || schema->variadic) return;
    check(node.inputs.size() <= schema->args.size(), node,
          "it must have at most " + std::to_string(schema->args.size()) + " arguments, got " +
              std::to_string(node.inputs.size()));
    for (size_t i = node.inputs.size(); i < schema->args.size(); i++)
      check(schema->args[i].initial.has_value(), node,
            "argument '" + schema->args[i].name + "' is missing");
    count(node.outputs.size(), schema->returns.size(), node, "results");
  }

  const std::set<std::string> &removed_;
  std::unordered_set<const Value *> seen_;
};

}  // namespace

void verify(const Graph &graph, const std::set<std::string> &removed) {
  Verifier(removed).block(graph.top);
}

}  // namespace rush
