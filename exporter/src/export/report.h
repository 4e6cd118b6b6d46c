// What an export says of its file.
#pragma once

#include <string>
#include <vector>

#include "quantize/quantized.h"
#include "rushlight/verdict.h"

namespace rush {

struct OpCount {
  std::string op;
  size_t count = 0;
  std::string where;  // "net.py:12, net.py:40"
};

struct Report {
  std::string path;
  std::vector<OpCount> ops;      // by falling count
  std::vector<OpCount> missing;  // with allow_missing
  std::vector<std::string> warnings;
  std::vector<std::string> inputs, outputs;  // of the first method, as text
  std::vector<std::string> state;            // attributes that the program writes
  uint64_t file_bytes = 0, weights_bytes = 0;
  size_t test_vectors = 0;
  size_t verified = 0;             // examples compared; 0: not verified
  std::string not_verified;        // why
  std::vector<std::string> tried;  // sizes beyond the examples' that were verified, "x [3, 4]"
  bool real = false;               // some were more than the example, and given by the user
  std::string random;              // an operator that draws random numbers; "" where none does
  double max_abs = 0, max_rel = 0;
  size_t measured = 0;  // tensors and numbers of which float64's answer is known; of the one
  rush_distance pytorch = {}, own = {}, between = {};  // that is furthest from it, as in verdict.h
  std::string not_measured;  // why, where float64's answer was wanted and is not known
  Quantized quantized;
};

// What the runtime lacks, one operator a line.
std::string missing_text(const std::vector<OpCount> &missing);
std::string to_string(const Report &report);
std::string to_json(const Report &report);

}  // namespace rush
