// Values inside of a program, and PyTorch's values in the same places.
#pragma once

#include <optional>
#include <set>

#include "run/native.h"

namespace rush {

// While it lives, a method returns only a list of these values, and the program has no test
// vectors.
class Observing {
 public:
  Observing(Program *program, size_t method, const std::vector<Value *> &values);
  ~Observing();
  Observing(const Observing &) = delete;

 private:
  Program *program_;
  Method &method_;
  Value *result_;
  Node *list_;
  std::vector<Port> outputs_;
  std::vector<Test> tests_;
};

// A call of an operator that compares elements, or whose result's size depends on values.
struct Filter {
  std::string op;               // without overload
  std::vector<Tensor> tensors;  // its floating-point arguments
  bool is_of_size;              // its result's size depends on values
  std::string where;            // of the program's: "aten::nonzero at net.py:12"
};

// Returns the operators, without overloads, that may be filters.
std::vector<std::string> filter_ops();
// A call with its tensors, of which those from `indices` on select elements; nullopt if it is no
// filter.
std::optional<Filter> filter_of(const std::string &op, const std::vector<Tensor> &tensors,
                                size_t indices);
// Adds a filter unless there is an equal one.
void add_filter(std::vector<Filter> *all, std::optional<Filter> more);

// The filters of a program. It is made before the passes run, which replace operators by others,
// some of which would be filters, too.
class Filters {
 public:
  explicit Filters(const Program &program);
  // Returns whether one has a result whose size depends on values.
  bool any_of_size() const;
  // Runs the first method and returns its filters, as PyTorch calls them, and the nodes whose
  // results' sizes depended on values. Throws RuntimeError.
  std::vector<Filter> during(Program *program, const std::vector<Const> &args, const Opener &open,
                             std::set<const Node *> *of_size = nullptr) const;

 private:
  std::vector<std::pair<uint64_t, std::string>> known_;  // handles and operators
};

}  // namespace rush
