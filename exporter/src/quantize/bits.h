// The option quantize=: which bits a layer gets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rush {

// The form of stored weights, and of the numbers that multiply them.
struct Bits {
  enum Kind { ALL, INT8, INT8_STATIC, INT8_WEIGHTS, INT4, INT4_WEIGHTS, FLOAT16, BY_LAYER };
  enum Offsets { NO_OFFSETS, ZERO_POINTS, MINIMA };
  std::string name;  // as users write it
  Kind kind = ALL;
  int64_t group = 0;             // of INT4 and INT4_WEIGHTS: how many weights share a scale,
  Offsets offsets = NO_OFFSETS;  // and a zero point or a minimum
  // Of BY_LAYER: the first pattern that matches a layer gives its bits. Patterns match whole module
  // paths; '*' stands for any characters, dots included, and '?' for one.
  std::vector<std::string> patterns = {};
  std::vector<Bits> of = {};
};

// Parses the option of users: "" (all bits), "int8", "int8-static", "int8-weights", "int4",
// "int4-weights:64:zero-points", "float16", or patterns as in "lm_head=int8,*.down_proj=,*=int4",
// where nothing after '=' keeps all bits. Throws std::invalid_argument with all possible values.
Bits bits_from_name(const std::string &name);

// Returns the index of the first pattern that matches the path; patterns.size() if none does.
size_t pattern_of(const Bits &bits, const std::string &path);

}  // namespace rush
