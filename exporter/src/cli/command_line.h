// The command line of the tool `rushlight`.
#pragma once

#include <string>
#include <vector>

#include "export/options.h"
#include "rushlight/rushlight.h"

namespace rush {

// A wrong command line. The tool prints the message with a hint at --help.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CommandLine {
  std::string command;                    // export, inspect, verify, diff, help or version
  std::vector<std::string> files;         // positional
  std::vector<std::string> methods;       // empty: forward
  std::vector<std::string> libraries;     // shared objects that register operators
  std::string weights;                    // inspect --weights
  std::string torch;                      // diff --torch
  double rtol = -1, atol = -1;            // diff; negative: by dtype
  uint64_t max_bytes = 0, max_steps = 0;  // verify, diff; 0: no limit
  rush_describe_form form = RUSH_DESCRIBE_TEXT;
  bool train = false, sources = true, trace = false;
  ExportOptions options;

  bool json() const { return form == RUSH_DESCRIBE_JSON; }
};

CommandLine parse_command_line(int argc, char **argv);
extern const char kHelp[];

// "image=1x3x224x224:float32:0..1", "ids=@ids.npy", "n=5"; throws UsageError.
InputSpec parse_input(const std::string &text);

// Returns a NumPy file; throws std::runtime_error.
Tensor read_npy(const std::string &path);

}  // namespace rush
