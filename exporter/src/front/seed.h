// Random numbers of comparable runs.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include "rushlight/rushlight.h"

namespace rush {

// Gives torch's generator the seed of test vectors. The destructor restores its state.
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
