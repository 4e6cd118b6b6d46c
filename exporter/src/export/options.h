// What an export is asked to do, and what it compares its file with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/constraint.h"
#include "ir/program.h"
#include "passes/decompose.h"
#include "quantize/quantize.h"

namespace rush {

// One call of a method, to verify with or to store as a test vector.
struct Example {
  std::string method = "forward";
  std::vector<Const> args;        // RANDOM where made up
  std::optional<Const> expected;  // else the reference answers
  double rtol = -1, atol = -1;    // negative: by dtype
  bool given = false;             // what is expected is the user's own
  bool literal = false;           // the tolerances are, and nothing else makes an answer right
  bool store = false;             // as a test vector, as it is
  bool made_up = false;           // other values of an example's sizes, to compare
  bool only_compared = false;     // nothing is made like it
  std::string grown;  // the sizes, where it was made to see what changes with dynamic ones; else ""
};

// An input as the command line gives it.
struct InputSpec {
  std::string name;            // "" where not named
  std::optional<Const> value;  // a given tensor or number, or
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> sizes;  // -1: unknown
  double lo = -1, hi = 1;
  std::string text;       // as typed: the value of an input that is no tensor
  bool is_tensor = true;  // `text` describes one
};

// Answers as PyTorch does, from the model's first state. Throws what PyTorch throws.
using Reference = std::function<Const(const std::string &method, const std::vector<Const> &args)>;

// What PyTorch's own graph answers: in float64, or in the dtypes that it has. Throws what PyTorch
// throws, and std::invalid_argument for what has no float64 form.
using GraphAnswer =
    std::function<Const(const std::string &method, const std::vector<Const> &args, bool in_double)>;

// A run of PyTorch's own graph, in float64 where asked for, with what its nodes give.
using Tracer =
    std::function<Trace(const std::string &method, const std::vector<Const> &args, bool in_double)>;

struct ExportOptions {
  std::string path;
  std::vector<InputSpec> inputs;  // of the first method
  // Further examples to verify with, of the first method: each has as many inputs as `inputs`.
  std::vector<InputSpec> test_inputs;
  std::vector<std::string> input_names;   // of the first method, by place
  std::vector<std::string> output_names;  // of the first method
  // (input of the first method, constraints on its sizes); dimensions may count from the end.
  // Several constraints on one size all hold.
  std::vector<std::pair<std::string, std::vector<Constraint>>> dynamic;
  std::vector<Example> examples;
  bool tracer_warned = false;  // PyTorch's tracer told of what it fixes
  bool verify = true;
  bool test_vectors = true;  // store synthetic ones made from inputs or examples
  bool allow_missing = false;
  Bits bits;
  std::vector<std::vector<Const>> calibration;  // arguments of the first method; else the examples'
  Decompositions decompositions;
  std::string dump_after;
  std::function<void(const std::string &)> dump;
  GraphAnswer graph;  // where given, answers are measured in float64, too
  bool graph_is_reference = false;
  Tracer tracer;  // where given, the first test vector gets a trace
};

}  // namespace rush
