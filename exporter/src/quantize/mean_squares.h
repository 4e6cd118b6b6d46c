// Which inputs of layers matter most.
#pragma once

#include <map>
#include <vector>

#include "quantize/quantize.h"

namespace rush {

// Runs the first method with `batches`. Returns the mean square of each column of a layer's
// input [..., columns]. All nodes must be in the top block, and `input` is the argument's index.
std::map<const Node *, std::vector<float>> mean_squares(Program &program,
                                                        const std::vector<Node *> &layers,
                                                        size_t input,
                                                        const std::vector<Batch> &batches,
                                                        const Opener &open);

}  // namespace rush
