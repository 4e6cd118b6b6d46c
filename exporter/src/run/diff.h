// Where a run of a file and PyTorch's run part.
#pragma once

#include "ir/program.h"
#include "run/native.h"

namespace rush {

struct Divergence {
  bool agree = true;
  std::string where;  // the first value that differs: instruction, Python line, iteration, and how
  uint64_t compared = 0, unpaired = 0;  // as in rush_trace_report
  double max_abs = 0, max_rel = 0;      // over what agrees
};

// Runs a method, from the file's state, beside a trace of PyTorch's run on the same arguments. How
// close values must be is said in rushlight/trace.h; negative tolerances: by dtype.
Divergence diff(NativeSession &session, size_t method, const std::vector<Const> &args,
                const Trace &trace, double rtol, double atol);

// The same with the trace that the file holds of a test vector.
Divergence diff_test(NativeSession &session, size_t test);

std::string to_string(const Divergence &divergence);

}  // namespace rush
