#include "front/reference.h"

#include <ATen/core/grad_mode.h>

#include "front/from_c10.h"
#include "front/seed.h"

namespace rush {

namespace {

// Copies the arguments, so that an in-place operator does not change the caller's. The caller keeps them
// alive during the run: PyTorch returns the tensor of out= after it has released it.
std::vector<c10::IValue> stack_of(const std::vector<Const> &args, const c10::FunctionSchema &schema,
                                  size_t first) {
  std::vector<c10::IValue> stack;
  for (const Const &c : snapshot(args))
    stack.push_back(to_ivalue(c, schema.arguments().at(first + stack.size()).type()));
  return stack;
}

}  // namespace

Reference reference_of(const torch::jit::Module &module, const TorchScriptOptions &options) {
  const bool train = options.train;
  return answering([module, train](const std::string &method, const std::vector<Const> &args) {
    const TestSeed seed;
    c10::InferenceMode no_grad(false);
    at::NoGradGuard guard;
    torch::jit::Module copy = copy_of(module);
    if (!train) copy.eval();
    const torch::jit::Method run = copy.get_method(method);
    const auto stack = stack_of(args, run.function().getSchema(), 1);
    return from_ivalue(run(stack));
  });
}

Reference reference_of(torch::jit::Function &function) {
  return answering([&function](const std::string &, const std::vector<Const> &args) {
    const TestSeed seed;
    at::NoGradGuard guard;
    const auto stack = stack_of(args, function.getSchema(), 0);
    return from_ivalue(function(stack));
  });
}

GraphAnswer graph_of(const torch::jit::Module &module, const TorchScriptOptions &options) {
  const bool train = options.train;
  return answering(
      [module, train](const std::string &method, const std::vector<Const> &args, bool in_double) {
        return run_module(module, method, args, train, in_double);
      });
}

GraphAnswer graph_of(torch::jit::Function &function) {
  return answering([&function](const std::string &, const std::vector<Const> &args,
                               bool in_double) { return run_function(function, args, in_double); });
}

}  // namespace rush
