#include "quantize/product_sum.h"

#include <algorithm>
#include <utility>

#include "quantize/parallel_for.h"

namespace rush {

namespace {

constexpr size_t kRows = 256;    // in a sum of floats, before it is added to the sum of doubles
constexpr size_t kAtOnce = 4;    // rows
constexpr size_t kPerItem = 16;  // rows of the sum that a thread takes

}  // namespace

void ProductSum::add(const float *rows, size_t count) {
  while (count > 0) {
    const size_t now = std::min(count, kRows - rows_.size() / sum_.n);
    rows_.insert(rows_.end(), rows, rows + now * sum_.n);
    if (rows_.size() == kRows * sum_.n) flush();
    rows += now * sum_.n, count -= now;
  }
}

SquareMatrix ProductSum::finish() {
  flush();
  return std::move(sum_);
}

void ProductSum::flush() {
  sum_.values.resize(sum_.n * sum_.n);
  rows_.resize((rows_.size() / sum_.n + kAtOnce - 1) / kAtOnce * kAtOnce * sum_.n);
  parallel_for((sum_.n + kPerItem - 1) / kPerItem, [&](size_t item) {
    for (size_t i = item * kPerItem; i < std::min((item + 1) * kPerItem, sum_.n); i++)
      add_to_row(i);
  });
  rows_.clear();
}

void ProductSum::add_to_row(size_t i) {
  std::vector<float> products(i + 1);
  const size_t n = sum_.n;
  float *to = products.data();
  for (const float *x = rows_.data(); x < rows_.data() + rows_.size(); x += kAtOnce * n) {
    const float a = x[i], b = x[n + i], c = x[2 * n + i], d = x[3 * n + i];
    for (size_t j = 0; j <= i; j++)
      to[j] += (a * x[j] + b * x[n + j]) + (c * x[2 * n + j] + d * x[3 * n + j]);
  }
  double *sum = sum_.row(i);
  for (size_t j = 0; j <= i; j++) sum[j] += products[j];
}

}  // namespace rush
