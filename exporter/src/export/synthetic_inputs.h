// Makes inputs like an example's, for verification and test vectors.
#pragma once

#include "export/constraints.h"

namespace rush {

// Returns another value like an example's: tensors have the same dtype, layout, range of values,
// and sizes except for the new ones. A bool tensor whose rows are padding masks (Trues after
// Falses, or the reverse) stays one.
Const like(const Const &value, uint64_t *seed, const NewSizes &new_sizes = {});

// Returns arguments like those of an answered example. If the answer holds a value in the form of
// an argument, such as a decoder's cache, that value is used: random numbers in a cache round
// unlike real ones.
std::vector<Const> arguments_like(const Example &example, uint64_t *seed,
                                  const std::vector<NewSizes> &new_sizes = {});

// Returns the arguments with other integers: their maximum and their number of distinct values
// differ. They reach one above the maximum, or stay below it if `above` is false. The result is
// empty if there are no integers.
std::vector<Const> with_other_integers(const std::vector<Const> &args, bool above, uint64_t *seed);

}  // namespace rush
