// The error of a quantized weight.
#pragma once

#include <cmath>

namespace rush {

// The norm of the difference, in units of the weight's norm.
struct WeightError {
  double difference = 0, norm = 0;
  void add(double wanted, double got) {
    difference += (wanted - got) * (wanted - got);
    norm += wanted * wanted;
  }
  void add(const WeightError &more) {
    difference += more.difference;
    norm += more.norm;
  }
  double relative() const { return norm > 0 ? std::sqrt(difference / norm) : 0; }
};

}  // namespace rush
