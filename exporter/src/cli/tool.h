// The tool `rushlight`.
#pragma once

#include <functional>

#include "run/diff.h"

namespace rush {

struct CommandLine;

// The commands that run PyTorch; none without it.
struct TorchCommands {
  std::function<int(CommandLine &line)> run_export;
  std::function<Divergence(const CommandLine &line, NativeSession &session)> diff_with;
};

// Runs a command line and returns its exit status. A process may call it once.
int run_tool(int argc, char **argv, const TorchCommands &commands = {});

}  // namespace rush
