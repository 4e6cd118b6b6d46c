// A refusal: The error for a part of a model that Rushlight does not support.
#pragma once

#include <stdexcept>

namespace rush {

// Python gets a RushlightError with code 'unsupported'. Wrong arguments of a call are
// std::invalid_argument alone, which Python gets as ValueError.
struct Unsupported : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

}  // namespace rush
