// Looking at values inside of a program, and at what PyTorch has in the same places.
#pragma once

#include <set>

#include "run/native.h"

namespace rush {

// While it lives, a method returns these values as a list, and nothing else; the program has no test
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

// Those that PyTorch calls during a run, in their order, each of a kind with the same values once.
std::vector<Filter> filters_during(const std::function<void()> &run);

// The filters of a program. Passes make operators of others: those that are looked at stood in the
// program before them.
class Filters {
 public:
  explicit Filters(const Program &program);
  // Whether the result's size of one may depend on values.
  bool any_of_size() const;
  // As filters_during(), of a run of the first method, and the nodes whose results' sizes depended on
  // values. Throws RuntimeError.
  std::vector<Filter> during(Program *program, const std::vector<Const> &args, const Opener &open,
                             std::set<const Node *> *of_size = nullptr) const;

 private:
  std::vector<std::pair<uint64_t, std::string>> known_;  // handles and operators
};

}  // namespace rush
