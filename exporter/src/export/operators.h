// Counts the operators of a program, and finds those that the runtime lacks.
#pragma once

#include "export/report.h"
#include "ir/program.h"

namespace rush {

// Returns the operators sorted by falling count.
std::vector<OpCount> operators_of(const Program &program);
std::vector<OpCount> missing_operators(const Program &program);

// Throws Unsupported with a message that lists all missing operators and the remedies.
[[noreturn]] void refuse_missing(const std::vector<OpCount> &missing);

}  // namespace rush
