#include "ir/repetition.h"

#include <map>

namespace rush {

namespace {

// Returns the number of items of one iteration; 0 if there is no repetition. It measures the
// distance between two occurrences of an item that each iteration has once: the rarest item that is
// frequent enough.
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

Repetition longest_repetition(const std::vector<std::string> &items, size_t least) {
  Repetition out;
  out.period = period_of(items, least);
  if (out.period == 0) return out;
  // Returns the longest run of items that equal those one period later.
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
