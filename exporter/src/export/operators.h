// The operators of a program, and which of them the runtime lacks.
#pragma once

#include "export/report.h"
#include "ir/program.h"

namespace rush {

// By falling count.
std::vector<OpCount> operators_of(const Program &program);
std::vector<OpCount> missing_operators(const Program &program);

// Throws Unsupported, which lists them all and says what to do.
[[noreturn]] void refuse_missing(const std::vector<OpCount> &missing);

}  // namespace rush
