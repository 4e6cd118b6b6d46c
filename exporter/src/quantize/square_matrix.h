// Square matrices, and the factors of symmetric ones.
#pragma once

#include <cstddef>
#include <vector>

namespace rush {

struct SquareMatrix {
  size_t n = 0;
  std::vector<double> values;  // row-major

  double *row(size_t i) { return values.data() + i * n; }
  const double *row(size_t i) const { return values.data() + i * n; }
};

// Replaces a positive definite matrix by a lower triangular one U with a diagonal of ones, such
// that the matrix was U^T D U with a diagonal D. Only what is on and below the diagonal is read
// and written. The result does not depend on the number of threads. Returns false if the matrix
// is not positive definite.
bool factorize(SquareMatrix *matrix);

// Returns the sum of a[i] * b[i] for i < n, in an order that does not depend on the machine.
double dot(const double *a, const double *b, size_t n);

}  // namespace rush
