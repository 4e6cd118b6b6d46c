// A whole model. A front makes it, the passes change it, and the writer stores it.
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
  bool has_hint = false;         // dtype and sizes of a tensor are known:
  int dtype = RUSH_DTYPE_UNKNOWN;
  std::vector<int64_t> sizes;  // -1 if unknown
  bool rank_known = false;
};

struct Method {
  std::string name;
  std::unique_ptr<Graph> graph;  // one parameter per input, one result
  std::vector<Port> inputs, outputs;
};

// State that the program may write. rush::get_attr and rush::set_attr name it by its index.
struct Attribute {
  std::string name;  // "layer.state"
  TypeRef type;
  Const initial;
};

struct Text {
  std::string module;  // its path; "path:method" unless the method is forward
  rush_text_kind kind;
  std::string text;
};

// The values that a node of PyTorch's unfrozen graph gave once.
struct Traced {
  uint64_t handle;
  std::vector<Const> results;  // none if they cannot be compared
  std::vector<Const> exact;    // in float64; as many, or none
};

// A run: its nodes by rising handle, those of one handle in the order of the run.
struct Trace {
  std::vector<Traced> nodes;
  std::optional<Const> result;  // if it is known
  std::optional<Const> exact;   // the same in float64
};

// The tolerance for one tensor or number of an answer, as in rush_file_measure.
struct Measure {
  double rtol, atol;
  std::optional<Const> exact;  // the program's value in float64
};

struct Test {
  size_t method;
  std::vector<Const> inputs;
  Const output;
  float rtol, atol;
  std::vector<Measure> measures;  // of the output's tensors and numbers in their order, or none
  std::vector<Traced> traced;     // by rising handle; empty unless asked for
  bool from_user = false;         // the answer and its tolerances are the user's own
};

// A file for the application, which the program does not read.
struct Asset {
  std::string name, bytes;
};

struct Program {
  std::vector<Method> methods;
  std::vector<Attribute> attributes;
  std::vector<Text> texts;
  std::vector<std::pair<std::string, std::string>> meta;
  std::vector<Test> tests;
  std::vector<Asset> assets;
};

}  // namespace rush
