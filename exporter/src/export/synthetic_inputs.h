// Inputs like an example's, to verify with and for test vectors.
#pragma once

#include "export/constraints.h"

namespace rush {

// Another value like an example's: tensors of the same dtype and layout, values in the same range, the
// same sizes but for those that grow. Rows of a bool tensor that are Trues behind Falses, or the
// reverse, stay such rows, as masks of padding are.
Const like(const Const &value, uint64_t *seed, const Grown &grown = {});

// The arguments of an answered example with others like them. What the answer holds in the form of an
// argument, as a decoder's cache, takes its place: random numbers there round as no real cache does.
std::vector<Const> all_like(const Example &example, uint64_t *seed,
                            const std::vector<Grown> &grown = {});

// The arguments with other integers, whose greatest and whose count of distinct values are others: up to
// one above the greatest, or, not `above`, below it. Empty where there are no integers.
std::vector<Const> with_other_integers(const std::vector<Const> &args, bool above, uint64_t *seed);

}  // namespace rush
