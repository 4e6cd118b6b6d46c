// The tool `rushlight`, as a program (main.cpp) and in Python (python/module.cpp).
#pragma once

namespace rush {

// Does what the command line says; the exit code. May be called once in a process.
int run_tool(int argc, char **argv);

}  // namespace rush
