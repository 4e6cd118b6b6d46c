// The commands of the tool that run PyTorch.
#pragma once

#include "cli/tool.h"

namespace rush {

TorchCommands torch_commands();

}  // namespace rush
