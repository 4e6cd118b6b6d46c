// The result of quantizing, and its error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace rush {

// The error is that of the answer that is furthest from PyTorch's: the largest difference in units
// of the largest element, the norm of the difference in units of the answer's norm, and the cosine
// of the angle between the two.
struct Quantized {
  std::string name;             // as users write it; "" if nothing was wanted
  size_t layers = 0, kept = 0;  // layers that have fewer bits now, and that could have and have not
  uint64_t before = 0, after = 0;  // bytes of the former's weights
  struct Layer {
    std::string path, bits;  // its module, and its bits as users write them
    uint64_t before = 0, after = 0;
    double error = 0;  // of the weight: the norm of the difference in units of the weight's norm
  };
  std::vector<Layer> by_layer;
  // The paths of layers that calibration does not reach, by the sentence that says why, which their
  // list completes.
  std::map<std::string, std::vector<std::string>> uncalibrated;
  bool measured = false;  // these are known:
  double max = 0, l2 = 0, cosine = 1;
  bool has_rows = false;                // whether values decide how many rows an answer has
  size_t rows = 0, rushlight_rows = 0;  // the rows of PyTorch's answers and of the runtime's
  size_t matched_rows = 0;              // pairs of rows that belong together
};

// Adds the distance of an answer from PyTorch's. Throws std::runtime_error with the place if they
// differ in kind, dtype or size, or in the places of values that are not finite.
void add_distance(const Const &got, const Const &want, Quantized *out);

// Makes a test vector expect the answer of a quantized file. Other runtimes round activations
// differently, so an answer is correct if it is as near to this one as this one is to PyTorch's.
// Returns false, and changes nothing, if sizes or values other than floating-point numbers differ.
bool expect_answer(const Const &own, Test *test);

// Names a layer that calibration does not reach.
void add_uncalibrated(const std::string &why, const std::string &path, Quantized *out);

// Returns a warning for each reason why calibration does not reach layers.
std::vector<std::string> uncalibrated_warnings(const Quantized &quantized);

std::string to_string(const Quantized &quantized);

}  // namespace rush
