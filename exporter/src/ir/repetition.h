// Finds repetitions in a list of texts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rush {

// items[begin + r * period + k] is the same text for every iteration r.
struct Repetition {
  size_t begin = 0, period = 0, count = 0;
};

// Returns the longest repetition; its count is 0 if it has fewer iterations than `least`.
Repetition longest_repetition(const std::vector<std::string> &items, size_t least);

}  // namespace rush
