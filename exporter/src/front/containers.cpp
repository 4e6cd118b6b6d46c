// `self.layers[i].run(x)` with i known only at run time becomes a choice between the calls of each
// module's method. libtorch cannot freeze a graph that looks an attribute up by a computed
// name.
#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace attr = c10::attr;

namespace {

// Inserts the call on the k-th or a later module of the container.
jit::Value *call_one_of(jit::Graph &graph, jit::Node &lookup, jit::Node &call, size_t k) {
  jit::Value *container = lookup.inputs()[0], *key = lookup.inputs()[1];
  const auto &type = container->type()->expectRef<c10::ClassType>();
  const bool by_name = key->type()->kind() == c10::TypeKind::StringType;
  if (k == type.numAttributes()) {
    jit::Value *what = graph.insert(c10::aten::str, {key});
    jit::Value *text =
        graph.insert(c10::aten::add, {graph.insertConstant("the container has no module "), what});
    jit::Value *none = graph.insertConstant(c10::IValue());
    graph.insertNode(graph.create(prim::RaiseException, {text, none}, 0));
    return graph.insertNode(graph.createUninitialized(call.output()->type()))->output();
  }
  const std::string &name = type.getAttributeName(k);
  if (!type.getAttribute(k)->is_module()) return call_one_of(graph, lookup, call, k + 1);
  const c10::IValue wanted = by_name ? c10::IValue(name) : c10::IValue(int64_t{std::stoll(name)});
  jit::Value *found = graph.insert(c10::aten::eq, {key, graph.insertConstant(wanted)});
  jit::Node *choice = graph.insertNode(graph.create(prim::If, {found}, 1));
  choice->output()->setType(call.output()->type());
  {
    jit::WithInsertPoint in(choice->addBlock());
    std::vector<jit::Value *> args = call.inputs().vec();
    args[0] = graph.insertGetAttr(container, name);
    jit::Node *one = graph.insertNode(graph.create(prim::CallMethod, args, 1));
    one->s_(attr::name, call.s(attr::name));
    one->output()->setType(call.output()->type());
    choice->blocks()[0]->registerOutput(one->output());
  }
  jit::WithInsertPoint in(choice->addBlock());
  choice->blocks()[1]->registerOutput(call_one_of(graph, lookup, call, k + 1));
  return choice->output();
}

bool choose(jit::Graph &graph, jit::Block *block) {
  bool changed = false;
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node *call = *it++;
    for (jit::Block *inner : call->blocks()) changed |= choose(graph, inner);
    if (call->kind() != prim::CallMethod) continue;
    jit::Node *lookup = call->input(0)->node();
    if (lookup->kind() != prim::ModuleContainerIndex) continue;
    jit::Node *previous = call->prev();
    jit::WithInsertPoint before(call);
    call->output()->replaceAllUsesWith(call_one_of(graph, *lookup, *call, 0));
    for (jit::Node *made = previous->next(); made != call; made = made->next()) {
      made->setSourceRange(call->sourceRange());
      for (jit::Block *inner : made->blocks()) place_at(inner, call->sourceRange());
    }
    call->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool choose_modules(jit::Graph &graph) {
  if (!choose(graph, graph.block())) return false;
  // Removes unused look-ups. libtorch keeps them, as it assumes a side effect.
  std::vector<jit::Node *> unused;
  std::function<void(jit::Block *)> collect = [&](jit::Block *block) {
    for (jit::Node *node : block->nodes()) {
      for (jit::Block *inner : node->blocks()) collect(inner);
      if (node->kind() == prim::ModuleContainerIndex && !node->output()->hasUses())
        unused.push_back(node);
    }
  };
  collect(graph.block());
  for (jit::Node *node : unused) node->destroy();
  return true;
}

}  // namespace rush
