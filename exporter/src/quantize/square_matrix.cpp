#include "quantize/square_matrix.h"

#include <algorithm>

#include "quantize/parallel_for.h"

namespace rush {

namespace {

constexpr size_t kPanel = 32;  // rows that are done before the others are updated

// Subtracts from row r what rows [low, high) of the factor contribute to it.
void update(SquareMatrix *m, size_t r, size_t low, size_t high, const double *d) {
  double *row = m->row(r);
  for (size_t c = low; c < high; c++) {
    const double *of = m->row(c);
    const double factor = of[r] * d[c - low];
    for (size_t i = 0; i <= r; i++) row[i] -= factor * of[i];
  }
}

}  // namespace

bool factorize(SquareMatrix *m) {
  std::vector<double> d(kPanel);
  for (size_t high = m->n; high > 0;) {
    const size_t low = high - std::min(high, kPanel);
    for (size_t c = high; c-- > low;) {
      double *row = m->row(c);
      update(m, c, c + 1, high, d.data() + (c + 1 - low));
      d[c - low] = row[c];
      if (!(row[c] > 0)) return false;
      for (size_t i = 0; i <= c; i++) row[i] /= d[c - low];
    }
    parallel_for(low, [&](size_t r) { update(m, r, low, high, d.data()); });
    high = low;
  }
  return true;
}

double dot(const double *a, const double *b, size_t n) {
  double sums[4] = {};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t j = 0; j < 4; j++) sums[j] += a[i + j] * b[i + j];
  for (; i < n; i++) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace rush
