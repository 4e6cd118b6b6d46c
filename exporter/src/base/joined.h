// Lists in texts.
#pragma once

#include <string>

namespace rush {

// Returns a text such as "a, b, c": `text_of` of each item, with `separator` between them.
template <class Items, class TextOf>
std::string joined(const Items &items, TextOf text_of, const std::string &separator = ", ") {
  std::string out;
  for (const auto &item : items) out += (out.empty() ? "" : separator) + text_of(item);
  return out;
}

}  // namespace rush
