// Passes that remove nodes that an interpreter does not need.
#include <algorithm>
#include <unordered_set>

#include "ir/alias.h"
#include "ir/schema.h"
#include "passes/passes.h"
#include "rushlight/rushlight.h"

namespace rush {

namespace {

void replace_by_input(Node *node, size_t input = 0) {
  node->output()->replace_all_uses_with(node->input(input));
  node->destroy();
}

// An in-place operator on sizes or strides (x.t_()) changes x but not an earlier alias of it. If
// there is such an operator, x and its alias must stay two tensors.
bool changes_metadata(const Graph &graph) {
  static const std::unordered_set<std::string> ops = {
      "aten::resize_",           "aten::resize_as_", "aten::squeeze_",
      "aten::unsqueeze_",        "aten::t_",         "aten::transpose_",
      "aten::swapaxes_",         "aten::swapdims_",  "aten::set_",
      "aten::as_strided_",       "aten::set_data",   "aten::detach_",
      "aten::resize_as_sparse_", "rush::copy_out"};
  for (const Node *node : all_nodes(graph)) {
    if (ops.count(base_name(node->op)) || !schema_of(node->op)) {
      if (ops.count(base_name(node->op))) return true;
      continue;
    }
    const Schema *schema = schema_of(node->op);
    for (const Argument &arg : schema->args)
      if (arg.out) return true;  // out= may resize
  }
  return false;
}

bool argument_named(const Schema &schema, const std::string &name) {
  return std::any_of(schema.args.begin(), schema.args.end(),
                     [&](const Argument &a) { return a.name == name; });
}

// Returns whether the operator is a dropout, in place or not.
bool is_dropout(const std::string &op) {
  if (op.empty() ||
      passing(op.back() == '_' ? op.substr(0, op.size() - 1) : op) != Passing::PERHAPS)
    return false;
  const Schema *schema = schema_of(op);
  return schema && argument_named(*schema, "train");
}

// Returns whether f accepts the argument `name`, or its default if it is omitted.
template <class F>
bool argument_is(const Node &node, const Schema &schema, const std::string &name, F f) {
  for (size_t i = 0; i < schema.args.size(); i++) {
    if (schema.args[i].name != name) continue;
    if (i >= node.inputs.size()) return schema.args[i].initial && f(*schema.args[i].initial);
    return node.constant(i) && f(*node.constant(i));
  }
  return true;  // no such argument
}

// Returns whether the node is a `to` that changes neither dtype nor memory format. There is only
// one device.
bool is_empty_to(const Node &node) {
  if (base_name(node.op) != "aten::to") return false;
  const Schema *schema = schema_of(node.op);
  if (!schema) return false;
  const bool has_other = argument_named(*schema, "other");
  auto none = [](const Const &c) { return c.is_none(); };
  return !has_other && argument_is(node, *schema, "dtype", none) &&
         argument_is(node, *schema, "layout", none) &&
         argument_is(node, *schema, "memory_format", none) &&
         argument_is(node, *schema, "copy", [](const Const &c) { return c.is_bool() && !c.i; }) &&
         argument_is(node, *schema, "device", [](const Const &c) {
           return c.is_none() || (c.kind == RUSH_CONST_DEVICE && c.s.rfind("cpu", 0) == 0);
         });
}

// Returns whether the node returns its argument itself, not an alias of it.
bool is_same_tensor(const Node &node) {
  if (is_dropout(node.op))
    return argument_is(node, *schema_of(node.op), "train",
                       [](const Const &c) { return c.is_bool() && !c.i; });
  return is_empty_to(node) || passing(node.op) == Passing::SAME;
}

}  // namespace

bool drop_identities(Graph &graph) {
  bool changed = false;
  const bool keep_aliases = changes_metadata(graph);
  for (Node *node : all_nodes(graph)) {
    if (is_same_tensor(*node) || (passing(node->op) == Passing::ALIAS && !keep_aliases)) {
      replace_by_input(node);
      changed = true;
    } else if (passing(node->op) == Passing::ALIAS && node->op != "aten::alias") {
      node->op = "aten::alias";
      changed = true;
    }
  }
  return changed;
}

bool drop_casts(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    if (node->op == "prim::unchecked_cast" || node->op == "prim::unchecked_unwrap_optional") {
      replace_by_input(node);
      changed = true;
    } else if (node->op == "prim::Uninitialized") {
      node->output()->replace_all_uses_with(graph.constant(const_none()));
      node->destroy();
      changed = true;
    }
  }
  return changed;
}

bool fold_containers(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    const bool list = node->op == "prim::ListConstruct";
    if (!list && node->op != "prim::TupleConstruct") continue;
    if (!std::all_of(node->inputs.begin(), node->inputs.end(),
                     [](const Value *v) { return v->is_constant(); }))
      continue;
    Value *out = node->output();
    if (out->type->kind != (list ? RUSH_TYPE_LIST : RUSH_TYPE_TUPLE)) continue;
    if (is_mutable(*out->type)) {
      Fate fate = fate_of(out);
      if (fate.written || fate.escapes) continue;
    }
    Const c;
    c.kind = list ? RUSH_CONST_LIST : RUSH_CONST_TUPLE;
    c.type = out->type;
    for (const Value *v : node->inputs) c.items.push_back(*v->constant);
    out->replace_all_uses_with(graph.constant(std::move(c)));
    node->destroy();
    changed = true;
  }
  return changed;
}

bool trim_defaults(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    const Schema *schema = schema_of(node->op);
    if (!schema || schema->variadic || node->inputs.size() > schema->args.size()) continue;
    if (!rush_has_op(node->op.c_str())) continue;
    size_t n = node->inputs.size();
    while (n > 0) {
      const std::optional<Const> &initial = schema->args[n - 1].initial;
      const Const *given = node->constant(n - 1);
      if (!initial || !given || !same(*initial, *given)) break;
      n--;
    }
    if (n == node->inputs.size()) continue;
    node->remove_inputs_from(n);
    changed = true;
  }
  return changed;
}

bool drop_dead(Graph &graph) {
  bool changed = false;
  std::vector<Node *> nodes = all_nodes(graph);
  // The order is reversed: inner nodes come after their owner, so that the owner still exists.
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    Node *node = *it;
    if (node->has_uses() || has_side_effects(*node)) continue;
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace rush
