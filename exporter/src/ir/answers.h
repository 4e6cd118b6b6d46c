// The questions that an export asks PyTorch. A front answers them.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/program.h"

namespace rush {

// PyTorch's answer from the model's first state and the seed of test vectors. Throws PyTorchError.
using Reference = std::function<Const(const std::string &method, const std::vector<Const> &args)>;

// The answer of PyTorch's own graph, in float64 or in its own dtypes. Throws
// PyTorchError, and std::invalid_argument for a graph without a float64 form.
using GraphAnswer =
    std::function<Const(const std::string &method, const std::vector<Const> &args, bool in_double)>;

// Runs PyTorch's own graph, in float64 if asked for, and keeps the values of its nodes.
using Tracer =
    std::function<Trace(const std::string &method, const std::vector<Const> &args, bool in_double)>;

// A call of an operator, without its overload. Tensors from `indices` on are those of a list.
struct OperatorCall {
  std::string op;
  std::vector<Tensor> tensors;  // copies
  size_t indices = 0;
};

// The calls of operators that PyTorch makes during a run, but not those inside of other operators.
// The run is the model's, or its graph's in float64. `wanted` has the operators' names.
using CallRecorder = std::function<std::vector<OperatorCall>(
    const std::string &method, const std::vector<Const> &args, bool in_double,
    const std::vector<std::string> &wanted)>;

// The program of an operator, as the Python package has them; nullptr if there is none.
using OperatorPrograms = std::function<std::shared_ptr<const Graph>(const std::string &op)>;

// A failure of PyTorch. Its message has no traceback; `original` is the exception as it was thrown.
struct PyTorchError : std::runtime_error {
  PyTorchError(const std::string &message, std::exception_ptr thrown)
      : std::runtime_error(message), original(std::move(thrown)) {}
  std::exception_ptr original;
};

}  // namespace rush
