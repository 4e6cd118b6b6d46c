// Constraints on the sizes of the first method's inputs.
#pragma once

#include "export/options.h"

namespace rush {

// What the options say, all of it, by rising input and dimension. Throws std::invalid_argument for
// an input or dimension that the examples do not have, and where no size is left.
std::vector<Constraint> constraints_of(const Program &program, const ExportOptions &options,
                                       const std::vector<Example> &examples);

// Has the program refuse sizes that are not the multiples that the constraints ask for. Of tensors inside of lists
// and dicts they are tried, and not checked.
void check_multiples(Program &program, const std::vector<Constraint> &constraints);

// A size that a tensor of an argument may have, too.
struct GrownSize {
  size_t leaf;
  int64_t dim, size;

  bool operator==(const GrownSize &o) const {
    return leaf == o.leaf && dim == o.dim && size == o.size;
  }
};
using Grown = std::vector<GrownSize>;

// Sizes to try, of each argument.
struct Trial {
  std::vector<Grown> sizes;
  bool smaller;  // than the example's, some of them
};

// Calls f on every tensor inside an argument, also on those that are made up.
template <class F>
void each_given(const Const &value, F f) {
  if (value.tensor.defined()) f(value.tensor);
  for (const Const &item : value.items) each_given(item, f);
}

// Other sizes that the constraints allow, for each argument. All at once: larger by one, doubled, odd ones
// where these two are even, 1 and 2, or the least that is allowed; and 1 for each name alone. None
// where no size varies.
std::vector<Trial> trials(const std::vector<Constraint> &constraints,
                          const std::vector<Const> &args);

}  // namespace rush
