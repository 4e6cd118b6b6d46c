#include "write/class_names.h"

#include <algorithm>
#include <cctype>

namespace rush {

namespace {

const std::string kRoot = "__torch__", kMark = "___torch_mangle_";

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

}  // namespace

std::string ClassNames::in(const std::string &text) {
  std::string out;
  size_t from = 0;
  for (size_t at; (at = text.find(kRoot + ".", from)) != std::string::npos;) {
    size_t end = at;
    while (end < text.size() && is_name_character(text[end])) end++;
    out += text.substr(from, at - from) + one(text.substr(at, end - at));
    from = end;
  }
  return out + text.substr(from);
}

std::string ClassNames::one(const std::string &name) {
  std::string plain, out,
      number;  // the name so far without and with numbers; the number of the next part
  for (size_t from = 0; from <= name.size();) {
    const size_t dot = std::min(name.find('.', from), name.size());
    const std::string part = name.substr(from, dot - from);
    from = dot + 1;
    if (part.rfind(kMark, 0) == 0) {
      number = part;
      continue;
    }
    const std::string point = plain.empty() ? "" : ".";
    plain += point + part;
    std::vector<std::string> &numbers = seen_[plain];
    const size_t index =
        static_cast<size_t>(std::find(numbers.begin(), numbers.end(), number) - numbers.begin());
    if (index == numbers.size()) numbers.push_back(number);
    if (index > 0) out += point + kMark + std::to_string(index - 1);
    out += (out.empty() ? "" : ".") + part;
    number.clear();
  }
  return out;
}

}  // namespace rush
