// The tool `rushlight`, as a program (main.cpp) and in Python (python/module.cpp).
#pragma once

namespace rush {

// Runs a command line and returns the exit code. A process may call it once.
int run_tool(int argc, char **argv);

}  // namespace rush
