// Refusals of the runtime, and texts that a terminal may show.
#pragma once

#include <stdexcept>
#include <string>

#include "rushlight/rushlight.h"

namespace rush {

// A refusal of the runtime, with its message.
struct RuntimeError : std::runtime_error {
  RuntimeError(rush_status s, const std::string &message)
      : std::runtime_error(message), status(s) {}
  // The last failure of a context, with its place in the program.
  RuntimeError(rush_status s, const rush_ctx *ctx);
  rush_status status;
  std::string op, source;  // "aten::add.Tensor", "model.py:7"; "" if there is none
  // "sizes" or "values" if PyTorch's trace may have fixed those of the example, else "".
  std::string specialized;
};

// Returns text of a file as it may be shown: "\u001b" replaces characters that a terminal or an
// editor obeys (controls except for `kept`, marks of lines and of directions of writing). JSON
// stays the same JSON.
std::string printable(const std::string &text, const std::string &kept = "\n\t");

}  // namespace rush
