// PyTorch's own answers for a TorchScript module or function.
#pragma once

#include "base/runtime_error.h"
#include "front/torchscript.h"
#include "ir/answers.h"

namespace rush {

// Returns a function that runs the module. Each call runs on a copy, so that it starts from the
// module's state.
Reference reference_of(const torch::jit::Module &module, const TorchScriptOptions &options);
Reference reference_of(torch::jit::Function &function);

// Returns a function that runs the same graph, also in float64.
GraphAnswer graph_of(const torch::jit::Module &module, const TorchScriptOptions &options);
GraphAnswer graph_of(torch::jit::Function &function);

// Records operators (CallRecorder).
std::vector<OperatorCall> calls_during(const std::function<void()> &run,
                                       bool (*wanted)(const std::string &op));

// Calls f, and throws PyTorchError for what PyTorch throws. Refusals of our own pass.
template <class F>
auto answer_of(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const RuntimeError &) {
    throw;
  } catch (const PyTorchError &) {
    throw;
  } catch (const std::invalid_argument &) {
    throw;
  } catch (const std::exception &e) {
    throw PyTorchError(reason_of(e), std::current_exception());
  }
}

// The function that answers with f in this way.
template <class F>
auto answering(F f) {
  return [f](const auto &...arguments) { return answer_of([&] { return f(arguments...); }); };
}

}  // namespace rush
