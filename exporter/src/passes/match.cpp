#include "passes/match.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/alias.h"
#include "ir/schema.h"

namespace rush {

Node *only_user(const Value *value) {
  if (value->uses.size() != 1 || !value->def) return nullptr;
  Node *user = value->uses[0].node;
  return user->op != "return" && user->block == value->def->block ? user : nullptr;
}

namespace {

// Stores the bound in that argument, or `otherwise` if it is None or missing.
bool bound(const Node &node, size_t i, double otherwise, double *out) {
  *out = otherwise;
  if (i >= node.inputs.size()) return true;
  const Const *c = node.constant(i);
  if (!c) return false;
  if (c->is_none()) return true;
  *out = c->is_number() ? c->number() : std::nan("");
  return !std::isnan(*out);
}

}  // namespace

bool is_clamp(const Node &node, double *min, double *max) {
  enum Form { RELU, RELU6, HARDTANH, BOTH, MIN, MAX };
  static const std::unordered_map<std::string, Form> forms = {
      {"aten::relu", RELU},     {"aten::relu_", RELU},        {"aten::relu6", RELU6},
      {"aten::relu6_", RELU6},  {"aten::hardtanh", HARDTANH}, {"aten::hardtanh_", HARDTANH},
      {"aten::clamp", BOTH},    {"aten::clamp_", BOTH},       {"aten::clip", BOTH},
      {"aten::clip_", BOTH},    {"aten::clamp_min", MIN},     {"aten::clamp_min_", MIN},
      {"aten::clamp_max", MAX}, {"aten::clamp_max_", MAX}};
  auto found = forms.find(node.op);
  if (found == forms.end()) return false;
  *min = -kInf;
  *max = kInf;
  bool ok = true;
  switch (found->second) {
    case RELU:
      *min = 0;
      break;
    case RELU6:
      *min = 0, *max = 6;
      break;
    case HARDTANH:
      ok = bound(node, 1, -1, min) && bound(node, 2, 1, max);
      break;
    case BOTH:
      ok = bound(node, 1, -kInf, min) && bound(node, 2, kInf, max);
      break;
    case MIN:
      ok = bound(node, 1, -kInf, min);
      break;
    case MAX:
      ok = bound(node, 1, kInf, max);
      break;
  }
  return ok && *min < *max;
}

bool fold_clamp(Node *fused, size_t at_min) {
  const size_t at_max = at_min + 1;
  if (fused->constant(at_min)->f != -kInf || fused->constant(at_max)->f != kInf) return false;
  Node *clamp = only_user(fused->output());
  double min, max;
  if (!clamp || fused->output()->uses[0].index != 0 || !is_clamp(*clamp, &min, &max)) return false;
  Graph *graph = fused->block->graph;
  fused->set_input(at_min, graph->constant(const_float(min)));
  fused->set_input(at_max, graph->constant(const_float(max)));
  clamp->replace_by(fused);
  return true;
}

bool writes_between(const Node *from, const Node *to) {
  auto at = from->place;
  for (++at; at->get() != to; ++at)
    if (has_side_effects(**at)) return true;
  return false;
}

Node *sole_definition(const Value *value, const std::string &op) {
  return value->def && value->def->op == op && value->uses.size() == 1 ? value->def : nullptr;
}

bool is_number_or_missing(const Node &node, size_t i, double number) {
  if (i >= node.inputs.size()) return true;
  const Const *c = node.constant(i);
  return c && c->is_number() && c->number() == number;
}

bool is_cast(const Node *node, rush_dtype dtype) {
  const Const *to = node && node->op == "aten::to.dtype" ? node->constant(1) : nullptr;
  return to && to->is_int() && to->i == dtype;
}

const Const *tensor_constant(const Node &node, size_t input, int64_t rank, const Dtypes &dtypes) {
  const Const *c = node.constant(input);
  return c && c->is_tensor() && c->tensor.is_strided() && dtypes.count(c->tensor.dtype()) &&
                 c->tensor.dim() == rank
             ? c
             : nullptr;
}

const Const *float_constant(const Node &node, size_t input, int64_t rank) {
  static const Dtypes single = {RUSH_FLOAT32};
  return tensor_constant(node, input, rank, single);
}

}  // namespace rush
