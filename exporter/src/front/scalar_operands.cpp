// A trace of `x + 0.5` has a 0-d tensor. A constant 0-d second operand of functional add, sub, mul and
// div becomes a number, as in each graph that PyTorch's executor runs
// (torch/csrc/jit/passes/canonicalize_graph_fuser_ops.cpp, CanonicalizeOps). This applies to constants
// of the trace only. Constants that freezing makes, of an attribute or torch.tensor(2.5), stay tensors,
// whose dtype counts.
#include <torch/csrc/jit/ir/constants.h>

#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace aten = c10::aten;

namespace {

bool takes_scalar(const jit::Node &node) {
  if (node.kind() != aten::add && node.kind() != aten::sub && node.kind() != aten::mul &&
      node.kind() != aten::div)
    return false;
  const c10::FunctionSchema *schema = node.maybeSchema();
  return schema && schema->overload_name() == "Tensor";
}

void make_scalar(jit::Node *node) {
  const auto other = jit::constant_as<at::Tensor>(node->input(1));
  if (!other || other->dim() != 0 || other->is_complex() || other->scalar_type() == at::kBool)
    return;  // no operator takes a bool as its number
  jit::WithInsertPoint before(node);
  jit::Graph &graph = *node->owningGraph();
  std::vector<jit::Value *> inputs = node->inputs().vec();
  inputs[1] = graph.insertConstant(other->item());
  jit::Node *scalar = graph.insertNode(graph.create(node->kind(), inputs));
  scalar->copyMetadata(node);
  scalar->output()->copyMetadata(node->output());
  node->output()->replaceAllUsesWith(scalar->output());
  node->destroy();
}

void scalar_operands(jit::Block *block) {
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node *node = *it++;
    for (jit::Block *inner : node->blocks()) scalar_operands(inner);
    if (takes_scalar(*node)) make_scalar(node);
  }
}

}  // namespace

void scalar_operands(jit::Graph &graph) {
  scalar_operands(graph.block());
}

}  // namespace rush
