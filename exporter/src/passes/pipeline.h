// The order of the passes, and what holds after each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace rush {

struct Pass {
  const char *name;
  bool (*on_graph)(Graph &);  // one of the two
  bool (*on_program)(Program &);
  bool repeat_until_stable;
  std::vector<std::string> gone;  // operators that do not exist after this pass
};

const std::vector<Pass> &pipeline();
// What fuses further than quantizing knows how to read: behind it.
const std::vector<Pass> &late_pipeline();

// Of both. nullptr where there is no pass of that name.
const Pass *find_pass(const std::string &name);

// Runs these passes and verifies after each. After the pass `dump_after` the text of each method goes
// to `dump`. Throws std::invalid_argument where there is no such pass in any pipeline.
void run_pipeline(const std::vector<Pass> &passes, Program &program, const std::string &dump_after,
                  const std::function<void(const std::string &)> &dump);

}  // namespace rush
