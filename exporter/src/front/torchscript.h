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

// The module whose forward runs its forward hooks and pre-hooks, too; none where it has none.
std::optional<torch::jit::Module> with_hooks(const torch::jit::Module &module);

// The module or function whose enums, and objects of the program's classes, are named tuples where
// they come in or go out; none where there are none.
std::optional<torch::jit::Module> with_plain_values(const torch::jit::Module &module);
std::optional<torch::jit::StrongFunctionPtr> with_plain_values(
    const torch::jit::StrongFunctionPtr &function);

// What every node of a method gives in a run of PyTorch's own graph, from the module's state and
// with the seed of test vectors; in float64, where asked for. Throws what PyTorch throws, and
// std::invalid_argument for what has no float64 form.
Trace trace_module(const torch::jit::Module &module, const std::string &method,
                   const std::vector<Const> &args, bool train, bool in_double = false);
Trace trace_function(torch::jit::Function &function, const std::vector<Const> &args,
                     bool in_double = false);
// The answer alone.
Const run_module(const torch::jit::Module &module, const std::string &method,
                 const std::vector<Const> &args, bool train, bool in_double);
Const run_function(torch::jit::Function &function, const std::vector<Const> &args, bool in_double);

// What an error of PyTorch's says is wrong, without the traceback of the code that ran.
std::string reason_of(const std::exception &error);

// The inputs of a method.
std::vector<Port> inputs_of(const torch::jit::Module &module, const std::string &method);

// Loads a .pt file saved by tracing or scripting. Runs code of that file: trusted input only.
torch::jit::Module load_torchscript(const std::string &path);

// The graph of others that an operator of aten's is made of, where operators/ has one; else nullptr.
std::shared_ptr<const Graph> program_of_operator(const std::string &op);
// The operator whose program computes with complex numbers, "aten::conv2d.of_complex" of "aten::conv2d",
// where operators/ has one; else op itself. And back.
std::string for_complex(const std::string &op);
std::string for_any_dtype(const std::string &op);
// All functions in operators/, and the schema of one, which is compiled.
std::vector<std::string> operator_program_names();
std::string operator_program_schema(const std::string &name);

// A copy with all of its state, in float64 where asked for; tensors that share memory share memory
// in it.
torch::jit::Module copy_of(const torch::jit::Module &module, bool in_double = false);

// PyTorch's settings that a reference run needs: no tensor-expression fuser (its code generation
// does not end on some graphs).
void prepare_torchscript();

}  // namespace rush
