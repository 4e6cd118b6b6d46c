// Groups of weights of four bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "quantize/bits.h"

namespace rush {

// The value of an integer in a group: (integer - zero) * scale + minimum.
struct Int4Group {
  static constexpr float kMost = 15;  // the largest integer
  float scale = 0, zero = 0, minimum = 0;

  // Returns the integer of a weight.
  float integer_of(float x) const {
    constexpr float kRound = 12582912;  // 1.5 * 2^23: its sum with a small number is whole
    const float divisor = scale != 0 ? scale : HUGE_VALF;
    const float steps = std::min(std::max((x - minimum) / divisor, -2 * kMost), 2 * kMost);
    return std::min(std::max((steps + kRound) - kRound + zero, 0.f), kMost);
  }
  float value_of(float integer) const { return (integer - zero) * scale + minimum; }
};

// The weights of a group, and the importance of each.
struct GroupValues {
  const float *x, *importance;
  size_t n;
};

// Returns the group whose squared error, each value's times its importance, is least among those
// tried. Several ranges are tried, and each is refined by least squares.
Int4Group best_group(const GroupValues &values, Bits::Offsets offsets);

}  // namespace rush
