// The options of an export, and the answers with which it compares its file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/answers.h"
#include "ir/constraint.h"
#include "ir/program.h"
#include "passes/decompose.h"
#include "quantize/quantize.h"

namespace rush {

// One call of a method, to verify with or to store as a test vector.
struct Example {
  std::string method = "forward";
  std::vector<Const> args;        // RANDOM for synthetic ones
  std::optional<Const> expected;  // else the reference answers
  double rtol = -1, atol = -1;    // negative: by dtype
  bool given = false;             // `expected` is the user's own
  bool literal = false;           // the tolerances are the user's own, and no other rule applies
  bool store = false;             // it becomes a test vector as it is
  bool synthetic = false;         // other values of an example's sizes, which are compared
  bool only_compared = false;     // no synthetic example is made from it
  std::string new_sizes;          // its sizes if they are not the example's; else ""
};

// An input as it stands on the command line.
struct InputSpec {
  std::string name;            // "" if it has none
  std::optional<Const> value;  // a given tensor or number, or
  rush_dtype dtype = RUSH_FLOAT32;
  std::vector<int64_t> sizes;  // -1: unknown
  double lo = -1, hi = 1;
  std::string text;       // as typed: the value of an input that is not a tensor
  bool is_tensor = true;  // `text` describes one
};

// New names for the inputs and outputs of a method, by place.
struct PortNames {
  std::string method;  // "": the first one
  std::vector<std::string> inputs, outputs;
};

// Constraints on the sizes of an input. Dimensions may count from the end. Several constraints on
// one size hold together.
struct InputSizes {
  std::string method;  // "": the first one
  std::string input;
  std::vector<Constraint> constraints;
};

struct ExportOptions {
  std::string path;
  std::vector<InputSpec> inputs;  // of the first method
  // Further examples to verify with, of the first method: each has as many inputs as `inputs`.
  std::vector<InputSpec> test_inputs;
  std::vector<PortNames> port_names;
  std::vector<InputSizes> dynamic;
  std::vector<Example> examples;
  bool tracer_warned = false;  // PyTorch's tracer warned of values that it fixes
  bool verify = true;
  bool test_vectors = true;  // store synthetic ones, made from inputs or examples
  bool allow_missing = false;
  std::vector<Asset> assets;
  Bits bits;
  std::vector<std::vector<Const>> calibration;  // arguments of the first method; else the examples'
  Decompositions decompositions;
  std::string dump_after;
  std::function<void(const std::string &)> dump;
  GraphAnswer graph;  // if given, answers are measured in float64, too
  bool graph_is_reference = false;
  Tracer tracer;  // if given, the first test vector gets a trace
  CallRecorder calls;
  OperatorPrograms operator_programs;
};

}  // namespace rush
