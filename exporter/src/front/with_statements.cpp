// `with` calls __enter__ and __exit__ of the object's class.
#include "front/from_c10.h"
#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace attr = c10::attr;

namespace {

jit::Value *call_method(jit::Graph &graph, const std::string &name,
                        const std::vector<jit::Value *> &args) {
  const auto &type = args[0]->type()->expectRef<c10::ClassType>();
  jit::Node *call = graph.insertNode(graph.create(prim::CallMethod, args, 1));
  call->s_(attr::name, name);
  call->output()->setType(type.getMethod(name).getSchema().returns().at(0).type());
  return call->output();
}

bool call(jit::Graph &graph, jit::Block *block) {
  bool changed = false;
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    jit::Node *node = *it++;
    for (jit::Block *inner : node->blocks()) changed |= call(graph, inner);
    const bool enter = node->kind() == prim::Enter;
    if ((!enter && node->kind() != prim::Exit) || !is_program_class(node->input(0)->type()) ||
        is_silent_context(node->input(0)->type()))
      continue;
    jit::WithInsertPoint before(node);
    std::vector<jit::Value *> args = {node->input(0)};
    // The exception, its value and its traceback are None: after an exception nothing runs.
    if (!enter) args.insert(args.end(), 3, graph.insertConstant(c10::IValue()));
    jit::Value *result = call_method(graph, enter ? "__enter__" : "__exit__", args);
    result->node()->setSourceRange(node->sourceRange());
    node->output()->replaceAllUsesWith(result);
    node->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool is_silent_context(const c10::TypePtr &type) {
  const std::string name = type->annotation_str();
  return name.find("torch.autograd.grad_mode.") != std::string::npos ||
         name.find("torch.autograd.profiler.record_function") != std::string::npos;
}

bool call_contexts(jit::Graph &graph) {
  return call(graph, graph.block());
}

}  // namespace rush
