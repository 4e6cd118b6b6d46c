// A whole model: what a front makes, the passes change and the writer stores.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace rush {

struct Port {
  std::string name;
  TypeRef type;
  std::optional<Const> initial;  // the default of the method's schema
  bool has_hint = false;         // what is known of a tensor:
  int dtype = RUSH_DTYPE_UNKNOWN;
  std::vector<int64_t> sizes;  // -1 where unknown
  bool rank_known = false;
};

struct Method {
  std::string name;
  std::unique_ptr<Graph> graph;  // one parameter per input, one result
  std::vector<Port> inputs, outputs;
};

// State that the program may write; rush::get_attr and rush::set_attr name it by its place.
struct Attribute {
  std::string name;  // "layer.state"
  TypeRef type;
  Const initial;
};

struct Text {
  std::string module;  // its path; "path:method" where the method is not forward
  rush_text_kind kind;
  std::string text;
};

// What a node of PyTorch's unfrozen graph gave, once.
struct Traced {
  uint64_t handle;
  std::vector<Const> results;  // none where they cannot be compared
  std::vector<Const> exact;    // in float64; as many, or none
};

// A run: its nodes by rising handle, of one handle in the order of the run.
struct Trace {
  std::vector<Traced> nodes;
  std::optional<Const> result;  // where it is known
  std::optional<Const> exact;   // the same in float64
};

// How near one tensor or number of an answer must be, as rush_file_measure says.
struct Measure {
  double rtol, atol;
  std::optional<Const> exact;  // what the program gives there in float64
};

struct Test {
  size_t method;
  std::vector<Const> inputs;
  Const output;
  float rtol, atol;
  std::vector<Measure> measures;  // of the output's tensors and numbers in their order, or none
  std::vector<Traced> traced;     // by rising handle; empty unless asked for
  bool held = false;              // the answer and its tolerances are the user's own
};

struct Program {
  std::vector<Method> methods;
  std::vector<Attribute> attributes;
  std::vector<Text> texts;
  std::vector<std::pair<std::string, std::string>> meta;
  std::vector<Test> tests;
};

}  // namespace rush
