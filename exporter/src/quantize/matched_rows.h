// Answers whose number of rows is decided by values, as of boxes behind nms.
#pragma once

#include <set>

#include "ir/graph.h"
#include "quantize/quantized.h"

namespace rush {

// Measures how far an answer is from PyTorch's. `result` is what gives it, and `filters` decide about
// sizes: of what is behind them, rows that belong together are compared, and counted in out->rows.
// Throws std::runtime_error, saying where, where the answers are not built alike.
void add_matched(const Const &got, const Const &want, const Value *result,
                 const std::set<const Node *> &filters, Quantized *out);

}  // namespace rush
