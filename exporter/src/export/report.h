// The report of an export.
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
  std::vector<OpCount> missing;  // only with allow_missing
  std::vector<std::string> warnings;
  std::vector<std::string> inputs, outputs;  // of the first method, as text
  std::vector<std::string> state;            // attributes that the program writes
  uint64_t file_bytes = 0, weights_bytes = 0;
  size_t test_vectors = 0;
  size_t verified = 0;                      // examples that were compared; 0: not verified
  std::string not_verified;                 // the reason
  std::vector<std::string> verified_sizes;  // other sizes that were verified, such as "x [3, 4]"
  bool real_inputs = false;                 // some were the user's own, besides the example
  std::string random;  // an operator that draws random numbers; "" if none does
  double max_abs = 0, max_rel = 0;
  size_t measured = 0;  // tensors and numbers of which float64's answer is known; of the one
  rush_distance pytorch = {}, rushlight = {},
                difference = {};  // that is furthest from it, as in verdict.h
  std::string not_measured;       // the reason if float64's answer is not known
  Quantized quantized;
};

// Returns a line for each operator that the runtime lacks.
std::string missing_text(const std::vector<OpCount> &missing);
std::string to_string(const Report &report);
std::string to_json(const Report &report);

}  // namespace rush
