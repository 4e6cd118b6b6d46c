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

// The data that the steps of an export share.
struct ExportContext {
  Program &program;
  const ExportOptions &options;
  const Reference &reference;
  const Measurer &measurer;
  const Filters &filters;
  Opener open;
};

// Runs the file on the examples, compares the answers (or measures the error of quantizing), and
// replays the test vectors. Throws RuntimeError if an answer differs. Returns true if PyTorch's
// distances on several inputs decided about a test vector. The program then has these distances,
// and the file must be written again.
bool verify_file(NativeSession *session, const ExportContext &subject,
                 const std::vector<Example> &examples, Report *report);

// Makes test vectors expect the file's own answers, except for the user's vectors. It changes all
// vectors of a quantized file, and otherwise only those whose answers are not close, because
// PyTorch's engine rounds to another step.
void expect_file_answers(NativeSession *session, Program &program, bool all,
                         std::vector<std::string> *warnings);

}  // namespace rush
