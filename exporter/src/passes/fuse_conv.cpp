// conv1d, conv2d and their general forms with constant parameters become rush::conv.
//
// rush::conv pads each side by its own amount: padding is [before_0, after_0, before_1, after_1,
// ...] over the spatial dimensions in order, so that a zero padding before and 'same' fit in.
#include <algorithm>
#include <cmath>

#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

using namespace of_conv;

struct Conv {
  const Const *weight, *bias;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
};

// Reads a list of `n` ints, or one for all. The argument may be missing.
bool read_list(const Node &node, size_t i, size_t n, int64_t otherwise, std::vector<int64_t> *out) {
  out->assign(n, otherwise);
  if (i >= node.inputs.size()) return true;
  const Const *c = node.constant(i);
  std::vector<int64_t> given;
  if (!c) return false;
  if (c->is_int())
    given = {c->i};
  else if (!ints_of(*c, &given))
    return false;
  if (given.size() == 1) given.assign(n, given[0]);
  *out = given;
  return given.size() == n;
}

bool int_argument(const Node &node, size_t i, int64_t otherwise, int64_t *out) {
  *out = otherwise;
  if (i >= node.inputs.size()) return true;
  if (!node.constant(i) || !node.constant(i)->is_int()) return false;
  *out = node.constant(i)->i;
  return true;
}

bool both_sides(const std::vector<int64_t> &padding, std::vector<int64_t> *out) {
  out->clear();
  for (int64_t p : padding) {
    if (p < 0) return false;
    out->insert(out->end(), {p, p});
  }
  return true;
}

bool positive(const std::vector<int64_t> &values) {
  for (int64_t v : values)
    if (v <= 0) return false;
  return true;
}

// 'same' pads an odd amount at the end, as PyTorch does. It requires stride 1.
bool named_padding(const Node &node, size_t i, Conv *conv) {
  const Const *mode = node.constant(i);
  if (!mode || !mode->is_str()) return false;
  const size_t n = conv->stride.size();
  conv->padding.assign(2 * n, 0);
  if (mode->s == "valid") return true;
  if (mode->s != "same") return false;
  for (size_t d = 0; d < n; d++) {
    if (conv->stride[d] != 1) return false;
    int64_t total =
        conv->dilation[d] * (conv->weight->tensor.size(static_cast<int64_t>(d) + 2) - 1);
    conv->padding[2 * d] = total / 2;
    conv->padding[2 * d + 1] = total - total / 2;
  }
  return true;
}

// The form of a convolution's schema.
struct Form {
  size_t dims = 0;       // spatial ones; 0: another operator
  bool general = false;  // with the arguments of aten::convolution
  bool by_name = false;  // its padding is a word
};

size_t dims_of(const Const *weight) {
  return !weight || !weight->is_tensor() ? 0 : weight->tensor.dim() == 3 ? 1 : 2;
}

Form form_of(const Node &node) {
  const std::string &op = node.op;
  const bool by_name = op.find(".padding") != std::string::npos;
  if (op == "aten::conv1d" || op == "aten::conv1d.padding") return {1, false, by_name};
  if (op == "aten::conv2d" || op == "aten::conv2d.padding") return {2, false, by_name};
  if (op == "aten::_convolution_mode")  // tracing makes it of 'same' and 'valid'
    return {dims_of(node.constant(WEIGHT)), false, true};
  if (op != "aten::_convolution" && op != "aten::_convolution.deprecated" &&
      op != "aten::convolution")
    return {};
  const Const *transposed = node.constant(6);
  if (!transposed || !transposed->is_bool() || transposed->i) return {};
  return {dims_of(node.constant(WEIGHT)), true, false};
}

bool match(const Node &node, Conv *conv) {
  const auto [n, general, by_name] = form_of(node);
  if (n == 0) return false;
  conv->weight = float_constant(node, WEIGHT, static_cast<int64_t>(n) + 2);
  if (!conv->weight || conv->weight->tensor.numel() == 0) return false;
  conv->bias = node.constant(BIAS);
  if (node.inputs.size() > BIAS && !conv->bias) return false;
  if (conv->bias && conv->bias->is_none()) conv->bias = nullptr;
  if (conv->bias && !float_constant(node, BIAS, 1)) return false;
  if (!read_list(node, STRIDE, n, 1, &conv->stride) ||
      !read_list(node, DILATION, n, 1, &conv->dilation) ||
      !int_argument(node, general ? 8 : GROUPS, 1, &conv->groups) || !positive(conv->stride) ||
      !positive(conv->dilation) || conv->groups <= 0)
    return false;
  std::vector<int64_t> padding;
  if (by_name ? !named_padding(node, PADDING, conv)
              : !read_list(node, PADDING, n, 0, &padding) || !both_sides(padding, &conv->padding))
    return false;
  const int64_t out_channels = conv->weight->tensor.size(0);
  return out_channels % conv->groups == 0 &&
         (!conv->bias || conv->bias->tensor.size(0) == out_channels);
}

// Only the strides change: the memory becomes [out][kernel...][in], which kernels pack. A depthwise
// weight [channels][1][kernel...] has that order.
Tensor arranged(const Tensor &weight) {
  if (weight.size(1) == 1) return weight.contiguous();
  return weight.moved(1, -1).contiguous().moved(-1, 1);
}

// Returns whether PyTorch takes strides of four dimensions for channels-last ones (c10/core/MemoryFormat.h).
bool is_channels_last(const Sizes &sizes, const Sizes &strides) {
  if (strides[1] == 0) return false;
  int64_t least = 0;
  for (const size_t d : {1, 3, 2, 0}) {
    if (sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1])) return false;
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  return true;
}

// Returns the number of the memory format that PyTorch derives from the weight's strides: a channels-last
// weight gives channels-last results. Groups are convolved one by one.
int64_t format_of(const Tensor &weight, int64_t groups) {
  constexpr int64_t kContiguous = 0, kChannelsLast = 2;
  Sizes sizes = weight.sizes(), strides = weight.strides();
  sizes[0] /= groups;
  if (sizes.size() == 3) {
    strides.insert(strides.begin() + 2, sizes[2] * strides[2]);
    sizes.insert(sizes.begin() + 2, 1);
  }
  return is_channels_last(sizes, strides) ? kChannelsLast : kContiguous;
}

void rewrite(Graph &graph, Node *node, const Conv &conv) {
  Node *fused = graph.insert_before(node, "rush::conv");
  fused->add_input(node->input(INPUT));
  fused->add_input(graph.constant(const_tensor(arranged(conv.weight->tensor), conv.weight->s)));
  fused->add_input(graph.constant(conv.bias ? *conv.bias : const_none()));
  fused->add_input(graph.constant(const_ints(conv.stride)));
  fused->add_input(graph.constant(const_ints(conv.padding)));
  fused->add_input(graph.constant(const_ints(conv.dilation)));
  fused->add_input(graph.constant(const_int(conv.groups)));
  fused->add_input(graph.constant(const_float(-kInf)));
  fused->add_input(graph.constant(const_float(kInf)));
  const int64_t format = format_of(conv.weight->tensor, conv.groups);
  if (format != 0) fused->add_input(graph.constant(const_int(format)));
  fused->add_output(tensor_type());
  node->replace_by(fused);
}

// Returns whether the node pads the last n dimensions with zeros. Stores the amounts per side, first dimension first.
bool is_zero_pad(const Node &node, size_t n, std::vector<int64_t> *out) {
  size_t at_value = 0;
  if (node.op == "aten::constant_pad_nd") {
    at_value = 2;
  } else if (node.op == "aten::pad") {
    const Const *mode = node.constant(2);
    if (node.inputs.size() > 2 && !(mode && mode->is_str() && mode->s == "constant")) return false;
    at_value = 3;
  } else {
    return false;
  }
  if (node.inputs.size() > at_value) {
    const Const *value = node.constant(at_value);
    if (!value || !(value->is_none() || (value->is_number() && value->number() == 0))) return false;
  }
  std::vector<int64_t> pad;  // last dimension first
  if (!node.constant(1) || !ints_of(*node.constant(1), &pad) || pad.size() % 2) return false;
  out->assign(2 * n, 0);
  for (size_t i = 0; i < pad.size(); i++) {
    if (pad[i] < 0 || (i >= 2 * n && pad[i] != 0)) return false;
    if (i < 2 * n) (*out)[2 * (n - 1 - i / 2) + i % 2] = pad[i];
  }
  return true;
}

bool fold_padding(Graph &graph, Node *fused) {
  Node *pad = fused->input(INPUT)->def;
  std::vector<int64_t> stride, before, padding;
  ints_of(*fused->constant(STRIDE), &stride);
  ints_of(*fused->constant(PADDING), &padding);
  if (!pad || only_user(pad->output()) != fused || !is_zero_pad(*pad, stride.size(), &before))
    return false;
  // The convolution will read the input of the padding, which must not be written in between.
  if (writes_between(pad, fused)) return false;
  for (size_t i = 0; i < padding.size(); i++) padding[i] += before[i];
  fused->set_input(PADDING, graph.constant(const_ints(padding)));
  fused->set_input(INPUT, pad->input(0));
  pad->destroy();
  return true;
}

}  // namespace

bool fuse_conv(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) {
    Conv conv;
    if (!match(*node, &conv)) continue;
    rewrite(graph, node, conv);
    changed = true;
  }
  std::vector<Node *> convs;
  for (Node *node : all_nodes(graph))
    if (node->op == "rush::conv") convs.push_back(node);
  for (Node *node : convs) {
    while (fold_padding(graph, node)) changed = true;
    changed |= fold_clamp(node, MIN);
  }
  return changed;
}

}  // namespace rush
