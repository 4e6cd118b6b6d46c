// The runs that find the ranges of activations.
#pragma once

#include "export/options.h"

namespace rush {

// Arguments of the first method that calibrate it, and what a message calls them. Throws
// std::invalid_argument where there are none, or none that have a range.
std::vector<Batch> calibration_of(const Program &program, const ExportOptions &options);

}  // namespace rush
