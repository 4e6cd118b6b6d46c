// Sums of products of inputs.
#pragma once

#include "quantize/square_matrix.h"

namespace rush {

// X^T X of rows that come in pieces. Only the lower triangle of the sum is computed. It does not
// depend on the number of threads.
class ProductSum {
 public:
  explicit ProductSum(size_t columns) { sum_.n = columns; }

  void add(const float *rows, size_t count);
  SquareMatrix finish();

 private:
  void flush();
  void add_to_row(size_t i);

  SquareMatrix sum_;
  std::vector<float> rows_;  // which the sum does not yet have
};

}  // namespace rush
