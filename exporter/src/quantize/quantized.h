// What fewer bits cost.
#pragma once

#include <cstdint>
#include <string>

#include "ir/program.h"

namespace rush {

// What came of it. Of the answer that is furthest from PyTorch's: the greatest difference in units
// of the greatest element, the norm of the difference in units of that of the answer, and the cosine
// of the angle between the two.
struct Quantized {
  std::string name;             // as users write it; "" where nothing was wanted
  size_t layers = 0, kept = 0;  // layers that have fewer bits now, and that could have and have not
  uint64_t before = 0, after = 0;  // bytes of the former's weights
  bool measured = false;           // these are known:
  double max = 0, l2 = 0, cosine = 1;
  bool has_rows =
      false;  // values decide how many rows an answer has: so many in PyTorch's answers,
  size_t rows = 0, own_rows = 0, matched_rows = 0;  // in these, and which belong together
};

// Measures how far an answer is from PyTorch's. Throws std::runtime_error, saying where, if they are
// not of the same kinds, dtypes and sizes, or not finite in the same places.
void add_distance(const Const &got, const Const &want, Quantized *out);

// The answer of a quantized file as what a test vector expects: other runtimes round activations
// otherwise, so right is what is as near to it as it is to PyTorch's. False, and the vector is as it
// was, where sizes or values that are no floating-point numbers are not PyTorch's.
bool expect_own(const Const &own, Test *test);

std::string to_string(const Quantized &quantized);

}  // namespace rush
