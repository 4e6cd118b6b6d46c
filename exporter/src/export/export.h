// Writes a program that a front made as a verified file.
#pragma once

#include "export/options.h"
#include "export/report.h"

namespace rush {

// Throws std::invalid_argument, Unsupported (with all operators that the runtime lacks) or
// std::runtime_error (a difference, the disk). There is no file then.
Report export_program(Program &program, const ExportOptions &given, const Reference &reference);

}  // namespace rush
