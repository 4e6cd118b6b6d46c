// What a model needs or holds and Rushlight does not have.
#pragma once

#include <stdexcept>

namespace rush {

// In Python a RushlightError of code 'unsupported'. Arguments of a call that do not fit are
// std::invalid_argument alone: ValueErrors.
struct Unsupported : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

}  // namespace rush
