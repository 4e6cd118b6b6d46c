// Reads the words of a text, for the parsers of graphs and of schemas.
#pragma once

#include <cctype>
#include <string>

namespace rush {

class Scanner {
 protected:
  explicit Scanner(const std::string &text) : text_(text) {}
  ~Scanner() = default;

  // Throws an error that says what the text must have here.
  [[noreturn]] virtual void fail(const std::string &wanted) const = 0;

  // Skips white space, and comments from # to the end of the line.
  void space() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        at_++;
      } else if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') at_++;
      } else {
        return;
      }
    }
  }
  bool at_end() {
    space();
    return at_ == text_.size();
  }
  bool peek(const std::string &s) {
    space();
    return text_.compare(at_, s.size(), s) == 0;
  }
  bool take(const std::string &s) {
    if (!peek(s)) return false;
    at_ += s.size();
    return true;
  }
  void want(const std::string &s) {
    if (!take(s)) fail("'" + s + "'");
  }
  static bool is_letter(char c) {  // as of Python's names, which have letters beyond ASCII
    return std::isalpha(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
  }
  // Returns the longest text of letters, digits and the other characters, which may be empty.
  std::string word(const std::string &others) {
    space();
    const size_t from = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || std::isdigit(static_cast<unsigned char>(text_[at_])) ||
            others.find(text_[at_]) != std::string::npos))
      at_++;
    return text_.substr(from, at_ - from);
  }

  const std::string &text_;
  size_t at_ = 0;
};

}  // namespace rush
