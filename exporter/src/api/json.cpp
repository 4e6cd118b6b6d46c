#include "api/json.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "base/joined.h"
#include "base/json.h"

namespace rush {

namespace {

void append_utf8(std::string *out, uint32_t c) {
  const auto byte = [&](uint32_t value) { *out += static_cast<char>(value); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12);
    byte(0x80 | (c >> 6 & 63));
  } else {
    byte(0xF0 | c >> 18);
    byte(0x80 | (c >> 12 & 63));
    byte(0x80 | (c >> 6 & 63));
  }
  byte(0x80 | (c & 63));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json whole() {
    Json out = value(0);
    spaces();
    if (at_ != text_.size()) fail();
    return out;
  }

 private:
  static constexpr int kDeepest = 2000;

  [[noreturn]] void fail() const {
    throw std::invalid_argument("the text is not JSON at byte " + std::to_string(at_));
  }
  void spaces() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_])) at_++;
  }
  bool take(std::string_view word) {
    spaces();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void want(std::string_view word) {
    if (!take(word)) fail();
  }

  Json value(int depth) {
    if (depth > kDeepest) fail();
    Json out;
    spaces();
    if (take("null")) return out;
    if (take("{")) return object(depth);
    if (take("[")) return list(depth);
    if (at_ < text_.size() && text_[at_] == '"') {
      out.kind = Json::TEXT;
      out.s = string();
    } else if (take("true") || take("false")) {
      out.kind = Json::BOOL;
      out.i = text_[at_ - 2] == 'u';
    } else {
      return number();
    }
    return out;
  }

  Json list(int depth) {
    Json out;
    out.kind = Json::LIST;
    while (!take("]")) {
      if (!out.items.empty()) want(",");
      out.items.push_back(value(depth + 1));
    }
    return out;
  }

  Json object(int depth) {
    Json out;
    out.kind = Json::OBJECT;
    while (!take("}")) {
      if (!out.fields.empty()) want(",");
      spaces();
      std::string name = string();
      want(":");
      out.fields.emplace_back(std::move(name), value(depth + 1));
    }
    return out;
  }

  Json number() {
    Json out;
    out.kind = Json::FLOAT;
    const bool negative = take("-");
    if (take("Infinity") || take("NaN")) {
      out.f = text_[at_ - 1] == 'y' ? HUGE_VAL : std::nan("");
      if (negative) out.f = -out.f;
      return out;
    }
    const size_t from = at_;
    while (at_ < text_.size() && std::strchr("0123456789.eE+-", text_[at_])) at_++;
    const std::string digits = (negative ? "-" : "") + std::string(text_.substr(from, at_ - from));
    if (at_ == from) fail();
    char *end;
    if (digits.find_first_of(".eE") == std::string::npos) {
      out.kind = Json::INT;
      errno = 0;
      out.i = std::strtoll(digits.c_str(), &end, 10);
      if (errno) throw std::out_of_range("a whole number must fit in 64 bits, got " + digits);
    } else {
      out.f = std::strtod(digits.c_str(), &end);
    }
    if (*end) fail();
    return out;
  }

  uint32_t hex() {
    if (at_ + 4 > text_.size()) fail();
    const std::string digits(text_.substr(at_, 4));
    at_ += 4;
    char *end;
    const unsigned long out = std::strtoul(digits.c_str(), &end, 16);
    if (*end) fail();
    return static_cast<uint32_t>(out);
  }

  std::string string() {
    std::string out;
    want("\"");
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (c == '\\')
        escaped(&out);
      else
        out += c;
    }
    want("\"");
    return out;
  }

  void escaped(std::string *out) {
    constexpr char kFrom[] = "\"\\/bfnrt", kTo[] = "\"\\/\b\f\n\r\t";
    if (at_ == text_.size()) fail();
    const char c = text_[at_++];
    if (const char *found = std::strchr(kFrom, c); found && c) {
      *out += kTo[found - kFrom];
      return;
    }
    if (c != 'u') fail();
    uint32_t code = hex();
    if (code >> 10 == 0x36 && text_.substr(at_, 2) == "\\u") {  // the first half of a pair
      at_ += 2;
      code = 0x10000 + ((code & 0x3FF) << 10) + (hex() & 0x3FF);
    }
    // Python's surrogateescape: a byte of a file's name that is not UTF-8
    if (code >= 0xDC80 && code <= 0xDCFF)
      *out += static_cast<char>(code & 0xFF);
    else
      append_utf8(out, code);
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

const Json *Json::find(const std::string &name) const {
  for (const auto &[key, value] : fields)
    if (key == name) return &value;
  return nullptr;
}

void Json::require(Kind wanted) const {
  static const char *const names[] = {"null",   "a bool", "an int",   "a number",
                                      "a text", "a list", "an object"};
  if (kind != wanted)
    throw std::invalid_argument(std::string("a value of a request must be ") + names[wanted] +
                                ", got " + names[kind]);
}

const Json &Json::operator[](const std::string &name) const {
  require(OBJECT);
  if (const Json *found = find(name)) return *found;
  throw std::invalid_argument("a request must have the field '" + name + "'");
}

bool Json::boolean() const {
  require(BOOL);
  return i != 0;
}

int64_t Json::integer() const {
  require(INT);
  return i;
}

double Json::number() const {
  if (kind == INT) return static_cast<double>(i);
  require(FLOAT);
  return f;
}

const std::string &Json::text() const {
  require(TEXT);
  return s;
}

const std::vector<Json> &Json::list() const {
  require(LIST);
  return items;
}

std::vector<int64_t> Json::integers() const {
  std::vector<int64_t> out;
  for (const Json &item : list()) out.push_back(item.integer());
  return out;
}

std::vector<std::string> Json::texts() const {
  std::vector<std::string> out;
  for (const Json &item : list()) out.push_back(item.text());
  return out;
}

Json parse_json(std::string_view text) {
  return Parser(text).whole();
}

std::string json_list(const std::vector<std::string> &items) {
  return "[" + joined(items, [](const std::string &item) { return item; }) + "]";
}

std::string json_integers(const std::vector<int64_t> &values) {
  return "[" + joined(values, [](int64_t value) { return std::to_string(value); }) + "]";
}

std::string json_texts(const std::vector<std::string> &values) {
  return "[" + joined(values, [](const std::string &value) { return json_text(value); }) + "]";
}

std::string json_float(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-Infinity" : "Infinity";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  const bool whole = std::strcspn(text, ".e") == std::strlen(text);
  return text + std::string(whole ? ".0" : "");
}

}  // namespace rush
