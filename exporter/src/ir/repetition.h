// Rounds in a list of texts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rush {

// items[begin + r * period + k] is the same text for every round r.
struct Rounds {
  size_t begin = 0, period = 0, count = 0;
};

// The longest run of rounds; a count of 0 where there are fewer than `least`.
Rounds longest_rounds(const std::vector<std::string> &items, size_t least);

}  // namespace rush
