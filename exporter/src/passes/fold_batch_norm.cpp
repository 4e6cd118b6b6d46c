// conv -> batch_norm becomes conv with other weights, where nothing changes at run time.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rsqrt.h>

#include <string>
#include <unordered_set>

#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

struct Norm {
  at::Tensor scale, shift;  // y = x * scale + shift, per channel
};

// A vector of `n` numbers; `otherwise` of them where it is None.
bool vector_of(const Node &node, size_t i, int64_t n, double otherwise, at::Tensor *out) {
  const Const *c = node.constant(i);
  if (!c) return false;
  if (c->is_none()) {
    *out = at::full({n}, otherwise, at::kDouble);
    return true;
  }
  if (!float_constant(node, i, 1) || c->tensor.size(0) != n) return false;
  *out = c->tensor.to(at::kDouble);
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
  at::Tensor weight, bias, mean, var;
  if (!eps || !eps->is_number() || !node.constant(3) || node.constant(3)->is_none() ||
      !node.constant(4) || node.constant(4)->is_none() ||
      !vector_of(node, 1, channels, 1, &weight) || !vector_of(node, 2, channels, 0, &bias) ||
      !vector_of(node, 3, channels, 0, &mean) || !vector_of(node, 4, channels, 1, &var))
    return false;
  norm->scale = weight * at::rsqrt(var + eps->number());
  norm->shift = bias - mean * norm->scale;
  return true;
}

// The rank of the weight where the operator is a convolution that is not transposed, else 0.
int64_t conv_rank(const Node &node) {
  static const std::unordered_set<std::string> plain = {
      "aten::conv1d",           "aten::conv2d",         "aten::conv3d",
      "aten::conv1d.padding",   "aten::conv2d.padding", "aten::conv3d.padding",
      "aten::_convolution_mode"};
  const Const *weight = node.constant(1);
  if (!weight || !weight->is_tensor()) return 0;
  if (plain.count(node.op)) return weight->tensor.dim();
  if (node.op != "aten::convolution" && node.op != "aten::_convolution" &&
      node.op != "aten::_convolution.deprecated")
    return 0;
  const Const *transposed = node.constant(6);
  return transposed && transposed->is_bool() && !transposed->i ? weight->tensor.dim() : 0;
}

bool fold(Graph &graph, Node *conv) {
  const int64_t rank = conv_rank(*conv);
  if (rank < 3 || !float_constant(*conv, 1, rank)) return false;
  Node *node = only_user(conv->output());
  if (!node || conv->output()->uses[0].index != 0) return false;
  const Const &weight = *conv->constant(1);
  const int64_t channels = weight.tensor.size(0);
  Norm norm;
  at::Tensor bias = at::full({channels}, 0., at::kDouble);
  if (conv->inputs.size() > 2 && !vector_of(*conv, 2, channels, 0, &bias)) return false;
  if (!match_norm(*node, channels, &norm)) return false;

  std::vector<int64_t> per_channel(static_cast<size_t>(rank), 1);
  per_channel[0] = channels;
  const at::Tensor folded = weight.tensor.to(at::kDouble) * norm.scale.view(per_channel);
  const at::Tensor shift = bias * norm.scale + norm.shift;
  const Const *had = conv->constant(2);
  const std::string name = had && had->is_tensor() && !had->s.empty() ? had->s
                           : weight.s.empty()                         ? ""
                                                                      : weight.s + ".folded_bias";
  Value *new_bias = graph.constant(const_tensor(shift.to(at::kFloat), name));
  conv->set_input(1, graph.constant(const_tensor(folded.to(at::kFloat), weight.s)));
  if (conv->inputs.size() > 2)
    conv->set_input(2, new_bias);
  else
    conv->add_input(new_bias);
  node->give_way_to(conv);
  return true;
}

}  // namespace

bool fold_batch_norm(Graph &graph) {
  bool changed = false;
  for (bool again = true; again;) {
    again = false;
    for (Node *node : all_nodes(graph)) {
      if (!fold(graph, node)) continue;
      changed = again = true;
      break;  // the list names a node that is gone
    }
  }
  return changed;
}

}  // namespace rush
