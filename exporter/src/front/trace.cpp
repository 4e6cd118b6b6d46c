// Runs PyTorch's unfrozen graph of a method and keeps the results of each node: after each node
// another one records its results.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_set>

#include "front/from_c10.h"
#include "front/seed.h"
#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;

namespace {

// The values of a run. Uninitialized memory is kept alive, so that no other tensor gets the same
// memory.
struct Recording {
  std::vector<Traced> nodes;
  std::map<const void *, c10::Storage> open;

  bool is_open(const at::Tensor &t) const {
    return t.has_storage() && open.count(t.storage().unsafeGetStorageImpl());
  }
};
thread_local Recording *recording = nullptr;

// The effect of a node on the memory of its results.
enum Role { COMPUTES, LEAVES_OPEN, WRITES_ALL };

// The elements are uninitialized.
const std::unordered_set<std::string> kLeavesOpen = {
    "aten::empty",     "aten::empty_like",        "aten::empty_strided", "aten::empty_permuted",
    "aten::new_empty", "aten::new_empty_strided", "aten::resize_"};
const std::unordered_set<std::string> kWritesAll = {"aten::fill_",    "aten::zero_",
                                                    "aten::copy_",    "aten::normal_",
                                                    "aten::uniform_", "aten::random_"};

Role role_of(const jit::Node &node) {
  const std::string op = node.kind().toQualString();
  return kLeavesOpen.count(op) ? LEAVES_OPEN : kWritesAll.count(op) ? WRITES_ALL : COMPUTES;
}

void follow(const c10::IValue &value, int64_t role) {
  if (role == COMPUTES || !value.isTensor() || !value.toTensor().has_storage()) return;
  const at::Tensor &t = value.toTensor();
  const void *key = t.storage().unsafeGetStorageImpl();
  if (role == LEAVES_OPEN)
    recording->open.emplace(key, t.storage());
  else if (t.is_non_overlapping_and_dense() && t.nbytes() == t.storage().nbytes())
    recording->open.erase(key);
}

bool is_comparable(const c10::IValue &value) {
  if (value.isTensor()) {
    const at::Tensor &t = value.toTensor();
    return !t.is_nested() && !recording->is_open(t);
  }
  if (value.isList()) {
    const auto items = value.toListRef();
    return std::all_of(items.begin(), items.end(), is_comparable);
  }
  if (!value.isTuple()) return true;
  const auto &items = value.toTupleRef().elements();
  return std::all_of(items.begin(), items.end(), is_comparable);
}

// Replaces quantized tensors by their integers.
Const in_integers(Const value) {
  if (value.tensor.defined() && value.tensor.is_quantized())
    value.tensor = from_torch(to_torch(value.tensor).int_repr());
  for (Const &item : value.items) item = in_integers(std::move(item));
  return value;
}

// Returns none for values that cannot be compared: objects, nested tensors, uninitialized memory, and
// values that a branch with an early return leaves unset.
Const const_of(const c10::IValue &value) {
  if (!is_comparable(value)) return from_ivalue(c10::IValue());
  try {
    return in_integers(from_ivalue(value));
  } catch (const std::invalid_argument &) {
    return from_ivalue(c10::IValue());
  }
}

// rushlight::saw(int handle, int role, ...) records results of the handle's node.
void saw(jit::Stack &stack) {
  const size_t n = static_cast<size_t>(jit::pop(stack).toInt());
  if (recording) {
    Traced out;
    out.handle = static_cast<uint64_t>(jit::peek(stack, 0, n).toInt());
    const int64_t role = jit::peek(stack, 1, n).toInt();
    std::vector<Const> results;
    for (size_t i = 2; i < n; i++) {
      follow(jit::peek(stack, i, n), role);
      results.push_back(const_of(jit::peek(stack, i, n)));
    }
    out.results = snapshot(results);
    recording->nodes.push_back(std::move(out));
  }
  jit::drop(stack, n);
}

c10::Symbol saw_symbol() {
  static const jit::RegisterOperators registered(
      {jit::Operator("rushlight::saw(int handle, int role, ...) -> ()", saw,
                     c10::AliasAnalysisKind::CONSERVATIVE)});
  return c10::Symbol::fromQualString("rushlight::saw");
}

// The exporter unpacks a tuple that an `if` or a loop returns.
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
  look->addInput(graph.insertConstant(static_cast<int64_t>(role_of(*node))));
  // An unused one of several results is None: if two elements are almost equal, an index may
  // differ.
  if (!gives_tuples(*node))
    for (jit::Value *v : node->outputs())
      look->addInput(
          v->hasUses() || node->outputs().size() == 1 ? v : graph.insertConstant(c10::IValue()));
  graph.insertNode(look);
}

// Converts the values of the stack to the types of the graph.
struct Run {
  std::shared_ptr<jit::Graph> graph;
  jit::Stack stack;
  bool in_double;

  Const answer() {
    at::NoGradGuard no_grad;
    const TestSeed seed;
    const DoubleByDefault wide(in_double);
    jit::GraphOptimizerEnabledGuard plain(false);
    jit::GraphExecutor executor(graph, "trace");
    // PyTorch returns the tensor of out= after it has released it, so it is kept alive here.
    const jit::Stack kept = stack;
    executor.run(stack);
    return from_ivalue(stack.at(0));
  }
};

Trace run_watched(Run run) {
  Handles handles;
  for (jit::Node *node : handles.number(*run.graph))
    watch(*run.graph, node, handles.source(*node).handle);
  scalar_operands(*run.graph);
  if (run.in_double) widen(*run.graph);
  Trace out;
  Recording seen;
  recording = &seen;
  try {
    out.result = run.answer();
  } catch (...) {
    recording = nullptr;
    throw;
  }
  recording = nullptr;
  out.nodes = std::move(seen.nodes);
  std::stable_sort(out.nodes.begin(), out.nodes.end(),
                   [](const Traced &a, const Traced &b) { return a.handle < b.handle; });
  return out;
}

Const run_plain(Run run) {
  inline_calls_and_forks(*run.graph);
  scalar_operands(*run.graph);
  if (run.in_double) widen(*run.graph);
  return run.answer();
}

// Appends copies of the arguments, and the defaults of missing ones.
void push_arguments(const std::vector<Const> &args, const c10::FunctionSchema &schema,
                    jit::Stack *stack, bool wide) {
  std::vector<c10::IValue> given;
  for (const Const &c : snapshot(args))
    given.push_back(to_ivalue(c, schema.arguments().at(stack->size() + given.size()).type()));
  if (wide) given = in_double(c10::ivalue::Tuple::create(given)).toTuple()->elements().vec();
  stack->insert(stack->end(), given.begin(), given.end());
  for (size_t i = stack->size(); i < schema.arguments().size(); i++) {
    const c10::Argument &arg = schema.arguments()[i];
    if (!arg.default_value())
      throw std::invalid_argument("the argument '" + arg.name() + "' is missing");
    stack->push_back(*arg.default_value());
  }
}

Run run_of(const jit::Module &module, const std::string &method, const std::vector<Const> &args,
           bool train, bool in_double) {
  jit::Module copy = copy_of(module, in_double);
  if (!train) copy.eval();
  const jit::Method m = copy.get_method(method);
  Run run = {m.graph()->copy(), {copy._ivalue()}, in_double};
  push_arguments(args, m.function().getSchema(), &run.stack, in_double);
  return run;
}

Run run_of(jit::Function &function, const std::vector<Const> &args, bool in_double) {
  Run run = {jit::toGraphFunction(function).graph()->copy(), {}, in_double};
  push_arguments(args, function.getSchema(), &run.stack, in_double);
  return run;
}

}  // namespace

Trace trace_module(const jit::Module &module, const std::string &method,
                   const std::vector<Const> &args, bool train, bool in_double) {
  return run_watched(run_of(module, method, args, train, in_double));
}

Trace trace_function(jit::Function &function, const std::vector<Const> &args, bool in_double) {
  return run_watched(run_of(function, args, in_double));
}

Const run_module(const jit::Module &module, const std::string &method,
                 const std::vector<Const> &args, bool train, bool in_double) {
  return run_plain(run_of(module, method, args, train, in_double));
}

Const run_function(jit::Function &function, const std::vector<Const> &args, bool in_double) {
  return run_plain(run_of(function, args, in_double));
}

}  // namespace rush
