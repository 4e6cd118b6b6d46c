// What float64 says of an answer: how far PyTorch's own is from it.
#pragma once

#include "export.h"

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
  // Whether Python's floats are as exact as float32 only: the program takes some out of tensors, and
  // its tensors are not all float64.
  bool single_numbers() const { return single_numbers_; }

 private:
  const ExportOptions &options_;
  bool single_numbers_, draws_;  // draws random numbers
};

}  // namespace rush
