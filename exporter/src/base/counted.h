// How many of something, in words.
#pragma once

#include <cstdint>
#include <string>

namespace rush {

// "1 layer", "2 layers": `noun` in the singular, of a regular plural.
inline std::string counted(uint64_t n, const std::string &noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace rush
