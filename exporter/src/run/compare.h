// Comparing answers, and values to compare with.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "rushlight/verdict.h"

namespace rush {

struct Difference {
  bool ok = true;
  double max_abs = 0, max_rel = 0;  // over all floating-point elements
  std::string where;                // of the first value that differs: "output[0]: ..."
  uint64_t measured = 0;            // values whose answer in float64 is known; of the one of these
  rush_distance pytorch = {}, own = {}, between = {};  // that is furthest from it
};

// By the rule of rushlight/verdict.h, inside any structure; what is not floating point must be
// equal, and so must kinds, dtypes and sizes. Without `measures` (of the values of `want`, in their
// order) as torch.allclose(got, want, rtol, atol, equal_nan=True). `several`: how far PyTorch's answers
// to several inputs are from float64's, of the same values; kSeveralMultiple times as far is right, too.
Difference compare(const Const &got, const Const &want, double rtol, double atol,
                   const std::string &name, const std::vector<Measure> *measures = nullptr,
                   const std::vector<rush_distance> *several = nullptr);
constexpr double kSeveralMultiple = 4;

// The tensors and numbers inside, which have measures, in their order.
std::vector<const Const *> measured_values(const Const &value);
// How far these values of an answer are from float64's; none where they are not built alike, and 0 of what
// float64 tells nothing about.
std::vector<rush_distance> distances_of(const Const &answer, const Const &exact);
// Of measured values: whether it is a floating-point or complex one, and its elements then, as doubles.
bool is_float_like(const Const &value);
std::vector<double> elements(const Const &value);

// What a float dtype deserves when a whole model is compared: the coarsest dtype inside decides.
// Python's floats are of float32, where they were taken out of such tensors.
void default_tolerance(const Const &value, bool single_numbers, double *rtol, double *atol);

// The measures of an answer, of which float64's is known or not. Of float32 is also what has another
// value in float64, whatever its dtype. `astray` becomes true where the answer hangs on how numbers
// round: in float64 other elements are chosen, or other branches taken.
std::vector<Measure> measures_of(const Const &want, const Const *exact, bool single_numbers,
                                 bool *astray);

// The random tensor of format.h: the values follow from dtype, sizes, seed and bounds.
Const random_constant(at::ScalarType dtype, const std::vector<int64_t> &sizes, uint64_t seed,
                      double lo, double hi);

}  // namespace rush
