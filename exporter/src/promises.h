// What an export promises of the sizes of the first method's inputs.
#pragma once

#include "export.h"

namespace rush {

// What the options say, all of it, by rising input and dimension. Throws std::invalid_argument for
// an input or dimension that the examples do not have, and where no size is left.
std::vector<Promise> promises_of(const Program &program, const ExportOptions &options,
                                 const std::vector<Example> &examples);

// A size that a tensor of an argument may have, too.
struct GrownSize {
  size_t leaf;
  int64_t dim, size;

  bool operator==(const GrownSize &o) const {
    return leaf == o.leaf && dim == o.dim && size == o.size;
  }
};
using Grown = std::vector<GrownSize>;

// Calls f on every tensor inside an argument, also on those that are made up.
template <class F>
void each_given(const Const &value, F f) {
  if (value.tensor.defined()) f(value.tensor);
  for (const Const &item : value.items) each_given(item, f);
}

// Other sizes that are promised, for each argument, all at once: larger by one, doubled, and odd ones
// where these two are even; none where no size varies.
std::vector<std::vector<Grown>> growing(const std::vector<Promise> &promises,
                                        const std::vector<Const> &args);

}  // namespace rush
