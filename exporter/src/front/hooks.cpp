// Forward hooks and pre-hooks of the outermost module. Graphs contain the hooks of submodules that they
// call. Those of the outermost module are run by Module::operator() (torch/csrc/jit/api/
// module.cpp).
#include <torch/csrc/jit/passes/inliner.h>

#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;

namespace {

// Inserts a hook's graph and returns its result.
jit::Value *insert_hook(jit::Graph &graph, jit::Function *hook,
                        const std::vector<jit::Value *> &inputs) {
  auto body = jit::toGraphFunction(*hook).graph()->copy();
  return jit::insertGraph(graph, *body, inputs).at(0);
}

bool is_none(const jit::Value *v) {
  return v->type()->kind() == c10::TypeKind::NoneType;
}

// Runs the pre-hooks on the arguments first.
jit::Value *run_before(jit::Graph &graph, const std::vector<jit::Function *> &hooks) {
  jit::WithInsertPoint first(*graph.nodes().begin());
  std::vector<jit::Value *> args = graph.inputs().slice(1).vec();
  jit::Node *pack = graph.insertNode(graph.createTuple(args));
  jit::Value *given = pack->output();
  for (jit::Function *hook : hooks) {
    jit::Value *result = insert_hook(graph, hook, {graph.inputs().at(0), given});
    if (is_none(result)) continue;
    given = result->type()->kind() == c10::TypeKind::TupleType
                ? result
                : graph.insertNode(graph.createTuple({result}))->output();
  }
  if (given == pack->output()) return given;
  jit::Node *unpack = graph.insertNode(graph.createTupleUnpack(given));
  for (size_t i = 0; i < args.size() && i < unpack->outputs().size(); i++) {
    args[i]->replaceAllUsesAfterNodeWith(unpack, unpack->outputs()[i]);
  }
  return given;
}

// Runs the hooks on the result.
void run_after(jit::Graph &graph, const std::vector<jit::Function *> &hooks, jit::Value *given) {
  jit::WithInsertPoint last(graph.return_node());
  for (jit::Function *hook : hooks) {
    jit::Value *before = graph.outputs().at(0);
    jit::Value *result = insert_hook(graph, hook, {graph.inputs().at(0), given, before});
    if (!is_none(result)) graph.return_node()->replaceInput(0, result);
  }
}

}  // namespace

std::optional<jit::Module> with_hooks(const jit::Module &module) {
  const auto &before = module.type()->getForwardPreHooks();
  const auto &after = module.type()->getForwardHooks();
  if ((before.empty() && after.empty()) || !module.find_method("forward")) return {};
  jit::Module out = of_own_class(module);
  for (const jit::Method &m : out.get_methods())  // direct calls of forward run no hooks
    if (m.name() != "forward") jit::Inline(*m.graph());
  jit::Function &forward = out.get_method("forward").function();
  auto graph = jit::toGraphFunction(forward).graph();
  jit::Value *given = run_before(*graph, before);
  run_after(*graph, after, given);
  jit::toGraphFunction(forward).clear_optimized_graphs();  // inlining made one
  const c10::FunctionSchema &schema = forward.getSchema();
  forward.setSchema(schema.cloneWithReturns({c10::Argument("", graph->outputs().at(0)->type())}));
  return out;
}

}  // namespace rush
