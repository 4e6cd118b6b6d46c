// What float64 says of an answer: how far PyTorch's own is from it.
#pragma once

#include "export/options.h"

namespace rush {

struct Measured {
  std::vector<Measure> list;  // of the expected answer's tensors and numbers
  bool astray = false;        // rounding decides the answer: it is no good as a test vector
  std::string why_not;        // float64's answer is not known; "" where it is
};

class Measurer {
 public:
  Measurer(const Program &program, const ExportOptions &options);
  // Runs the example, which is answered, in float64.
  Measured operator()(const Example &example) const;
  // How PyTorch's graph answers an answered example otherwise than the model itself, by more than
  // rounding: a trace may have baked in what the model decides anew. "" where it does not.
  std::string graph_differs(const Example &example) const;
  // How far PyTorch is from float64 at most on several inputs like the example's, value by value: one
  // input may be a lucky one. Empty where that cannot be told.
  std::vector<rush_distance> several(const Example &example) const;
  // Whether Python's floats are as exact as float32 only: the program takes some out of tensors, and
  // its tensors are not all float64.
  bool single_numbers() const { return single_numbers_; }
  // The operator that draws random numbers; "" where none does.
  const std::string &random() const { return draws_; }

 private:
  std::string difference(const Example &example, const Const *exact) const;

  const ExportOptions &options_;
  bool single_numbers_;
  std::string draws_;  // the operator that draws random numbers
};

}  // namespace rush
