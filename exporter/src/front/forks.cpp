// torch.jit.fork and wait without a thread pool: forked code runs in place. Code that
// torch.jit._awaitable defers runs in place, too, if that has no visible effect.
#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace attr = c10::attr;

namespace {

// A future is its value.
c10::TypePtr without_futures(const c10::TypePtr &type) {
  if (type->kind() == c10::TypeKind::FutureType || type->kind() == c10::TypeKind::AwaitType)
    return without_futures(type->containedType(0));
  if (type->containedTypeSize() == 0) return type;
  std::vector<c10::TypePtr> inner;
  bool changed = false;
  for (const auto &t : type->containedTypes()) {
    inner.push_back(without_futures(t));
    changed |= inner.back() != t;
  }
  return changed ? type->withContained(std::move(inner)) : type;
}

// Whether a node writes, prints, raises or draws random numbers, so that its time of execution matters.
bool acts(jit::Block *block) {
  for (jit::Node *node : block->nodes()) {
    const c10::FunctionSchema *schema = node->maybeSchema();
    if (node->hasSideEffects() || node->isNondeterministic() || (schema && schema->is_mutable()))
      return true;
    for (jit::Block *inner : node->blocks())
      if (acts(inner)) return true;
  }
  return false;
}

enum class Part { NONE, MADE, WAITED };

Part part_of(const jit::Node &node) {
  static const auto put_off = c10::Symbol::fromQualString("prim::awaitable");
  static const auto known = c10::Symbol::fromQualString("prim::awaitable_nowait");
  static const auto awaited = c10::Symbol::fromQualString("prim::awaitable_wait");
  if (node.kind() == c10::aten::wait || node.kind() == awaited || node.kind() == known)
    return Part::WAITED;
  if (node.kind() == prim::fork) return Part::MADE;
  if (node.kind() != put_off) return Part::NONE;
  auto graph = node.g(attr::Subgraph);
  inline_calls(*graph);
  return acts(graph->block()) ? Part::NONE : Part::MADE;
}

void run_in_place(jit::Node *node, Part part) {
  if (part == Part::MADE) {
    jit::WithInsertPoint before(node);
    const auto results =
        jit::insertGraph(*node->owningGraph(), *node->g(attr::Subgraph), node->inputs());
    node->output()->replaceAllUsesWith(results.at(0));
  } else {
    node->output()->replaceAllUsesWith(node->input());
  }
  node->destroy();
}

// Inserted nodes come before the node and are processed, too.
bool run_in_place(jit::Block *block) {
  bool changed = false;
  for (jit::Value *v : block->inputs()) v->setType(without_futures(v->type()));
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node *node = *it;
    jit::Node *previous = node->prev();
    for (jit::Block *inner : node->blocks()) changed |= run_in_place(inner);
    for (jit::Value *v : node->outputs()) v->setType(without_futures(v->type()));
    const Part part = part_of(*node);
    const bool goes = part != Part::NONE;
    if (goes) run_in_place(node, part);
    it = goes ? ++previous->iterator() : ++it;
    changed |= goes;
  }
  return changed;
}

}  // namespace

void inline_calls_and_forks(jit::Graph &graph) {
  do inline_calls(graph);
  while (run_in_place(graph.block()));
}

}  // namespace rush
