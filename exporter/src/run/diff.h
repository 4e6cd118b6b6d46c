// The first value in which a run of a file differs from PyTorch's.
#pragma once

#include "ir/program.h"
#include "run/native.h"

namespace rush {

struct Divergence {
  bool agree = true;
  std::string where;  // the first value that differs: instruction, Python line, iteration, and how
  uint64_t compared = 0, unpaired = 0;  // as in rush_trace_report
  double max_abs = 0, max_rel = 0;      // over the values that agree
};

// Runs a method from the file's state beside a trace of PyTorch's run on the same arguments. The
// tolerances are those of rushlight/trace.h; negative ones depend on the dtype.
Divergence diff(NativeSession &session, size_t method, const std::vector<Const> &args,
                const Trace &trace, double rtol, double atol);

// Does the same with the trace of a test vector in the file.
Divergence diff_test(NativeSession &session, size_t test);

std::string to_string(const Divergence &divergence);

}  // namespace rush
