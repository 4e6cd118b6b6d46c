// The table of all passes, in their order.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "export/options.h"
#include "quantize/quantized.h"
#include "run/native.h"

namespace rush {

// Some passes need this besides the program.
struct PassContext {
  const ExportOptions &options;
  const std::vector<Example> &examples;
  const std::vector<Constraint> &constraints;
  Opener open;
  Quantized *quantized;  // gets the result of quantizing
};

// Each returns whether it changed anything.
using Rewrite =
    std::variant<bool (*)(Graph &), bool (*)(Program &), bool (*)(Program &, const PassContext &)>;

struct Pass {
  const char *stage;  // "prepare", "lower", "quantize" or "late"
  const char *name;   // a pass may run in several stages
  Rewrite rewrite;
  bool until_stable = false;
  std::vector<std::string> removed = {};  // operators that do not exist after this pass
};

const std::vector<Pass> &pipeline();

// Returns the first row of that name. Throws std::invalid_argument with all names if there is none.
const Pass &find_pass(const std::string &name);

// Runs a pass once; returns whether it changed anything.
bool run_pass(const Pass &pass, Program &program, const PassContext &context);

// Runs all passes and verifies the program after each. Calls options.dump with the text of each
// method after each run of the pass options.dump_after, or at the end of the stage of that name.
// Throws std::invalid_argument if no pass or stage has that name.
void run_pipeline(Program &program, const PassContext &context);

}  // namespace rush
