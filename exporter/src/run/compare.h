// Comparing answers, and values to compare with.
#pragma once

#include <string>
#include <vector>

#include "ir/const.h"

namespace rush {

struct Difference {
  bool ok = true;
  double max_abs = 0, max_rel = 0;  // over all floating-point elements
  std::string where;                // of the first value that differs: "output[0]: ..."
};

// As torch.allclose(got, want, rtol, atol, equal_nan=True), inside any structure; what is not
// floating point must be equal, and so must kinds, dtypes and sizes.
Difference compare(const Const &got, const Const &want, double rtol, double atol,
                   const std::string &name);

// What a float dtype deserves when a whole model is compared: the coarsest dtype inside decides.
void default_tolerance(const Const &value, double *rtol, double *atol);

// The random tensor of format.h: the values follow from dtype, sizes, seed and bounds.
Const random_constant(at::ScalarType dtype, const std::vector<int64_t> &sizes, uint64_t seed,
                      double lo, double hi);

// Copies every storage once; views keep their strides and share what they shared.
std::vector<Const> snapshot(const std::vector<Const> &values);

}  // namespace rush
