// Counts in words.
#pragma once

#include <cstdint>
#include <string>

namespace rush {

// Returns "1 layer" or "2 layers", for example. `noun` is a singular with a regular plural.
inline std::string counted(uint64_t n, const std::string &noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace rush
