// What an export promises of the sizes of the first method's inputs.
#pragma once

#include "export.h"

namespace rush {

// What the options say, all of it, by rising input and dimension. Throws std::invalid_argument for
// an input or dimension that the examples do not have, and where no size is left.
std::vector<Promise> promises_of(const Program &program, const ExportOptions &options,
                                 const std::vector<Example> &examples);

// For each argument the dimensions that may be larger by one, all at once; none where there is none.
std::vector<std::vector<int64_t>> growing(const std::vector<Promise> &promises,
                                          const std::vector<Const> &args);

}  // namespace rush
