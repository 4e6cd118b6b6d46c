// Fewer bits: weights that the file holds as small integers, and what that costs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"

namespace rush {

class NativeSession;

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

// What came of it. Of the answer that is furthest from PyTorch's: the greatest difference in units
// of the greatest element, the norm of the difference in units of that of the answer, and the cosine
// of the angle between the two.
struct Quantized {
  std::string name;             // as users write it; "" where nothing was wanted
  size_t layers = 0, kept = 0;  // layers that have fewer bits now, and that could have and have not
  uint64_t before = 0, after = 0;  // bytes of the former's weights
  bool measured = false;           // these are known:
  double max = 0, l2 = 0, cosine = 1;
  bool has_rows =
      false;  // values decide how many rows an answer has: so many in PyTorch's answers,
  size_t rows = 0, own_rows = 0, matched_rows = 0;  // in these, and which belong together
};

// Gives constant weights of linear layers (rush::linear) fewer bits, of embeddings too (not with
// INT8_STATIC; with INT8 those that are such a layer's weight as well), of convolutions (rush::conv)
// too with FLOAT16: finite ones, of at least this many elements. Adds to *out what it has done.
constexpr int64_t kLeastQuantized = 1024;
void quantize(Program &program, const Bits &bits, Quantized *out);

// A node before `where` with one result, which it gives.
Value *insert_call(Node *where, const char *op, const std::vector<Value *> &inputs,
                   const TypeRef &type = tensor_type());

// Arguments that calibrate a method, and what messages call them.
struct Batch {
  std::string name;
  std::vector<Const> args;
};

// Loads the program as it is. Throws RuntimeError.
using Opener = std::function<std::unique_ptr<NativeSession>(const Program &program)>;

// For INT8_STATIC: convolutions of the first method (rush::conv), and what stands between them, work
// on bytes; the range of each value is what it is in runs with `batches`, arguments of that method.
void quantize_convolutions(Program &program, const std::vector<Batch> &batches, const Opener &open,
                           Quantized *out);

// Measures how far an answer is from PyTorch's. Throws std::runtime_error, saying where, if they are
// not of the same kinds, dtypes and sizes, or not finite in the same places.
void add_distance(const Const &got, const Const &want, Quantized *out);

// The answer of a quantized file as what a test vector expects: other runtimes round activations
// otherwise, so right is what is as near to it as it is to PyTorch's. False, and the vector is as it
// was, where sizes or values that are no floating-point numbers are not PyTorch's.
bool expect_own(const Const &own, Test *test);

std::string to_string(const Quantized &quantized);

}  // namespace rush
