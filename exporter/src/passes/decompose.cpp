#include "passes/decompose.h"

#include <stdexcept>

#include "ir/schema.h"

namespace rush {

namespace {

// Puts a copy of a graph before a node.
class Copy {
 public:
  Copy(Graph &graph, const Node &call) : graph_(graph), call_(call) {}

  void give(const Value *param, Value *value) { values_[param] = value; }

  Value *value(const Value *v) {
    Value *&to = values_[v];
    if (!to && v->is_constant()) {
      to = graph_.constant(*v->constant);
      to->type = v->type;
    }
    if (!to) throw std::logic_error("%" + v->name + " is used before it is made");
    return to;
  }

  void nodes(const Block &from, Node *where) {
    for (const auto &node : from.nodes) {
      Node *out = graph_.insert_before(where, node->op);
      out->source = call_.source;
      out->source.handle = 0;
      for (const Value *v : node->inputs) out->add_input(value(v));
      for (const auto &inner : node->blocks) {
        Block *to = out->add_block();
        for (const Value *p : inner->params) give(p, to->add_param(p->type, p->name));
        nodes(*inner, &to->results);
        for (const Value *v : inner->results.inputs) to->results.add_input(value(v));
      }
      for (const Value *v : node->outputs) give(v, out->add_output(v->type, v->name));
    }
  }

 private:
  Graph &graph_;
  const Node &call_;
  std::map<const Value *, Value *> values_;
};

void replace(Graph &graph, Node *node, const Graph &by) {
  const Schema *schema = schema_of(node->op);
  const auto &params = by.top.params;
  const size_t wanted = schema ? schema->args.size() : node->inputs.size();
  if (params.size() != wanted)
    throw std::invalid_argument("the decomposition of " + node->op + " takes " +
                                std::to_string(params.size()) + " arguments, the operator has " +
                                std::to_string(wanted));
  Copy copy(graph, *node);
  for (size_t i = 0; i < params.size(); i++) {
    const bool given = i < node->inputs.size();
    copy.give(params[i], given ? node->input(i) : graph.constant(*schema->args[i].initial));
  }
  copy.nodes(by.top, node);
  Value *result = copy.value(by.top.results.input(0));
  const size_t n = node->outputs.size();
  const bool tuple = result->type->kind == RUSH_TYPE_TUPLE;
  if (n != 1 && (tuple ? result->type->items.size() : 0) != n)
    throw std::invalid_argument("the decomposition of " + node->op + " returns " +
                                to_string(*result->type) + ", the operator " + std::to_string(n) +
                                " results");
  if (n == 1) {
    node->output()->replace_all_uses_with(result);
  } else if (n > 1) {
    Node *unpack = graph.insert_before(node, "prim::TupleUnpack");
    unpack->add_input(result);
    for (size_t i = 0; i < n; i++)
      node->output(i)->replace_all_uses_with(unpack->add_output(result->type->items[i]));
  }
  node->destroy();
}

}  // namespace

bool decompose(Graph &graph, const Decompositions &known) {
  bool changed = false;
  for (size_t depth = 0;; depth++) {
    std::vector<Node *> found;
    for (Node *node : all_nodes(graph))
      if (known.count(node->op)) found.push_back(node);
    if (found.empty()) return changed;
    if (depth > known.size())
      throw std::invalid_argument("the decomposition of " + found[0]->op + " uses itself");
    for (Node *node : found) replace(graph, node, *known.at(node->op));
    changed = true;
  }
}

}  // namespace rush
