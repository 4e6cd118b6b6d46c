// Constraints on the sizes of inputs.
#pragma once

#include "export/options.h"

namespace rush {

// Returns all constraints of the options, sorted by method, input and dimension. Throws
// std::invalid_argument for an input or dimension that the examples do not have, and if no size
// fulfils them.
std::vector<Constraint> constraints_of(const Program &program, const ExportOptions &options,
                                       const std::vector<Example> &examples);

// Makes the program refuse sizes that are not multiples as the constraints require. Sizes of
// tensors inside of lists and dicts are tried, but not checked.
bool check_multiples(Program &program, const std::vector<Constraint> &constraints);

// Another size of one of the tensors in an argument.
struct NewSize {
  size_t leaf;
  int64_t dim, size;

  bool operator==(const NewSize &o) const {
    return leaf == o.leaf && dim == o.dim && size == o.size;
  }
};
using NewSizes = std::vector<NewSize>;

// Sizes to try for each argument.
struct Trial {
  std::vector<NewSizes> sizes;
  bool smaller;  // some are smaller than the example's
};

// Calls f with every tensor inside an argument, also with synthetic ones.
template <class F>
void each_tensor_inside(const Const &value, F f) {
  if (value.tensor.defined()) f(value.tensor);
  for (const Const &item : value.items) each_tensor_inside(item, f);
}

// Returns other sizes that the constraints allow, for each argument of a method. All sizes change
// at once: larger by one, doubled, odd ones if these two are even, 1 and 2, or the smallest that is
// allowed. Then each name alone is 1. Returns none if no size varies.
std::vector<Trial> trial_inputs(const std::vector<Constraint> &constraints, size_t method,
                                const std::vector<Const> &args);

}  // namespace rush
