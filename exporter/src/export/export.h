// From a program that a front made to a verified file.
#pragma once

#include "export/options.h"
#include "export/report.h"

namespace rush {

// Throws std::invalid_argument, Unsupported (listing all operators that the runtime lacks),
// std::runtime_error (a difference, the disk); then there is no file.
Report export_program(Program &program, const ExportOptions &options, const Reference &reference);

}  // namespace rush
