// Chooses the runs that find the ranges of activations.
#pragma once

#include "export/options.h"

namespace rush {

// Returns the arguments that calibrate the first method, with their names in messages. Throws
// std::invalid_argument if there are none, or if some are not finite.
std::vector<Batch> calibration_of(const Program &program, const ExportOptions &options,
                                  const std::vector<Example> &examples);

}  // namespace rush
