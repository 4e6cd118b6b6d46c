// Weights of four bits.
#pragma once

#include <vector>

#include "ir/tensor.h"
#include "quantize/bits.h"
#include "quantize/error_feedback.h"
#include "quantize/weight_error.h"

namespace rush {

// A weight [out, in] as integers of four bits, two in a byte. Each group of a row has a float16
// scale, and may have a zero point or a float16 minimum. Without either, the zero point is 8.
struct Int4 {
  Tensor integers, scales, offsets;
  WeightError error;
};

// Quantizes a weight column by column. The scale of a group minimizes the squared error of its
// values, each times the importance of its column. The feedback moves later columns by the errors
// of earlier ones.
Int4 int4_of(const Tensor &weight, const Bits &bits, const ErrorFeedback &feedback);

}  // namespace rush
