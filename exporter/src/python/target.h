// The models that Python hands to the exporter, and PyTorch's answers for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "export/options.h"
#include "front/torchscript.h"
#include "python/values.h"

namespace rush {

// A model in TorchScript, or a program that Python made.
struct Target {
  std::optional<torch::jit::Module> module;
  std::optional<torch::jit::StrongFunctionPtr> function;
  const Program *program = nullptr;

  size_t argument_count(const std::string &method) const;
  Const argument(const std::string &method, size_t i, py::handle value) const;
  Const result(const std::string &method, py::handle value) const;

 private:
  size_t first_argument() const { return module ? 1 : 0; }
  const c10::FunctionSchema &schema(const std::string &method) const;
  const Method &method_of(const std::string &name) const;
};

// `args` choose between overloads of forward.
Target target_of(py::object object, const py::tuple &args);

Example example_of(const py::dict &from, const Target &target);

// Answers and traces of a model that Python runs.
Reference python_reference(py::object call, const Target &target);
GraphAnswer python_graph(py::object call, const Target &target);
Tracer python_tracer(py::object call);
// Traces of a model that runs here.
Tracer tracer_of(const Target &target, bool train);

}  // namespace rush
