// Measures how far PyTorch's answers are from those of the same program in float64.
#pragma once

#include "export/options.h"

namespace rush {

struct Measured {
  std::vector<Measure> list;  // for each tensor and number of the expected answer
  bool unstable = false;      // rounding decides the answer, which cannot be a test vector
  std::string why_not;        // the reason if float64's answer is not known; else ""
};

class Measurer {
 public:
  Measurer(const Program &program, const ExportOptions &options);
  // Runs the example, which is answered, in float64.
  Measured operator()(const Example &example) const;
  // Describes how the answer of PyTorch's graph differs from the model's by more than rounding; ""
  // if it does not. A trace that fixed a decision of the model causes such a difference.
  std::string graph_differs(const Example &example) const;
  // Returns the largest distance of PyTorch from float64 for each value, over several inputs like
  // the example's, because a single input may be lucky. The result is empty if it is not known.
  std::vector<rush_distance> distances_over_inputs(const Example &example) const;
  // Returns whether Python's floats are only as exact as float32, because the program reads some
  // from tensors that are not float64.
  bool floats_from_float32() const { return floats_from_float32_; }
  // Returns the operator that draws random numbers; "" if none does.
  const std::string &random() const { return draws_; }

 private:
  std::string difference(const Example &example, const Const *exact) const;

  const ExportOptions &options_;
  bool floats_from_float32_;
  std::string draws_;  // the operator that draws random numbers
};

}  // namespace rush
