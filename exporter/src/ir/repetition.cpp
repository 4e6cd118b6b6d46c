#include "ir/repetition.h"

#include <map>

namespace rush {

namespace {

// How many items lie between two rounds; 0 where none can be seen. What stands in a round once
// tells, and of all that is there often enough that is the rarest.
size_t period_of(const std::vector<std::string> &items, size_t least) {
  std::map<std::string, std::vector<size_t>> places;
  for (size_t i = 0; i < items.size(); i++) places[items[i]].push_back(i);
  const std::vector<size_t> *rarest = nullptr;
  for (const auto &[text, at] : places)
    if (at.size() >= least && (!rarest || at.size() < rarest->size())) rarest = &at;
  if (!rarest) return 0;
  const size_t middle = rarest->size() / 2;
  return (*rarest)[middle] - (*rarest)[middle - 1];
}

}  // namespace

Rounds longest_rounds(const std::vector<std::string> &items, size_t least) {
  Rounds out;
  out.period = period_of(items, least);
  if (out.period == 0) return out;
  // The longest stretch of items that stand a period later again.
  size_t longest = 0, run = 0;
  for (size_t i = 0; i + out.period < items.size(); i++) {
    run = items[i] == items[i + out.period] ? run + 1 : 0;
    if (run > longest) longest = run, out.begin = i + 1 - run;
  }
  const size_t count = longest / out.period + 1;
  out.count = count < least ? 0 : count;
  return out;
}

}  // namespace rush
