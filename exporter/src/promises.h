// What an export promises of the sizes of the first method's inputs.
#pragma once

#include "export.h"

namespace rush {

// What the options say, all of it, by rising input and dimension. Throws std::invalid_argument for
// an input or dimension that the examples do not have, and where no size is left.
std::vector<Promise> promises_of(const Program &program, const ExportOptions &options,
                                 const std::vector<Example> &examples);

// Sizes that an argument may have, too: its dimension, and the size.
using Grown = std::vector<std::pair<int64_t, int64_t>>;

// Other sizes that are promised, for each argument, all at once: larger by one, doubled, and odd ones
// where these two are even; none where no size varies.
std::vector<std::vector<Grown>> growing(const std::vector<Promise> &promises,
                                        const std::vector<Const> &args);

}  // namespace rush
