// Random numbers of comparable runs.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include "rushlight/rushlight.h"

namespace rush {

// torch's generator with the seed of test vectors; afterwards it goes on as if nothing had been.
class TestSeed {
 public:
  TestSeed() : generator_(at::detail::getDefaultCPUGenerator()) {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    before_ = generator_.get_state();
    generator_.set_current_seed(RUSH_TEST_SEED);
  }
  ~TestSeed() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    generator_.set_state(before_);
  }
  TestSeed(const TestSeed &) = delete;

 private:
  at::Generator generator_;
  at::Tensor before_;
};

}  // namespace rush
