// Compares answers.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "rushlight/verdict.h"

namespace rush {

struct Difference {
  bool ok = true;
  double max_abs = 0, max_rel = 0;  // over all floating-point elements
  std::string where;                // the first value that differs: "output[0]: ..."
  uint64_t measured = 0;            // values with an answer in float64; the distances of that one
  rush_distance pytorch = {}, rushlight = {}, difference = {};  // which is furthest from it
};

// Compares by the rule of rushlight/verdict.h, inside any structure. Values other than floating
// point, kinds, dtypes and sizes must be equal. Without `measures` (for the values of `want`, in
// order) it is torch.allclose(got, want, rtol, atol, equal_nan=True). `several` has PyTorch's
// distances from float64 on several inputs, for the same values; kSeveralMultiple times that
// distance is right, too.
Difference compare(const Const &got, const Const &want, double rtol, double atol,
                   const std::string &name, const std::vector<Measure> *measures = nullptr,
                   const std::vector<rush_distance> *several = nullptr);
constexpr double kSeveralMultiple = 4;

// Returns the tensors and numbers inside of a value, in order; these have measures.
std::vector<const Const *> measured_values(const Const &value);
// Returns the distances of these values of an answer from float64's: none if the structures differ,
// and 0 for values that float64 does not judge.
std::vector<rush_distance> distances_of(const Const &answer, const Const &exact);
// Returns whether a measured value is a floating-point or complex one, and its elements as doubles.
bool is_float_like(const Const &value);
std::vector<double> elements(const Const &value);

// The tolerance for the answer of a whole model: the coarsest dtype inside decides. Python's floats
// count as float32 if they were taken out of such tensors.
void default_tolerance(const Const &value, bool floats_from_float32, double *rtol, double *atol);

// Returns the measures of an answer; `exact` is float64's, if it is known. Values that differ in
// float64 count as float32, whatever their dtype. `unstable` becomes true if the answer depends on
// rounding: in float64 other elements are chosen, or other branches are taken.
std::vector<Measure> measures_of(const Const &want, const Const *exact, bool floats_from_float32,
                                 bool *unstable);

// Returns the random tensor of format.h: the values follow from dtype, sizes, seed and bounds.
Const random_constant(rush_dtype dtype, const std::vector<int64_t> &sizes, uint64_t seed, double lo,
                      double hi);

}  // namespace rush
