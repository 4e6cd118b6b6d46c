// The TorchScript front: the only place that knows torch::jit.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace rush {

struct TorchScriptOptions {
  std::vector<std::string> methods = {"forward"};
  bool train = false;  // leave training mode as it is
  bool texts = true;   // keep PyTorch's graph and code text
  bool sources = true;
};

// The module itself is not changed. Throws std::invalid_argument for what cannot be exported.
Program from_module(const torch::jit::Module &module, const TorchScriptOptions &options);

// A free function becomes the method "forward".
Program from_function(torch::jit::Function &function, const TorchScriptOptions &options);

// TorchScript names the overloads of a method name__0, name__1, ...: the module with the first that
// fits as `name` besides; none where the module has that method, or no overload fits.
std::optional<torch::jit::Module> with_overload(
    const torch::jit::Module &module, const std::string &name,
    const std::function<bool(const c10::FunctionSchema &)> &fits);

// What every node of a method gives in a run of PyTorch's own graph, from the module's state and
// with the seed of test vectors. Throws what PyTorch throws.
Trace trace_module(const torch::jit::Module &module, const std::string &method,
                   const std::vector<Const> &args, bool train);
Trace trace_function(torch::jit::Function &function, const std::vector<Const> &args);

// The inputs of a method.
std::vector<Port> inputs_of(const torch::jit::Module &module, const std::string &method);

// Loads a .pt file saved by tracing or scripting. Runs code of that file: trusted input only.
torch::jit::Module load_torchscript(const std::string &path);

// The graph of others that an operator of aten's is made of, where it is one of
// operator_programs.cpp; else nullptr.
std::shared_ptr<const Graph> program_of_operator(const std::string &op);

// A copy with all of its state; tensors that share memory share memory in it.
torch::jit::Module copy_of(const torch::jit::Module &module);

// PyTorch's settings that a reference run needs: no tensor-expression fuser (its code generation
// does not end on some graphs).
void prepare_torchscript();

}  // namespace rush
