// linear, addmm, matmul and mm with a constant float32 matrix become rush::linear.
#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

enum { INPUT, WEIGHT, BIAS, MIN, MAX };  // arguments of rush::linear

struct Linear {
  Value *input;
  Tensor weight;  // [out, in]
  std::string weight_name;
  const Const *bias = nullptr;
};

bool is_bias(const Const *c, int64_t out) {
  return c && c->is_tensor() && c->tensor.is_strided() && c->tensor.dtype() == RUSH_FLOAT32 &&
         c->tensor.dim() == 1 && c->tensor.size(0) == out;
}

bool is_one(const Node &node, size_t i) {
  if (i >= node.inputs.size()) return true;
  const Const *c = node.constant(i);
  return c && c->is_number() && c->number() == 1;
}

bool match(const Node &node, Linear *linear) {
  if (node.op == "aten::linear") {
    const Const *weight = float_constant(node, 1, 2);
    if (!weight) return false;
    *linear = {node.input(0), weight->tensor, weight->s};
    if (node.inputs.size() < 3) return true;
    const Const *bias = node.constant(2);
    if (!bias) return false;
    if (bias->is_none()) return true;
    linear->bias = bias;
    return is_bias(bias, weight->tensor.size(0));
  }
  if (node.op == "aten::addmm") {
    const Const *weight = float_constant(node, 2, 2);
    if (!weight || !is_one(node, 3) || !is_one(node, 4)) return false;
    *linear = {node.input(1), weight->tensor.t(), weight->s};
    linear->bias = node.constant(0);
    return is_bias(linear->bias, weight->tensor.size(1));
  }
  if (node.op == "aten::matmul" || node.op == "aten::mm") {
    const Const *weight = float_constant(node, 1, 2);
    if (!weight) return false;
    *linear = {node.input(0), weight->tensor.t(), weight->s};
    return true;
  }
  return false;
}

void rewrite(Graph &graph, Node *node, const Linear &linear) {
  Node *fused = graph.insert_before(node, "rush::linear");
  fused->add_input(linear.input);
  // Memory becomes [out][in], without a copy if it is so already.
  fused->add_input(graph.constant(const_tensor(linear.weight.contiguous(), linear.weight_name)));
  fused->add_input(graph.constant(linear.bias ? *linear.bias : const_none()));
  fused->add_input(graph.constant(const_float(-kInf)));
  fused->add_input(graph.constant(const_float(kInf)));
  fused->add_output(tensor_type());
  node->give_way_to(fused);
}

// x @ w + bias, in either order, also as +=.
bool take_in_bias(Node *fused) {
  if (!fused->constant(BIAS)->is_none() || fused->constant(MIN)->f != -kInf ||
      fused->constant(MAX)->f != kInf)
    return false;
  Node *add = only_user(fused->output());
  if (!add || (add->op != "aten::add.Tensor" && add->op != "aten::add_.Tensor") || !is_one(*add, 2))
    return false;
  const size_t mine = fused->output()->uses[0].index;
  if (mine > 1 || (mine == 1 && add->op == "aten::add_.Tensor")) return false;
  const Const *bias = add->constant(1 - mine);
  if (!is_bias(bias, fused->constant(WEIGHT)->tensor.size(0))) return false;
  fused->set_input(BIAS, add->input(1 - mine));
  add->give_way_to(fused);
  return true;
}

}  // namespace

bool fuse_linear(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    Linear linear;
    if (!match(*node, &linear)) continue;
    rewrite(graph, node, linear);
    changed = true;
  }
  std::vector<Node *> fused;
  for (Node *node : all_nodes(graph))
    if (node->op == "rush::linear") fused.push_back(node);
  for (Node *node : fused) {
    changed |= take_in_bias(node);
    changed |= take_in_clamp(node, MIN);
  }
  return changed;
}

}  // namespace rush
