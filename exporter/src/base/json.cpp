#include "base/json.h"

#include <cmath>
#include <cstdint>
#include <cstdio>

namespace rush {

namespace {

// Returns the number of bytes of the UTF-8 character at `at`; 0 if there is none.
size_t character(std::string_view text, size_t at) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t first = byte(at);
  const size_t width = first < 0x80         ? 1
                       : first >> 5 == 0x06 ? 2
                       : first >> 4 == 0x0E ? 3
                       : first >> 3 == 0x1E ? 4
                                            : 0;
  if (width < 2 || width > text.size() - at) return width == 1;
  uint32_t c = first & (0xFFu >> (width + 1));
  for (size_t k = 1; k < width; k++) {
    if (byte(at + k) >> 6 != 2) return 0;
    c = c << 6 | (byte(at + k) & 63u);
  }
  return c >= kLeast[width] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF) ? width : 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t at = 0, n; at < text.size(); at += n) {
    n = character(text, at);
    if (n == 0) return false;
  }
  return true;
}

std::string bytes_text(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0, n; at < text.size(); at += n) {
    const size_t width = character(text, at);
    n = width ? width : 1;
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(text[at]));
    out += width ? std::string(text.substr(at, width)) : escaped;
  }
  return out + "\"";
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0, n; at < text.size(); at += n) {
    const size_t width = character(text, at);
    n = width ? width : 1;
    if (text[at] == '"' || text[at] == '\\') out += '\\';
    if (width == 0) {
      out += "\xEF\xBF\xBD";
    } else if (static_cast<unsigned char>(text[at]) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(text[at]));
      out += escaped;
    } else {
      out += text.substr(at, width);
    }
  }
  return out + "\"";
}

std::string json_number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return std::isfinite(x) ? text : "null";
}

std::string json_of(const rush_distance &d) {
  return "{\"max\": " + json_number(d.max) + ", \"l2\": " + json_number(d.l2) + "}";
}

}  // namespace rush
