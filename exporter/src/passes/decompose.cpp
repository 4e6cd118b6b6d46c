#include "passes/decompose.h"

#include <algorithm>
#include <stdexcept>

#include "ir/schema.h"

namespace rush {

namespace {

// Inserts a copy of a graph before a node.
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

// Returns whether a parameter of type `to` takes a value of the schema's type `from`.
bool fits(const Type &to, const Type &from) {
  if (equal(to, from) || to.kind == RUSH_TYPE_ANY) return true;
  if (to.kind == RUSH_TYPE_UNION)
    return std::any_of(to.items.begin(), to.items.end(),
                       [&](const TypeRef &t) { return fits(*t, from); });
  if (to.kind == RUSH_TYPE_OPTIONAL)
    return from.kind == RUSH_TYPE_NONE ||
           fits(*to.items[0], from.kind == RUSH_TYPE_OPTIONAL ? *from.items[0] : from);
  if (from.kind == RUSH_TYPE_NUMBER)  // the types that Python has for a Scalar
    return to.kind == RUSH_TYPE_FLOAT || to.kind == RUSH_TYPE_INT || to.kind == RUSH_TYPE_COMPLEX;
  if (to.kind != from.kind || to.items.size() != from.items.size()) return false;
  if (to.kind != RUSH_TYPE_LIST && to.kind != RUSH_TYPE_TUPLE && to.kind != RUSH_TYPE_DICT)
    return false;
  for (size_t i = 0; i < to.items.size(); i++)
    if (!fits(*to.items[i], *from.items[i])) return false;
  return true;
}

// Throws if the function's types are not the operator's, because the result would be invalid.
void check_types(const Node &node, const Schema &schema, const Graph &by) {
  const auto &params = by.top.params;
  for (size_t i = 0; i < params.size(); i++) {
    const Type &want = *schema.args[i].type, &to = *params[i]->type;
    if (fits(to, want) || (i < node.inputs.size() && fits(to, *node.input(i)->type))) continue;
    throw std::invalid_argument("argument " + std::to_string(i) + " (" + schema.args[i].name +
                                ") of the decomposition of " + node.op + " must be of type " +
                                to_string(want) + ", got " + to_string(to) +
                                ": annotate the function's arguments");
  }
  const Value &result = *by.top.results.inputs.at(0);
  if (schema.returns.size() != 1 || fits(*schema.returns[0].type, *result.type)) return;
  throw std::invalid_argument("the decomposition of " + node.op + " must return " +
                              to_string(*schema.returns[0].type) + ", got " +
                              to_string(*result.type));
}

void replace(Graph &graph, Node *node, const Graph &by) {
  const Schema *schema = schema_of(node->op);
  const auto &params = by.top.params;
  const size_t wanted = schema ? schema->args.size() : node->inputs.size();
  if (params.size() != wanted)
    throw std::invalid_argument("the decomposition of " + node->op + " must take " +
                                std::to_string(wanted) + " arguments, got " +
                                std::to_string(params.size()));
  if (schema) check_types(*node, *schema, by);
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
    throw std::invalid_argument("the decomposition of " + node->op + " must return " +
                                std::to_string(n) + " results, got " + to_string(*result->type));
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
      throw std::invalid_argument("the decomposition of " + found[0]->op +
                                  " must not use the operator itself");
    for (Node *node : found) replace(graph, node, *known.at(node->op));
    changed = true;
  }
}

}  // namespace rush
