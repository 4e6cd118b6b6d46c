// Loops over independent items on several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace rush {

inline unsigned processors() {
  return std::max(std::thread::hardware_concurrency(), 1u);
}

// Calls f(i) for i in [0, n), on as many threads as the machine has processors. A call must write
// only what belongs to its item. Throws what a call throws.
template <class F>
void parallel_for(size_t n, const F &f) {
  const size_t threads = std::min(n, size_t{processors()});
  std::vector<std::future<void>> ranges;
  ranges.reserve(threads);
  for (size_t t = 0; t < threads; t++)
    ranges.push_back(std::async(std::launch::async, [n, threads, t, &f] {
      for (size_t i = n * t / threads; i < n * (t + 1) / threads; i++) f(i);
    }));
  for (std::future<void> &range : ranges) range.get();
}

}  // namespace rush
