// The TorchScript front. Only this folder uses torch::jit.
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
  bool train = false;  // keep training mode as it is
  bool texts = true;   // keep PyTorch's graph and code text
  bool sources = true;
};

// Does not change the module. Throws std::invalid_argument for a model that cannot be exported.
Program from_module(const torch::jit::Module &module, const TorchScriptOptions &options);

// A free function becomes the method "forward".
Program from_function(torch::jit::Function &function, const TorchScriptOptions &options);

// TorchScript names the overloads of a method name__0, name__1, .... Returns the module with the first
// that fits as `name`, too; none if the module has that method, or if no overload fits.
std::optional<torch::jit::Module> with_overload(
    const torch::jit::Module &module, const std::string &name,
    const std::function<bool(const c10::FunctionSchema &)> &fits);

// The module whose forward also runs its forward hooks and pre-hooks; none if it has none.
std::optional<torch::jit::Module> with_hooks(const torch::jit::Module &module);

// The module or function with named tuples as inputs and results in place of enums and of objects of
// the program's classes; none if there are no such inputs and results.
std::optional<torch::jit::Module> with_boundary_tuples(const torch::jit::Module &module);
std::optional<torch::jit::StrongFunctionPtr> with_boundary_tuples(
    const torch::jit::StrongFunctionPtr &function);

// The values of every node of a method in a run of PyTorch's own graph, from the module's state and
// with the seed of test vectors, in float64 if asked for. Throws what PyTorch throws, and
// std::invalid_argument for a graph without a float64 form.
Trace trace_module(const torch::jit::Module &module, const std::string &method,
                   const std::vector<Const> &args, bool train, bool in_double = false);
Trace trace_function(torch::jit::Function &function, const std::vector<Const> &args,
                     bool in_double = false);
// The answer alone.
Const run_module(const torch::jit::Module &module, const std::string &method,
                 const std::vector<Const> &args, bool train, bool in_double);
Const run_function(torch::jit::Function &function, const std::vector<Const> &args, bool in_double);

// The message of PyTorch's error without the traceback of the code that ran.
std::string reason_of(const std::exception &error);

// The inputs of a method.
std::vector<Port> inputs_of(const torch::jit::Module &module, const std::string &method);

// Loads a .pt file of a traced or scripted model. It runs code of that file, which must be trusted.
torch::jit::Module load_torchscript(const std::string &path);

// The program of an operator, if operators/ has one; else nullptr.
std::shared_ptr<const Graph> program_of_operator(const std::string &op);
// The operator whose program computes with complex numbers, "aten::conv2d.of_complex" for "aten::conv2d",
// if operators/ has one; else op itself. The second function does the reverse.
std::string for_complex(const std::string &op);
std::string for_any_dtype(const std::string &op);
// The names of all functions in operators/, and the schema of one.
std::vector<std::string> operator_program_names();
std::string operator_program_schema(const std::string &name);

// A copy with all of its state, in float64 if asked for. Tensors that share memory share memory in the
// copy, too.
torch::jit::Module copy_of(const torch::jit::Module &module, bool in_double = false);

// Makes the settings of PyTorch that a reference run needs: no tensor-expression fuser (its code
// generation does not end for some graphs).
void prepare_torchscript();

}  // namespace rush
