// Quantization: weights and activations of fewer bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"
#include "quantize/bits.h"
#include "quantize/quantized.h"
#include "run/native.h"

namespace rush {

// Arguments that calibrate the first method, and their name in messages.
struct Batch {
  std::string name;
  std::vector<Const> args;
};

// Runs the first method. A RuntimeError names the batch.
Const run_batch(NativeSession *session, const Batch &batch);

// Quantizes finite constant weights of at least this many elements, and adds its work to *out. It
// quantizes weights of linear layers (rush::linear). It also quantizes embeddings, except with
// INT8_STATIC; with INT8, only embeddings that share their weight with a linear layer. With
// FLOAT16, it also converts weights of convolutions (rush::conv). With four bits, a weight that an
// embedding has, too, gets 8 bits. If there are batches, runs with them find how weights of four
// bits are best rounded. Throws std::invalid_argument if a pattern of BY_LAYER matches
// no layer.
constexpr int64_t kLeastQuantized = 1024;
void quantize_weights(Program &program, const Bits &bits, const std::vector<Batch> &batches,
                      const Opener &open, Quantized *out);

// Makes the convolutions of the first method (rush::conv) and the operators between them compute
// with bytes, for INT8_STATIC. Runs of that method with `batches` find the range of each value.
void quantize_convolutions(Program &program, const std::vector<Batch> &batches, const Opener &open,
                           Quantized *out);

}  // namespace rush
