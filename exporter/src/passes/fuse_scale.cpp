// Squeeze-and-excitation: fuses the product of an input and a number for each channel, which comes
// from the input's mean, into the 1x1 convolution that alone reads the product.
//
// rush::scaled_conv scales the weight instead of the input if there are more pixels than outputs.
#include <set>

#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

using namespace of_conv;

bool all_are(const Const *list, int64_t number) {
  std::vector<int64_t> values;
  if (!list || !ints_of(*list, &values)) return false;
  for (int64_t v : values)
    if (v != number) return false;
  return true;
}

bool is_product(const Node &conv) {
  const Const *w = conv.constant(WEIGHT), *groups = conv.constant(GROUPS);
  return conv.op == "rush::conv" && w && w->is_tensor() && groups && groups->i == 1 &&
         w->tensor.numel() == w->tensor.size(0) * w->tensor.size(1) &&
         all_are(conv.constant(STRIDE), 1) && all_are(conv.constant(PADDING), 0);
}

// Returns whether layers and functions of one tensor derive the value from a mean over the image.
bool is_excitation(const Value *value) {
  static const std::set<std::string> means = {"aten::adaptive_avg_pool1d",
                                              "aten::adaptive_avg_pool2d", "aten::mean.dim"};
  static const std::set<std::string> on = {"aten::sigmoid",     "aten::sigmoid_",
                                           "aten::hardsigmoid", "aten::hardsigmoid_",
                                           "aten::relu",        "aten::relu_",
                                           "aten::relu6",       "aten::relu6_",
                                           "aten::hardtanh",    "aten::hardtanh_",
                                           "aten::clamp",       "aten::clamp_",
                                           "aten::silu",        "aten::silu_",
                                           "aten::hardswish",   "aten::hardswish_",
                                           "aten::gelu",        "aten::gelu_",
                                           "aten::tanh",        "aten::tanh_",
                                           "aten::view",        "aten::reshape",
                                           "aten::unsqueeze",   "aten::squeeze",
                                           "aten::squeeze.dim", "aten::flatten.using_ints"};
  // The other argument of these operators is a constant.
  static const std::set<std::string> by = {
      "aten::add.Scalar", "aten::add.Tensor", "aten::add_.Scalar", "aten::add_.Tensor",
      "aten::mul.Scalar", "aten::mul.Tensor", "aten::div.Scalar",  "aten::div.Tensor"};
  for (const Node *node = value->def; node; node = node->input(0)->def) {
    if (means.count(node->op)) return true;
    const bool layer = node->op.rfind("rush::", 0) == 0 && node->op != "rush::copy_in_place";
    if (node->inputs.empty() ||
        !(layer || on.count(node->op) || (by.count(node->op) && node->constant(1))))
      return false;
  }
  return false;
}

bool fold_scale(Graph &graph, Node *conv) {
  if (!is_product(*conv)) return false;
  Node *mul = conv->input(INPUT)->def;
  if (!mul || mul->op != "aten::mul.Tensor" || only_user(mul->output()) != conv ||
      writes_between(mul, conv))
    return false;
  const size_t scale = is_excitation(mul->input(1)) ? 1 : 0;
  if (!is_excitation(mul->input(scale))) return false;
  Node *fused = graph.insert_before(conv, "rush::scaled_conv");
  fused->add_input(mul->input(1 - scale));
  fused->add_input(mul->input(scale));
  for (size_t i = WEIGHT; i < conv->inputs.size(); i++) fused->add_input(conv->input(i));
  fused->add_output(tensor_type());
  conv->replace_by(fused);
  mul->destroy();
  return true;
}

}  // namespace

bool fuse_scale(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) changed |= fold_scale(graph, node);
  return changed;
}

}  // namespace rush
