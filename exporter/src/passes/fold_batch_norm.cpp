// conv -> batch_norm and linear -> batch_norm become one operator with other weights if these are
// constant. The channels of a batch norm after a linear are its features only if its input is a
// matrix. This pass proves that from the input's nodes (PyTorch's FoldFrozenLinearBatchnorm
// assumes it).
#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>

#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

using Numbers = std::vector<double>;

struct Norm {
  Numbers scale, shift;  // y = x * scale + shift, per channel
};

// Stores a vector of `n` numbers, which are `otherwise` if the argument is None.
bool vector_of(const Node &node, size_t i, int64_t n, double otherwise, Numbers *out) {
  const Const *c = node.constant(i);
  if (!c) return false;
  if (c->is_none()) {
    out->assign(static_cast<size_t>(n), otherwise);
    return true;
  }
  if (!float_constant(node, i, 1) || c->tensor.size(0) != n) return false;
  *out = c->tensor.doubles();
  return true;
}

bool match_norm(const Node &node, int64_t channels, Norm *norm) {
  size_t at_eps;
  if (node.op == "aten::batch_norm") {
    const Const *training = node.constant(5);
    if (!training || !training->is_bool() || training->i) return false;
    at_eps = 7;
  } else if (node.op == "aten::_native_batch_norm_legit_no_training") {
    if (node.outputs[1]->uses.size() + node.outputs[2]->uses.size() > 0) return false;
    at_eps = 6;
  } else {
    return false;
  }
  const Const *eps = node.constant(at_eps);
  Numbers weight, bias, mean, var;
  if (!eps || !eps->is_number() || !node.constant(3) || node.constant(3)->is_none() ||
      !node.constant(4) || node.constant(4)->is_none() ||
      !vector_of(node, 1, channels, 1, &weight) || !vector_of(node, 2, channels, 0, &bias) ||
      !vector_of(node, 3, channels, 0, &mean) || !vector_of(node, 4, channels, 1, &var))
    return false;
  norm->scale = norm->shift = weight;
  for (size_t c = 0; c < weight.size(); c++) {
    norm->scale[c] = weight[c] * (1 / std::sqrt(var[c] + eps->number()));
    norm->shift[c] = bias[c] - mean[c] * norm->scale[c];
  }
  return true;
}

// Returns whether no operator changes the value's rank in place.
bool keeps_rank(const Value &value) {
  for (const Use &use : value.uses)
    for (const char *changes : {"squeeze_", "resize_", "set_"})
      if (use.index == 0 && use.node->op.find(changes) != std::string::npos) return false;
  return true;
}

// Returns whether a tensor has two dimensions for all inputs.
bool is_matrix(const Value &value) {
  static const std::unordered_set<std::string> makes = {"aten::addmm", "aten::mm"};
  static const std::unordered_set<std::string> keeps = {
      "aten::linear",     "aten::batch_norm", "aten::relu",   "aten::relu_",
      "aten::gelu",       "aten::sigmoid",    "aten::tanh",   "aten::silu",
      "aten::leaky_relu", "aten::hardtanh",   "aten::dropout"};
  const Node *node = value.def;
  if (!node || !keeps_rank(value)) return false;
  if (makes.count(node->op)) return true;
  if (keeps.count(node->op)) return is_matrix(*node->inputs[0]);
  if (node->op != "aten::flatten.using_ints") return false;
  const Const *start = node->constant(1), *end = node->constant(2);
  return start && end && start->i == 1 && end->i == -1;
}

// Returns the rank of the weight of a linear with a matrix, or of a convolution that is not
// transposed; else 0.
int64_t weight_rank(const Node &node) {
  static const std::unordered_set<std::string> plain = {
      "aten::conv1d",           "aten::conv2d",         "aten::conv3d",
      "aten::conv1d.padding",   "aten::conv2d.padding", "aten::conv3d.padding",
      "aten::_convolution_mode"};
  const Const *weight = node.constant(1);
  if (!weight || !weight->is_tensor()) return 0;
  if (node.op == "aten::linear") return is_matrix(*node.inputs[0]) ? 2 : 0;
  if (plain.count(node.op)) return weight->tensor.dim();
  if (node.op != "aten::convolution" && node.op != "aten::_convolution" &&
      node.op != "aten::_convolution.deprecated")
    return 0;
  const Const *transposed = node.constant(6);
  return transposed && transposed->is_bool() && !transposed->i ? weight->tensor.dim() : 0;
}

// Returns the one node in its block that reads the elements of a value. A scripted batch norm also reads
// the rank.
Node *follower(const Value &value) {
  Node *found = nullptr;
  for (const Use &use : value.uses) {
    if (use.node->op == "aten::dim") continue;
    if (found || use.index != 0 || use.node->block != value.def->block) return nullptr;
    found = use.node;
  }
  return found;
}

bool fold(Graph &graph, Node *before) {
  const int64_t rank = weight_rank(*before);
  if (rank == 0 || !float_constant(*before, 1, rank)) return false;
  Node *node = follower(*before->output());
  if (!node) return false;
  const Const &weight = *before->constant(1);
  const int64_t channels = weight.tensor.size(0);
  Norm norm;
  Numbers bias(static_cast<size_t>(channels), 0);
  if (before->inputs.size() > 2 && !vector_of(*before, 2, channels, 0, &bias)) return false;
  if (!match_norm(*node, channels, &norm)) return false;

  const size_t per_channel =
      static_cast<size_t>(weight.tensor.numel() / std::max<int64_t>(channels, 1));
  Numbers folded = weight.tensor.doubles(), shift = bias;
  for (size_t i = 0; i < folded.size(); i++) folded[i] *= norm.scale[i / per_channel];
  for (size_t c = 0; c < shift.size(); c++) shift[c] = bias[c] * norm.scale[c] + norm.shift[c];
  const Const *had = before->constant(2);
  const std::string name = had && had->is_tensor() && !had->s.empty() ? had->s
                           : weight.s.empty()                         ? ""
                                                                      : weight.s + ".folded_bias";
  Value *new_bias = graph.constant(const_tensor(Tensor::of(RUSH_FLOAT32, {channels}, shift), name));
  const Tensor folded_weight =
      Tensor::of(RUSH_FLOAT32, weight.tensor.sizes(), folded).laid_out_as(weight.tensor);
  before->set_input(1, graph.constant(const_tensor(folded_weight, weight.s)));
  if (before->inputs.size() > 2)
    before->set_input(2, new_bias);
  else
    before->add_input(new_bias);
  node->replace_by(before);
  return true;
}

}  // namespace

bool fold_batch_norm(Graph &graph) {
  bool changed = false;
  for (bool repeat = true; repeat;) {
    repeat = false;
    for (Node *node : all_nodes(graph)) {
      if (!fold(graph, node)) continue;
      changed = repeat = true;
      break;  // the list has a removed node
    }
  }
  return changed;
}

}  // namespace rush
