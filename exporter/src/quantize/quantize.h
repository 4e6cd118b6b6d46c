// Fewer bits: weights that the file holds as small integers, and what that costs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"
#include "quantize/quantized.h"
#include "run/native.h"

namespace rush {

// How weights are stored, and what multiplies them.
struct Bits {
  enum Kind { ALL, INT8, INT8_STATIC, INT8_WEIGHTS, INT4, INT4_WEIGHTS, FLOAT16 };
  std::string name;  // as users write it
  Kind kind = ALL;
  int64_t group = 0;         // of INT4 and INT4_WEIGHTS: how many weights share a scale,
  bool zero_points = false;  // and a zero point, too
};

// What users write: "" (all bits), "int8", "int8-static", "int8-weights", "int4", "int4-weights:64:zero-points", "float16".
// Throws std::invalid_argument, listing what there is.
Bits bits_from_name(const std::string &name);

// Gives constant weights of linear layers (rush::linear) fewer bits, of embeddings too (not with
// INT8_STATIC; with INT8 those that are such a layer's weight as well), of convolutions (rush::conv)
// too with FLOAT16: finite ones, of at least this many elements. Adds to *out what it has done.
constexpr int64_t kLeastQuantized = 1024;
void quantize(Program &program, const Bits &bits, Quantized *out);

// Arguments that calibrate a method, and what messages call them.
struct Batch {
  std::string name;
  std::vector<Const> args;
};

// For INT8_STATIC: convolutions of the first method (rush::conv), and what stands between them, work
// on bytes; the range of each value is what it is in runs with `batches`, arguments of that method.
void quantize_convolutions(Program &program, const std::vector<Batch> &batches, const Opener &open,
                           Quantized *out);

}  // namespace rush
