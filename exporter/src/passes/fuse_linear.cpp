// linear, addmm, matmul and mm with a constant matrix become rush::linear.
#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

enum { INPUT, WEIGHT, BIAS, MIN, MAX };  // arguments of rush::linear

struct Linear {
  Value *input;
  Tensor weight;  // [out, in]; halves may multiply float32
  std::string weight_name;
  const Const *bias = nullptr;
};

const Dtypes kSingle = {RUSH_FLOAT32}, kHalves = {RUSH_FLOAT16, RUSH_BFLOAT16};

bool is_bias(const Const *c, const Dtypes &dtypes, int64_t out) {
  return c && c->is_tensor() && c->tensor.is_strided() && dtypes.count(c->tensor.dtype()) &&
         c->tensor.dim() == 1 && c->tensor.size(0) == out;
}

// Returns the constant matrix of an argument. Halves that the program converts to float32 stay
// halves, because rush::linear converts them, too.
const Const *matrix(const Node &node, size_t input, const Dtypes &dtypes) {
  if (const Const *weight = tensor_constant(node, input, 2, dtypes)) return weight;
  const Node *to = node.inputs[input]->def;
  return dtypes.count(RUSH_FLOAT32) && is_cast(to, RUSH_FLOAT32)
             ? tensor_constant(*to, 0, 2, kHalves)
             : nullptr;
}

bool match(const Node &node, const Dtypes &dtypes, Linear *linear) {
  if (node.op == "aten::linear") {
    const Const *weight = matrix(node, 1, dtypes);
    if (!weight) return false;
    *linear = {node.input(0), weight->tensor, weight->s};
    if (node.inputs.size() < 3) return true;
    const Const *bias = node.constant(2);
    if (!bias) return false;
    if (bias->is_none()) return true;
    linear->bias = bias;
    return is_bias(bias, dtypes, weight->tensor.size(0));
  }
  if (node.op == "aten::addmm") {
    const Const *weight = matrix(node, 2, dtypes);
    if (!weight || !is_number_or_missing(node, 3, 1) || !is_number_or_missing(node, 4, 1))
      return false;
    *linear = {node.input(1), weight->tensor.t(), weight->s};
    linear->bias = node.constant(0);
    return is_bias(linear->bias, dtypes, weight->tensor.size(1));
  }
  if (node.op == "aten::matmul" || node.op == "aten::mm") {
    const Const *weight = matrix(node, 1, dtypes);
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
  node->replace_by(fused);
}

// x @ w + bias, in either order, also as +=.
bool fold_bias(Node *fused) {
  if (!fused->constant(BIAS)->is_none() || fused->constant(MIN)->f != -kInf ||
      fused->constant(MAX)->f != kInf)
    return false;
  Node *add = only_user(fused->output());
  if (!add || (add->op != "aten::add.Tensor" && add->op != "aten::add_.Tensor") ||
      !is_number_or_missing(*add, 2, 1))
    return false;
  const size_t position = fused->output()->uses[0].index;
  if (position > 1 || (position == 1 && add->op == "aten::add_.Tensor")) return false;
  const Const *bias = add->constant(1 - position);
  if (!is_bias(bias, kSingle, fused->constant(WEIGHT)->tensor.size(0))) return false;
  fused->set_input(BIAS, add->input(1 - position));
  add->replace_by(fused);
  return true;
}

}  // namespace

bool fuse_linear(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    Linear linear;
    if (!match(*node, kSingle, &linear)) continue;
    rewrite(graph, node, linear);
    changed = true;
  }
  std::vector<Node *> fused;
  for (Node *node : all_nodes(graph))
    if (node->op == "rush::linear") fused.push_back(node);
  for (Node *node : fused) {
    changed |= fold_bias(node);
    changed |= fold_clamp(node, MIN);
  }
  return changed;
}

bool fuse_linear_of_halves(Graph &graph, const IsWanted &is_wanted) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    Linear linear;
    if (!match(*node, kHalves, &linear) ||
        !is_wanted(*node, const_tensor(linear.weight, linear.weight_name)))
      continue;
    rewrite(graph, node, linear);
    changed = true;
  }
  return changed;
}

}  // namespace rush
