// Values inside of a program, and PyTorch's values in the same places.
#pragma once

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
  std::string op;                   // without overload
  std::vector<at::Tensor> tensors;  // its floating-point arguments
  bool is_of_size;                  // its result's size depends on values
  std::string where;                // of the program's: "aten::nonzero at net.py:12"
};

// The filters that PyTorch calls during a run, in their order and without duplicates.
std::vector<Filter> filters_during(const std::function<void()> &run);

// The filters of a program. It is made before the passes run, which replace operators by others, some
// of which would be filters, too.
class Filters {
 public:
  explicit Filters(const Program &program);
  // Whether one has a result whose size depends on values.
  bool any_of_size() const;
  // Runs the first method and returns its filters, as filters_during() does, and the nodes whose
  // results' sizes depended on values. Throws RuntimeError.
  std::vector<Filter> during(Program *program, const std::vector<Const> &args, const Opener &open,
                             std::set<const Node *> *of_size = nullptr) const;

 private:
  std::vector<std::pair<uint64_t, std::string>> known_;  // handles and operators
};

}  // namespace rush
