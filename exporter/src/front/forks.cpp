// torch.jit.fork and wait without a thread pool: what is forked runs where it is forked.
#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace attr = c10::attr;

namespace {

// A future is its value.
c10::TypePtr without_futures(const c10::TypePtr &type) {
  if (type->kind() == c10::TypeKind::FutureType) return without_futures(type->containedType(0));
  if (type->containedTypeSize() == 0) return type;
  std::vector<c10::TypePtr> inner;
  bool changed = false;
  for (const auto &t : type->containedTypes()) {
    inner.push_back(without_futures(t));
    changed |= inner.back() != t;
  }
  return changed ? type->withContained(std::move(inner)) : type;
}

void run_in_place(jit::Node *node) {
  if (node->kind() == prim::fork) {
    jit::WithInsertPoint before(node);
    const auto results =
        jit::insertGraph(*node->owningGraph(), *node->g(attr::Subgraph), node->inputs());
    node->output()->replaceAllUsesWith(results.at(0));
    node->destroy();
  } else if (node->kind() == c10::aten::wait) {
    node->output()->replaceAllUsesWith(node->input());
    node->destroy();
  }
}

// What is inserted stands before the node, and is looked at, too.
bool run_in_place(jit::Block *block) {
  bool changed = false;
  for (jit::Value *v : block->inputs()) v->setType(without_futures(v->type()));
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node *node = *it;
    jit::Node *previous = node->prev();
    for (jit::Block *inner : node->blocks()) changed |= run_in_place(inner);
    for (jit::Value *v : node->outputs()) v->setType(without_futures(v->type()));
    const bool goes = node->kind() == prim::fork || node->kind() == c10::aten::wait;
    if (goes) run_in_place(node);
    it = goes ? ++previous->iterator() : ++it;
    changed |= goes;
  }
  return changed;
}

}  // namespace

void in_one_piece(jit::Graph &graph) {
  do inline_calls(graph);
  while (run_in_place(graph.block()));
}

}  // namespace rush
