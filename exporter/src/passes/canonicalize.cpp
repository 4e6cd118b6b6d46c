// Replaces operators that only torch.export, make_fx and their decompositions use.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/schema.h"
#include "passes/passes.h"

namespace rush {

namespace {

const char *plain_name(const std::string &op) {
  static const std::unordered_map<std::string, const char *> names = {
      {"aten::sym_size", "aten::size"},
      {"aten::sym_size.int", "aten::size.int"},
      {"aten::sym_stride", "aten::stride"},
      {"aten::sym_stride.int", "aten::stride.int"},
      {"aten::sym_numel", "aten::numel"},
      {"aten::sym_storage_offset", "aten::storage_offset"},
      {"aten::_local_scalar_dense", "aten::item"},
      {"aten::lift_fresh_copy", "aten::clone"}};
  const auto found = names.find(op);
  return found == names.end() ? nullptr : found->second;
}

// Returns whether the operator only informs a compiler or a profiler.
bool is_note(const std::string &op) {
  static const std::unordered_set<std::string> ops = {
      "aten::_assert_tensor_metadata",      "aten::sym_constrain_range",
      "aten::sym_constrain_range_for_size", "profiler::_record_function_enter",
      "profiler::_record_function_exit",    "profiler::_record_function_enter_new"};
  return ops.count(base_name(op)) != 0;
}

bool drop_notes(Graph &graph) {
  bool changed = false;
  std::vector<Node *> nodes = all_nodes(graph);
  std::reverse(nodes.begin(), nodes.end());  // the exit uses the value of the entry
  for (Node *node : nodes) {
    if (!is_note(node->op) || node->has_uses()) continue;
    node->destroy();
    changed = true;
  }
  return changed;
}

// Returns "aten::expand" for "aten::expand_copy", if that is an operator that returns a view.
std::string view_of_copy(const std::string &op) {
  const std::string base = base_name(op), overload = overload_name(op), end = "_copy";
  if (base.size() <= end.size() || base.compare(base.size() - end.size(), end.size(), end) != 0)
    return "";
  const std::string view =
      base.substr(0, base.size() - end.size()) + (overload.empty() ? "" : "." + overload);
  const Schema *schema = schema_of(view);
  const bool gives_view = schema && schema->returns.size() == 1 && schema->returns[0].alias;
  return gives_view ? view : "";
}

// Uses the view of a contiguous copy, or a contiguous copy of the view.
void copy_apart(Node *node, const std::string &view) {
  Graph &graph = *node->block->graph;
  Value *contiguous = graph.constant(const_int(0));
  const bool list = node->output()->type->kind == RUSH_TYPE_LIST;  // its parts do not overlap
  if (list) {
    Node *copy = graph.insert_before(node, "aten::clone");
    copy->add_input(node->input(0));
    copy->add_input(contiguous);
    node->set_input(0, copy->add_output(tensor_type()));
    node->op = view;
    return;
  }
  Node *seen = graph.insert_before(node, view);
  for (Value *v : node->inputs) seen->add_input(v);
  Node *copy = graph.insert_before(node, "aten::clone");
  copy->add_input(seen->add_output(tensor_type()));
  copy->add_input(contiguous);
  copy->add_output(tensor_type());
  node->replace_by(copy);
}

// Returns an argument by its name in the schema; its default if it is omitted.
Value *argument(const Node &node, const std::string &name) {
  const Schema &schema = *schema_of(node.op);
  for (size_t i = 0; i < schema.args.size(); i++) {
    if (schema.args[i].name != name) continue;
    if (i < node.inputs.size()) return node.input(i);
    return node.block->graph->constant(schema.args[i].initial.value_or(const_none()));
  }
  return node.block->graph->constant(const_none());
}

// If dropout may happen, PyTorch computes attention with all weights.
bool is_attention_with_dropout(const Node &node) {
  if (node.op != "aten::scaled_dot_product_attention") return false;
  const Value &p = *argument(node, "dropout_p");
  return !p.is_constant() || (p.constant->is_float() && p.constant->f > 0);
}

void as_attention_with_dropout(Node *node) {
  Graph &graph = *node->block->graph;
  Node *plain = graph.insert_before(node, "aten::_scaled_dot_product_attention_math");
  for (const char *name : {"query", "key", "value", "attn_mask", "dropout_p", "is_causal"})
    plain->add_input(argument(*node, name));
  plain->add_input(graph.constant(const_none()));
  for (const char *name : {"scale", "enable_gqa"}) plain->add_input(argument(*node, name));
  node->output()->replace_all_uses_with(plain->add_output(tensor_type(), node->output()->name));
  plain->add_output(tensor_type());
  node->destroy();
}

// The kernel's second result is only for its derivative.
bool is_attention(const Node &node) {
  return node.op == "aten::_scaled_dot_product_flash_attention_for_cpu" &&
         node.outputs.at(1)->uses.empty();
}

void as_attention(Node *node) {
  Node *plain = node->block->graph->insert_before(node, "aten::scaled_dot_product_attention");
  for (const char *name : {"query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale"})
    plain->add_input(argument(*node, name));
  Value *out = plain->add_output(tensor_type(), node->output(0)->name);
  node->output(0)->replace_all_uses_with(out);
  node->destroy();
}

bool is_number(const Value &value) {
  switch (value.type->kind) {
    case RUSH_TYPE_INT:
    case RUSH_TYPE_FLOAT:
    case RUSH_TYPE_BOOL:
    case RUSH_TYPE_COMPLEX:
    case RUSH_TYPE_NUMBER:
      return true;
    default:
      return false;
  }
}

// Returns "aten::mul.Scalar" for "aten::mul.Tensor": the overload whose second argument is a
// number. Returns "" if there is no such operator.
std::string with_scalar(const std::string &op) {
  std::string overload = overload_name(op);
  if (op == "aten::pow.Tensor_Tensor") return "aten::pow.Tensor_Scalar";
  if (overload != "Tensor" && overload != "Tensor_mode") return "";
  overload.replace(0, 6, "Scalar");
  const std::string name = base_name(op) + "." + overload;
  return schema_of(name) ? name : "";
}

// x * 2 is mul.Tensor with a number. It becomes mul.Scalar, with a number's promotion.
bool numbers_for_tensors(Node *node) {
  const Schema *schema = schema_of(node->op);
  if (!schema || schema->variadic) return false;
  std::vector<size_t> at;
  for (size_t i = 0; i < std::min(node->inputs.size(), schema->args.size()); i++)
    if (schema->args[i].type->kind == RUSH_TYPE_TENSOR && is_number(*node->input(i)))
      at.push_back(i);
  if (at.empty()) return false;
  const std::string scalar = at == std::vector<size_t>{1} ? with_scalar(node->op) : "";
  if (!scalar.empty()) {
    node->op = scalar;
    return true;
  }
  for (size_t i : at) {
    Node *tensor = node->block->graph->insert_before(node, "prim::NumToTensor.Scalar");
    tensor->add_input(node->input(i));
    node->set_input(i, tensor->add_output(tensor_type()));
  }
  return true;
}

}  // namespace

bool canonicalize(Graph &graph) {
  bool changed = drop_notes(graph);
  for (Node *node : all_nodes(graph)) {
    changed |= numbers_for_tensors(node);
    if (const char *name = plain_name(node->op)) {
      node->op = name;
    } else if (const std::string view = view_of_copy(node->op); !view.empty()) {
      copy_apart(node, view);
    } else if (is_attention(*node)) {
      as_attention(node);
    } else if (is_attention_with_dropout(*node)) {
      as_attention_with_dropout(node);
    } else {
      continue;
    }
    changed = true;
  }
  return changed;
}

}  // namespace rush
