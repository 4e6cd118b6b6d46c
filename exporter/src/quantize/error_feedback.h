// The error that earlier columns of a weight leave for later ones, after Frantar et al., "GPTQ:
// Accurate Post-Training Quantization for Generative Pre-trained Transformers" (2022).
//
// With inputs X and H = X^T X, the output of a row w is off by e H e^T, where e = w - quantized.
// With H = U^T D U and a lower triangular U of ones on its diagonal, this is the sum of
// D[j] * (e[j] + sum over i < j of e[i] * U[j][i])^2. So each column in turn is rounded to where
// the errors of the columns before it move it: w[j] + sum of e[i] * U[j][i]. GPTQ finds the same
// places by the Cholesky factor of H's inverse, whose rows it adds to the weights that are left.
#pragma once

#include <vector>

#include "quantize/square_matrix.h"

namespace rush {

class ErrorFeedback {
 public:
  // No inputs are known: columns do not depend on each other, and all are equally important.
  ErrorFeedback() = default;
  // `hessian` is H. A share of its mean diagonal is added to the diagonal, so that columns that
  // were zero and fewer inputs than columns do no harm.
  explicit ErrorFeedback(SquareMatrix hessian);

  // Returns the importance of each column, which is H's diagonal, or empty if no inputs are known.
  const std::vector<float> &importance() const { return importance_; }
  // Returns the sum that the errors of columns [from, end), at `e`, add to a later column.
  double of(const double *e, size_t from, size_t end, size_t column) const {
    return factor_.n ? dot(e, factor_.row(column) + from, end - from) : 0;
  }

 private:
  SquareMatrix factor_;
  std::vector<float> importance_;
};

}  // namespace rush
