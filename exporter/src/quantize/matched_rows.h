// Compares answers whose number of rows depends on values, such as boxes after nms.
#pragma once

#include <set>

#include "ir/graph.h"
#include "quantize/quantized.h"

namespace rush {

// Measures the distance of an answer from PyTorch's. `result` is its value in the program. Values
// that depend on `filters` may differ in rows: rows that belong together are compared, and counted
// in out->rows. Throws std::runtime_error with the place if the answers differ in structure.
void add_matched(const Const &got, const Const &want, const Value *result,
                 const std::set<const Node *> &filters, Quantized *out);

}  // namespace rush
