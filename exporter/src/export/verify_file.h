// Compares the answers of a written file with PyTorch's.
#pragma once

#include "export/measure.h"
#include "export/options.h"
#include "export/report.h"
#include "run/observe.h"

namespace rush {

template <class Test>
bool any_node(const Program &program, Test test) {
  for (const Method &m : program.methods)
    for (const Node *node : all_nodes(*m.graph))
      if (test(*node)) return true;
  return false;
}

// What the steps of an export share.
struct ExportContext {
  Program &program;
  const ExportOptions &options;
  const Reference &reference;
  const Measurer &measurer;
  const Filters &filters;
  Opener open;
};

// Runs the file on the examples, compares, or measures what fewer bits cost, and replays its test
// vectors. Throws RuntimeError if an answer differs. True where PyTorch's distances on several
// inputs decided about a test vector, which the program has now: the file has to be written again.
bool verify_file(NativeSession *session, const ExportContext &subject,
                 const std::vector<Example> &examples, Report *report);

// Has test vectors expect what the file answers, but for those that are the user's own: all of a file
// of fewer bits, else those that are not close, as where PyTorch's engine rounds to another step.
void expect_file_answers(NativeSession *session, Program &program, bool all,
                         std::vector<std::string> *warnings);

}  // namespace rush
