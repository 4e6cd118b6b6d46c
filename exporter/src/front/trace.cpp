// Runs a method as PyTorch has it, unfrozen, and keeps what each of its nodes gives: behind each
// node stands another that looks at its results.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "front/torchscript_parts.h"
#include "ir/from_c10.h"
#include "run/compare.h"
#include "run/seed.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;

namespace {

thread_local std::vector<Traced> *recording = nullptr;

// None where there is nothing to compare: objects, what a branch that has returned leaves unset.
Const const_of(const c10::IValue &value) {
  try {
    return from_ivalue(value);
  } catch (const std::invalid_argument &) {
    return from_ivalue(c10::IValue());
  }
}

// rushlight::saw(int handle, ...): the handle's node gave these.
void saw(jit::Stack &stack) {
  const size_t n = static_cast<size_t>(jit::pop(stack).toInt());
  Traced out;
  out.handle = static_cast<uint64_t>(jit::peek(stack, 0, n).toInt());
  std::vector<Const> results;
  for (size_t i = 1; i < n; i++) results.push_back(const_of(jit::peek(stack, i, n)));
  out.results = snapshot(results);
  jit::drop(stack, n);
  if (recording) recording->push_back(std::move(out));
}

c10::Symbol saw_symbol() {
  static const jit::RegisterOperators registered({jit::Operator(
      "rushlight::saw(int handle, ...) -> ()", saw, c10::AliasAnalysisKind::CONSERVATIVE)});
  return c10::Symbol::fromQualString("rushlight::saw");
}

// Their elements are whatever the memory held.
bool is_uninitialised(const jit::Node &node) {
  static const std::unordered_set<std::string> ops = {
      "aten::empty",     "aten::empty_like",        "aten::empty_strided", "aten::empty_permuted",
      "aten::new_empty", "aten::new_empty_strided", "aten::resize_"};
  return ops.count(node.kind().toQualString()) != 0;
}

// The exporter takes a tuple that an `if` or a loop gives apart.
bool gives_tuples(const jit::Node &node) {
  if (node.blocks().empty()) return false;
  return std::any_of(node.outputs().begin(), node.outputs().end(), [](const jit::Value *v) {
    return v->type()->kind() == c10::TypeKind::TupleType;
  });
}

void watch(jit::Graph &graph, jit::Node *node, uint64_t handle) {
  if (node->outputs().empty()) return;
  jit::WithInsertPoint behind(node->next());
  jit::Node *look = graph.create(saw_symbol(), 0);
  look->addInput(graph.insertConstant(static_cast<int64_t>(handle)));
  // Of several results, one that nobody uses is None: where two elements are as good as equal, an
  // index may be another.
  if (!is_uninitialised(*node) && !gives_tuples(*node))
    for (jit::Value *v : node->outputs())
      look->addInput(
          v->hasUses() || node->outputs().size() == 1 ? v : graph.insertConstant(c10::IValue()));
  graph.insertNode(look);
}

Trace run_watched(const std::shared_ptr<jit::Graph> &graph, jit::Stack stack) {
  Handles handles;
  for (jit::Node *node : handles.number(*graph)) watch(*graph, node, handles.source(*node).handle);
  Trace out;
  at::NoGradGuard no_grad;
  const TestSeed seed;
  jit::GraphOptimizerEnabledGuard plain(false);
  jit::GraphExecutor executor(graph, "trace");
  recording = &out.nodes;
  try {
    executor.run(stack);
  } catch (...) {
    recording = nullptr;
    throw;
  }
  recording = nullptr;
  out.result = from_ivalue(stack.at(0));
  std::stable_sort(out.nodes.begin(), out.nodes.end(),
                   [](const Traced &a, const Traced &b) { return a.handle < b.handle; });
  return out;
}

// Appends copies of the arguments, and the defaults of missing ones.
void push_arguments(const std::vector<Const> &args, const c10::FunctionSchema &schema,
                    jit::Stack *stack) {
  for (const Const &c : snapshot(args))
    stack->push_back(to_ivalue(c, schema.arguments().at(stack->size()).type()));
  for (size_t i = stack->size(); i < schema.arguments().size(); i++) {
    const c10::Argument &arg = schema.arguments()[i];
    if (!arg.default_value())
      throw std::invalid_argument("the argument '" + arg.name() + "' is missing");
    stack->push_back(*arg.default_value());
  }
}

}  // namespace

Trace trace_module(const jit::Module &module, const std::string &method,
                   const std::vector<Const> &args, bool train) {
  jit::Module copy = copy_of(module);
  if (!train) copy.eval();
  const jit::Method m = copy.get_method(method);
  jit::Stack stack = {copy._ivalue()};
  push_arguments(args, m.function().getSchema(), &stack);
  return run_watched(m.graph()->copy(), std::move(stack));
}

Trace trace_function(jit::Function &function, const std::vector<Const> &args) {
  jit::Stack stack;
  push_arguments(args, function.getSchema(), &stack);
  return run_watched(jit::toGraphFunction(function).graph()->copy(), std::move(stack));
}

}  // namespace rush
