// PyTorch's own answers for a TorchScript module or function.
#pragma once

#include "export/options.h"
#include "front/torchscript.h"

namespace rush {

// Returns a function that runs the module. Each call runs on a copy, so that it starts from the
// module's state.
Reference reference_of(const torch::jit::Module &module, const TorchScriptOptions &options);
Reference reference_of(torch::jit::Function &function);

// Returns a function that runs the same graph, also in float64.
GraphAnswer graph_of(const torch::jit::Module &module, const TorchScriptOptions &options);
GraphAnswer graph_of(torch::jit::Function &function);

}  // namespace rush
