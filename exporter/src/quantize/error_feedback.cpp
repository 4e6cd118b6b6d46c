#include "quantize/error_feedback.h"

#include <cmath>
#include <utility>

namespace rush {

namespace {

constexpr double kDamping = 0.05;  // of the mean diagonal

}  // namespace

ErrorFeedback::ErrorFeedback(SquareMatrix hessian) {
  double mean = 0;
  for (size_t i = 0; i < hessian.n; i++) mean += hessian.row(i)[i] / static_cast<double>(hessian.n);
  if (!(mean > 0) || !std::isfinite(mean)) return;
  for (size_t i = 0; i < hessian.n; i++) {
    hessian.row(i)[i] += kDamping * mean;
    importance_.push_back(static_cast<float>(hessian.row(i)[i] / mean));
  }
  if (factorize(&hessian))
    factor_ = std::move(hessian);
  else
    importance_.clear();
}

}  // namespace rush
