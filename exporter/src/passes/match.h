// Functions that the fusions share.
#pragma once

#include <limits>
#include <set>
#include <string>

#include "ir/graph.h"

namespace rush {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Arguments of rush::conv, in its order.
namespace of_conv {
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, GROUPS, MIN, MAX, FORMAT };
}

// Returns the only node that uses the value, if it uses it once and in the value's block; else
// nullptr.
Node *only_user(const Value *value);

// Returns whether the node bounds its first argument by constants min < max (relu, relu6, hardtanh,
// clamp, in place or not). NaN stays NaN in all of them.
bool is_clamp(const Node &node, double *min, double *max);

// Moves a following clamp into the arguments min and max of a fused node without a clamp; min is
// argument `at_min`.
bool fold_clamp(Node *fused, size_t at_min);

// Returns whether a node between two nodes of a block may write a tensor.
bool writes_between(const Node *from, const Node *to);

// Returns the node that defines the value if it is that operator and the value has one use; else
// nullptr.
Node *sole_definition(const Value *value, const std::string &op);

// Returns whether input i is that number, or missing.
bool is_number_or_missing(const Node &node, size_t i, double number);

// Returns whether the node only converts its input to a dtype.
bool is_cast(const Node *node, rush_dtype dtype);

// Returns a constant tensor of that rank and one of these dtypes, with memory; else nullptr.
using Dtypes = std::set<rush_dtype>;
const Const *tensor_constant(const Node &node, size_t input, int64_t rank, const Dtypes &dtypes);

// Does the same for float32.
const Const *float_constant(const Node &node, size_t input, int64_t rank);

}  // namespace rush
