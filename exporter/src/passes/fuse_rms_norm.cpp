// x * rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) of a float32 x becomes rush::rms_norm (Zhang and
// Sennrich, "Root Mean Square Layer Normalization"). The operands have this order, because the order
// decides about the strides of the result.
#include "passes/match.h"
#include "passes/passes.h"

namespace rush {

namespace {

// A cast makes the dtype certain. Other floats would be rounded after each step.
bool is_float32(const Value *value) {
  const Node *to = value->def;
  const Const *dtype = to && to->op.rfind("aten::to.", 0) == 0 ? to->constant(1) : nullptr;
  return dtype && dtype->is_int() && dtype->i == RUSH_FLOAT32 &&
         (to->op == "aten::to.dtype" || to->op == "aten::to.dtype_layout");
}

// mean(x ** 2, [-1], True), with the dtype of x
const Node *mean_of_squares(const Value *value) {
  const Node *mean = sole_definition(value, "aten::mean.dim");
  if (!mean || mean->inputs.size() < 3) return nullptr;
  const Const *dims = mean->constant(1), *keeps = mean->constant(2);
  std::vector<int64_t> list;
  if (!dims || !ints_of(*dims, &list) || list != std::vector<int64_t>{-1} || !keeps || !keeps->i ||
      (mean->inputs.size() > 3 && !(mean->constant(3) && mean->constant(3)->is_none())))
    return nullptr;
  return sole_definition(mean->input(0), "aten::pow.Tensor_Scalar");
}

bool fuse(Graph &graph, Node *mul) {
  if (mul->op != "aten::mul.Tensor") return false;
  const Node *rsqrt = sole_definition(mul->input(1), "aten::rsqrt");
  const Node *add = rsqrt ? sole_definition(rsqrt->input(0), "aten::add.Scalar") : nullptr;
  const Const *eps = add ? add->constant(1) : nullptr;
  const Node *square = eps ? mean_of_squares(add->input(0)) : nullptr;
  Value *x = mul->input(0);
  if (!square || !eps->is_number() || !is_number_or_missing(*add, 2, 1) ||
      !is_number_or_missing(*square, 1, 2) || square->input(0) != x || !is_float32(x) ||
      square->block != mul->block || writes_between(square, mul))
    return false;
  Node *fused = graph.insert_before(mul, "rush::rms_norm");
  fused->add_input(x);
  fused->add_input(graph.constant(const_float(eps->number())));
  fused->add_output(tensor_type());
  mul->replace_by(fused);
  return true;
}

}  // namespace

bool fuse_rms_norm(Graph &graph) {
  bool changed = false;
  for (Node *node : all_nodes(graph)) changed |= fuse(graph, node);
  return changed;
}

}  // namespace rush
